"""Each vector operation: compiled, in plain Python and in NumPy, on dense and on sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows, rows_of, square_norms
from omtl.kernel import products
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.products import BLOCK, LANES
from omtl.kernel.rules import Example, row_at

SIZES = list(range(71))

compiled = njit(cache=True, **OPTIONS)


@compiled
def dot(w: np.ndarray, x: Example) -> float:
    """Call the compiled twin."""
    return products.dot(w, x)


@compiled
def axpy(a: float, x: Example, w: np.ndarray) -> None:
    """Call the compiled twin."""
    products.axpy(a, x, w)


@compiled
def row_dot(x: Example, z: Example) -> float:
    """Call the compiled twin."""
    return products.row_dot(x, z)


@compiled
def dense_weighed_square(weights: np.ndarray, x: np.ndarray) -> float:
    """Call the compiled function, which has no plain form of its own."""
    return products.dense_weighed_square(weights, x)


@compiled
def rescale(w: np.ndarray, a: float) -> None:
    """Call the compiled twin."""
    products.rescale(w, a)


def matrix(n_features: int, density: float = 0.5, n_rows: int = 4) -> np.ndarray:
    """Return rows of numbers of very different sizes, some of them 0; the first row is full."""
    rng = np.random.default_rng(n_features)
    shape = (n_rows, n_features)
    X = rng.normal(size=shape) * 10.0 ** rng.integers(-6, 6, size=shape)
    X[1:] *= rng.random((n_rows - 1, n_features)) < density
    return X


def both(X: np.ndarray) -> tuple[Rows, Rows]:
    """Return the dense and the sparse rows of a matrix."""
    return rows_of(X), rows_of(sparse.csr_array(X))


def lane_sum(a: np.ndarray, b: np.ndarray) -> np.float64:
    """Return the dense dot product in its promised order.

    Two sums of `LANES` lanes each take turns on blocks of `LANES` elements; the second is added to
    the first, then the upper half of the lanes to the lower until one is left. The elements after
    the last whole `BLOCK` are added one by one.

    Parameters
    ----------
    a, b : ndarray of shape (n,)
    """
    product = a * b
    whole = product.size - product.size % BLOCK
    sums = np.zeros((BLOCK // LANES, LANES))
    for start in range(0, whole, BLOCK):
        sums += product[start : start + BLOCK].reshape(sums.shape)
    lanes = sums[0] + sums[1]
    while lanes.size > 1:
        half = lanes.size // 2
        lanes = lanes[:half] + lanes[half:]
    total = lanes[0]
    for term in product[whole:]:
        total = total + term
    return total


def four_sums(a: np.ndarray, b: np.ndarray) -> np.float64:
    """Return the sparse dot product in its order: four sums in turn, the tail into the first.

    Parameters
    ----------
    a, b : ndarray of shape (n,)
    """
    product = a * b
    whole = product.size - product.size % 4
    sums = np.zeros(4)
    for start in range(0, whole, 4):
        sums += product[start : start + 4]
    for term in product[whole:]:
        sums[0] += term
    return (sums[0] + sums[2]) + (sums[1] + sums[3])


def bits(value: float) -> int:
    """Return the bits of a float64."""
    return int(np.float64(value).view(np.int64))


@pytest.mark.parametrize("n_features", SIZES)
def test_dot_is_numpy_s(n_features: int) -> None:
    """Compiled, plain and NumPy's inner products agree, dense and sparse."""
    X = matrix(n_features)
    w = np.random.default_rng(1).normal(size=n_features)
    for i in range(X.shape[0]):
        expected = float(np.dot(w, X[i]))
        slack = 1e-13 * float(np.abs(w) @ np.abs(X[i]))
        for rows in both(X):
            for function in (products.dot, dot):
                assert abs(function(w, row_at(rows, i)) - expected) <= slack
    assert isinstance(products.dot(w, row_at(both(X)[1], 0)), float)


@pytest.mark.parametrize("n_features", [*SIZES, 400, 1023])
def test_dot_is_summed_in_the_promised_order(n_features: int) -> None:
    """Every bit of the compiled dot product follows from its documented order of summation."""
    X = matrix(n_features, n_rows=8)
    w = np.random.default_rng(1).normal(size=n_features)
    dense, compressed = both(X)
    for i in range(X.shape[0]):
        assert bits(dot(w, row_at(dense, i))) == bits(lane_sum(w, X[i]))
        assert bits(row_dot(row_at(dense, i), row_at(dense, 0))) == bits(lane_sum(X[i], X[0]))
        here = np.flatnonzero(X[i])
        assert bits(dot(w, row_at(compressed, i))) == bits(four_sums(w[here], X[i, here]))


@pytest.mark.parametrize("n_features", [*SIZES, 400, 1023])
def test_weighed_squares_are_summed_in_the_promised_order(n_features: int) -> None:
    """A weight comes first in each product: it is that of the weighed row and the row."""
    X = matrix(n_features, n_rows=8)
    w = np.random.default_rng(1).normal(size=n_features)
    for x in X:
        assert bits(dense_weighed_square(w, x)) == bits(lane_sum(w * x, x))


def test_order_of_summation_can_be_told_apart() -> None:
    """The numbers of the test above are such that another order gives other bits."""
    X = matrix(64, n_rows=8)
    w = np.random.default_rng(1).normal(size=64)
    assert any(bits(lane_sum(w, x)) != bits(sum(w * x, start=0.0)) for x in X)
    assert any(bits(lane_sum(w, x)) != bits(four_sums(w, x)) for x in X)


@pytest.mark.parametrize("n_features", SIZES)
def test_axpy_is_numpy_s(n_features: int) -> None:
    """Compiled and plain axpy equal NumPy's to the bit: one product, one sum an element."""
    X = matrix(n_features)
    w = np.random.default_rng(1).normal(size=n_features)
    for i in range(X.shape[0]):
        for rows in both(X):
            for function in (products.axpy, axpy):
                changed = w.copy()
                function(-0.37, row_at(rows, i), changed)
                np.testing.assert_array_equal(changed, w + -0.37 * X[i])


@pytest.mark.parametrize("n_features", SIZES)
def test_row_dot_is_numpy_s(n_features: int) -> None:
    """Compiled, plain and NumPy's inner products of two rows agree, dense and sparse."""
    X = matrix(n_features, density=0.4)
    for i in range(X.shape[0]):
        for j in range(X.shape[0]):
            slack = 1e-13 * float(np.abs(X[i]) @ np.abs(X[j]))
            for rows in both(X):
                for function in (products.row_dot, row_dot):
                    assert (
                        abs(function(row_at(rows, i), row_at(rows, j)) - float(X[i] @ X[j]))
                        <= slack
                    )


@pytest.mark.parametrize("n_features", SIZES)
def test_rescale_is_numpy_s(n_features: int) -> None:
    """Compiled and plain rescaling equal NumPy's to the bit."""
    w = np.random.default_rng(1).normal(size=n_features)
    for function in (products.rescale, rescale):
        changed = w.copy()
        function(changed, 0.1)
        np.testing.assert_array_equal(changed, 0.1 * w)


@pytest.mark.parametrize("density", [0.0, 0.01, 1.0])
def test_rows_without_entries(density: float) -> None:
    """Empty rows, between others and at the end, are rows of zeros."""
    X = matrix(33, density)
    X[0] = 0.0
    X[-1] = 0.0
    w = np.random.default_rng(1).normal(size=33)
    for rows in both(X):
        for i in (0, X.shape[0] - 1):
            x, z = row_at(rows, i), row_at(rows, 1)
            assert dot(w, x) == products.dot(w, x) == 0.0
            assert row_dot(x, z) == products.row_dot(x, z) == 0.0
            changed = w.copy()
            axpy(2.0, row_at(rows, i), changed)
            np.testing.assert_array_equal(changed, w)


def test_slots_of_a_larger_array_are_written_in_place() -> None:
    """A weight vector may be one row of the state; its neighbours are left alone."""
    X = matrix(20)
    for rows in both(X):
        state = np.ones((3, 2, 20))
        axpy(1.0, row_at(rows, 0), state[1, 1])
        rescale(state[1, 1], 2.0)
        np.testing.assert_array_equal(state[1, 1], 2.0 * (1.0 + X[0]))
        state[1, 1] = 1.0
        np.testing.assert_array_equal(state, 1.0)
        assert dot(state[2, 0], row_at(rows, 0)) == pytest.approx(X[0].sum())


@pytest.mark.parametrize("view", ["column", "every other"])
def test_vectors_that_are_not_contiguous_are_refused(view: str) -> None:
    """The compiled dot product reads consecutive numbers, so it takes no other vectors."""
    X = matrix(6)
    w = np.zeros((6, 2))[:, 0] if view == "column" else np.zeros(12)[::2]
    for rows in both(X):
        with pytest.raises(TypingError, match="contiguous"):
            dot(w, row_at(rows, 0))


def test_rows_of_reads_any_array() -> None:
    """Transposed, single-precision, integer arrays become C-ordered float64; sparse rows too."""
    X = np.arange(12).reshape(3, 4)
    for odd in (X, X.astype(np.float32), np.asfortranarray(X, dtype=np.float64), X.T.copy().T):
        rows = rows_of(odd)
        assert isinstance(rows, DenseRows)
        assert rows.X.flags.c_contiguous
        assert rows.X.dtype == np.float64
        np.testing.assert_array_equal(rows.X, X)
    for index in (np.int32, np.int64):
        matrix = sparse.csr_array(X.astype(np.float32))
        matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        rows = rows_of(matrix)
        assert isinstance(rows, SparseRows)
        assert [array.dtype for array in rows] == [np.int64, np.int32, np.float64]
        assert dot(np.ones(4), row_at(rows, 2)) == X[2].sum()


@pytest.mark.parametrize("n_features", [0, 1, 7, 40])
def test_square_norms_are_the_rows_own_products(n_features: int) -> None:
    """Squared norms, dense and sparse, equal the inner product of each row with itself."""
    X = matrix(n_features)
    for each in (X, sparse.csr_array(X)):
        norms = square_norms(each)
        assert norms.shape == (X.shape[0],)
        assert norms.dtype == np.float64
        np.testing.assert_allclose(norms, [x @ x for x in X], rtol=1e-14)
