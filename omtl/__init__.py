"""Online multi-task learning: reproduce its papers, and compare your own method with theirs.

Check a paper with `table`, `figure`, `explain` and `paper`; test a method with `check`, `run`,
`sweep`, `compare` and `board`. `datasets` loads data, also your own; `results` reads what is
published with the package. The learners are scikit-learn estimators: ``from omtl import ROMPGD``.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omtl import datasets, results
    from omtl.api.boards import board
    from omtl.api.checks import check
    from omtl.api.comparisons import compare
    from omtl.api.explanations import explain
    from omtl.api.figures import figure
    from omtl.api.papers import paper
    from omtl.api.runs import run, sweep
    from omtl.api.tables import table
    from omtl.util.errors import UserError

MODULES = ("datasets", "results", "sklearn", "river", "ops")
"""Modules that are imported when they are used."""

FUNCTIONS = {
    "board": "boards",
    "check": "checks",
    "compare": "comparisons",
    "explain": "explanations",
    "figure": "figures",
    "paper": "papers",
    "run": "runs",
    "sweep": "runs",
    "table": "tables",
}
"""The functions, each with its module in `omtl.api`."""

__all__ = [
    "UserError",
    "board",
    "check",
    "compare",
    "datasets",
    "explain",
    "figure",
    "paper",
    "results",
    "run",
    "sweep",
    "table",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for: importing the package alone is fast."""
    if name == "__version__":
        from importlib.metadata import version

        return version("omtl")
    if name in MODULES:
        return importlib.import_module(f"omtl.{name}")
    if name == "UserError":
        return importlib.import_module("omtl.util.errors").UserError
    if name in FUNCTIONS:
        # Units run in parallel; threads of linear algebra would compete for the same cores.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        return getattr(importlib.import_module(f"omtl.api.{FUNCTIONS[name]}"), name)
    from omtl.sklearn.parameters import declared_entries

    if name in declared_entries():
        return getattr(importlib.import_module("omtl.sklearn"), name)
    raise AttributeError(f"module 'omtl' has no attribute {name!r}; dir(omtl) lists what it has")


def __dir__() -> list[str]:
    """Return the public names: functions, modules and learners."""
    from omtl.sklearn.parameters import declared_entries

    return sorted({*__all__, *MODULES, *declared_entries(), "__version__"})
