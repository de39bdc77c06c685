"""The learners as scikit-learn estimators, by name.

``omtl.sklearn.ROMPGD`` uses the rules of ``omtl.learners.rom.ROMPGD``. Estimators and scikit-learn
are imported on first use.
"""

from typing import Any

from omtl.sklearn.parameters import TABLE

__all__ = [*TABLE, "load", "progressive_validation"]


def __getattr__(name: str) -> Any:
    """Return an estimator, or a function for estimators."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "load":
        from omtl.sklearn.base import MultiTaskClassifier

        return MultiTaskClassifier.load
    if name == "progressive_validation":
        from omtl.sklearn.progressive import progressive_validation

        return progressive_validation
    from omtl.sklearn.classes import ESTIMATORS

    return ESTIMATORS[name]


def __dir__() -> list[str]:
    """Return the names of the module."""
    return sorted({*globals(), *__all__})
