"""Reduction of a file's features."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from omtl.util.errors import UserError


def components(name: str, X: np.ndarray | sparse.csr_array, n: int) -> np.ndarray:
    """Return the rows projected onto the first principal axes, shape (n_examples, n).

    The axes are those of the centred rows, but the projected rows are not centred. They are
    computed from the covariance matrix or the matrix of inner products, whichever is smaller.

    Parameters
    ----------
    name : str
        The data set's name, for the message.
    X : ndarray or csr_array of shape (n_examples, n_features)
    n : int
        Number of axes.

    Raises
    ------
    UserError
        If the rows do not vary along that many axes.
    """
    most = min(X.shape[0] - 1, X.shape[1])
    if not 1 <= n <= most:
        raise UserError(f"{name}: components={n} must be from 1 to {most}.")
    if X.shape[1] <= X.shape[0]:
        dense = X.toarray() if isinstance(X, sparse.csr_array) else X
        centred = dense - dense.mean(axis=0)
        _, axes = np.linalg.eigh(centred.T @ centred)
        return dense @ axes[:, ::-1][:, :n]
    products = X @ X.T
    inner = products.toarray() if isinstance(products, sparse.csr_array) else products
    onto_centred = inner - inner.mean(axis=1, keepdims=True)
    square, combinations = np.linalg.eigh(onto_centred - onto_centred.mean(axis=0))
    return onto_centred @ (combinations[:, ::-1][:, :n] / np.sqrt(square[::-1][:n]))


def most_common(X: sparse.csr_array, n: int) -> sparse.csr_array:
    """Return the `n` columns with the most nonzero rows, most common first; ties by index."""
    rows_with = np.bincount(X.indices, minlength=X.shape[1])
    kept = sparse.csr_array(X[:, np.argsort(-rows_with, kind="stable")[:n]])
    kept.sort_indices()
    return kept
