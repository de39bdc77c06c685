"""The estimators that there are, and the task as a column."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimator_cases import blobs
from learner_cases import learner_classes
from scipy import sparse
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import omtl.learners
import omtl.sklearn
from omtl.data.networks import mixing_matrix
from omtl.sklearn import DOM1, ROMPGD, PassiveAggressive, TaskColumn
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.parameters import declared_entries, sections_of
from omtl.util.errors import UserError

pytestmark = pytest.mark.usefixtures("slowly")


def test_every_online_learner_has_an_estimator() -> None:
    """The table, the rules and the names of `omtl.sklearn` are the same."""
    rules = {each.__name__: each for each in learner_classes()}
    assert set(rules) == set(declared_entries())
    assert {name: made.rules for name, made in ESTIMATORS.items()} == rules
    assert all(getattr(omtl.sklearn, name) is made for name, made in ESTIMATORS.items())
    assert set(omtl.sklearn.__all__) <= set(dir(omtl.sklearn))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        omtl.sklearn.Nothing  # noqa: B018


ORDERED = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "it shuffles weighted and repeated examples in different orders",
)
FAILING = {"Majority": {"check_classifiers_train": "it looks at no feature"}}
"""The checks that an estimator at its defaults cannot pass, with the reason; as scikit-learn's own
SGDClassifier, all others are `ORDERED`."""


def assert_checks_pass(model: MultiTaskClassifier, failing: dict[str, str]) -> None:
    """Assert that scikit-learn's checks pass, but those that are expected to fail, which do."""
    results = check_estimator(model, expected_failed_checks=failing, on_skip=None)
    status = {each["check_name"]: each["status"] for each in results}
    assert {name for name, got in status.items() if got == "xfail"} == set(failing)
    # It needs an environment variable before SciPy is imported.
    assert {name for name, got in status.items() if got == "skipped"} <= {"check_array_api_input"}
    assert len(status) > 40


KINDS = {
    (entry.takes, entry.linear, hasattr(ESTIMATORS[name].rules, "close_round")): name
    for name, entry in reversed(declared_entries().items())
}
"""An estimator of each kind; those of one kind have the same code in front of their rules."""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in KINDS.values() else [pytest.mark.deep])
        for name in declared_entries()
    ],
)
def test_scikit_learn_checks(name: str) -> None:
    """scikit-learn's own suite, of estimators at their defaults."""
    assert_checks_pass(ESTIMATORS[name](), FAILING.get(name, ORDERED))


FORMULA = r"^{}\b(?:.|\n(?!\n))*:\n\n {{4}}\S"
"""Matches a paragraph that begins with a word, and the formula below it."""

CITATION = re.compile(r"\.\. \[\d\] .+\. \".+\"\. .+, (19|20)\d\d\. https://\S+")
"""Matches authors, title, venue, year and link."""


@pytest.mark.parametrize("name", declared_entries())
def test_help_has_all_parts(name: str) -> None:
    """Objective and update as formulas, cost, and numpydoc's sections; the example runs."""
    made = ESTIMATORS[name]
    parts = sections_of(made.__doc__)
    about = parts.pop("")
    assert re.search(FORMULA.format("Objective"), about, re.MULTILINE)
    assert re.search(FORMULA.format("Update"), about, re.MULTILINE)
    assert "\nCost per example: " in about
    assert made.entry.linear == ("coef_" in parts["Attributes"])
    expected = ["Parameters", "Attributes", "References", "Examples"]
    assert [*parts] == (expected[1::2] if name == "Majority" else expected)
    for reference in re.split(r"\n(?=\.\.)", parts.get("References", "").strip()):
        assert name == "Majority" or CITATION.fullmatch(" ".join(reference.split()))
    (test,) = doctest.DocTestFinder(recurse=False).find(made, name)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_search_and_cross_validation_route_the_task() -> None:
    """GridSearchCV, cross_val_score and Pipeline pass the tasks on where they are asked to."""
    X, y, task = blobs()
    with config_context(enable_metadata_routing=True):
        model = PassiveAggressive().set_fit_request(task=True, tasks=True)
        model.set_score_request(task=True)
        told = {"task": task, "tasks": range(4)}
        search = GridSearchCV(model, {"C": [1e-6, 0.1]}, cv=3).fit(X, y, **told)
        assert search.best_params_ == {"C": 0.1}
        assert cross_val_score(search.best_estimator_, X, y, params=told, cv=3).min() > 0.6
        scaled = make_pipeline(StandardScaler(), model)
        assert scaled.fit(X, y, **told).score(X, y, task=task) > 0.8
    bare = make_pipeline(StandardScaler(), PassiveAggressive())
    bare.fit(X, y, passiveaggressive__task=task)
    np.testing.assert_array_equal(
        bare.predict(X, task=task), bare[-1].predict(bare[0].transform(X), task)
    )


def test_a_network_is_a_parameter() -> None:
    """By name, by the options of `mixing_matrix`, by weights; nodes where they are not tasks."""
    X, y, task = blobs()
    by_name, by_options, by_weights, other = (
        DOM1(network=network).fit(X, y, task).decision_function(X, task)
        for network in ("ring", {"topology": "ring"}, mixing_matrix(4, "ring"), "full")
    )
    np.testing.assert_array_equal(by_name, by_options)
    np.testing.assert_array_equal(by_name, by_weights)
    assert not np.array_equal(by_name, other)
    two = DOM1(network={"n_nodes": 2})
    assert two.fit(X, y, task, node=task % 2).score(X, y, task, node=task % 2) > 0.6


N_TASKS = 4


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return examples of four tasks, the task's number last."""
    X, y, task = blobs()
    return np.column_stack([X, task]), np.where(y > 0, "yes", "no")


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


@pytest.mark.parametrize("column", [-1, "who"])
def test_a_file_keeps_the_column(column: int | str, tmp_path: Path) -> None:
    """With the tasks and the learner, by whichever `load` it is read."""
    X, y = data()
    frame = pd.DataFrame(X[:, :-1]).rename(columns=str).assign(who=X[:, -1].astype(int))
    kept = model(column=column).fit(frame, y)
    kept.save(tmp_path / "model.npz")
    for load in (omtl.sklearn.load, TaskColumn.load):
        again = load(tmp_path / "model.npz")
        assert repr(again) == repr(TaskColumn(ROMPGD(), column=column, tasks=[*range(N_TASKS)]))
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
