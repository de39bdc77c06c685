"""Steps with a separate length per feature, as in AdaGrad and AROW."""

from __future__ import annotations

import numpy as np

from omtl.data.rows import DenseRows, Rows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.products import dense_weighed_square


def features_of(rows: Rows, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of row `i` and their values; in plain Python only."""
    if isinstance(rows, DenseRows):
        return np.arange(rows.X.shape[1]), rows.X[i]
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.indices[part], rows.values[part]


def _dense_adaptive_axpy(a, rows, i, w, square):
    row = rows.X[i]
    # No branch, and a quotient that cannot raise, so that it is vectorised.
    for f in range(w.size):
        x = row[f]
        total = square[f] + x * x
        square[f] = total
        w[f] += np.divide(a * x, np.sqrt(total if total > 0.0 else 1.0))


def _sparse_adaptive_axpy(a, rows, i, w, square):
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        x, f = rows.values[e], np.uint32(rows.indices[e])
        if x != 0.0:
            square[f] += x * x
            w[f] += a * x / np.sqrt(square[f])


@by_rows(dense=_dense_adaptive_axpy, sparse=_sparse_adaptive_axpy)
def adaptive_axpy(a: float, rows: Rows, i: int, w: np.ndarray, square: np.ndarray) -> None:
    """Add the squares of row `i` to `square`, then a x_f / √square_f to each ``w[f]``."""
    at, x = features_of(rows, i)
    at, x = at[x != 0.0], x[x != 0.0]
    square[at] += x * x
    w[at] += a * x / np.sqrt(square[at])


def _dense_weighed_square(weights, rows, i):
    return dense_weighed_square(weights, rows.X[i])


def _sparse_weighed_square(weights, rows, i):
    total = 0.0
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        total += weights[np.uint32(rows.indices[e])] * rows.values[e] * rows.values[e]
    return total


@by_rows(dense=_dense_weighed_square, sparse=_sparse_weighed_square)
def weighed_square(weights: np.ndarray, rows: Rows, i: int) -> float:
    """Return Σ_f weights_f x_f² of row `i`."""
    at, x = features_of(rows, i)
    return float(weights[at] @ x**2)


@inlined
def _narrow(a, beta, x, f, w, drop):
    reach = (1.0 - drop[f]) * x
    w[f] += a * reach
    drop[f] += beta * reach * reach


def _dense_posterior(a, beta, rows, i, w, drop):
    for f in range(w.size):
        _narrow(a, beta, rows.X[i, f], f, w, drop)


def _sparse_posterior(a, beta, rows, i, w, drop):
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        _narrow(a, beta, rows.values[e], np.uint32(rows.indices[e]), w, drop)


@by_rows(dense=_dense_posterior, sparse=_sparse_posterior)
def update_posterior(
    a: float, beta: float, rows: Rows, i: int, w: np.ndarray, drop: np.ndarray
) -> None:
    """Set w to w + a Σx and Σ to Σ − β Σx xᵀΣ, with the diagonal Σ = 1 − `drop` and row `i` as
    x."""
    at, x = features_of(rows, i)
    reach = (1.0 - drop[at]) * x
    w[at] += a * reach
    drop[at] += beta * reach * reach


def _dense_whitened_dot(v, square, a, rows, i):
    total = 0.0
    for f in range(v.size):
        x = rows.X[i, f]
        total += v[f] * x / (a + square[f] + x * x)
    return total


def _sparse_whitened_dot(v, square, a, rows, i):
    total = 0.0
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        x, f = rows.values[e], np.uint32(rows.indices[e])
        total += v[f] * x / (a + square[f] + x * x)
    return total


@by_rows(dense=_dense_whitened_dot, sparse=_sparse_whitened_dot)
def whitened_dot(v: np.ndarray, square: np.ndarray, a: float, rows: Rows, i: int) -> float:
    """Return Σ_f v_f x_f / (a + square_f + x_f²) of row `i`."""
    at, x = features_of(rows, i)
    return float(np.sum(v[at] * x / (a + square[at] + x * x)))


def _dense_add_squares(rows, i, square):
    for f in range(square.size):
        square[f] += rows.X[i, f] * rows.X[i, f]


def _sparse_add_squares(rows, i, square):
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        square[np.uint32(rows.indices[e])] += rows.values[e] * rows.values[e]


@by_rows(dense=_dense_add_squares, sparse=_sparse_add_squares)
def add_squares(rows: Rows, i: int, square: np.ndarray) -> None:
    """Add the squares of row `i` to `square`."""
    at, x = features_of(rows, i)
    square[at] += x * x
