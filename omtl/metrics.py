"""Metrics: what a number of a table is, in the unit in which the papers print it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

Arrays = Mapping[str, np.ndarray]
"""What a unit leaves, by name (`omtl.harness.unit.Result`)."""


@dataclass(frozen=True)
class Metric:
    """A metric by its name.

    Parameters
    ----------
    name : str
    unit : str
        Unit of the number, as printed.
    lower_is_better : bool
    worst : float
        What a learner gets that diverged.
    of : callable
        ``of(arrays, point, task)`` gives the number of one repeat; `task` is a task's number, or
        None for all tasks.
    """

    name: str
    unit: str
    lower_is_better: bool
    worst: float
    of: Callable[[Arrays, int, int | None], float]


def error(arrays: Arrays, point: int, task: int | None) -> float:
    """Return the cumulative error rate: mistakes per hundred predictions."""
    part = slice(None) if task is None else task
    mistakes = np.sum(arrays["mistakes"][point, part])
    return float(100.0 * mistakes / np.sum(arrays["examples"][part]))


def ace(arrays: Arrays, point: int, task: int | None) -> float:
    """Return the average cumulative error: the mean of the tasks' error rates (AKLO paper)."""
    rates = 100.0 * arrays["mistakes"][point] / arrays["examples"]
    return float(np.mean(rates if task is None else rates[task]))


METRICS = {
    metric.name: metric
    for metric in (
        Metric("error", "%", lower_is_better=True, worst=100.0, of=error),
        Metric("ace", "%", lower_is_better=True, worst=100.0, of=ace),
    )
}
