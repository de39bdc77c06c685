"""Products with rows and steps along them, written once for dense and for sparse rows.

Each operation is a plain Python function (the slow path, which the tests compare with) and has a
compiled form, chosen by the kind of rows.

Sums are taken in a fixed order, which does not depend on the machine's vector width: the same bits
on every CPU, at the speed of its vector unit. The product of one vector has 16 interleaved sums on
a dense row, and four on a sparse one. Products and steps of several vectors in one pass are
bit-identical to those one by one; in groups of three they are 1.15 to 1.25 times as fast on dense
rows, and sparse rows gain nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import numpy as np
from numba import TypingError

from omtl.data.rows import DenseRows
from omtl.kernel.inlining import by_rows, chosen, compiled_as, forms, inlined, rows_kind
from omtl.kernel.lanes import SUMS, lane_sums
from omtl.kernel.rules import Example


@compiled_as(lambda a, b: lane_sums((a,), (b,))[0])
def dense_dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return the inner product of two contiguous dense vectors."""
    return float(a @ b)


def _dense_row_dots(W, x, first, last, out):
    whole = last - (last - first) % 3
    for start in range(first, whole, 3):
        k = np.uint32(start)
        out[k], out[k + 1], out[k + 2] = lane_sums((W[k], W[k + 1], W[k + 2]), (x,))
    for j in range(whole, last):
        out[j] = lane_sums((W[j],), (x,))[0]


@compiled_as(_dense_row_dots)
def dense_row_dots(W: np.ndarray, x: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    """Write the products of ``W[first:last]`` and a dense row to ``out[first:last]``, in threes."""
    out[first:last] = W[first:last] @ x


@inlined
def sparse_dot(w, x):
    """Return the inner product of a dense vector, possibly a column, and a sparse row."""
    start, stop = x.rows.indptr[x.i], x.rows.indptr[x.i + 1]
    whole = stop - (stop - start) % SUMS
    s0 = s1 = s2 = s3 = 0.0
    for k in range(start, whole, SUMS):
        s0 += w[np.uint32(x.rows.indices[k])] * x.rows.values[k]
        s1 += w[np.uint32(x.rows.indices[k + 1])] * x.rows.values[k + 1]
        s2 += w[np.uint32(x.rows.indices[k + 2])] * x.rows.values[k + 2]
        s3 += w[np.uint32(x.rows.indices[k + 3])] * x.rows.values[k + 3]
    for k in range(whole, stop):
        s0 += w[np.uint32(x.rows.indices[k])] * x.rows.values[k]
    return (s0 + s2) + (s1 + s3)


@inlined
def sparse_axpy(a, x, w):
    """Add `a` times a sparse row to a dense vector, possibly a column."""
    for k in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        w[np.uint32(x.rows.indices[k])] += a * x.rows.values[k]


TOGETHER = 4
"""Number of indices of each of two sparse rows that are compared at once: most have none in common,
and no processor predicts which is smaller."""


@inlined
def any_common(indices, mine, its):
    """Return whether two groups of `TOGETHER` indices, starting at these places, intersect."""
    any_is = False
    for k in range(TOGETHER):
        for e in range(TOGETHER):
            any_is |= indices[np.uint64(mine + k)] == indices[np.uint64(its + e)]
    return any_is


@inlined
def add_common(total, rows, mine, my_end, its, its_end):
    """Add the products of values at common indices of two parts of sparse rows to `total`."""
    while mine < my_end and its < its_end:
        my_index, its_index = rows.indices[mine], rows.indices[its]
        if my_index == its_index:
            total += rows.values[mine] * rows.values[its]
        mine += my_index <= its_index
        its += its_index <= my_index
    return total


@inlined
def merged_dot(x, z):
    """Return the inner product of two sparse rows."""
    total = 0.0
    rows = x.rows
    mine, its = rows.indptr[x.i], rows.indptr[z.i]
    my_end, its_end = rows.indptr[x.i + 1], rows.indptr[z.i + 1]
    while mine + TOGETHER <= my_end and its + TOGETHER <= its_end:
        if any_common(rows.indices, mine, its):
            total = add_common(total, rows, mine, mine + TOGETHER, its, its + TOGETHER)
        my_last, its_last = rows.indices[mine + TOGETHER - 1], rows.indices[its + TOGETHER - 1]
        mine += TOGETHER * (my_last <= its_last)
        its += TOGETHER * (its_last <= my_last)
    return add_common(total, rows, mine, my_end, its, its_end)


@inlined
def sum_of_squares(w):
    """Return the squared norm of a vector, in the order of its components."""
    total = 0.0
    for e in range(w.size):
        total += w[e] * w[e]
    return total


def _dense_dot_of(w, x):
    return lane_sums((w,), (x.rows.X[x.i],))[0]


def _dot_of(w: Any, x: Any) -> Callable:
    if w.layout != "C":
        raise TypingError("dot needs contiguous vectors: keep each weight vector in one row")
    return _dense_dot_of if rows_kind(x) is DenseRows else sparse_dot


def dot(w: np.ndarray, x: Example) -> float:
    """Return the inner product of a dense vector and `x`."""
    if isinstance(x.rows, DenseRows):
        return float(w @ x.rows.X[x.i])
    part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    return float(w[x.rows.indices[part]] @ x.rows.values[part])


chosen(dot, _dot_of)


def _dense_axpy(a, x, w):
    for k in range(w.size):
        w[k] += a * x.rows.X[x.i, k]


@by_rows(dense=_dense_axpy, sparse=sparse_axpy)
def axpy(a: float, x: Example, w: np.ndarray) -> None:
    """Add `a` times `x` to a dense vector, in place."""
    if isinstance(x.rows, DenseRows):
        w += a * x.rows.X[x.i]
    else:
        part = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
        w[x.rows.indices[part]] += a * x.rows.values[part]


def _dense_row_dot(x, z):
    return dense_dot(x.rows.X[x.i], z.rows.X[z.i])


row_dot = forms(_dense_row_dot, merged_dot)
"""Return the inner product of examples of the same rows; sparse rows need ascending indices."""


def each_feature(step: Callable) -> Any:
    """Extend a step on one feature, ``step(f, value, …)``, to all of an example: ``(x, …)``."""
    one = inlined(step)

    def dense(x, *rest):
        for f in range(x.rows.X.shape[1]):
            one(f, x.rows.X[x.i, f], *rest)

    def sparse(x, *rest):
        for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
            one(np.uint32(x.rows.indices[e]), x.rows.values[e], *rest)

    return wraps(step)(forms(dense, sparse))


def sum_of_features(term: Callable) -> Any:
    """Extend a term of one feature, ``term(f, value, …)``, to its sum over an example."""
    one = inlined(term)

    def dense(x, *rest):
        total = 0.0
        for f in range(x.rows.X.shape[1]):
            total += one(f, x.rows.X[x.i, f], *rest)
        return total

    def sparse(x, *rest):
        total = 0.0
        for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
            total += one(np.uint32(x.rows.indices[e]), x.rows.values[e], *rest)
        return total

    return wraps(term)(forms(dense, sparse))


@sum_of_features
def row_sum(f, value):  # noqa: ARG001
    """Return the sum of the components of an example: ``row_sum(x)``."""
    return value


@inlined
def rescale(w, a):
    """Multiply a dense vector by `a`, in place."""
    for k in range(w.size):
        w[k] *= a


@inlined
def dense_axpys(a, x, first, last, W):
    """Add ``a[j]`` times a dense row to each vector ``W[j]`` from `first` to before `last`."""
    for j in range(first, last):
        if a[j] != 0.0:
            axpy(a[j], x, W[j])


def _dense_nonzeros(x):
    for f in range(x.rows.X.shape[1]):
        value = x.rows.X[x.i, f]
        if value != 0.0:
            yield f, value


def _sparse_nonzeros(x):
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        value = x.rows.values[e]
        if value != 0.0:
            yield np.uint32(x.rows.indices[e]), value


@by_rows(dense=_dense_nonzeros, sparse=_sparse_nonzeros)
def nonzeros(x: Example) -> Iterator[tuple[int, float]]:
    """Yield each nonzero feature of `x` with its value, in ascending order.

    It works in plain Python and in compiled rules, for dense and for sparse rows alike::

        for f, value in nonzeros(x):
            w[f] += step * value / np.sqrt(square[f])

    Compiled, the loop costs as much as a loop over the row's arrays: O(nonzeros) for sparse rows,
    O(n_features) for dense ones.

    Yields
    ------
    feature : int
        From 0 to n_features − 1.
    value : float
    """
    yield from (_dense_nonzeros if isinstance(x.rows, DenseRows) else _sparse_nonzeros)(x)
