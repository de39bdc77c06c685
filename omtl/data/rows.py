"""Rows of examples, dense or sparse, in the form that compiled code reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse


class DenseRows(NamedTuple):
    """Rows of a C-ordered array of shape (n_rows, n_features)."""

    X: np.ndarray


class SparseRows(NamedTuple):
    """Rows of a compressed sparse row matrix."""

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray


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
