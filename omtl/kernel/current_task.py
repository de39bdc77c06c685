"""The gradients of the current task, for learners that take a step when it ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.products import axpy


class CurrentTask(NamedTuple):
    """The current task, and the sum G of its n gradients since the previous task.

    Parameters
    ----------
    G : ndarray of shape (n_features,)
    n, task : ndarray of shape (1,), int64
    """

    G: np.ndarray
    n: np.ndarray
    task: np.ndarray


def no_task(n_features: int) -> CurrentTask:
    """Return no gradients."""
    return CurrentTask(np.zeros(n_features), np.zeros(1, np.int64), np.zeros(1, np.int64))


@inlined
def has_ended(current, x):
    """Return whether the current task has gradients, and ends because another's example arrives."""
    return current.n[0] > 0 and current.task[0] != x.task


@inlined
def add_gradient(current, s, x):
    """Add the gradient s x of an example, whose task is now the current one."""
    axpy(s, x, current.G)
    current.task[0] = x.task
    current.n[0] += 1


@inlined
def forget_gradients(current):
    """Forget the gradients of a task that has ended."""
    for j in range(current.G.size):
        current.G[j] = 0.0
    current.n[0] = 0
