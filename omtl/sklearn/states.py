"""Rows for compiled code, and the arrays of states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows, rows_of, square_norms
from omtl.kernel.resumed_loop import Batch

SUMMED_AT_ONCE = 8192
"""For longer rows, NumPy's sums over an array depend on a row's position in it."""


def rows_in(X: np.ndarray | sparse.csr_array) -> Rows:
    """Return rows for compiled code: writable, because this is part of the type.

    Sparse ones must be canonical (`omtl.data.validation`).
    """
    if not sparse.issparse(X) and not X.flags.writeable:
        X = X.copy()
    return rows_of(X)


def norms_of(X: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return each row's squared norm, shape (n_rows,), bit-identical alone and among others.

    Dense rows that NumPy does not sum in one go are processed one by one.
    """
    if isinstance(X, sparse.csr_array) or X.shape[1] <= SUMMED_AT_ONCE:
        return square_norms(X)
    return np.array([square_norms(row[None])[0] for row in X])


def one_of(batch: Batch, i: int) -> Batch:
    """Return a batch of one example."""
    rows = batch.rows
    if isinstance(rows, SparseRows):
        rows = rows._replace(indptr=rows.indptr[i : i + 2])
    else:
        rows = DenseRows(rows.X[i : i + 1])
    return Batch(rows, *(each[i : i + 1] for each in batch[1:]))


def restore(estimator: object, attributes: dict[str, Any]) -> None:
    """Give an estimator back the attributes that it had."""
    vars(estimator).clear()
    vars(estimator).update(attributes)


@contextmanager
def undone_on_error(estimator: object) -> Iterator[None]:
    """Restore an estimator if its new stream does not begin.

    Its number of features would not be that of its old state, which compiled code would leave.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        restore(estimator, before)
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
