"""Learning curves: the cumulative error rate against the number of examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omtl.experiment.selection import select
from omtl.figures.panels.axes import Axes, Mark, PlannedPanel, Played, line_of
from omtl.measures.metrics import METRICS


def axes_of(panel: PlannedPanel, played: Sequence[Played], rule: Mapping[str, Any]) -> list[Axes]:
    """Return the cumulative error rate against the number of examples, one line per method.

    In each repeat it is that of the point that the rule chose; a play that diverged counts as wrong
    throughout, as in the tables.
    """
    metric = METRICS["error"]
    lines, marks = [], []
    for one in played:
        chosen = select(one.results, one.line.experiment.points, rule)
        curves = [
            np.full(r.arrays["seen"].shape, metric.worst)
            if r.arrays["diverged"][p] > 0
            else 100.0 * r.arrays["checkpoint_mistakes"][p] / r.arrays["seen"]
            for r, p in zip(one.results, chosen, strict=True)
        ]
        most_chosen = one.named(int(np.bincount(chosen).argmax()))
        seen = one.results[0].arrays["seen"]
        lines.append(line_of(one.line.label, seen, np.array(curves), params=(most_chosen,)))
        final = panel.published.get(one.line.description.published)
        if final is not None:
            marks.append(Mark(one.line.label, final))
    return [
        Axes("examples", "cumulative error rate (%)", tuple(lines), marks=tuple(marks)),
    ]
