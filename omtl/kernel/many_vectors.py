"""Products of a row with many dense vectors, and steps of many vectors along it.

The copies of one part of the weights that points of a grid share are stored like this
(`omtl.kernel.sharing`). Each number is bit-identical to `omtl.kernel.products` on one vector at a
time.
"""

from __future__ import annotations

import numpy as np

from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.products import SUMS, axpy, dense_row_dots, dot
from omtl.kernel.rules import Example


@inlined
def _add_products(total, w, x):
    for j in range(total.size):
        total[j] += w[j] * x


def _dense_dots(W, x, first, last, sums):
    dense_row_dots(W, x.rows.X[x.i], first, last, sums[0])


def _sparse_dots(W, x, first, last, sums):
    features = W.T
    start, stop = x.rows.indptr[x.i], x.rows.indptr[x.i + 1]
    whole = stop - (stop - start) % SUMS
    for s in range(SUMS):
        for j in range(first, last):
            sums[s, j] = 0.0
    for k in range(start, stop):
        s = (k - start) % SUMS if k < whole else 0
        weights = features[x.rows.indices[k], first:last]
        _add_products(sums[s, first:last], weights, x.rows.values[k])
    for j in range(first, last):
        sums[0, j] = (sums[0, j] + sums[2, j]) + (sums[1, j] + sums[3, j])


@by_rows(dense=_dense_dots, sparse=_sparse_dots)
def dots(W: np.ndarray, x: Example, first: int, last: int, sums: np.ndarray) -> None:
    """Write the inner products of some dense vectors and `x` to ``sums[0, first:last]``.

    Parameters
    ----------
    W : ndarray of shape (n_vectors, at least n_features)
        The vectors, from `zero_vectors`.
    rows, i, first, last
        The row, and the range of vectors.
    sums : ndarray of shape (SUMS, n_vectors)
        Memory for partial sums. Each product is bit-identical to that of `dot`.
    """
    for j in range(first, last):
        sums[0, j] = dot(np.ascontiguousarray(W[j]), x)


def _dense_axpys(a, x, first, last, W):
    for j in range(first, last):
        if a[j] != 0.0:
            axpy(a[j], x, W[j])


def _sparse_axpys(a, x, first, last, W):
    features, steps = W.T, a[first:last]
    for k in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        _add_products(features[x.rows.indices[k], first:last], steps, x.rows.values[k])


@by_rows(dense=_dense_axpys, sparse=_sparse_axpys)
def axpys(a: np.ndarray, x: Example, first: int, last: int, W: np.ndarray) -> None:
    """Add ``a[j]`` times `x` to ``W[j]`` for j from `first` to `last` - 1, in place.

    `W` is as in `dots`. The steps are bit-identical to those of `axpy`, except for signs of zeros.
    """
    for j in range(first, last):
        axpy(a[j], x, W[j])


def _dense_axpys_of(a, x, first, last, which, W):  # noqa: ARG001
    for e in range(which.size):
        if a[which[e]] != 0.0:
            axpy(a[which[e]], x, W[which[e]])


@by_rows(dense=_dense_axpys_of)
def axpys_of(
    a: np.ndarray,
    x: Example,
    first: int,
    last: int,
    which: np.ndarray,  # noqa: ARG001
    W: np.ndarray,
) -> None:
    """Take the steps of `axpys` if all of `a` except ``a[which]`` is zero."""
    axpys(a, x, first, last, W)


def zero_vectors(n_vectors: int, n_features: int, sparse: bool) -> np.ndarray:
    """Return zero vectors, shape (n_vectors, n_features), for `omtl.kernel.many_vectors`.

    For sparse rows the same feature of all vectors is stored together, so that reading one vector
    caches the others; for dense rows they are one after the other.
    """
    return np.zeros((n_vectors, n_features), order="F" if sparse else "C")
