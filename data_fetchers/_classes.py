"""Real targets as two classes, for learners that classify."""

from __future__ import annotations

import numpy as np

from data_fetchers._checks import chosen
from omtl.data.streams import RealTasks, Tasks

MEANS = ("all", "task")


def above_mean(name: str, real: RealTasks, mean_of: str) -> Tasks:
    """Return tasks whose label is +1 where the target is above a mean.

    Parameters
    ----------
    name : str
        The data set, for errors.
    real : RealTasks
    mean_of : {"all", "task"}
        Whether the mean is that of all targets or of the task's own.

    Raises
    ------
    UserError
        `mean_of` is neither.
    """
    chosen(name, "mean_of", [mean_of], MEANS)
    counts = np.bincount(real.task)
    means = np.bincount(real.task, weights=real.y) / counts
    if mean_of == "all":
        means = np.full(counts.size, real.y.mean())
    return Tasks(real.X, np.where(real.y > means[real.task], 1.0, -1.0), real.task, real.names)
