"""Arrays of any kind, in parts or one by one: the same bits, and nothing learnt on an error."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from omtl.sklearn import PassiveAggressive
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.states import arrays_of
from omtl.sklearn.stream import BLOCK

N, D = 2500, 37


def data(is_sparse: bool) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return examples of two tasks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.4)
    y = np.where(X @ rng.normal(size=D) > 0.0, 1, -1)
    return sparse.csr_array(X) if is_sparse else X, y, np.arange(N) % 2


def learnt(model: MultiTaskClassifier) -> np.ndarray:
    """Return the weights."""
    return arrays_of(model._state)["w"]


@pytest.mark.parametrize("at", [0, N - 1])
def test_a_label_or_task_that_is_unknown_leaves_what_was_learnt(at: int) -> None:
    """As the first and as the last example."""
    X, y, task = data(is_sparse=False)
    model = PassiveAggressive().partial_fit(X, y, task, tasks=np.unique(task))
    before = learnt(model).copy()
    for wrong, labels, tasks in (("labels", y.copy(), task), ("declared", y, task.copy())):
        (labels if wrong == "labels" else tasks)[at] = 5
        with pytest.raises(ValueError, match=wrong):
            model.partial_fit(X, labels, tasks)
        np.testing.assert_array_equal(learnt(model), before)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_any_form_of_the_same_examples_gives_the_same_bits(
    is_sparse: bool, index: type, tmp_path: Path
) -> None:
    """Whatever the labels are, and in parts; also from a file mapped into memory."""
    X, y, task = data(is_sparse)
    if is_sparse:
        X = sparse.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), X.shape)
    quick = PassiveAggressive().fit(X, y, task)
    parts = PassiveAggressive().partial_fit(X[:2], y[:2], task[:2], classes=[-1, 1], tasks=[0, 1])
    parts.partial_fit(X[2:], y[2:], task[2:])
    labels = np.where(y > 0, "yes", "no")  # not taken as they are
    np.testing.assert_array_equal(learnt(PassiveAggressive().fit(X, labels, task)), learnt(quick))
    np.testing.assert_array_equal(learnt(parts), learnt(quick))
    if not is_sparse:
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
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


def test_rows_of_32_bits_are_learnt_from_block_by_block() -> None:
    """As the same numbers in 64 bits are: more than one block of them, in one call and in two."""
    X, y, task = (np.concatenate([part] * 8) for part in data(is_sparse=False))
    assert X.size > BLOCK
    few = X.astype(np.float32)
    few.flags.writeable = False
    expected = learnt(PassiveAggressive().fit(few.astype(np.float64), y, task))
    np.testing.assert_array_equal(learnt(PassiveAggressive().fit(few, y, task)), expected)
    parts = PassiveAggressive().partial_fit(few[:99], y[:99], task[:99])
    parts.partial_fit(few[99:], y[99:], task[99:])
    np.testing.assert_array_equal(learnt(parts), expected)


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


def test_vectors_that_are_not_contiguous_are_read_as_they_are() -> None:
    """A column, every second number, a row of a matrix: compiled code reads adjacent numbers."""
    X, y, _ = data(is_sparse=False)
    model = PassiveAggressive().begin(D, [-1, 1])
    plain = PassiveAggressive().begin(D, [-1, 1])
    for i in range(20):
        x = X[i].copy()
        every_second = np.repeat(x, 2)[::2]
        column = np.column_stack([x, -x])[:, 0]
        for form in (every_second, column, X[i : i + 1], x[::-1][::-1]):
            assert model.decision_one(form) == plain.decision_one(x)
        assert model.learn_one([every_second, column][i % 2], y[i]) == plain.learn_one(x, y[i])
    np.testing.assert_array_equal(learnt(model), learnt(plain))
