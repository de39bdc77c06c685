"""Learners: their rules in a module a family, and their estimators by name.

``omtl.learners.rom.ROMPGD`` are the rules of a round, compiled into the harness's loop
(`omtl.rules`). ``omtl.learners.ROMPGD`` is the scikit-learn estimator that follows them; it and
scikit-learn are imported when it is first asked for.
"""

from typing import Any

from omtl.estimators.table import TABLE

__all__ = [*TABLE, "load", "progressive_validation"]


def __getattr__(name: str) -> Any:
    """Return an estimator, or a function for estimators."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "load":
        from omtl.estimators.base import MultiTaskClassifier

        return MultiTaskClassifier.load
    if name == "progressive_validation":
        from omtl.estimators.progressive import progressive_validation

        return progressive_validation
    from omtl.estimators.classes import ESTIMATORS

    return ESTIMATORS[name]


def __dir__() -> list[str]:
    """Return the names of the module."""
    return sorted({*globals(), *__all__})
