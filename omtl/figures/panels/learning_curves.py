"""Learning curves: the cumulative error rate against the number of examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of
from omtl.measures.metrics import METRICS


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the cumulative error rate against the number of examples, one line per method.

    In each repeat it is that of the point that the rule chose; a play that diverged counts as wrong
    throughout, as in the tables.
    """
    metric = METRICS["error"]
    lines = []
    for one in played:
        curves = [
            np.full(r.arrays["seen"].shape, metric.worst)
            if r.arrays["diverged"][p] > 0
            else 100.0 * r.arrays["checkpoint_mistakes"][p] / r.arrays["seen"]
            for r, p in one.at_chosen
        ]
        seen = one.results[0].arrays["seen"]
        lines.append(line_of(one.line.label, seen, np.array(curves), params=(one.most_chosen,)))
    marks = panel.marks(played)
    return [Axes("examples", "cumulative error rate (%)", tuple(lines), marks=marks)]
