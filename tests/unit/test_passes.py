"""Products and steps in one pass, compiled and plain, beside those one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, rows_of
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.many_vectors import dots, zero_vectors
from omtl.kernel.products import SUMS, axpy, axpy_all, dot
from omtl.kernel.rules import row_at


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
        out[1, j] = dot(V[j], row_at(rows, 1))
    axpy(a[0], row_at(rows, 1), V[0])
    axpy(a[1], row_at(rows, 1), V[1])
    for e in range(n):
        axpy(a[e], row_at(rows, which[e]), V[2])


def fused(rows: Rows, W: Any, V: Any, a: Any, which: Any, n: int, out: Any, sums: Any) -> None:
    """Do the same at once; `W` has the vectors as `zero_vectors` does."""
    dots(W, row_at(rows, 1), 0, n, sums)
    for j in range(n):
        out[1, j] = sums[0, j]
    axpy(a[0], row_at(rows, 1), V[0])
    axpy(a[1], row_at(rows, 1), V[1])
    axpy_all(a, rows, which, n, V[2])


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
            for run, found in ((njit(way, **OPTIONS), compiled), (way, plain)):
                V, out = vectors.copy(), np.zeros((2, n))
                run(rows, W, V, a, which, n, out, np.zeros((SUMS, n)))
                found.append(np.concatenate([out.ravel(), V.ravel()]))
        np.testing.assert_array_equal(compiled[0], compiled[1])
        np.testing.assert_array_equal(plain[0], plain[1])
        np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-12, atol=1e-12)
