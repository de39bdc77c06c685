"""Real targets as two classes, for learners that classify."""

from __future__ import annotations

import numpy as np

from data_fetchers._checks import chosen
from omtl.data.streams import RealTasks, Tasks

MEANS = ("all", "task")


def above_mean(name: str, real: RealTasks, mean_of: str, n_tasks: int | None) -> Tasks:
    """Return tasks whose label is +1 where the target is above a mean.

    Parameters
    ----------
    name : str
        The data set, for errors.
    real : RealTasks
    mean_of : {"all", "task"}
        Whether the mean is that of all targets or of the task's own.
    n_tasks : int or None
        Number of tasks to keep, the first ones; all for None.

    Raises
    ------
    UserError
        An option has another value.
    """
    chosen(name, "mean_of", [mean_of], MEANS)
    if n_tasks is not None:
        chosen(name, "n_tasks", [n_tasks], range(1, len(real.names) + 1))
    counts = np.bincount(real.task)
    means = np.bincount(real.task, weights=real.y) / counts
    if mean_of == "all":
        means = np.full(counts.size, real.y.mean())
    y = np.where(real.y > means[real.task], 1.0, -1.0)
    kept = real.task < (n_tasks or len(real.names))
    return Tasks(real.X[kept], y[kept], real.task[kept], real.names[:n_tasks])
