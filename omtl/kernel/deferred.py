"""Deferred work of learners: steps of a round or a task until its end, and products of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.products import axpy, row_dot
from omtl.kernel.rules import Example


class Steps(NamedTuple):
    """The updates of a round, by task: `weight` times an example, met at a node.

    Shape (n_tasks,) each. A weight of 0 means no update. Loops over the tasks take them one by one:
    a generator that yields them costs compiled code more than the steps.
    """

    weight: np.ndarray
    example: np.ndarray
    node: np.ndarray

    @classmethod
    def none(cls, n_tasks: int) -> Steps:
        """Return a round without updates."""
        return cls(np.zeros(n_tasks), *np.zeros((2, n_tasks), dtype=np.int64))

    def later(self, a, x):
        """Keep the step a x of an example's task until the end of the round."""
        self.weight[x.task] = a
        self.example[x.task] = x.i
        self.node[x.task] = x.node

    def of_task(self, k, rows):
        """Return the weight and the example of the step of task k; the weight is 0 for none."""
        return self.weight[k], Example(rows, self.example[k], k, self.node[k], 0.0, 0)

    def take(self, k, rows):
        """Return the weight and the example of the step of task k, and forget it."""
        a, x = self.of_task(k, rows)
        self.weight[k] = 0.0
        return a, x


class Pairs(NamedTuple):
    """Products of examples with an earlier one, shape (n_examples,) each, or (0,) for none.

    `product[i]` is the product of the rows `i` and `before[i]`, which is -1 if there is none yet.
    All points of a grid meet the same pairs; a single play meets each once, and stores none.
    """

    before: np.ndarray
    product: np.ndarray

    @classmethod
    def none(cls, n_examples: int) -> Pairs:
        """Return storage for products of this many examples."""
        return cls(np.full(n_examples, -1, np.int64), np.zeros(n_examples))

    def dot(self, before, x):
        """Return the inner product of two examples, computed once if it is stored."""
        if x.i >= self.before.size:
            return row_dot(before, x)
        if self.before[x.i] != before.i:
            self.before[x.i] = before.i
            self.product[x.i] = row_dot(before, x)
        return self.product[x.i]


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

    @classmethod
    def none(cls, n_features: int) -> CurrentTask:
        """Return no gradients."""
        return cls(np.zeros(n_features), *np.zeros((2, 1), np.int64))

    def has_ended(self, x):
        """Return whether it has gradients, and ends because another task's example arrives."""
        return self.n[0] > 0 and self.task[0] != x.task

    def add_gradient(self, s, x):
        """Add the gradient s x of an example, whose task is now the current one."""
        axpy(s, x, self.G)
        self.task[0] = x.task
        self.n[0] += 1

    def forget(self):
        """Forget the gradients of a task that has ended."""
        self.G[:] = 0.0
        self.n[0] = 0
