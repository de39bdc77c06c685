"""Iterating over a row feature by feature, for learners that treat features separately."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omtl.data.rows import DenseRows
from omtl.kernel.inlining import by_rows
from omtl.kernel.rules import Example


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
