"""The learners as scikit-learn estimators, by name.

``omtl.sklearn.ROMPGD`` uses the rules of ``omtl.learners.rom.ROMPGD``. Estimators and scikit-learn
are imported on first use.

>>> from omtl.sklearn import Perceptron
>>> model = Perceptron().fit([[1.0], [-1.0], [1.0]], ["spam", "ham", "ham"], ["ann", "ann", "bob"])
>>> model.predict([[1.0], [1.0]], ["ann", "bob"]).tolist()
['spam', 'ham']
"""

from importlib import import_module
from typing import Any

from omtl.sklearn.parameters import declared_entries

OTHERS = {
    "OnlineScaler": "online_scaler",
    "TaskColumn": "task_column",
    "load": "model_file",
    "progressive_validation": "progressive",
}
"""What is used beside the learners, each with its module."""


def __getattr__(name: str) -> Any:
    """Return an estimator, a function for estimators, or the names of both."""
    if name == "__all__":
        return [*declared_entries(), *OTHERS]
    if name in OTHERS:
        return getattr(import_module(f"omtl.sklearn.{OTHERS[name]}"), name)
    if name in declared_entries():
        from omtl.sklearn.classes import ESTIMATORS

        return ESTIMATORS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names of the module."""
    return sorted(__getattr__("__all__"))
