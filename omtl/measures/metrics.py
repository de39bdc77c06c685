"""The metrics, in the units of the papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]
"""The results of a unit, by name (`omtl.experiment.unit.Result`)."""

Measure = Callable[[Arrays, int, int | None], float]
"""``measure(arrays, point, task)`` is the number of a repeat; None stands for all tasks."""

Measured = tuple[Measure, tuple[str, ...]]
"""A measure with the arrays that it needs."""

Scale = Callable[[Any], Any]
"""What a difference from a published number is a share of, at that number or an array of them."""


@dataclass(frozen=True)
class Metric:
    """A metric.

    Parameters
    ----------
    name : str
    unit : str
        Unit of the number, as printed.
    of : callable
        The number for one repeat (`Measure`).
    needs : tuple of str
        The arrays that it needs.
    worst : float
        The value for a learner that diverged.
    lower_is_better : bool
    timing : bool
        Whether it is a time, which is not comparable across machines.
    ranked : bool
        Whether one number can be better than another.
    by_task : bool
        Whether the number of all tasks is made of those of each.
    rank : int
        Number of ranks that it needs, of a metric of rankings.
    scale : callable
        What differences from a published number are shares of: the number itself, what it lacks of
        a perfect one, or 1.
    """

    name: str
    unit: str
    of: Measure
    needs: tuple[str, ...]
    worst: float = np.inf
    lower_is_better: bool = True
    timing: bool = False
    ranked: bool = True
    by_task: bool = False
    rank: int = 0
    scale: Scale = abs

    @property
    def sign(self) -> float:
        """1 or −1: lower is better for the numbers times this."""
        return 1.0 if self.lower_is_better else -1.0

    @property
    def compares(self) -> bool:
        """Whether it shows which learner is better, on any machine."""
        return self.ranked and not self.timing


def ace(arrays: Arrays, point: int, task: int | None) -> float:
    """Return the average cumulative error: the mean of the tasks' error rates (AKLO paper).

    A task without examples, as in the first part of a stream, is left out.
    """
    if task is not None:
        return ERROR[0](arrays, point, task)
    had = arrays["examples"] > 0
    return float(np.mean(100.0 * arrays["mistakes"][point, had] / arrays["examples"][had]))


def mean_of(name: str) -> Measured:
    """Return the mean of an array over the tasks for which it is defined."""

    def of(arrays: Arrays, point: int, task: int | None) -> float:
        each = arrays[name][point]
        return float(np.nanmean(each) if task is None else each[task])

    return of, (name,)


def value_of(name: str) -> Measured:
    """Return an array's number of each point, the same for all tasks."""
    return lambda arrays, point, task: float(arrays[name][point]), (name,)  # noqa: ARG005


def total_of(name: str) -> Measured:
    """Return the sum of an array over the tasks."""

    def of(arrays: Arrays, point: int, task: int | None) -> float:
        return float(np.sum(arrays[name][point, slice(None) if task is None else task]))

    return of, (name,)


def share_of(some: str, of_all: str, times: float = 1.0) -> Measured:
    """Return one array's share of another, each summed over the tasks."""

    def of(arrays: Arrays, point: int, task: int | None) -> float:
        part = slice(None) if task is None else task
        return float(times * np.sum(arrays[some][point, part]) / np.sum(arrays[of_all][part]))

    return of, (some, of_all)


def at_rank(name: str, k: int) -> Measured:
    """Return what an array of rankings has at rank k (OMTRSL paper)."""

    def of(arrays: Arrays, point: int, task: int | None) -> float:
        if task is None:
            return float(arrays[name][point, k - 1])
        return float(arrays[f"{name}_by_task"][point, task, k - 1])

    return of, (name,)


def lacking(perfect: float) -> Scale:
    """Return the scale of a metric whose perfect value is known: what a number lacks of it.

    An accuracy is so judged as the error rate that it leaves, and no more gently than that.
    """
    return lambda number: perfect - number


def absolute(number: Any) -> Any:
    """Return the scale of a metric whose differences count as they are: 1."""
    return 0.0 * number + 1.0


ERROR = share_of("mistakes", "examples", times=100.0)
"""The cumulative error rate: mistakes per hundred predictions."""

HIGHER: dict[str, Any] = {"worst": 0.0, "lower_is_better": False}

RANKINGS = {"ap": "precision", "map": "average_precision"}
"""Metrics of rankings at a rank, ``ap@1`` to ``map@10``, and the arrays that have them."""

RANKS = (10, *range(1, 10))
"""The first is what a sweeper gets: the papers compare at 10."""

METRICS = {
    metric.name: metric
    for metric in (
        *(
            Metric(f"{short}@{k}", "%", *at_rank(name, k), rank=k, **HIGHER)
            for k in RANKS
            for short, name in RANKINGS.items()
        ),
        Metric("error", "%", *ERROR, worst=100.0),
        Metric("ace", "%", ace, ERROR[1], worst=100.0, by_task=True),
        Metric("auc", "", *mean_of("auc"), scale=lacking(1.0), **HIGHER),
        *(
            Metric(f"{way}_transfer", "", *mean_of(way), scale=absolute, **HIGHER)
            for way in ("forward", "backward")
        ),
        Metric(
            "accuracy", "%", *share_of("right", "tested", 100.0), scale=lacking(100.0), **HIGHER
        ),
        Metric("right", "", *share_of("right", "tested"), scale=lacking(1.0), **HIGHER),
        Metric("wrong", "", *share_of("mistakes", "examples"), worst=1.0),
        Metric("absolute_error", "", *share_of("absolute", "examples")),
        Metric("square_error", "", *share_of("square", "examples")),
        Metric("test_absolute_error", "", *mean_of("test_absolute")),
        Metric("correlation", "", *value_of("correlation"), ranked=False, scale=absolute, **HIGHER),
        Metric("nsv", "examples", *total_of("updates")),  # those that changed the weights
        Metric("mistakes", "examples", *total_of("mistakes")),
        Metric("queries", "labels", *total_of("queries")),
        Metric("queried", "%", *share_of("queries", "examples", times=100.0), worst=100.0),
        Metric("seconds", "s", *value_of("seconds"), timing=True),
        Metric("time", "s", *value_of("seconds"), timing=True),
    )
}
