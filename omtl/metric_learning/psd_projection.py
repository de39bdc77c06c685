"""The nearest positive semidefinite matrix to a symmetric one."""

from __future__ import annotations

import numpy as np


def nearest_in_cone(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix to a symmetric one.

    NumPy computes eigenvectors without holding Python's lock, so that threads do not wait for each
    other.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    """
    values, vectors = np.linalg.eigh(matrix)
    negative = values < 0.0
    fewer = negative if 2 * np.count_nonzero(negative) <= values.size else ~negative
    half = vectors[:, fewer] * np.sqrt(np.abs(values[fewer]))
    product = half @ half.T
    return matrix + product if fewer is negative else product
