"""Fewer features than a file has."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from omtl.util.errors import UserError


def components(name: str, X: np.ndarray | sparse.csr_array, n: int) -> np.ndarray:
    """Return the rows on the principal axes of most variance, shape (n_examples, n).

    The axes are those of the centred rows; what is projected on them is not centred. They are found
    from the smaller of the covariance matrix and the matrix of inner products.

    Parameters
    ----------
    name : str
        The data set's name, for the message.
    X : ndarray or csr_array of shape (n_examples, n_features)
    n : int
        How many axes.

    Raises
    ------
    UserError
        There are not so many axes along which the rows vary.
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
    """Return the `n` columns that most rows have, the most common first; of equals the first."""
    rows_with = np.bincount(X.indices, minlength=X.shape[1])
    kept = sparse.csr_array(X[:, np.argsort(-rows_with, kind="stable")[:n]])
    kept.sort_indices()
    return kept
