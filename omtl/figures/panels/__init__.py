"""The kinds of panels of a figure, one module each; they compute its numbers and run no learner.

A kind has ``axes_of(panel, played)``, which takes a panel's plan with what the store holds
for its lines and returns `Axes`: lines, vertical references and published marks, rounded as they
are written. How they look is not decided here (`omtl.figures.drawing`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from omtl.experiment.config import choose
from omtl.experiment.descriptions import Panel
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError

SHARED = ("axes", "beside_bounds", "hindsight")
"""Modules that are no kind of panel."""


NEEDS = {
    "absolute_error": "metric",
    "across_columns": "metric across",
    "mistake_bound": "ridges scales",
    "parameter_effect": "parameter",
    "query_ratio": "rank ratios",
    "regret_bound": "ridges",
    "relationship": "groups",
    "rom_regret": "horizons",
    "sensitivity": "parameter",
    "smoothed_regret": "ridges",
    "task_bound": "delta",
    "task_curves": "tasks",
}
"""Keys that a kind needs, of the panel or of its lines."""


def kind_of(panel: Panel) -> Callable:
    """Return ``axes_of`` of a panel's kind.

    Raises
    ------
    UserError
        If there is no such kind or metric, or the kind needs a key that the panel lacks.
    """
    known = [module.name for module in iter_modules(__path__) if module.name not in SHARED]
    kind = choose("kind of panel", panel.kind, known)
    for key in NEEDS.get(kind, "").split():
        if not all(getattr(one, key) for one in ([panel] if hasattr(panel, key) else panel.lines)):
            raise UserError(f"panel {panel.label}: kind {kind} needs {key}")
    if panel.metric:
        choose("metric", panel.metric, list(METRICS))
    return import_module(f"{__name__}.{kind}").axes_of
