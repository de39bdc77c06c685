"""Random subsets of each task's examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from omtl.data.streams import Tasks
from omtl.util.errors import UserError


def sampled(
    where: str, tasks: Tasks, per_task: int | None, seed: int, positives: float | None = None
) -> Tasks:
    """Return the tasks with a fixed number of examples each, drawn without replacement.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    tasks : Tasks
    per_task : int, optional
        Number of examples to keep per task, in their order; default: all.
    seed : int
        Seed of the draw, task by task.
    positives : float, optional
        Share of the kept examples with label +1, each class drawn uniformly; default: as drawn.

    Raises
    ------
    UserError
        If a task has too few examples.
    """
    if per_task is None:
        return tasks
    rng = np.random.default_rng(seed)
    kept = []
    for k, name in enumerate(tasks.names):
        own = tasks.task == k
        if positives is None:
            pools = [(np.flatnonzero(own), per_task)]
        else:
            n_positive = round(positives * per_task)
            pools = [
                (np.flatnonzero(own & (tasks.y > 0)), n_positive),
                (np.flatnonzero(own & (tasks.y < 0)), per_task - n_positive),
            ]
        for pool, wanted in pools:
            if not 0 <= wanted <= pool.size:
                raise UserError(
                    f"{where}: {name} has {pool.size} examples to draw {wanted} from; set a "
                    "smaller per_task" + ("." if positives is None else ", or other positives.")
                )
        kept += [np.sort(np.concatenate([rng.choice(p, n, replace=False) for p, n in pools]))]
    rows = np.concatenate(kept)
    return replace(tasks, X=tasks.X[rows], y=tasks.y[rows], task=tasks.task[rows])


def in_tasks(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all tasks, one task after the other, and the task of each."""
    return np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(each) for each in rows])
