"""A number against a hyper-parameter, one line per value of another, at every point of a grid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result
from omtl.figures.panels.axes import (
    Axes,
    PlannedPanel,
    Played,
    label_of,
    line_of,
    number,
    points_with,
)
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return axes for each method: all points of its grid, none of them chosen.

    A line's `parameter` is on the x axis; where it names one more hyper-parameter `by`, there is a
    line for each value of that, and otherwise the grid has no other. The number is the panel's
    metric; by default, the precision on the validation part.

    Raises
    ------
    UserError
        If the grid has another hyper-parameter, so that there would be several numbers at each x.
    """
    name_of_metric = panel.description.metric
    metric = METRICS[name_of_metric] if name_of_metric else None
    y_label = label_of(metric) if metric else "AP@10 on the validation part (%)"

    def numbers(result: Result, mine: list[int]) -> list[float]:
        if metric is None:
            return result.arrays["validation"][mine].tolist()
        return [number(metric, result, point) for point in mine]

    parts = []
    for one in played:
        asked = one.line.description
        name, by = asked.parameter, asked.by
        grid, points = one.line.experiment.algorithm["grid"], one.line.experiment.points
        more = [other for other in grid if other not in (name, by) and len(grid[other]) > 1]
        if more:
            raise UserError(
                f"sensitivity: the grid of {one.line.label} also has {', '.join(more)}; name it by "
                "the line's key by, or fix it in the panel's patch"
            )
        lines = []
        for value in grid[by] if by else [None]:
            mine = points_with(one, by, value) if by else list(range(len(points)))
            values = np.array([numbers(result, mine) for result in one.results])
            label = f"{asked.by_symbol or by} = {value:g}" if by else one.line.label
            at = [float(points[p][name]) for p in mine]
            params = tuple(one.named(p) for p in mine)
            lines.append(line_of(label, at, values, params=params))
        x_label, scale = asked.symbol or name, asked.scale or "log"
        parts.append(Axes(x_label, y_label, tuple(lines), x_scale=scale, title=one.line.label))
    return parts
