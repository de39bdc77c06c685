"""Rows for compiled code, and the arrays of states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows, square_norms
from omtl.data.validation import sound_rows
from omtl.kernel.loop import Batch
from omtl.kernel.one_example import SUMMED_AT_ONCE

FROM_FIRST = np.zeros(1, dtype=np.int64)
"""The places at which sums begin: one sum of everything."""


def norms_of(X: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return each row's squared norm, shape (n_rows,), bit-identical alone and among others.

    Dense rows that NumPy does not sum in one go are processed one by one.
    """
    if isinstance(X, sparse.csr_array) or X.shape[1] <= SUMMED_AT_ONCE:
        return square_norms(X)
    return np.array([square_norms(row[None])[0] for row in X])


def norm_of_sparse(values: np.ndarray) -> float:
    """Return the squared norm of a sparse row, bit-identical to `norms_of`."""
    with np.errstate(over="ignore"):
        squares = values * values
    if np.count_nonzero(squares) < squares.size:
        squares = squares[squares != 0.0]
    return np.add.reduceat(squares, FROM_FIRST)[0] if squares.size else 0.0


def one_row(x: Any, is_sparse: bool) -> Any:
    """Return an example as the only row of a matrix of 64-bit numbers, sparse or dense."""
    if is_sparse:
        row = sound_rows(x) if sparse.issparse(x) else sparse.csr_array(np.atleast_2d(x))
        return row.astype(np.float64, copy=False)
    given = sound_rows(x).toarray() if sparse.issparse(x) else x
    return np.atleast_2d(np.ascontiguousarray(given, dtype=np.float64))


def batch_part(batch: Batch, begin: int, end: int) -> Batch:
    """Return a batch of some examples."""
    rows: Rows = batch.rows
    if isinstance(rows, SparseRows):
        rows = rows._replace(indptr=rows.indptr[begin : end + 1])
    else:
        rows = DenseRows(rows.X[begin:end])
    return Batch(rows, *(each[begin:end] for each in batch[1:]))


@contextmanager
def undone_on_error(estimator: object) -> Iterator[None]:
    """Restore an estimator if its new stream does not begin.

    Its number of features would not be that of its old state, which compiled code would leave.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


# Tuples of arrays, possibly nested


def arrays_of(parts: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays of a state by path."""
    found: dict[str, np.ndarray] = {}
    for name, part in zip(parts._fields, parts, strict=True):
        path = f"{prefix}{name}"
        found |= {path: part} if isinstance(part, np.ndarray) else arrays_of(part, f"{path}/")
    return found


def each_array(
    parts: Any, change: Callable[[str, np.ndarray], np.ndarray], prefix: str = ""
) -> Any:
    """Return a state with each array changed by `change(path, array)`."""
    changed = {}
    for name, part in zip(parts._fields, parts, strict=True):
        path = f"{prefix}{name}"
        if isinstance(part, np.ndarray):
            changed[name] = change(path, part)
        else:
            changed[name] = each_array(part, change, f"{path}/")
    return parts._replace(**changed)
