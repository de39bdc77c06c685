"""A table's metric across its columns, such as budgets of labels, beside the published numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from omtl.figures.panels.axes import Axes, Mark, PlannedPanel, Played, joined, label_of
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
    lines = joined(played, lambda line: number_of(line.column), metric)
    places = [(one.line, (one.line.description.published, one.line.column)) for one in played]
    marks = tuple(
        Mark(line.label, panel.published_at[place], number_of(line.column))
        for line, place in places
        if place in panel.published_at
    )
    return [Axes(asked.across, label_of(metric), lines, marks=marks)]
