"""Iterating over a row feature by feature, for learners that treat features separately."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omtl.data.rows import DenseRows, Rows
from omtl.kernel.inlining import by_rows


def _dense_nonzeros(rows, i):
    for f in range(rows.X.shape[1]):
        x = rows.X[i, f]
        if x != 0.0:
            yield f, x


def _sparse_nonzeros(rows, i):
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        x = rows.values[e]
        if x != 0.0:
            yield np.uint32(rows.indices[e]), x


@by_rows(dense=_dense_nonzeros, sparse=_sparse_nonzeros)
def nonzeros(rows: Rows, i: int) -> Iterator[tuple[int, float]]:
    """Yield each nonzero feature of row `i` with its value, in ascending order.

    It works in plain Python and in compiled rules, for dense and for sparse rows alike::

        for f, x in nonzeros(rows, event.example):
            w[f] += step * x / np.sqrt(square[f])

    Compiled, the loop costs as much as a loop over the row's arrays: O(nonzeros) for sparse rows,
    O(n_features) for dense ones.

    Yields
    ------
    feature : int
        From 0 to n_features − 1.
    value : float
    """
    yield from (_dense_nonzeros if isinstance(rows, DenseRows) else _sparse_nonzeros)(rows, i)
