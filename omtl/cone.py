"""The nearest positive semidefinite matrix to a symmetric one."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import lapack

from omtl.lapack import all_eigenpairs, some_eigenpairs, tridiagonal

FEW = 8
"""Up to this part of all eigenvectors, 1 / FEW, they are cheaper found one by one than together."""


def nearest_in_cone(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix to a symmetric one.

    The matrix is made tridiagonal, its negative eigenvalues counted, and of those on the side that
    has fewer the vectors are found: all that is needed.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    """
    n = len(matrix)
    if n == 1:
        return np.maximum(matrix, 0.0)
    reflected, diagonal, beside, tau = tridiagonal(matrix.T)
    n_negative = below_zero(diagonal, beside)
    negative = 2 * n_negative <= n
    count = n_negative if negative else n - n_negative
    if count == 0:
        return matrix.copy() if negative else np.zeros_like(matrix)
    first = 0 if negative else n_negative
    values, vectors = eigenpairs(diagonal, beside, first, count)
    back, _, _ = lapack.dormqr("L", "N", reflected[1:, :-1], tau, vectors[1:], 64 * count)
    vectors[1:] = back
    vectors *= np.sqrt(np.abs(values))
    product = vectors @ vectors.T
    return matrix + product if negative else product


@njit(cache=True, nogil=True)
def below_zero(diagonal, beside):
    """Return how many eigenvalues of a tridiagonal matrix are negative, by Sylvester's law."""
    least = 1e-300
    count, pivot = 0, 1.0
    for i in range(diagonal.size):
        pivot = diagonal[i] - (beside[i - 1] * beside[i - 1] / pivot if i > 0 else 0.0)
        if abs(pivot) < least:
            pivot = least
        count += pivot < 0.0
    return count


def eigenpairs(
    diagonal: np.ndarray, beside: np.ndarray, first: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return some eigenvalues of a tridiagonal matrix, in ascending order, with their vectors.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    beside : ndarray of shape (n - 1,)
    first, count : int
        Which are wanted, from 0.
    """
    if FEW * count <= diagonal.size:
        values, vectors, failed = some_eigenpairs(diagonal, beside, first, count)
        if not failed:
            return values, vectors
    values, vectors, failed = all_eigenpairs(diagonal, beside)
    assert not failed, "the solver of tridiagonal matrices converges"
    return values[first : first + count], vectors[:, first : first + count]
