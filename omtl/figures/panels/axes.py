"""The parts of a panel: planned lines, their stored results, and axes with lines to draw."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from omtl.experiment import descriptions
from omtl.experiment.selection import select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Experiment, Result, Unit
from omtl.measures.metrics import Metric
from omtl.tables.scoring import OF_DATA
from omtl.util.errors import UserError

DIGITS = 6
"""Significant digits of all numbers that are drawn and written."""

WORDS = {
    "error": "error rate",
    "right": "accuracy on test examples",
    "wrong": "rate of mistakes",
}
"""Metrics in words; others by their names."""

ROUNDING = 1e-9
"""A deviation below this part of its mean is that of rounded sums, and counts as 0."""


@dataclass(frozen=True)
class PlannedLine:
    """A line of a panel: its description, and the experiment behind it or a `column` of it.

    `printed` is the published number of its `place`.
    """

    panel: descriptions.Panel
    description: descriptions.Line
    experiment: Experiment = field(repr=False)
    column: str = ""
    printed: float | None = None

    @property
    def label(self) -> str:
        """What the line is called."""
        return self.description.label or self.experiment.algorithm.label

    @property
    def place(self) -> tuple[str, str]:
        """The names of its row and column in the published table, which may be empty."""
        return self.description.published, self.column or self.panel.published

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The published value, if there is one; a column's stands at the number in its name."""
        if self.printed is None or self.panel.stand_in:
            return ()
        return (Mark(self.label, self.printed, number_of(self.column) if self.column else None),)


@dataclass(frozen=True, kw_only=True)
class PlayedLine(PlannedLine):
    """A planned line with what the store holds for it.

    Parameters
    ----------
    units : list of Unit
        One a repeat.
    results : list of Result
        One a unit.
    rule : mapping
        The selection rule.
    """

    units: list[Unit]
    results: list[Result]
    rule: SelectionSpec

    @cached_property
    def chosen(self) -> np.ndarray:
        """The number of the point that the rule chooses, for each repeat."""
        return select(self.results, self.experiment.points, self.rule)

    def over_repeats(self, of: Callable[[Result, int], Any]) -> np.ndarray:
        """Return what a function gives for each repeat, at the point that was chosen for it."""
        return np.array(list(map(of, self.results, self.chosen)))

    def drawn(self, x: Any, of: Callable[[Result, int], Any], worst: float | None = None) -> Curve:
        """Return the line of a function of each repeat and of the point chosen for it.

        It is at `worst` throughout where the play diverged, if there is a worst.
        """

        def curve(result: Result, point: int) -> Any:
            is_lost = worst is not None and result.arrays["diverged"][point] > 0
            return np.full(len(x), worst) if is_lost else of(result, point)

        return line_of(self.label, x, self.over_repeats(curve), params=(self.most_chosen,))

    def among(self, points: list[int]) -> PlayedLine:
        """Return the same plays with some points of the grid only, by number."""
        shape = (len(self.experiment.points),)

        def part(name: str, array: np.ndarray) -> np.ndarray:
            return array[points] if name not in OF_DATA and array.shape[:1] == shape else array

        results = [
            replace(result, arrays={name: part(name, one) for name, one in result.arrays.items()})
            for result in self.results
        ]
        return replace(self, experiment=self.experiment.only(points), results=results)

    def having(self, name: str, value: Any) -> list[int]:
        """Return the numbers of the grid's points that have a value of a hyper-parameter."""
        points = self.experiment.points
        return [p for p, point in enumerate(points) if point[name] == value]

    @property
    def most_chosen(self) -> str:
        """The hyper-parameters that were chosen most often, as JSON."""
        return self.named(int(np.bincount(self.chosen).argmax()))

    def named(self, point: int) -> str:
        """Return the hyper-parameters of a point of the grid that were searched, as JSON."""
        experiment = self.experiment
        values = experiment.points[point]
        return json.dumps({name: values[name] for name in experiment.algorithm.grid})


@dataclass(frozen=True)
class Curve:
    """A line of an axes: the mean over the repeats, with its standard deviation.

    Parameters
    ----------
    x, mean, std : ndarray of shape (n,)
    params : tuple of str
        For all x, or for each, the hyper-parameters behind the number.
    is_theory : bool
        Whether it is computed from formulas instead of being played.
    values : ndarray of shape (n_repeats, n)
        The numbers of the repeats, not rounded, for claims.
    """

    label: str
    x: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    n_repeats: int
    params: tuple[str, ...] = ("",)
    is_theory: bool = False
    values: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False, compare=False)


class Reference(NamedTuple):
    """A vertical line at x."""

    x: float
    label: str


class Mark(NamedTuple):
    """A published value of the line of that label, at x or else at the right edge."""

    label: str
    y: float
    x: float | None = None


@dataclass(frozen=True)
class Axes:
    """One pair of axes: a panel has one, or several that share y.

    Parameters
    ----------
    x_scale : {"linear", "log", "log1p"}
    y_scale : {"linear", "log"}
    ticks : tuple of float
        Ticks of x; none to leave them to the drawing.
    warning : str
        What a reader must know before reading the lines, such as an assumption that does not hold.
    notes : tuple of str
        Remarks on the numbers; written to the file, not drawn.
    error_bars : bool
        Whether deviations are drawn as bars at the points, not as bands.
    """

    x_label: str
    lines: tuple[Curve, ...]
    y_label: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"
    ticks: tuple[float, ...] = ()
    references: tuple[Reference, ...] = ()
    marks: tuple[Mark, ...] = ()
    title: str = ""
    warning: str = ""
    notes: tuple[str, ...] = ()
    error_bars: bool = False


CURVES = Axes("examples", (), "cumulative error rate (%)")
"""Axes for learning curves."""


@dataclass(frozen=True, kw_only=True)
class HeatMap(Axes):
    """A matrix of weights between things, such as tasks, in groups; a line is a row of it.

    The first of the notes is drawn too.

    Parameters
    ----------
    unit : str
        What the weights are.
    groups : dict of str to int
        How many rows, and columns, belong to each group, in their order.
    """

    unit: str
    groups: dict[str, int]


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


def rounded(values: Any) -> np.ndarray:
    """Return numbers as they are written, to `DIGITS` significant digits."""
    return np.array([float(f"{v:.{DIGITS}g}") for v in np.ravel(values)])


def line_of(label: str, x: Any, values: np.ndarray, **more: Any) -> Curve:
    """Return the line of the mean and deviation of values of shape (n_repeats, n).

    The deviation of one repeat is 0.
    """
    n_repeats, mean = len(values), values.mean(axis=0)
    std = values.std(axis=0, ddof=1) if n_repeats > 1 else np.zeros_like(mean)
    std = rounded(np.where(std > ROUNDING * np.abs(mean), std, 0.0))
    return Curve(label, rounded(x), rounded(mean), std, n_repeats, values=values, **more)


def axis_label(metric: Metric) -> str:
    """Return the label of an axis that shows a metric."""
    words = WORDS.get(metric.name, metric.name.replace("_", " "))
    return f"{words} ({metric.unit})" if metric.unit else words
