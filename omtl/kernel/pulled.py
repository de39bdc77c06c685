"""Task vectors that are pulled towards a common one, at the cost of a row's nonzeros."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.rows import DenseRows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.lanes import axpy_columns, dot_columns
from omtl.kernel.many_vectors import axpys
from omtl.kernel.products import axpy, dot, rescale
from omtl.kernel.rules import Example, Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, long before it could underflow."""


class Pulled(NamedTuple):
    """A common vector w and each task's own, u^k = pull[k] · w + scale[k] · own[k].

    `vectors` has the tasks' own vectors and, last, w: as rows for dense rows, and as columns for
    sparse ones, so that all values of a feature lie together. On dense rows pull stays 0 and scale
    1: own[k] is u^k. On sparse rows a pull changes two numbers, and each own vector compensates a
    step of w: nothing costs O(features) per example.

    `products` are the vectors' products with the last scored example, and `steps` belong to the
    example to be added, both of shape (n_tasks + 1,).
    """

    vectors: np.ndarray
    pull: np.ndarray
    scale: np.ndarray
    products: np.ndarray
    steps: np.ndarray


def pulled(shape: Shape) -> Pulled:
    """Return zero vectors."""
    n, d = shape.n_tasks + 1, shape.n_features
    return Pulled(
        vectors=np.zeros((d, n) if shape.sparse else (n, d)),
        pull=np.zeros(shape.n_tasks),
        scale=np.ones(shape.n_tasks),
        products=np.zeros(n),
        steps=np.zeros(n),
    )


@inlined
def pulled_dot(state, x, k):
    """Return u^k·x."""
    take_products(state, x, k)
    own = state.scale[k] * state.products[k]
    if state.pull[k] == 0.0:
        return own
    return own + state.pull[k] * state.products[state.pull.size]


@inlined
def common_dot(state):
    """Return w·x for the row of the last call of `pulled_dot`."""
    return state.products[state.pull.size]


def _dense_products(state, x, k):
    state.products[k] = dot(state.vectors[k], x)
    state.products[state.pull.size] = dot(state.vectors[state.pull.size], x)


def _sparse_products(state, x, k):
    dot_columns(state.vectors, x, 1, (k, state.pull.size), state.products)


@by_rows(dense=_dense_products, sparse=_sparse_products)
def take_products(state: Pulled, x: Example, k: int) -> None:
    """Write own[k]·x and w·x to `products`; each is bit-identical to `dot`."""
    vectors = state.vectors if isinstance(x.rows, DenseRows) else state.vectors.T
    for j in (k, -1):
        state.products[j] = dot(vectors[j], x)


def _dense_pull(state, x, k, mu, a):
    own, w = state.vectors[k], state.vectors[state.pull.size]
    for f in range(w.size):
        own[f] = (mu * w[f] + (1.0 - mu) * own[f]) + a * x.rows.X[x.i, f]


@inlined
def _sparse_pull(state, x, k, mu, a):
    own = state.vectors.T[k]
    state.pull[k] = mu + (1.0 - mu) * state.pull[k]
    state.scale[k] *= 1.0 - mu
    if state.scale[k] < SMALLEST_SCALE:
        rescale(own, state.scale[k])
        state.scale[k] = 1.0
    if a != 0.0:
        axpy(a / state.scale[k], x, own)


@by_rows(dense=_dense_pull, sparse=_sparse_pull)
def pull_and_add(state: Pulled, x: Example, k: int, mu: float, a: float) -> None:
    """Set u^k to μ w + (1−μ) u^k plus `a` times `x`."""
    if isinstance(x.rows, DenseRows):
        w, own = state.vectors[-1], state.vectors[k]
        own[:] = (mu * w + (1.0 - mu) * own) + a * x.rows.X[x.i]
    else:
        _sparse_pull(state, x, k, mu, a)


def _add_to_columns(state, x):
    axpy_columns(state.vectors, x, state.steps.size, (0,), state.steps)


@by_rows(dense=_add_to_columns, sparse=_add_to_columns)
def add_to_all(state: Pulled, x: Example) -> None:
    """Add a sparse row, scaled by `steps`, to all vectors."""
    axpys(state.steps, x, 0, state.steps.size, state.vectors.T)


def _dense_add_to_common(state, x, mu, a):  # noqa: ARG001
    axpy(a, x, state.vectors[state.pull.size])


@inlined
def _sparse_add_to_common(state, x, mu, a):
    n_tasks = state.pull.size
    if mu == 0.0:
        axpy(a, x, state.vectors.T[n_tasks])
        return
    for j in range(n_tasks):
        state.steps[j] = -a * state.pull[j] / state.scale[j]
    state.steps[n_tasks] = a
    add_to_all(state, x)


@by_rows(dense=_dense_add_to_common, sparse=_sparse_add_to_common)
def add_to_common(state: Pulled, x: Example, mu: float, a: float) -> None:
    """Add `a` times `x` to w, and keep all u^k unchanged."""
    if isinstance(x.rows, DenseRows):
        axpy(a, x, state.vectors[-1])
    else:
        _sparse_add_to_common(state, x, mu, a)
