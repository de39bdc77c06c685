"""The average cumulative error rate of a lifelong stream against the tasks met so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result
from omtl.figures.panels.axes import Axes, PlannedPanel, Played
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the mean error rate of the tasks met so far against their number, one line per method.

    Published final rates are marked, unless the panel is a `stand_in` for data that the paper has.
    """
    lines = tuple(
        one.drawn(1 + np.arange(one.results[0].arrays["examples"].size), average_errors)
        for one in played
    )
    marks = () if panel.description.stand_in else panel.marks(played)
    return [Axes("tasks met", "average cumulative error rate (%)", lines, marks=marks)]


def task_ends(result: Result) -> np.ndarray:
    """Return at which checkpoints each task of a lifelong stream ends, shape (n_tasks,).

    Raises
    ------
    UserError
        If the result is of a stream of another kind.
    """
    seen, sizes = result.arrays["seen"], result.arrays["examples"]
    ends = np.append(np.arange(sizes.size - 1), seen.size - 1)
    # Which task came when is not stored, but the sizes must be those of the tasks in some order.
    met = np.diff(seen[ends], prepend=0) if ends[-1] >= sizes.size - 1 else np.empty(0)
    if not np.array_equal(np.sort(met), np.sort(sizes)):
        raise UserError(
            "the panel needs tasks that come one after the other; choose the protocol lifelong"
        )
    return ends


def average_errors(result: Result, point: int) -> np.ndarray:
    """Return the mean of the tasks' error rates (%) after each task, shape (n_tasks,).

    A play that diverged counts as wrong throughout, as in the tables.
    """
    ends = task_ends(result)
    if result.arrays["diverged"][point] > 0:
        return np.full(ends.size, METRICS["ace"].worst)
    wrong = np.diff(result.arrays["checkpoint_mistakes"][point, ends], prepend=0)
    met = np.diff(result.arrays["seen"][ends], prepend=0)
    return np.cumsum(100.0 * wrong / met) / np.arange(1, ends.size + 1)
