"""Proximal steps of matrices: singular values, or norms of rows, reduced to at least 0."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.eigenvalues import diagonalise
from omtl.kernel.inlining import inlined
from omtl.kernel.products import rescale, sum_of_squares


class LowRank(NamedTuple):
    """A matrix whose singular values are shrunk, and work space.

    Parameters
    ----------
    matrix : ndarray of shape (m, n)
    gram, vectors : ndarray of shape (m, m)
    column : ndarray of shape (m,)
    """

    matrix: np.ndarray
    gram: np.ndarray
    vectors: np.ndarray
    column: np.ndarray


def low_rank(m: int, n: int) -> LowRank:
    """Return a matrix of zeros, m by n."""
    return LowRank(np.zeros((m, n)), np.zeros((m, m)), np.zeros((m, m)), np.zeros(m))


@inlined
def shrink_singular_values(U, by):
    """Reduce the singular values of a LowRank matrix by this amount, to at least 0.

    Cost: O(m² n), from the eigenvalues of the matrix times its transpose.
    """
    A, gram, Q, column = U.matrix, U.gram, U.vectors, U.column
    m, n = A.shape
    for i in range(m):
        for j in range(i, m):
            total = 0.0
            for f in range(n):
                total += A[i, f] * A[j, f]
            gram[i, j] = gram[j, i] = total
    diagonalise(gram, Q)
    for k in range(m):
        sigma = math.sqrt(max(0.0, gram[k, k]))
        column[k] = shrunk_share(sigma, by)
    for i in range(m):
        for j in range(m):
            gram[i, j] = 0.0
            for k in range(m):
                gram[i, j] += Q[i, k] * column[k] * Q[j, k]
    for f in range(n):
        for i in range(m):
            column[i] = A[i, f]
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += gram[i, j] * column[j]
            A[i, f] = total


@inlined
def shrink_rows(A, by):
    """Reduce the norms of a matrix's rows by this amount, to at least 0."""
    for k in range(A.shape[0]):
        norm = math.sqrt(sum_of_squares(A[k]))
        rescale(A[k], shrunk_share(norm, by))


@inlined
def shrunk_share(size, by):
    """Return (1 − by / size)₊, what is left of a size that is reduced by an amount."""
    return 1.0 - by / size if size > by else 0.0
