"""The first examples of each task."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from omtl.data.streams import Tasks
from omtl.util.errors import UserError


def first(where: str, tasks: Tasks, per_task: int) -> Tasks:
    """Return the tasks with their first examples only.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    tasks : Tasks
    per_task : int
        Number of examples to keep per task.

    Raises
    ------
    UserError
        If a task has too few examples.
    """
    own = [np.flatnonzero(tasks.task == k) for k in range(len(tasks.names))]
    for name, rows in zip(tasks.names, own, strict=True):
        if not 0 < per_task <= rows.size:
            raise UserError(
                f"{where}: {name} has {rows.size} examples; set per_task to a number from 1 to that"
            )
    kept = np.concatenate([rows[:per_task] for rows in own])
    return replace(tasks, X=tasks.X[kept], y=tasks.y[kept], task=tasks.task[kept])
