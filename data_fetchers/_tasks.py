"""From parsed examples to tasks: which tasks, which examples of each, and which labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data_fetchers._checks import checked_choices
from omtl.data.streams import RealTasks, Tasks, in_given_order
from omtl.util.errors import UserError

MEANS = ("all", "task")


def in_tasks(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of all tasks, one task after the other, and the task of each."""
    return np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(each) for each in rows])


def selected(tasks: Tasks, names: Sequence[str]) -> Tasks:
    """Return the tasks with these names, in this order."""
    own = dict(zip(tasks.names, in_given_order(tasks), strict=True))
    order, task = in_tasks([own[name] for name in names])
    return Tasks(tasks.X[order], tasks.y[order], task, tuple(names))


def sizes(tasks: Tasks, what: str = "examples", positive: str = "positive") -> dict[str, int]:
    """Return the number of each task's examples, and of those with label +1."""
    return {
        f"{name}: {kind}": int(count)
        for name, own in zip(tasks.names, in_given_order(tasks), strict=True)
        for kind, count in ((what, own.size), (positive, np.sum(tasks.y[own] > 0)))
    }


def sampled(
    where: str, tasks: Tasks, per_task: int | None, seed: int | None, positives: float | None = None
) -> Tasks:
    """Return the tasks with a fixed number of examples each.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    tasks : Tasks
    per_task : int, optional
        Number of examples to keep per task, in their order; default: all.
    seed : int, optional
        Seed of a draw without replacement, task by task; None for the first examples of each task.
    positives : float, optional
        Share of the kept examples with label +1, each class by itself; default: as they come.

    Raises
    ------
    UserError
        If a task has too few examples.
    """
    if per_task is None:
        return tasks
    rng = None if seed is None else np.random.default_rng(seed)
    kept = []
    for name, own in zip(tasks.names, in_given_order(tasks), strict=True):
        pools = [(own, per_task)]
        if positives is not None:
            n_positive, is_positive = round(positives * per_task), tasks.y[own] > 0
            pools = [(own[is_positive], n_positive), (own[~is_positive], per_task - n_positive)]
        for pool, wanted in pools:
            if not 0 <= wanted <= pool.size:
                raise UserError(
                    f"{where}: {name} has {pool.size} examples to take {wanted} from; set a "
                    "smaller per_task" + ("." if positives is None else ", or other positives.")
                )
        parts = [p[:n] if rng is None else rng.choice(p, n, replace=False) for p, n in pools]
        kept.append(np.sort(np.concatenate(parts)))
    return tasks.taken(np.concatenate(kept))


def above_mean(where: str, real: RealTasks, mean_of: str | None, n_tasks: int | None) -> Tasks:
    """Return the first tasks, with classes instead of targets if a mean is given.

    Parameters
    ----------
    where : str
        The data set's name, for the message.
    real : RealTasks
    mean_of : {"all", "task"}, optional
        The label is +1 if the target is above the mean of all targets or of the task's own;
        default: the targets stay.
    n_tasks : int, optional
        Number of tasks to keep, the first ones; default: all.

    Raises
    ------
    UserError
        If an option has another value.
    """
    if n_tasks is not None:
        checked_choices(where, "n_tasks", [n_tasks], range(1, len(real.names) + 1))
    kept = np.flatnonzero(real.task < (n_tasks or len(real.names)))
    parts = real.X[kept], real.y[kept], real.task[kept], real.names[:n_tasks]
    if mean_of is None:
        return RealTasks(*parts)
    checked_choices(where, "above_mean_of", [mean_of], MEANS)
    X, y, task, names = parts
    means = np.bincount(real.task, weights=real.y) / np.bincount(real.task)
    mean = real.y.mean() if mean_of == "all" else means[task]
    return Tasks(X, np.where(y > mean, 1.0, -1.0), task, names)
