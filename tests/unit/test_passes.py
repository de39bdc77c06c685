"""Products in one pass, compiled and plain, beside those one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, rows_of
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.many_vectors import dots, zero_vectors
from omtl.kernel.products import SUMS, dot
from omtl.kernel.rules import row_at


def one_by_one(rows: Rows, W: Any, V: Any, out: Any) -> None:  # noqa: ARG001
    """Take products with the vectors in turn."""
    for j in range(out.shape[1]):
        out[0, j] = dot(V[j], row_at(rows, 1))


def fused(rows: Rows, W: Any, V: Any, out: Any) -> None:  # noqa: ARG001
    """Do the same at once; `W` has the vectors as `zero_vectors` does."""
    dots(W, row_at(rows, 1), 0, out.shape[1], out)


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
        vectors = rng.normal(size=(n, n_features))
        W = zero_vectors(n, n_features, is_sparse)
        W[:] = vectors
        compiled: list[np.ndarray] = []
        plain: list[np.ndarray] = []
        for way in (one_by_one, fused):
            for run, found in ((njit(way, **OPTIONS), compiled), (way, plain)):
                out = np.zeros((SUMS, n))
                run(rows, W, vectors, out)
                found.append(out[0])
        np.testing.assert_array_equal(compiled[0], compiled[1])
        np.testing.assert_allclose(plain[0], plain[1], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-12, atol=1e-12)
