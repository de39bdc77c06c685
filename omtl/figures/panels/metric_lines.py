"""A metric against a number that differs between plays: a hyper-parameter, a budget, a size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from data_fetchers.fetch import DataMissing
from omtl.figures.panels.axes import (
    Axes,
    Curve,
    PlannedLine,
    PlayedLine,
    Reference,
    line_of,
    number_of,
)
from omtl.figures.panels.bounds import optimal_b
from omtl.tables.scoring import numbers_at
from omtl.util.errors import UserError


def across_columns(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the panel's metric against the number in the columns' names, one line per method.

    In each repeat the number is that of the point of the grid that the rule chose.
    """
    panel = played[0].panel
    lines = joined_lines(played, lambda line: number_of(line.column), panel.metric)
    return [Axes(panel.across, lines)]


def training_size(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the area under the ROC curve on held-out examples against the training examples.

    A method's points are its experiments under the panel's protocols, which differ in ``n_train``.
    In each repeat the area is that of the point of the grid that the rule chose; where a play
    diverged it is that of the worst.
    """
    lines = joined_lines(played, lambda line: line.experiment.protocol.settings["n_train"], "auc")
    ticks = tuple(sorted({float(x) for line in lines for x in line.x}))
    return [Axes("training examples a task", lines, ticks=ticks, error_bars=True)]


def joined_lines(
    played: Sequence[PlayedLine], x_of: Callable[[PlannedLine], float], metric: str
) -> tuple[Curve, ...]:
    """Return a metric's lines, each through all experiments of its label, each at its own x."""
    by_label: dict[str, dict[float, PlayedLine]] = {}
    for one in played:
        by_label.setdefault(one.label, {})[x_of(one)] = one
    return tuple(chosen_line(label, at, metric) for label, at in by_label.items())


def chosen_line(label: str, at: dict[float, PlayedLine], metric: str) -> Curve:
    """Return the line of a metric at the points that the rule chose, for plays by their x."""
    at = dict(sorted(at.items()))
    values = [numbers_at(one.results, one.chosen, metric, one.rule) for one in at.values()]
    params = tuple(one.most_chosen for one in at.values())
    return line_of(label, list(at), np.transpose(values), params=params)


def parameter_effect(one: PlayedLine) -> Axes:
    """Return the panel's metric, by default the error rate, against one hyper-parameter.

    For each value of it the rule chooses among the points that have it.
    """
    asked = one.description
    name = asked.parameter
    grid = one.experiment.algorithm.grid[name]
    at = {value: one.among(one.having(name, value)) for value in grid}
    references = [Reference(float(x), text) for x, text in asked.marks.items()]
    notes: tuple[str, ...] = ()
    if asked.theory == "b_star":
        try:
            found, notes = optimal_b(one.units[0])
            references += found
        except DataMissing as fault:
            notes = (f"no b*: {fault}",)
    return Axes(
        f"{asked.symbol or name} ({one.label})",
        (chosen_line(one.label, at, one.panel.metric or "error"),),
        x_scale=asked.scale or "linear",
        ticks=tuple(map(float, grid)),
        references=tuple(references),
        notes=notes,
    )


def sensitivity(one: PlayedLine) -> Axes:
    """Return a number against a hyper-parameter, at every point of a grid, none of them chosen.

    A line's `parameter` is on the x axis; where it names one more hyper-parameter `by`, there is a
    line for each value of that, and otherwise the grid has no other. The number is the panel's
    metric; by default, the precision on the validation part.

    Raises
    ------
    UserError
        If the grid has another hyper-parameter, so that there would be several numbers at each x.
    """
    asked = one.description
    name, by = asked.parameter, asked.by
    grid, points = one.experiment.algorithm.grid, one.experiment.points
    more = [other for other in grid if other not in (name, by) and len(grid[other]) > 1]
    if more:
        raise UserError(
            f"sensitivity: the grid of {one.label} also has {', '.join(more)}; name it by "
            "the line's key by, or fix it in the panel's patch"
        )

    def values_at(point: int) -> np.ndarray:
        if not one.panel.metric:
            return np.array([result.arrays["validation"][point] for result in one.results])
        return numbers_at(one.results, np.full(len(one.results), point), one.panel.metric, one.rule)

    lines = []
    for other in grid[by] if by else [None]:
        mine = one.having(by, other) if by else list(range(len(points)))
        values = np.transpose([values_at(point) for point in mine])
        label = f"{asked.by_symbol or by} = {other:g}" if by else one.label
        at = [float(points[p][name]) for p in mine]
        lines.append(line_of(label, at, values, params=tuple(one.named(p) for p in mine)))
    scale = asked.scale or "log"
    return Axes(asked.symbol or name, tuple(lines), x_scale=scale, title=one.label)
