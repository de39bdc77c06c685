"""The kinds of panels of a figure: they compute its numbers and run no learner.

A kind is a function of that name in the module that `PANEL_KINDS` gives. It takes the
lines of a panel with what the store holds for them, and returns `Axes` with lines and vertical
references, rounded as they are written. How they look is not decided here
(`omtl.figures.drawing`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from importlib import import_module
from typing import NamedTuple

from omtl.experiment.descriptions import Panel
from omtl.figures.panels.axes import Axes, PlayedLine, axis_label
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError, choose


class PanelKind(NamedTuple):
    """A kind of panel.

    Parameters
    ----------
    module : str
        The module of this package that has it.
    y_label : str
        The quantity on the y axis of a panel that names no metric.
    needs : str
        Keys that it needs, of the panel or of its lines.
    shows : str
        What it shows of what a protocol measures, besides the panel's metric.
    marked : str
        The metric of the published numbers that it marks, where the panel names none.
    by_line : bool
        Whether each line has axes of its own: it is a function of a line then, and otherwise of
        all lines of the panel.
    """

    module: str
    y_label: str = ""
    needs: str = ""
    shows: str = ""
    marked: str = ""
    by_line: bool = False


PANEL_KINDS = {
    "absolute_error": PanelKind("curves", needs="metric"),
    "across_columns": PanelKind("metric_lines", needs="metric across"),
    "last_task": PanelKind("curves", "cumulative errors"),
    "learning_curves": PanelKind(
        "curves", "cumulative error rate (%)", shows="checkpoint_mistakes seen", marked="error"
    ),
    "lifelong_error": PanelKind("curves", "average cumulative error rate (%)", marked="ace"),
    "mistake_bound": PanelKind("bounds", "mistakes", "ridges scales", by_line=True),
    "parameter_effect": PanelKind("metric_lines", "error rate (%)", "parameter", by_line=True),
    "precision_at_k": PanelKind("rankings", "%", shows="precision average_precision"),
    "query_ratio": PanelKind("rankings", "%", "rank ratios", shows="precision average_precision"),
    "regret_bound": PanelKind("bounds", "regret (hinge loss)", "ridges", by_line=True),
    "relationship": PanelKind("relations", needs="groups", by_line=True),
    "rom_regret": PanelKind(
        "rom_bounds", "regret (loss and regulariser)", "horizons", by_line=True
    ),
    "sensitivity": PanelKind(
        "metric_lines", "AP@10 on the validation part (%)", "parameter", by_line=True
    ),
    "smoothed_regret": PanelKind("bounds", "regret (hinge loss)", "ridges", by_line=True),
    "task_bound": PanelKind("aklo_bounds", "errors on a task", "delta", by_line=True),
    "task_curves": PanelKind(
        "curves", "cumulative error rate (%)", "tasks", shows="checkpoint_by_task seen_by_task"
    ),
    "training_size": PanelKind("metric_lines", "area under the ROC curve", shows="auc"),
}


def y_label_of(panel: Panel) -> str:
    """Return what is on the y axis of a panel: its metric, or that of its kind."""
    return axis_label(METRICS[panel.metric]) if panel.metric else PANEL_KINDS[panel.kind].y_label


def check_kind(panel: Panel) -> None:
    """Refuse a panel of a kind or metric that there is not, or without a key that its kind needs.

    Raises
    ------
    UserError
        With what is wrong.
    """
    kind = PANEL_KINDS[choose("kind of panel", panel.kind, list(PANEL_KINDS))]
    for key in kind.needs.split():
        if not all(getattr(one, key) for one in ([panel] if hasattr(panel, key) else panel.lines)):
            raise UserError(f"panel {panel.label}: kind {panel.kind} needs {key}")
    if panel.metric:
        absolute = ["absolute_error", "test_absolute_error"]
        is_absolute = panel.kind == "absolute_error"
        choose("metric", panel.metric, absolute if is_absolute else list(METRICS))


def axes_of(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the axes of a panel with published marks, given what the store holds for its lines."""
    panel = played[0].panel
    kind = PANEL_KINDS[panel.kind]
    make = getattr(import_module(f"{__name__}.{kind.module}"), panel.kind)
    parts = [make(one) for one in played] if kind.by_line else make(played)
    more = {"marks": tuple(mark for line in played for mark in line.marks)}
    return [replace(part, y_label=part.y_label or y_label_of(panel), **more) for part in parts]


def check_shown(panel: Panel, protocol: str, measured: Collection[str]) -> None:
    """Refuse a panel whose kind or metric is of what a line's protocol does not measure.

    Raises
    ------
    UserError
        With what is lacking.
    """
    needed = PANEL_KINDS[panel.kind].shows.split()
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
