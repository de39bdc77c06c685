"""The weight vectors of all tasks, read together in one pass over a row.

They are a `Network` of a single node: side by side for dense rows, and feature by feature for
sparse ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.rows import Rows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.network import Network, axpy_slots, dot_slots, network
from omtl.kernel.products import axpy_all
from omtl.kernel.rules import Shape, row_at


class TaskVectors(NamedTuple):
    """One vector w_k for each task, ``net.vectors`` in the layout of a network of one node.

    ``net.products`` are the products with the last row; `taken`, of shape (n_tasks,), is memory for
    the examples that a task adds.
    """

    net: Network
    taken: np.ndarray


def task_vectors(shape: Shape) -> TaskVectors:
    """Return zero vectors."""
    net = network(shape._replace(mixing=np.ones((1, 1))), n_slots=shape.n_tasks)
    return TaskVectors(net, np.zeros(shape.n_tasks, dtype=np.int64))


@inlined
def dot_task(W, k, x):
    """Return w_k·x."""
    dot_slots(W.net, x, k, k + 1)
    return W.net.products[k]


@inlined
def dot_tasks(W, x):
    """Compute the products of `x` with all vectors; `product` then returns them."""
    dot_slots(W.net, x, 0, W.taken.size)


@inlined
def add_to_task(W, k, a, x):
    """Add `a` times `x` to w_k."""
    W.net.steps[k] = a
    axpy_slots(W.net, x, k, k + 1)


@inlined
def product(W, k):
    """Return the product of w_k with the last row."""
    return W.net.products[k]


@inlined
def hinge_losses(W, rows, given, loss):
    """Write (1 − y_j w_k·x_j)_+ to ``loss[k, j]``, and 0 for a task j without an example."""
    m = W.taken.size
    for j in range(m):
        y = given.label[j]
        if y != 0.0:
            dot_tasks(W, row_at(rows, given.example[j]))
            for k in range(m):
                loss[k, j] = max(0.0, 1.0 - y * product(W, k))
        else:
            for k in range(m):
                loss[k, j] = 0.0


@inlined
def _add_by_example(W, A, rows, examples):
    m = W.taken.size
    for j in range(m):
        any_step = False
        for k in range(m):
            W.net.steps[k] = A[k, j]
            any_step |= A[k, j] != 0.0
        if any_step:
            axpy_slots(W.net, row_at(rows, examples[j]), 0, m)


def _add_by_task(W, A, rows, examples):
    for k in range(W.taken.size):
        n = 0
        for j in range(W.taken.size):
            if A[k, j] != 0.0:
                W.net.steps[n] = A[k, j]
                W.taken[n] = examples[j]
                n += 1
        axpy_all(W.net.steps, rows, W.taken, n, W.net.vectors[k])


@by_rows(dense=_add_by_task)
def add_combinations(W: TaskVectors, A: np.ndarray, rows: Rows, examples: np.ndarray) -> None:
    """Add Σ_j A_kj x_j to w_k, where x_j is row ``examples[j]``; zeros of A cost nothing."""
    _add_by_example(W, A, rows, examples)
