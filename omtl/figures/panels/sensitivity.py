"""Precision on the validation part against a hyper-parameter, one line per value of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of, points_with


def axes_of(
    panel: PlannedPanel,  # noqa: ARG001
    played: Sequence[Played],
) -> list[Axes]:
    """Return axes for each method: all points of its grid, none of them chosen.

    A line's `parameter` is on the x axis; where it names one more hyper-parameter `by`, there is a
    line for each value of that, and otherwise the grid has no other.
    """
    parts = []
    for one in played:
        asked = one.line.description
        name, by = asked.parameter, asked.by
        grid, points = one.line.experiment.algorithm["grid"], one.line.experiment.points
        lines = []
        for value in grid[by] if by else [None]:
            mine = points_with(one, by, value) if by else list(range(len(points)))
            values = np.array([result.arrays["validation"][mine] for result in one.results])
            label = f"{asked.by_symbol or by} = {value:g}" if by else one.line.label
            at = [float(points[p][name]) for p in mine]
            params = tuple(one.named(p) for p in mine)
            lines.append(line_of(label, at, values, params=params))
        parts.append(
            Axes(
                asked.symbol or name,
                "AP@10 on the validation part (%)",
                tuple(lines),
                x_scale=asked.scale or "log",
                title=one.line.label,
            )
        )
    return parts
