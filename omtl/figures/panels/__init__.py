"""The kinds of panels of a figure, one module each; they compute its numbers and run no learner.

A kind has ``axes_of(panel, played)``, which takes a panel's plan with what the store holds
for its lines and returns `Axes`: lines, vertical references and published marks, rounded as they
are written. How they look is not decided here (`omtl.figures.drawing`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
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

SHOWS = {
    "learning_curves": "checkpoint_mistakes seen",
    "precision_at_k": "precision average_precision",
    "query_ratio": "queries precision average_precision",
    "task_curves": "checkpoint_by_task seen_by_task",
    "training_size": "auc",
}
"""What a kind shows of what a protocol measures, besides the panel's metric."""

MARKED = {"learning_curves": "error", "lifelong_error": "ace"}
"""The metric of the published numbers that a kind marks, where the panel names none."""


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
        absolute = ["absolute_error", "test_absolute_error"]
        choose("metric", panel.metric, absolute if kind == "absolute_error" else list(METRICS))
    return import_module(f"{__name__}.{kind}").axes_of


def check_measured(panel: Panel, protocol: str, measured: Collection[str]) -> None:
    """Refuse a panel whose kind or metric is of what a line's protocol does not measure.

    Raises
    ------
    UserError
        With what is lacking.
    """
    needed = SHOWS.get(panel.kind, "").split()
    needed += METRICS[panel.metric].needs if panel.metric else ()
    if panel.kind == "sensitivity" and not panel.metric:
        needed.append("validation")
    for name in needed:
        if name not in measured:
            metric = f" with metric {panel.metric}" if panel.metric else ""
            raise UserError(
                f"panel {panel.label}: kind {panel.kind}{metric} needs {name}, which protocol "
                f"{protocol} does not measure"
            )
