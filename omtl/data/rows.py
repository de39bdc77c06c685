"""Rows of examples, dense or sparse, labelled or not, in the form that compiled code reads."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse

from omtl.data.streams import Tasks

NO_ARRAY = (
    "a row is not an array, as it may be sparse: use dot(w, x) and axpy(a, x, w) of omtl.ops, or "
    "loop over nonzeros(x); see docs/rows.md"
)
"""What to tell a learner's author who takes an example for a vector."""


class DenseRows(NamedTuple):
    """Rows of a C-ordered array of shape (n_rows, n_features)."""

    X: np.ndarray

    def __getitem__(self, i: Any) -> NoReturn:
        """Refuse an index, which would be that of an array."""
        raise TypeError(NO_ARRAY)


class SparseRows(NamedTuple):
    """Rows of a compressed sparse row matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray

    def __getitem__(self, i: Any) -> NoReturn:
        """Refuse an index, which would be that of an array."""
        raise TypeError(NO_ARRAY)


Rows = DenseRows | SparseRows


def rows_of(X: np.ndarray | sparse.csr_array, copy: bool = True) -> Rows:
    """Return the rows of a matrix in the form that compiled code reads.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features)
    copy : bool
        Whether to copy the arrays of a sparse matrix even if their types fit.
    """
    if not isinstance(X, sparse.csr_array):
        return DenseRows(np.ascontiguousarray(X, dtype=np.float64))
    parts = ((X.indptr, np.int64), (X.indices, np.int32), (X.data, np.float64))
    return SparseRows(*(array.astype(kind, copy=copy) for array, kind in parts))


def square_norms(X: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return the squared Euclidean norm of each row, shape (n_rows,)."""
    if isinstance(X, sparse.csr_array):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


class Examples(NamedTuple):
    """Labelled rows of many tasks."""

    rows: Rows
    y: np.ndarray
    task: np.ndarray
    square_norm: np.ndarray


def examples_of(tasks: Tasks) -> Examples:
    """Return the examples of tasks."""
    return Examples(rows_of(tasks.X), tasks.y, tasks.task, square_norms(tasks.X))
