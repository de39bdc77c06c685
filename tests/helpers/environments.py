"""The environment of a command that a test runs in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path

from omtl.util.paths import ROOT


def environment(home: Path) -> dict[str, str]:
    """Return an environment of its own: no folder of one's own, no compiled code of others."""
    kept = {k: v for k, v in os.environ.items() if k not in ("OMTL_OWN", "NUMBA_CACHE_DIR")}
    return kept | {"OMTL_HOME": str(home), "OMTL_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
