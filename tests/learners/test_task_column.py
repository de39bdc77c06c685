"""The task as a column: scikit-learn's tools that pass on no metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline

import omtl.sklearn
from omtl.sklearn import ROMPGD, Majority, TaskColumn
from omtl.util.errors import UserError

N_TASKS = 3


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return examples of three tasks with different teachers, the task's number last."""
    rng = np.random.default_rng(0)
    task = rng.permutation(np.repeat(np.arange(N_TASKS), 60))
    X = rng.normal(size=(task.size, 6))
    teachers = rng.normal(size=(N_TASKS, 6))
    y = np.where(np.einsum("ij,ij->i", X, teachers[task]) > 0.0, "yes", "no")
    return np.column_stack([X, task]), y


def model(**options: Any) -> TaskColumn:
    """Return an estimator that knows all tasks."""
    return TaskColumn(ROMPGD(), tasks=range(N_TASKS), **options)


def test_it_is_the_estimator_with_the_task() -> None:
    """The same scores to the bit, of arrays, sparse matrices and frames, whole or in parts."""
    X, y = data()
    expected = ROMPGD().fit(X[:, :-1], y, X[:, -1]).decision_function(X[:, :-1], X[:, -1])
    np.testing.assert_array_equal(model().fit(X, y).decision_function(X), expected)
    frame = pd.DataFrame(X[:, :-1]).rename(columns=str).assign(who=X[:, -1].astype(int))
    for column in (-1, "who"):
        got = model(column=column).fit(frame, y).decision_function(frame)
        np.testing.assert_array_equal(got, expected)
    parts = model().partial_fit(X[:9], y[:9], classes=["no", "yes"]).partial_fit(X[9:], y[9:])
    parts.estimator_.end_round()
    np.testing.assert_array_equal(parts.decision_function(X), expected)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(model().fit(rows, y).decision_function(rows), expected, rtol=1e-9)
    numbered = TaskColumn(model().estimator, np.int64(-1)).fit(X, y)
    np.testing.assert_array_equal(numbered.decision_function(X), expected)
    assert set(model().fit(X, y).weights()) == {0, 1, 2}
    assert not hasattr(TaskColumn(Majority()), "weights")


def test_tools_that_pass_on_no_metadata() -> None:
    """Named scorers, predictions by folds, searches, calibration and stacking."""
    X, y = data()
    assert cross_val_score(model(), X, y, scoring="roc_auc").mean() > 0.8
    assert np.mean(cross_val_predict(model(), X, y) == y) > 0.7
    search = GridSearchCV(model(), {"estimator__eta": [0.01, 0.1]}, scoring="roc_auc").fit(X, y)
    assert search.decision_function(X).shape == y.shape
    calibrated = CalibratedClassifierCV(model()).fit(X, y)
    assert calibrated.predict_proba(X).shape == (y.size, 2)
    stacked = StackingClassifier([("rom", model())], LogisticRegression()).fit(X, y)
    assert stacked.score(X, y) > 0.7
    assert make_pipeline("passthrough", model()).fit(X, y).score(X, y) > 0.7


def test_wrong_columns_are_told() -> None:
    """A column that is not there, or a name where there are none."""
    X, y = data()
    for column, text in {7: "not one of the 7 columns", "who": "not a data frame"}.items():
        with pytest.raises(ValueError, match=text):
            TaskColumn(ROMPGD(), column).fit(X, y)
    with pytest.raises(ValueError, match="no column 'who'"):
        TaskColumn(ROMPGD(), "who").fit(pd.DataFrame(X), y)
    with pytest.raises(ValueError, match="two axes"):
        TaskColumn(ROMPGD()).fit(X[0], y)


@pytest.mark.parametrize("column", [-1, "who"])
def test_a_file_keeps_the_column(column: int | str, tmp_path: Path) -> None:
    """With the tasks and the learner, by whichever `load` it is read."""
    X, y = data()
    frame = pd.DataFrame(X[:, :-1]).rename(columns=str).assign(who=X[:, -1].astype(int))
    kept = model(column=column).fit(frame, y)
    kept.save(tmp_path / "model.npz")
    for load in (omtl.sklearn.load, TaskColumn.load):
        again = load(tmp_path / "model.npz")
        assert repr(again) == repr(TaskColumn(ROMPGD(), column=column, tasks=[0, 1, 2]))
        np.testing.assert_array_equal(again.decision_function(frame), kept.decision_function(frame))
    with pytest.raises(UserError, match="has a TaskColumn, not a ROMPGD"):
        ROMPGD.load(tmp_path / "model.npz")
    kept.estimator_.save(tmp_path / "inner.npz")
    with pytest.raises(UserError, match="has a ROMPGD, not a TaskColumn"):
        TaskColumn.load(tmp_path / "inner.npz")


def test_a_weight_is_the_number_of_times_an_example_is_met() -> None:
    """In a row; 0 leaves it out. Through the column and without it, in one call or two."""
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 4, y.size)
    at = np.repeat(np.arange(y.size), weights)
    expected = model().fit(X[at], y[at]).decision_function(X)
    for weighed in (weights, weights.astype(float), weights.tolist()):
        got = model().fit(X, y, sample_weight=weighed).decision_function(X)
        np.testing.assert_array_equal(got, expected)
    task = X[:, -1].tolist()
    parts = ROMPGD().partial_fit(
        X[:50, :-1], y[:50], task[:50], sample_weight=weights[:50], tasks=range(N_TASKS)
    )
    parts.partial_fit(X[50:, :-1], y[50:], task[50:], sample_weight=weights[50:]).end_round()
    np.testing.assert_array_equal(parts.decision_function(X[:, :-1], task), expected)


@pytest.mark.parametrize("weight", [0.5, -1.0, 1e300])
def test_other_weights_are_refused(weight: float) -> None:
    """The estimator is as it was."""
    X, y = data()
    one = ROMPGD()
    for weights in (np.where(np.arange(y.size), 1.0, weight), np.zeros(y.size)):
        with pytest.raises(ValueError, match=r"(?i)sample.weights? must"):
            one.fit(X, y, sample_weight=weights)
    assert not hasattr(one, "classes_")
