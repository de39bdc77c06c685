"""Compiled calls: flat arguments, arrays as they are, and the same bits as the slow way."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from omtl.data.rows import DenseRows, SparseRows, square_norms
from omtl.kernel import row_norms
from omtl.kernel.compiled_stream import BLOCK
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.row_checks import rows_at_once, sound
from omtl.sklearn import PassiveAggressive, arrays
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.states import arrays_of

N, D = BLOCK + 500, 37


@njit(**OPTIONS)
def checked(X, begin, end, square_norm):
    """Compute norms of dense rows; return whether all are finite."""
    return sound(DenseRows(X), (begin, end), X.shape[1], square_norm, ())


@njit(**OPTIONS)
def checked_sparse(indptr, indices, values, square_norm, at, left, sums):
    """The same of sparse rows of `D` columns, which must also be canonical."""
    rows = SparseRows(indptr, indices, values)
    return sound(rows, (0, indptr.size - 1), D, square_norm, (at, left, sums))


def data(is_sparse: bool) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return more than a block of examples, of two tasks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.4)
    y = np.where(X @ rng.normal(size=D) > 0.0, 1, -1)
    return sparse.csr_array(X) if is_sparse else X, y, np.arange(N) % 2


def learnt(model: MultiTaskClassifier) -> np.ndarray:
    """Return the weights."""
    return arrays_of(model._state)["w"]


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 100, 101, 8192])
def test_norms_are_numpys_to_the_bit(width: int) -> None:
    """Dense rows of any width that is summed at once."""
    X = np.random.default_rng(1).normal(size=(20, width))
    found = np.empty(20)
    row_norms.norms_of_dense(X, found)
    np.testing.assert_array_equal(found, square_norms(X))
    assert row_norms.same_as_numpy(width, False)
    assert not row_norms.same_as_numpy(row_norms.LONGEST + 1, False)
    assert row_norms.same_as_numpy(0, True)


@pytest.mark.parametrize("width", [1, 7, 8, 9, 100, 101, 8192])
def test_rows_checked_by_twos_have_the_norms_of_rows_alone(width: int) -> None:
    """An even and an odd number of rows; one that is not finite is found anywhere."""
    X = np.random.default_rng(2).normal(size=(7, width))
    for begin, end in ((0, 7), (1, 7), (3, 4), (3, 3)):
        found = np.zeros(7)
        assert checked(X, begin, end, found)
        np.testing.assert_array_equal(found[begin:end], square_norms(X)[begin:end])
        assert not found[:begin].any() and not found[end:].any()
    for i in range(7):
        wrong = X.copy()
        wrong[i, -1] = np.nan
        assert not checked(wrong, 0, 7, np.zeros(7))
    assert rows_at_once(width) % 2 == 0


@pytest.mark.parametrize(
    ("column", "value", "wanted"),
    [
        (3, 1.0, True),
        (2, 1.0, False),
        (5, 1.0, False),
        (1, 1.0, False),
        (3, 0.0, False),
        (3, 1e-200, False),
        (3, np.nan, False),
        (3, 1e200, False),
    ],
)
def test_sparse_rows_that_are_not_canonical_are_found(
    column: int, value: float, wanted: bool
) -> None:
    """Columns that do not ascend, values whose squares are zero or not finite."""
    indices = np.array([0, 2, column, 5, 1], dtype=np.int32)
    values = np.array([1.0, 2.0, value, 4.0, 5.0])
    norms = np.zeros(4)
    indptr = np.array([0, 0, 4, 4, 5])
    assert checked_sparse(indptr, indices, values, norms, *row_norms.pending()) == wanted
    if wanted:
        assert norms.tolist() == [0.0, 22.0, 0.0, 25.0]


@pytest.mark.parametrize("place", [0, -1])
@pytest.mark.parametrize("column", [-1, D, 2**31 - 1, -(2**31)])
def test_columns_out_of_range_are_found(place: int, column: int) -> None:
    """In a row of several nonzeros, and where there is only one."""
    for n in (1, 9):
        indices = np.arange(n, dtype=np.int32)
        indices[place] = column
        ends = np.array([0, n]), np.array([0, n + 1]), np.array([-1, n]), np.array([n, 0])
        for indptr in ends:
            assert not checked_sparse(
                indptr, indices, np.ones(n), np.zeros(1), *row_norms.pending()
            )
        fine = np.arange(n, dtype=np.int32)
        found = [
            checked_sparse(indptr, fine, np.ones(n), np.zeros(1), *row_norms.pending())
            for indptr in ends
        ]
        assert found == [True, False, False, False]


@pytest.mark.parametrize("kind", ["float16", "longdouble", ">f8", "uint64", "bool"])
def test_labels_and_tasks_of_any_numeric_type(kind: str) -> None:
    """Those that compiled code cannot read are converted."""
    X, y, task = data(is_sparse=False)
    plain = PassiveAggressive().fit(X, y > 0, task)
    tasks = task.astype(kind) if kind != ">f8" else task.astype(">i8")
    model = PassiveAggressive().fit(X, (y > 0).astype(kind), tasks)
    np.testing.assert_array_equal(learnt(model), learnt(plain))


@pytest.mark.parametrize("base", [2**60, 2**63, 2**64 - 2])
def test_large_labels_and_tasks_are_told_apart(base: int) -> None:
    """Neighbours that are equal as floating-point numbers, beyond the range of signed integers."""
    X, y, task = data(is_sparse=False)
    large = np.array([base, base + 1], dtype=np.uint64)
    model = PassiveAggressive().fit(X, large[(y > 0).astype(int)], large[task])
    assert model.tasks_ == (base, base + 1)
    model.partial_fit(X, large[(y > 0).astype(int)], large[task])
    plain = PassiveAggressive().fit(X, y, task).partial_fit(X, y, task)
    np.testing.assert_array_equal(learnt(model), learnt(plain))


@pytest.mark.parametrize("at", [0, N - 1])
def test_a_label_or_task_that_is_unknown_leaves_what_was_learnt(at: int) -> None:
    """In the first block and after blocks that were learnt from."""
    X, y, task = data(is_sparse=False)
    model = PassiveAggressive().partial_fit(X, y, task, tasks=np.unique(task))
    before = learnt(model).copy()
    for wrong, labels, tasks in (("labels", y.copy(), task), ("declared", y, task.copy())):
        (labels if wrong == "labels" else tasks)[at] = 5
        with pytest.raises(ValueError, match=wrong):
            model.partial_fit(X, labels, tasks)
        np.testing.assert_array_equal(learnt(model), before)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_tasks_are_not_needed_where_there_is_one(is_sparse: bool) -> None:
    """Neither by the quick way nor by validation."""
    X, y, _ = data(is_sparse)
    quick = PassiveAggressive().fit(X, y)
    slow = PassiveAggressive().fit(X, np.where(y > 0, "yes", "no"))
    np.testing.assert_array_equal(learnt(quick), learnt(slow))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_arrays_that_are_taken_as_they_are_give_the_same_bits(
    is_sparse: bool, index: type, tmp_path: Path
) -> None:
    """The quick way and scikit-learn's validation; also from a file mapped into memory."""
    X, y, task = data(is_sparse)
    if is_sparse:
        X = sparse.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), X.shape)
    quick = PassiveAggressive().fit(X, y, task)
    parts = PassiveAggressive().partial_fit(X[:2], y[:2], task[:2], classes=[-1, 1], tasks=[0, 1])
    assert parts._learn_quickly(X[2:], y[2:], task[2:], ends=False)
    labels = np.where(y > 0, "yes", "no")  # not taken as they are
    np.testing.assert_array_equal(learnt(PassiveAggressive().fit(X, labels, task)), learnt(quick))
    np.testing.assert_array_equal(learnt(parts), learnt(quick))
    if not is_sparse:
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        assert arrays.plain_rows(mapped) is not None
        np.testing.assert_array_equal(
            learnt(PassiveAggressive().fit(mapped, y, task)), learnt(quick)
        )
    one = PassiveAggressive().begin(D, [-1, 1], [0, 1], sparse=is_sparse)
    for i in range(50):
        one.learn_one(X[[i]] if is_sparse else X[i], y[i], task[i])
    first = PassiveAggressive().partial_fit(X[:50], y[:50], task[:50])
    np.testing.assert_array_equal(learnt(one), learnt(first))
    again = pickle.loads(pickle.dumps(one))
    again.learn_one(X[[50]] if is_sparse else X[50], y[50], task[50])
    assert (learnt(again) != learnt(one)).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_bad_row_leaves_what_was_learnt(is_sparse: bool, bad: float) -> None:
    """A number that is none, late in an array: an error, and the state of before."""
    X, y, task = data(is_sparse)
    model = PassiveAggressive().partial_fit(X, y, task)
    before = learnt(model).copy()
    (X.data if is_sparse else X)[-1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.partial_fit(X, y, task)
    np.testing.assert_array_equal(learnt(model), before)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.fit(X, y, task)
    np.testing.assert_array_equal(learnt(model), before)
    if not is_sparse:
        with pytest.raises(ValueError, match="NaN, infinity"):
            model.learn_one(X[-1], 1, 0)
        with pytest.raises(ValueError, match="features"):
            model.learn_one(X[0][:3], 1, 0)


def test_wrong_indices_never_reach_compiled_code() -> None:
    """Columns out of range or out of order are not taken as they are."""
    X, y, task = data(is_sparse=True)
    for index in (-1, D, 2**31 + 1):
        wrong = X.copy()
        wrong.indices = wrong.indices.astype(np.int64)
        wrong.indices[-1] = index
        model = PassiveAggressive().partial_fit(X, y, task)
        before = learnt(model).copy()
        with pytest.raises(ValueError, match="none of"):
            model.partial_fit(wrong, y, task)
        np.testing.assert_array_equal(learnt(model), before)


def test_the_quick_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by scikit-learn's validation, nor, for one example, by the conversion of its row."""
    X, y, task = data(is_sparse=False)
    model = PassiveAggressive().fit(X, y, task)
    monkeypatch.setattr("omtl.sklearn.base.validate_data", None)
    model.fit(X, y, task)
    model.partial_fit(X, y, task)
    model.learn_one(X[0], 1, 0)
    monkeypatch.setattr(MultiTaskClassifier, "_one", None)
    score = model.decision_one(X[0], 0)
    assert model.learn_one(X[0], 1, 0) == score
