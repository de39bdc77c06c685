"""Fused products and steps, compiled and plain, beside those of `omtl.ops` one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from omtl.fused import axpy_all, axpy_two, axpys_where, dot_all, dot_three
from omtl.ops import BORROWED, SUMS, DenseRows, Rows, axpy, axpys, dot, dots, rows_of, zero_vectors


def one_by_one(
    rows: Rows,
    W: Any,  # noqa: ARG001
    V: Any,
    a: Any,
    which: Any,
    n: int,
    out: Any,
    sums: Any,  # noqa: ARG001
) -> None:
    """Take products with the first vectors, then steps of the others."""
    for j in range(n):
        out[0, j] = out[1, j] = dot(V[j], rows, 1)
    out[2, 0], out[2, 1], out[2, 2] = dot(V[0], rows, 0), dot(V[1], rows, 0), dot(V[2], rows, 0)
    axpy(a[0], rows, 1, V[0])
    axpy(a[1], rows, 1, V[1])
    for e in range(n):
        axpy(a[e], rows, which[e], V[2])


def fused(rows: Rows, W: Any, V: Any, a: Any, which: Any, n: int, out: Any, sums: Any) -> None:
    """Do the same at once, and the products twice; `W` has the vectors as `zero_vectors` does."""
    dot_all(W, rows, 1, 0, n, out[0])
    dots(W, rows, 1, 0, n, sums)
    for j in range(n):
        out[1, j] = sums[0, j]
    out[2, 0], out[2, 1], out[2, 2] = dot_three(V[0], V[1], V[2], rows, 0)
    axpy_two(a[0], V[0], a[1], V[1], rows, 1)
    axpy_all(a, rows, which, n, V[2])


@pytest.mark.parametrize("is_sparse", [False, True])
def test_steps_of_some_vectors_are_those_of_all(is_sparse: bool) -> None:
    """Also where one of those that are named has no step."""
    X = np.random.default_rng(0).normal(size=(2, 19))
    rows = rows_of(sparse.csr_array(X) if is_sparse else X)
    which, steps = np.array([1, 2, 4], dtype=np.uint32), np.array([0.0, 2.0, 0.0, 0.0, -3.0, 0.0])
    expected, plain, compiled = (zero_vectors(6, 19, is_sparse) for _ in range(3))
    axpys(steps, rows, 1, 1, 5, expected)
    axpys_where(steps, rows, 1, 1, 5, which, plain)
    run = njit(lambda a, rows, which, W: axpys_where(a, rows, 1, 1, 5, which, W), **BORROWED)
    run(steps, rows, which, compiled)
    assert np.count_nonzero(expected) == 2 * 19
    np.testing.assert_array_equal(plain, expected)
    np.testing.assert_array_equal(compiled, expected)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_features", [3, 16, 37])
def test_what_is_fused_has_the_bits_of_one_by_one(n_features: int, is_sparse: bool) -> None:
    rng = np.random.default_rng(n_features)
    X = rng.normal(size=(6, n_features))
    if is_sparse:
        X[rng.random(X.shape) < 0.5] = 0.0
    rows = rows_of(sparse.csr_array(X) if is_sparse else X)
    assert isinstance(rows, DenseRows) is not is_sparse
    for n in (3, 5, 7):
        vectors, a = rng.normal(size=(n, n_features)), rng.normal(size=n)
        which = rng.integers(6, size=n)
        W = zero_vectors(n, n_features, is_sparse)
        W[:, :n_features] = vectors
        compiled: list[np.ndarray] = []
        plain: list[np.ndarray] = []
        for way in (one_by_one, fused):
            for run, found in ((njit(way, **BORROWED), compiled), (way, plain)):
                V, out = vectors.copy(), np.zeros((3, n))
                run(rows, W, V, a, which, n, out, np.zeros((SUMS, n)))
                found.append(np.concatenate([out.ravel(), V.ravel()]))
        np.testing.assert_array_equal(compiled[0], compiled[1])
        np.testing.assert_array_equal(plain[0], plain[1])
        np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-12, atol=1e-12)
