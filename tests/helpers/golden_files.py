"""Golden files: what is made must have their words, and their numbers, or nearly.

Where what is made changes on purpose, ``WRITE_GOLDEN=1 pytest FILE`` writes the files anew; look at
the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden"

NUMBER = r"-?\d+\.?\d*(?:e[-+]?\d+)?"


def assert_as_golden(text: str, name: str, exactly: bool = False) -> None:
    """Assert that a text is that of a golden file, but for the last digits of numbers."""
    path = GOLDEN / name
    if os.environ.get("WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    known = path.read_text(encoding="utf-8")
    if exactly:
        assert text == known, name
    assert re.sub(NUMBER, "#", text) == re.sub(NUMBER, "#", known), name
    made, there = (np.array(re.findall(NUMBER, each), dtype=float) for each in (text, known))
    np.testing.assert_allclose(made, there, rtol=1e-4, atol=1e-3)  # of solvers, too
