"""Subsets of the tasks, and of each task's examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.data.streams import Tasks, in_given_order
from omtl.util.errors import UserError


def in_tasks(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all tasks, one task after the other, and the task of each."""
    return np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(each) for each in rows])


def selected(tasks: Tasks, names: Sequence[str]) -> Tasks:
    """Return the tasks with these names, in this order."""
    own = dict(zip(tasks.names, in_given_order(tasks), strict=True))
    order, task = in_tasks([own[name] for name in names])
    return Tasks(tasks.X[order], tasks.y[order], task, tuple(names))


def sizes(tasks: Tasks) -> list[tuple[int, int]]:
    """Return the number of each task's examples, and of those with label +1."""
    return [(own.size, int(np.sum(tasks.y[own] > 0))) for own in in_given_order(tasks)]


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
    own = in_given_order(tasks)
    for name, rows in zip(tasks.names, own, strict=True):
        if not 0 < per_task <= rows.size:
            raise UserError(
                f"{where}: {name} has {rows.size} examples; set per_task to a number from 1 to that"
            )
    return tasks.taken(np.concatenate([rows[:per_task] for rows in own]))


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
    for name, own in zip(tasks.names, in_given_order(tasks), strict=True):
        pools = [(own, per_task)]
        if positives is not None:
            n_positive, is_positive = round(positives * per_task), tasks.y[own] > 0
            pools = [(own[is_positive], n_positive), (own[~is_positive], per_task - n_positive)]
        for pool, wanted in pools:
            if not 0 <= wanted <= pool.size:
                raise UserError(
                    f"{where}: {name} has {pool.size} examples to draw {wanted} from; set a "
                    "smaller per_task" + ("." if positives is None else ", or other positives.")
                )
        kept += [np.sort(np.concatenate([rng.choice(p, n, replace=False) for p, n in pools]))]
    return tasks.taken(np.concatenate(kept))
