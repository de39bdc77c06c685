"""The learners in river, and tasks that come after learning began."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimator_cases import blobs, in_turn
from river.checks import yield_checks
from scipy import sparse

from omtl.river import MultiTask
from omtl.sklearn import ROMPGD, PassiveAggressive
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.stream import arrays_of

FIRST_COLUMNS = 4
"""For how many features there is room at first; twice as many are due whenever there is none."""

N_FEATURES = 3 * FIRST_COLUMNS


def stream(n: int = 20) -> list[tuple[dict[str, Any], bool]]:
    """Return examples of three tasks whose features come one after the other."""
    rng = np.random.default_rng(0)
    way = rng.normal(size=N_FEATURES)
    found = []
    for i in range(n):
        x = rng.normal(size=N_FEATURES) * (rng.random(N_FEATURES) < 0.3)
        x[min(i + 2, N_FEATURES) :] = 0.0
        features = {f"f{j:02d}": float(x[j]) for j in np.flatnonzero(x)}
        found.append(({"task": "abc"[i % 3], **features}, bool(x @ way > 0.0)))
    return found


DEEP = [pytest.param(name, marks=pytest.mark.deep) for name in ("DOM1", "ROMPGD", "AKLO")]


@pytest.mark.parametrize("name", ["PassiveAggressive", *DEEP])
def test_river_checks(name: str) -> None:
    """river's own suite, of compiled code: all pass, none is skipped."""
    model, run = MultiTask(ESTIMATORS[name]()), set()
    assert not model._unit_test_skips()
    for check in yield_checks(model):
        check(model.clone())
        run.add(check.__name__)
    assert {"check_emerging_features", "check_shuffle_features_no_impact"} <= run


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "OMTLCovariance"])
def test_new_features_give_the_bits_of_known_ones(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where features come one by one, the state is what it is where all are known before.

    OMTLCovariance divides by the number of features, of which there are then fewer.
    """
    monkeypatch.setattr("omtl.river.FIRST_COLUMNS", FIRST_COLUMNS)
    model = MultiTask(ESTIMATORS[name](), tasks=("a", "b", "c"))
    for x, y in stream():
        model.learn_one(x, y)
    learnt = model._model
    assert isinstance(learnt, MultiTaskClassifier)
    assert learnt.n_features_in_ > 2 * FIRST_COLUMNS
    known = ESTIMATORS[name]().begin(learnt.n_features_in_, [False, True], ["a", "b", "c"], True)
    for x, y in stream():
        entries = {model._column[key]: value for key, value in x.items() if key != "task"}
        at = sorted(entries)
        row = sparse.csr_array(
            ([entries[j] for j in at], at, [0, len(at)]), shape=(1, known.n_features_in_)
        )
        known.learn_one(row, y, x["task"])
    same_state(known, learnt)


@pytest.mark.usefixtures("slowly")
def test_many_are_one_after_the_other() -> None:
    """`learn_many` leaves the bits of `learn_one`; predictions agree, also as probabilities."""
    examples = stream()
    frame = pd.DataFrame([x for x, _ in examples]).fillna(0.0)
    labels = pd.Series([y for _, y in examples])
    many = MultiTask(ROMPGD(), tasks=("a", "b", "c"), default_task="a")
    one = many.clone()
    many.learn_many(frame[:11], labels[:11])
    many.learn_many(frame[11:], labels[11:])
    rows = frame.to_dict("records")
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    assert many._model is not None and one._model is not None
    in_many = {name: many._model.coef_[:, j] for name, j in many._column.items()}
    in_one = {name: one._model.coef_[:, j] for name, j in one._column.items()}
    for name in in_many:
        np.testing.assert_allclose(in_many[name], in_one[name], rtol=1e-12)
    probabilities, predictions = many.predict_proba_many(frame), many.predict_many(frame)
    assert probabilities.columns.tolist() == [False, True]
    for i, x in enumerate(rows):
        assert probabilities[True][i] == pytest.approx(one.predict_proba_one(x)[True])
        assert predictions[i] == one.predict_one(x)
    assert many.predict_many(frame[:0]).empty
    many.learn_many(frame[:0], labels[:0])
    without, of_default = frame.drop(columns="task"), frame.assign(task="a")
    assert many.predict_many(without).equals(many.predict_many(of_default))
    many.default_task = None
    with pytest.raises(ValueError, match="no feature 'task'"):
        many.predict_many(without)


@pytest.mark.usefixtures("slowly")
def test_only_examples_that_are_learnt_change_the_learner() -> None:
    """A prediction for a task, or an example that is refused, leaves no task behind."""
    model, other = MultiTask(ROMPGD()), MultiTask(ROMPGD())
    wide = {"task": "late", **dict.fromkeys(range(2 * FIRST_COLUMNS), 1.0)}
    other.predict_one(wide)
    with pytest.raises(ValueError, match="not among the classes"):
        other.learn_one(wide, "maybe")
    for x, y in stream():
        model.learn_one(x, y)
        other.learn_one(x, y)
    assert other._model is not None and other._model.tasks_ == ("a", "b", "c")
    for x, _ in stream():
        assert model.decision_one(x) == other.decision_one(x)


N = 60
X, Y, TASK = (array[:N] for array in blobs())
TASK[: N // 2] %= 2
FIRST = slice(0, N // 2)
REST = slice(N // 2, N)

NEEDS_ALL = {
    *("NS", "DST", "DOM1", "DOM2", "DA", "NeighbourhoodMT", "DADMM"),  # a network
    *("OMTLLogDet", "OSMTLExponential", "OSMTLThreshold", "Peer", "Humble", "CADMM"),  # relations
}
HEEDS_NUMBER = {
    *("MultiPerceptron", "HedgedMultiTask", "SelectivePerceptron", "ROMPGD"),
    *("OMTLCovariance", "OMTLBatchOpt", "OMTLVonNeumann"),
}
"""Learners whose rules use the number of tasks."""


def made(name: str) -> MultiTaskClassifier:
    """Return an estimator each of whose examples is a round."""
    kind = ESTIMATORS[name]
    return kind(rounds="example") if "rounds" in kind.entry.takes else kind()


def same_state(one: MultiTaskClassifier, other: MultiTaskClassifier) -> None:
    """Assert that two estimators have learnt the same, bit for bit."""
    assert one.tasks_ == other.tasks_
    found = arrays_of(other._stream.feed.state)
    for path, array in arrays_of(one._stream.feed.state).items():
        np.testing.assert_array_equal(found[path], array, err_msg=path)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize(
    ("name", "layout"),
    in_turn([name for name in ESTIMATORS if name not in NEEDS_ALL], np.asarray, sparse.csr_array),
)
def test_later_tasks_are_learnt(name: str, layout: Any) -> None:
    """As if they had been declared, but for learners whose rules use the number of tasks."""
    rows = layout(X)
    model = made(name).partial_fit(rows[FIRST], Y[FIRST], TASK[FIRST])
    before = model.decision_function(rows, TASK % 2)
    model.partial_fit(rows[REST], Y[REST], TASK[REST])
    assert sorted(model.tasks_) == [0, 1, 2, 3]
    assert np.isfinite(before).all()
    declared = made(name).partial_fit(rows[FIRST], Y[FIRST], TASK[FIRST], tasks=model.tasks_)
    declared.partial_fit(rows[REST], Y[REST], TASK[REST])
    if name not in HEEDS_NUMBER:
        same_state(model, declared)
    one_by_one = made(name).partial_fit(rows[FIRST], Y[FIRST], TASK[FIRST])
    for i in range(N // 2, N):
        one_by_one.learn_one(rows[[i]] if layout is not np.asarray else rows[i], Y[i], TASK[i])
    same_state(model, one_by_one)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("name", sorted(NEEDS_ALL))
def test_learners_that_need_all_tasks_say_so(name: str) -> None:
    """Nothing is learnt from such examples, not even from those of known tasks."""
    model, other = (made(name).partial_fit(X[FIRST], Y[FIRST], TASK[FIRST]) for _ in range(2))
    with pytest.raises(ValueError, match=r"has to know all tasks .* name them \(tasks=\)"):
        model.partial_fit(X[REST], Y[REST], TASK[REST])
    same_state(model, other)


@pytest.mark.parametrize("kind", [ROMPGD, PassiveAggressive])
def test_new_tasks_in_an_open_round_of_compiled_code(kind: Any) -> None:
    """Rows that a learner holds keep their place; arrays, examples and pure Python agree."""
    model = kind().fit(X[FIRST], Y[FIRST], TASK[FIRST])
    model.partial_fit(X[REST], Y[REST], TASK[REST])
    one_by_one = kind().fit(X[FIRST], Y[FIRST], TASK[FIRST])
    for i in range(N // 2, N):
        one_by_one.learn_one(X[i], Y[i], TASK[i])
    same_state(model, one_by_one)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("omtl.sklearn.stream.COMPILED", False)
        plain = kind().fit(X[FIRST], Y[FIRST], TASK[FIRST])
        plain.partial_fit(X[REST], Y[REST], TASK[REST])
        expected = plain.decision_function(X, TASK)
    np.testing.assert_allclose(model.decision_function(X, TASK), expected, rtol=1e-9, atol=1e-12)
