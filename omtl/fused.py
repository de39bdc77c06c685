"""Products and steps that are taken in one pass: what they have in common is read once.

They are those of `omtl.ops`, to the bit. Sparse rows gain nothing from most of them, and have them
one by one.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from omtl.ops import (
    BORROWED,
    DenseRows,
    Rows,
    axpy,
    axpy_one,
    axpys,
    dense_dots,
    dense_row_dots,
    dot,
    dot_one,
)


def dot_three(
    u: np.ndarray, v: np.ndarray, w: np.ndarray, rows: Rows, i: int
) -> tuple[float, float, float]:
    """Return the inner products of three dense vectors and row `i`."""
    return dot(u, rows, i), dot(v, rows, i), dot(w, rows, i)


def dot_all(W: np.ndarray, rows: Rows, i: int, first: int, last: int, out: np.ndarray) -> None:
    """Put the inner products of row `i` and ``W[first:last]`` in ``out[first:last]``.

    Parameters
    ----------
    W : ndarray of shape (n_vectors, at least n_features)
        The vectors, from `omtl.ops.zero_vectors`.
    rows, i, first, last, out
        The row, which of the vectors, and memory of shape (n_vectors,).
    """
    for j in range(first, last):
        out[j] = dot_one(W, j, rows, i)


def axpy_two(a: float, v: np.ndarray, b: float, w: np.ndarray, rows: Rows, i: int) -> None:
    """Add `a` times row `i` to `v` and `b` times it to `w`, in place."""
    axpy(a, rows, i, v)
    axpy(b, rows, i, w)


def axpys_where(
    a: np.ndarray,
    rows: Rows,
    i: int,
    first: int,
    last: int,
    which: np.ndarray,  # noqa: ARG001
    W: np.ndarray,
) -> None:
    """Take the steps of `omtl.ops.axpys`, where all of `a` but ``a[which]`` is zero."""
    axpys(a, rows, i, first, last, W)


def axpy_all(a: np.ndarray, rows: Rows, which: np.ndarray, n: int, w: np.ndarray) -> None:
    """Add ``a[e]`` times row ``which[e]`` to a dense vector, in turn for e below `n`, in place."""
    for e in range(n):
        axpy(a[e], rows, which[e], w)


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(dot_three, jit_options=BORROWED)
def _dot_three(u, v, w, rows, i):  # noqa: ARG001
    def dense(u, v, w, rows, i):
        return dense_dots(u, v, w, rows.X[i])

    def compressed(u, v, w, rows, i):
        return dot(u, rows, i), dot(v, rows, i), dot(w, rows, i)

    return dense if rows.instance_class is DenseRows else compressed


@overload(dot_all, jit_options=BORROWED)
def _dot_all(W, rows, i, first, last, out):  # noqa: ARG001
    def dense(W, rows, i, first, last, out):
        dense_row_dots(W, rows.X[i], first, last, out)

    def one_by_one(W, rows, i, first, last, out):
        for j in range(first, last):
            out[j] = dot_one(W, j, rows, i)

    return dense if rows.instance_class is DenseRows else one_by_one


@overload(axpy_two, jit_options=BORROWED)
def _axpy_two(a, v, b, w, rows, i):  # noqa: ARG001
    def dense(a, v, b, w, rows, i):
        for k in range(v.size):
            v[k] += a * rows.X[i, k]
            w[k] += b * rows.X[i, k]

    def compressed(a, v, b, w, rows, i):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            k = np.uint32(rows.indices[e])
            v[k] += a * rows.values[e]
            w[k] += b * rows.values[e]

    return dense if rows.instance_class is DenseRows else compressed


@overload(axpys_where, jit_options=BORROWED)
def _axpys_where(a, rows, i, first, last, which, W):  # noqa: ARG001
    def dense(a, rows, i, first, last, which, W):  # noqa: ARG001
        for e in range(which.size):
            if a[which[e]] != 0.0:
                axpy_one(a[which[e]], rows, i, which[e], W)

    def compressed(a, rows, i, first, last, which, W):  # noqa: ARG001
        axpys(a, rows, i, first, last, W)

    return dense if rows.instance_class is DenseRows else compressed


@overload(axpy_all, jit_options=BORROWED)
def _axpy_all(a, rows, which, n, w):  # noqa: ARG001
    def by_three(a, rows, which, n, w):
        whole = n - n % 3
        for e in range(0, whole, 3):
            r, s, t = a[e], a[e + 1], a[e + 2]
            x, y, z = rows.X[which[e]], rows.X[which[e + 1]], rows.X[which[e + 2]]
            for k in range(x.size):
                w[k] = ((w[k] + r * x[k]) + s * y[k]) + t * z[k]
        for e in range(whole, n):
            axpy(a[e], rows, which[e], w)

    def one_by_one(a, rows, which, n, w):
        for e in range(n):
            axpy(a[e], rows, which[e], w)

    return by_three if rows.instance_class is DenseRows else one_by_one
