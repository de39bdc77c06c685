"""A table's metric across its columns, such as budgets of labels, beside the published numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, Mark, PlannedPanel, Played, label_of, line_of, number
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError


def number_of(column: str) -> float:
    """Return the number that a column's name begins with.

    Raises
    ------
    UserError
        If it begins with none.
    """
    found = re.match(r"[0-9.]+", column)
    if not found:
        raise UserError(
            f"column {column!r} does not begin with a number, which gives its position on the axis"
        )
    return float(found[0])


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the panel's metric against the number in the columns' names, a line a method.

    In each repeat the number is that of the point of the grid that the rule chose.
    """
    asked = panel.description
    metric = METRICS[asked.metric]
    by_label: dict[str, dict[float, Played]] = {}
    for one in played:
        by_label.setdefault(one.line.label, {})[number_of(one.line.column)] = one
    lines, marks = [], []
    for label, parts in by_label.items():
        x = sorted(parts)
        values = [[number(metric, r, p) for r, p in parts[at].at_chosen] for at in x]
        params = tuple(parts[at].most_chosen for at in x)
        lines.append(line_of(label, x, np.array(values).T, params=params))
        for at, one in parts.items():
            place = one.line.description.published, one.line.column
            if place in panel.published_at:
                marks.append(Mark(label, panel.published_at[place], at))
    return [Axes(asked.across, label_of(metric), tuple(lines), marks=tuple(marks))]
