"""Steps with a separate length per feature, as in AdaGrad and AROW."""

from __future__ import annotations

import numpy as np

from omtl.data.rows import DenseRows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.products import dense_weighed_square
from omtl.kernel.rules import Example


def features_of(x: Example) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of `x` and their values; in plain Python only."""
    if isinstance(x.rows, DenseRows):
        return np.arange(x.rows.X.shape[1]), x.rows.X[x.i]
    part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    return x.rows.indices[part], x.rows.values[part]


def _dense_adaptive_axpy(a, x, w, square):
    row = x.rows.X[x.i]
    # No branch, and a quotient that cannot raise, so that it is vectorised.
    for f in range(w.size):
        value = row[f]
        total = square[f] + value * value
        square[f] = total
        w[f] += np.divide(a * value, np.sqrt(total if total > 0.0 else 1.0))


def _sparse_adaptive_axpy(a, x, w, square):
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        value, f = x.rows.values[e], np.uint32(x.rows.indices[e])
        if value != 0.0:
            square[f] += value * value
            w[f] += a * value / np.sqrt(square[f])


@by_rows(dense=_dense_adaptive_axpy, sparse=_sparse_adaptive_axpy)
def adaptive_axpy(a: float, x: Example, w: np.ndarray, square: np.ndarray) -> None:
    """Add the squares of `x` to `square`, then a x_f / √square_f to each ``w[f]``."""
    at, values = features_of(x)
    at, values = at[values != 0.0], values[values != 0.0]
    square[at] += values * values
    w[at] += a * values / np.sqrt(square[at])


def _dense_weighed_square(weights, x):
    return dense_weighed_square(weights, x.rows.X[x.i])


def _sparse_weighed_square(weights, x):
    total = 0.0
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        total += weights[np.uint32(x.rows.indices[e])] * x.rows.values[e] * x.rows.values[e]
    return total


@by_rows(dense=_dense_weighed_square, sparse=_sparse_weighed_square)
def weighed_square(weights: np.ndarray, x: Example) -> float:
    """Return Σ_f weights_f x_f² of `x`."""
    at, values = features_of(x)
    return float(weights[at] @ values**2)


@inlined
def _narrow(a, beta, x, f, w, drop):
    reach = (1.0 - drop[f]) * x
    w[f] += a * reach
    drop[f] += beta * reach * reach


def _dense_posterior(a, beta, x, w, drop):
    for f in range(w.size):
        _narrow(a, beta, x.rows.X[x.i, f], f, w, drop)


def _sparse_posterior(a, beta, x, w, drop):
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        _narrow(a, beta, x.rows.values[e], np.uint32(x.rows.indices[e]), w, drop)


@by_rows(dense=_dense_posterior, sparse=_sparse_posterior)
def update_posterior(a: float, beta: float, x: Example, w: np.ndarray, drop: np.ndarray) -> None:
    """Set w to w + a Σx and Σ to Σ − β Σx xᵀΣ, with the diagonal Σ = 1 − `drop`."""
    at, values = features_of(x)
    reach = (1.0 - drop[at]) * values
    w[at] += a * reach
    drop[at] += beta * reach * reach


def _dense_whitened_dot(v, square, a, x):
    total = 0.0
    for f in range(v.size):
        value = x.rows.X[x.i, f]
        total += v[f] * value / (a + square[f] + value * value)
    return total


def _sparse_whitened_dot(v, square, a, x):
    total = 0.0
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        value, f = x.rows.values[e], np.uint32(x.rows.indices[e])
        total += v[f] * value / (a + square[f] + value * value)
    return total


@by_rows(dense=_dense_whitened_dot, sparse=_sparse_whitened_dot)
def whitened_dot(v: np.ndarray, square: np.ndarray, a: float, x: Example) -> float:
    """Return Σ_f v_f x_f / (a + square_f + x_f²) of `x`."""
    at, values = features_of(x)
    return float(np.sum(v[at] * values / (a + square[at] + values * values)))


def _dense_add_squares(x, square):
    for f in range(square.size):
        square[f] += x.rows.X[x.i, f] * x.rows.X[x.i, f]


def _sparse_add_squares(x, square):
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        square[np.uint32(x.rows.indices[e])] += x.rows.values[e] * x.rows.values[e]


@by_rows(dense=_dense_add_squares, sparse=_sparse_add_squares)
def add_squares(x: Example, square: np.ndarray) -> None:
    """Add the squares of `x` to `square`."""
    at, values = features_of(x)
    square[at] += values * values
