"""Compiled calls: flat arguments, arrays as they are, and the same bits as the slow way."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from omtl.data.rows import square_norms
from omtl.kernel import row_norms
from omtl.sklearn import PassiveAggressive, arrays
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.states import arrays_of

N, D = 1500, 37


def data(is_sparse: bool) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return more examples than are checked at once, of two tasks."""
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
