"""The area under the ROC curve on held-out examples against the number of training examples."""

from __future__ import annotations

from collections.abc import Sequence

from omtl.figures.panels.axes import Axes, PlannedPanel, Played, joined
from omtl.measures.metrics import METRICS


def axes_of(
    panel: PlannedPanel,  # noqa: ARG001
    played: Sequence[Played],
) -> list[Axes]:
    """Return the area against the number of training examples of a task, one line per method.

    A method's points are its experiments under the panel's protocols, which differ in ``n_train``.
    In each repeat the area is that of the point of the grid that the rule chose; where a play
    diverged it is that of the worst.
    """
    lines = joined(played, lambda line: line.experiment.protocol["n_train"], METRICS["auc"])
    ticks = tuple(sorted({float(x) for line in lines for x in line.x}))
    labels = ("training examples a task", "area under the ROC curve")
    return [Axes(*labels, lines, ticks=ticks, error_bars=True)]
