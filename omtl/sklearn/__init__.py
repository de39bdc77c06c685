"""The learners as scikit-learn estimators, by name.

``omtl.sklearn.ROMPGD`` uses the rules of ``omtl.learners.rom.ROMPGD``. Estimators and scikit-learn
are imported on first use.
"""

from typing import Any

from omtl.sklearn.parameters import TABLE


def __getattr__(name: str) -> Any:
    """Return an estimator, a function for estimators, or the names of both."""
    if name == "__all__":
        return [*TABLE, "load", "progressive_validation"]
    if name == "load":
        from omtl.sklearn.base import MultiTaskClassifier

        return MultiTaskClassifier.load
    if name == "progressive_validation":
        from omtl.sklearn.progressive import progressive_validation

        return progressive_validation
    if name in TABLE:
        from omtl.sklearn.classes import ESTIMATORS

        return ESTIMATORS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of the module."""
    return sorted({*globals(), *__getattr__("__all__")})
