"""Deferred work of learners: steps of a round or a task until its end, and products of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.products import axpy, row_dot
from omtl.kernel.rules import row_at


class Steps(NamedTuple):
    """The updates of a round, by task: `weight` times an example, met at a node.

    Shape (n_tasks,) each. A weight of 0 means no update.
    """

    weight: np.ndarray
    example: np.ndarray
    node: np.ndarray


def no_steps(n_tasks: int) -> Steps:
    """Return a round without updates."""
    return Steps(
        np.zeros(n_tasks), np.zeros(n_tasks, dtype=np.int64), np.zeros(n_tasks, dtype=np.int64)
    )


@inlined
def defer_step(steps, weight, x):
    """Keep the update from an example until the end of the round."""
    steps.weight[x.task] = weight
    steps.example[x.task] = x.i
    steps.node[x.task] = x.node


@inlined
def defer_hinge_step(steps, eta, x, y, score):
    """Keep the step η y x if the hinge loss is not 0; return whether it is not."""
    if y * score >= 1.0:
        return False
    defer_step(steps, eta * y, x)
    return True


@inlined
def forget_steps(steps):
    """Prepare for a round, without steps so far."""
    for k in range(steps.weight.size):
        steps.weight[k] = 0.0


@inlined
def move_steps(steps, to):
    """Replace all steps in `to` by those in `steps`, where none are left."""
    for k in range(steps.weight.size):
        to.weight[k] = steps.weight[k]
        to.example[k] = steps.example[k]
        to.node[k] = steps.node[k]
    forget_steps(steps)


class Given(NamedTuple):
    """The round's example of each task, its label, and whether the task learns from the round.

    Shape (n_tasks,) each. A label of 0 means no example.
    """

    label: np.ndarray
    example: np.ndarray
    learns: np.ndarray


def nothing_given(n_tasks: int) -> Given:
    """Return a round without examples."""
    example, learns = np.zeros(n_tasks, dtype=np.int64), np.zeros(n_tasks, dtype=np.bool_)
    return Given(np.zeros(n_tasks), example, learns)


@inlined
def keep_example(given, x, y, learns):
    """Keep an example until the end of the round."""
    given.label[x.task], given.example[x.task] = y, x.i
    given.learns[x.task] = learns


@inlined
def forget_examples(given):
    """Prepare for the next round."""
    for k in range(given.label.size):
        given.label[k] = 0.0
        given.learns[k] = False


@inlined
def take_steps(steps, rows, w):
    """Add each task's update to its vector w_k, and forget it."""
    for k in range(steps.weight.size):
        if steps.weight[k] != 0.0:
            axpy(steps.weight[k], row_at(rows, steps.example[k]), w[k])
            steps.weight[k] = 0.0


class Pairs(NamedTuple):
    """Products of examples with an earlier one, shape (n_examples,) each, or (0,) for none.

    `product[i]` is the product of the rows `i` and `before[i]`, which is -1 if there is none yet.
    All points of a grid meet the same pairs; a single play meets each once, and stores none.
    """

    before: np.ndarray
    product: np.ndarray


def no_pairs(n_examples: int) -> Pairs:
    """Return storage for products of this many examples."""
    return Pairs(np.full(n_examples, -1, np.int64), np.zeros(n_examples))


@inlined
def pair_dot(pairs, before, x):
    """Return the inner product of two examples, computed once if it is stored."""
    if x.i >= pairs.before.size:
        return row_dot(before, x)
    if pairs.before[x.i] != before.i:
        pairs.before[x.i] = before.i
        pairs.product[x.i] = row_dot(before, x)
    return pairs.product[x.i]


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
