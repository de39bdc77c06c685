"""Where the project keeps things."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONF = ROOT / "conf"
EXPERIMENTS = ROOT / "experiments"
RESULTS = ROOT / "results"


def kept() -> Path:
    """Return the folder of all that is kept between runs: data, finished units, compiled code.

    It is ``.omtl`` in the checkout, or where the environment variable ``OMTL_HOME`` says.
    """
    return Path(os.environ.get("OMTL_HOME") or ROOT / ".omtl")
