"""Tasks that come after learning began: in `partial_fit`, one by one, and in river."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from omtl.river import MultiTask
from omtl.sklearn import AROW, DOM1, ROMPGD, MultiTaskAROW, PassiveAggressive, load
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.states import arrays_of
from omtl.sklearn.task_column import TaskColumn

RNG = np.random.default_rng(0)
N = 60
X = RNG.standard_normal((N, 5))
TASK = np.array([*RNG.integers(0, 2, N // 2), *RNG.integers(0, 4, N // 2)])
Y = (X @ RNG.standard_normal(5) > 0.3 * TASK).astype(int)
FIRST = slice(0, N // 2)
REST = slice(N // 2, N)

NEEDS_ALL = {
    *("NS", "DST", "DOM1", "DOM2", "DA", "NeighbourhoodMT"),  # a network
    *("OMTLLogDet", "OSMTLExponential", "OSMTLThreshold", "Peer", "Humble"),  # relations
}
HEEDS_NUMBER = {
    *("MultiPerceptron", "HedgedMultiTask", "SelectivePerceptron", "ROMPGD"),
    *("OMTLCovariance", "OMTLBatchOpt", "OMTLVonNeumann"),
}
"""Learners whose rules use the number of tasks."""


@pytest.fixture(autouse=True)
def slowly(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let the rules run in plain Python, but where a test is of compiled code."""
    if "compiled" not in request.node.name:
        monkeypatch.setattr("omtl.sklearn.stream.COMPILED", False)


def made(name: str) -> MultiTaskClassifier:
    """Return an estimator each of whose examples is a round."""
    kind = ESTIMATORS[name]
    return kind(rounds="example") if "rounds" in kind.entry.takes else kind()


def same_state(one: MultiTaskClassifier, other: MultiTaskClassifier) -> None:
    """Assert that two estimators have learnt the same, bit for bit."""
    assert one.tasks_ == other.tasks_
    found = arrays_of(other._state)
    for path, array in arrays_of(one._state).items():
        np.testing.assert_array_equal(found[path], array, err_msg=path)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in NEEDS_ALL])
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


@pytest.mark.parametrize("name", sorted(NEEDS_ALL))
def test_learners_that_need_all_tasks_say_so(name: str) -> None:
    """Nothing is learnt from such examples, not even from those of known tasks."""
    model = made(name).partial_fit(X[FIRST], Y[FIRST], TASK[FIRST])
    before = {path: array.copy() for path, array in arrays_of(model._state).items()}
    with pytest.raises(ValueError, match=r"has to know all tasks .* name them \(tasks=\)"):
        model.partial_fit(X[REST], Y[REST], TASK[REST])
    for path, array in arrays_of(model._state).items():
        np.testing.assert_array_equal(before[path], array, err_msg=path)


@pytest.mark.parametrize("kind", [ROMPGD, PassiveAggressive, MultiTaskAROW])
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


def test_declared_tasks_stay_the_only_ones() -> None:
    """A new name among declared tasks is a mistake; so is one in a prediction, or a missing one."""
    declared = AROW().partial_fit(X, Y, TASK, tasks=[0, 1, 2, 3])
    with pytest.raises(ValueError, match="task 9 was not declared"):
        declared.partial_fit(X[:1], Y[:1], [9])
    with pytest.raises(ValueError, match="task 9 was not declared"):
        AROW().fit(X, Y, TASK).predict(X[:1], [9])
    with pytest.raises(ValueError, match="NaN, which names no task"):
        AROW().fit(X, Y, TASK).partial_fit(X[:1], Y[:1], [float("nan")])


def test_new_tasks_of_a_column_and_of_a_file(tmp_path: Path) -> None:
    """`TaskColumn` meets them, and a model from a file still does."""
    both = np.column_stack([X, TASK])
    column = TaskColumn(PassiveAggressive()).partial_fit(both[FIRST], Y[FIRST])
    column.partial_fit(both[REST], Y[REST])
    assert len(column.estimator_.tasks_) == 4
    model = PassiveAggressive().partial_fit(X[FIRST], Y[FIRST], TASK[FIRST])
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz").partial_fit(X[REST], Y[REST], TASK[REST])
    same_state(again, model.partial_fit(X[REST], Y[REST], TASK[REST]))


# river


def examples() -> list[tuple[dict[str, Any], bool]]:
    """Return four tasks that disagree."""
    return [
        ({"task": f"t{k}", **{f"f{j}": v for j, v in enumerate(row.tolist())}}, bool(y))
        for row, y, k in zip(X, Y, TASK, strict=True)
    ]


@pytest.mark.parametrize("compiled", ["plain", "compiled"])
def test_river_learns_tasks_as_they_come(compiled: str) -> None:  # noqa: ARG001
    """They need not be declared; the key is heeded."""
    model = MultiTask(PassiveAggressive())
    names = tuple(dict.fromkeys(x["task"] for x, _ in examples()))
    declared = MultiTask(PassiveAggressive(), tasks=names)
    for x, y in examples():
        assert model.decision_one(x) == declared.decision_one(x)
        model.learn_one(x, y)
        declared.learn_one(x, y)
    assert model._model is not None
    assert declared._model is not None
    same_state(model._model, declared._model)


def test_river_learns_tasks_of_frames_as_they_come() -> None:
    """To the bits of examples one by one; predictions declare no task."""
    frame = pd.DataFrame([x for x, _ in examples()])
    labels = pd.Series([y for _, y in examples()])
    many, one = MultiTask(MultiTaskAROW()), MultiTask(MultiTaskAROW())
    many.learn_many(frame[FIRST], labels[FIRST])
    for i, (x, y) in enumerate(examples()):
        if i == N // 2:
            found = many.predict_proba_many(frame)[True].tolist()
            assert found == [one.predict_proba_one(each)[True] for each, _ in examples()]
            assert many._model is not None
            assert len(many._model.tasks_) == 2
        one.learn_one(x, y)
    many.learn_many(frame[REST], labels[REST])
    assert many._model is not None
    assert one._model is not None
    same_state(many._model, one._model)


def test_river_keeps_examples_without_a_task_apart() -> None:
    """They are a task of their own beside tasks with names, or that of `default_task`."""
    model = MultiTask(PassiveAggressive())
    model.learn_one({"f": 1.0, "task": "a"}, True)
    model.learn_one({"f": 1.0}, False)
    assert model.decision_one({"f": 1.0, "task": "a"}) > 0.0 > model.decision_one({"f": 1.0})
    model = MultiTask(PassiveAggressive(), default_task="a")
    model.learn_one({"f": 1.0, "task": "a"}, True)
    assert model.decision_one({"f": 1.0}) > 0.0


def test_river_says_which_learners_need_all_tasks() -> None:
    """At their second task."""
    model = MultiTask(DOM1())
    model.learn_one({"f": 1.0, "task": "a"}, True)
    with pytest.raises(ValueError, match="DOM1 has to know all tasks"):
        model.learn_one({"f": 1.0, "task": "b"}, True)
