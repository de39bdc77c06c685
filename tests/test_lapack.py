"""LAPACK without Python's lock: the functions of SciPy's wrappers, to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import lapack

from omtl.lapack import all_eigenpairs, some_eigenpairs, tridiagonal


@pytest.mark.parametrize("n", [2, 3, 5, 17, 60, 200])
def test_they_are_scipy_s_to_the_bit(n: int) -> None:
    """What goes in stays as it is, and what comes out is what SciPy's wrapper returns."""
    random = np.random.default_rng(n)
    matrix = random.normal(size=(n, n))
    matrix += matrix.T
    before = matrix.copy()
    expected = lapack.dsytrd(matrix, lower=1, lwork=64 * n)
    reflected, *others = tridiagonal(matrix)
    np.testing.assert_array_equal(np.tril(reflected), np.tril(expected[0]))
    for found, known in zip(others, expected[1:4], strict=True):
        np.testing.assert_array_equal(found, known)
    np.testing.assert_array_equal(matrix, before)

    diagonal, beside = others[0], others[1]
    for found, known in zip(
        all_eigenpairs(diagonal, beside), lapack.dstevd(diagonal, beside), strict=True
    ):
        np.testing.assert_array_equal(found, known)
    for first, count in ((0, 1), (n // 2, n - n // 2), (n // 3, max(1, n // 5))):
        room = np.append(beside, 0.0)
        _, values, vectors, failed = lapack.dstemr(
            diagonal.copy(), room, 2, 0.0, 0.0, first + 1, first + count
        )
        found_values, found_vectors, found_failed = some_eigenpairs(diagonal, beside, first, count)
        np.testing.assert_array_equal(found_values, values[:count])
        np.testing.assert_array_equal(found_vectors, vectors[:, :count])
        assert found_failed == failed
    np.testing.assert_array_equal(diagonal, others[0])


def test_whole_numbers_are_taken() -> None:
    """LAPACK is pointed to numbers of 64 bits, whatever it is given."""
    whole = np.array([[2, 1, 0], [1, 3, 1], [0, 1, 4]])
    for found, known in zip(tridiagonal(whole), tridiagonal(whole.astype(float)), strict=True):
        np.testing.assert_array_equal(found, known)


def test_a_failure_is_told() -> None:
    """Of numbers that are none no eigenvalues are found."""
    none = np.full(4, np.nan)
    assert all_eigenpairs(none, none[:3])[-1] != 0
