"""The learning curves of single tasks: the cumulative error rate of each, axes beside axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result
from omtl.figures.panels.axes import Axes, Line, PlannedPanel, Played
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return axes for each of the panel's `tasks` (by name), one line per method.

    Raises
    ------
    UserError
        If the data set has no task of that name.
    """
    names = list(played[0].results[0].facts["task_names"])
    parts = []
    for task in panel.description.tasks:
        if task not in names:
            raise UserError(f"task_curves: no task {task!r}; there are {', '.join(names)}")
        k = names.index(task)
        lines = tuple(_of_task(one, k) for one in played)
        parts.append(Axes("examples of the task", "cumulative error rate (%)", lines, title=task))
    return parts


def _of_task(one: Played, k: int) -> Line:
    seen = one.results[0].arrays["seen_by_task"][:, k]
    moving = np.flatnonzero(np.diff(seen, prepend=0))  # until its examples run out

    def rates(result: Result, point: int) -> np.ndarray:
        if result.arrays["diverged"][point] > 0:  # wrong throughout, as in the tables
            return np.full(moving.size, METRICS["error"].worst)
        return 100.0 * result.arrays["checkpoint_by_task"][point, moving, k] / seen[moving]

    return one.drawn(seen[moving], rates)
