"""The area under the ROC curve on held-out examples against the number of training examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of, number
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
    metric = METRICS["auc"]
    by_label: dict[str, list[Played]] = {}
    for one in played:
        by_label.setdefault(one.line.label, []).append(one)
    lines = []
    for label, parts in by_label.items():
        sizes, values, params = [], [], []
        for one in sorted(parts, key=lambda part: part.line.experiment.protocol["n_train"]):
            values.append([number(metric, r, p) for r, p in one.at_chosen])
            sizes.append(one.line.experiment.protocol["n_train"])
            params.append(one.most_chosen)
        lines.append(line_of(label, sizes, np.array(values).T, params=tuple(params)))
    ticks = sorted({float(x) for line in lines for x in line.x})
    return [
        Axes(
            "training examples a task",
            "area under the ROC curve",
            tuple(lines),
            ticks=tuple(ticks),
            error_bars=True,
        )
    ]
