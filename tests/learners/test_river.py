"""The learners in river: its own checks, its tools, and the bits of the estimator."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import (
    compose,
    datasets,
    ensemble,
    evaluate,
    linear_model,
    metrics,
    multiclass,
    preprocessing,
)
from river.checks import yield_checks
from scipy import sparse

from omtl.river import FIRST_COLUMNS, MultiTask
from omtl.sklearn import ROMPGD, PassiveAggressive
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.states import arrays_of

N_FEATURES = 3 * FIRST_COLUMNS


@pytest.fixture(autouse=True)
def slowly(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let the rules run in plain Python, but where a test is of compiled code."""
    if "compiled" not in request.node.name:
        monkeypatch.setattr("omtl.sklearn.stream.COMPILED", False)


def stream(n: int = 60) -> list[tuple[dict[str, Any], bool]]:
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


def checks(model: MultiTask) -> set[str]:
    """Run river's checks; return the names of those that were run."""
    run = set()
    for check in yield_checks(model):
        check(model.clone())
        run.add(check.__name__)
    return run


@pytest.mark.parametrize("name", ["PassiveAggressive", "ROMPGD", "DOM1", "AKLO"])
def test_river_checks(name: str) -> None:
    """river's own suite: all pass, none is skipped."""
    model = MultiTask(ESTIMATORS[name]())
    assert not model._unit_test_skips()
    assert {"check_emerging_features", "check_shuffle_features_no_impact"} <= checks(model)


def test_river_checks_of_compiled_code() -> None:
    """The same of a compiled loop."""
    assert len(checks(MultiTask(PassiveAggressive(C=1.0)))) > 20


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name != "OMTLCovariance"])
def test_new_features_give_the_bits_of_known_ones(name: str) -> None:
    """Where features come one by one, the state is what it is where all are known before.

    OMTLCovariance divides by the number of features, of which there are then fewer.
    """
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
    for path, array in arrays_of(known._state).items():
        np.testing.assert_array_equal(arrays_of(learnt._state)[path], array, err_msg=path)


def test_progressive_validation_of_river() -> None:
    """river's own tools evaluate it, in a pipeline that keeps the task beside scaled features."""
    scaled = compose.Discard("task") | preprocessing.StandardScaler()
    model = (scaled + compose.Select("task")) | MultiTask(
        PassiveAggressive(C=0.1), tasks=("a", "b", "c")
    )
    metric = evaluate.progressive_val_score(stream(600), model, metrics.Accuracy())
    assert metric.get() > 0.7


def test_mistakes_are_told() -> None:
    """What does not fit is a ValueError that says what."""
    model = MultiTask(PassiveAggressive(), tasks=("a", "b"))
    for text, x in {
        "has no feature 'task'": {"f": 1.0},
        r"task 'z' was not declared \(declared: 'a', 'b'\)": {"task": "z", "f": 1.0},
        "has a feature that is not a number": {"task": "a", "f": "red"},
        "contains NaN": {"task": "a", "f": float("nan")},
        "infinity or": {"task": "a", "f": 10**400},
    }.items():
        with pytest.raises(ValueError, match=text):
            model.learn_one(x, True)
    with pytest.raises(ValueError, match=r"y='x' is not one of the classes \[False, True\]"):
        model.learn_one({"task": "a", "f": 1.0}, "x")
    assert model.predict_one({"task": "a", "unheard of": 1.0}) is False
    assert model.decision_one({"task": "a"}) == 0.0


def test_mistakes_are_told_of_compiled_code() -> None:
    """The same errors, also for features that are known, with nothing learnt."""
    test_mistakes_are_told()
    model = MultiTask(PassiveAggressive(), tasks=("a", "b"))
    model.learn_one({"task": "a", "f": 1.0}, True)
    before = model.decision_one({"task": "a", "f": 1.0})
    for text, x in {
        "declared": {"task": "z", "f": 1.0},
        "not a number": {"task": "a", "f": "red"},
        "contains NaN": {"task": "a", "f": float("nan")},
        "infinity or": {"task": "a", "f": 10**400},
        "has no feature": {"tusk": "a", "f": 1.0},
    }.items():
        for _ in range(2):
            with pytest.raises(ValueError, match=text):
                model.decision_one(x)
            with pytest.raises(ValueError, match=text):
                model.learn_one(x, False)
    assert model.decision_one({"task": "a", "f": 1.0}) == before


@pytest.mark.parametrize("name", ["PassiveAggressive", "ROMPGD", "DOM1"])
@pytest.mark.parametrize("n_features", [1, 6])
def test_compiled_examples_of_known_features_give_the_bits_of_others(
    name: str, n_features: int
) -> None:
    """In any order, with as many other features, and changed after they were scored."""
    rng = np.random.default_rng(3)
    quick = MultiTask(ESTIMATORS[name](), tasks=("a", "b", "c"), default_task="c")
    slow = quick.clone()
    for i in range(60):
        features = {f"f{j}": float(rng.normal()) for j in rng.permutation(n_features)}
        x: dict[str, Any] = {**features, "task": "abc"[i % 3]}
        if i % 10 == 9:
            x[f"g{i}"] = x.pop("f0")
        if i > 30:
            x.pop("task")
        scored = [quick.decision_one(x), slow.decision_one(OrderedDict(x))]
        assert scored[0] == scored[1]
        if i % 4 == 3:
            x[next(name for name in x if name != "task")] = float(rng.normal())
        quick.learn_one(x, i % 7 < 3)
        slow.learn_one(OrderedDict(x), i % 7 < 3)
    assert quick._plan is not None and slow._plan is None
    assert quick._model is not None and slow._model is not None
    for path, array in arrays_of(quick._model._state).items():
        np.testing.assert_array_equal(arrays_of(slow._model._state)[path], array, err_msg=path)


@pytest.mark.parametrize("kind", [Counter, lambda x: defaultdict(int, x)])
def test_compiled_features_that_are_not_listed_are_not_asked_for(kind: Any) -> None:
    """Mappings with a value for any feature are scored by those that they list."""
    model = MultiTask(PassiveAggressive())
    for _ in range(3):
        model.learn_one({"a": 1, "b": 2}, True)
    x = kind({"a": 1, "c": 5})
    assert model.decision_one(x) == model.decision_one({"a": 1})
    assert list(x) == ["a", "c"]


def test_the_learner_is_not_touched() -> None:
    """What is given is cloned, as in a pipeline that is used twice."""
    learner = PassiveAggressive()
    model = MultiTask(learner)
    model.learn_one({"f": 1.0}, True)
    assert not hasattr(learner, "classes_")
    assert model.predict_one({"f": 1.0}) is True
    assert model.clone().predict_one({"f": 1.0}) is False


def test_many_are_one_after_the_other() -> None:
    """`learn_many` leaves the bits of `learn_one`; predictions agree, also as probabilities."""
    examples = stream()
    frame = pd.DataFrame([x for x, _ in examples]).fillna(0.0)
    labels = pd.Series([y for _, y in examples])
    many = MultiTask(ROMPGD(), tasks=("a", "b", "c"))
    one = many.clone()
    many.learn_many(frame[:31], labels[:31])
    many.learn_many(frame[31:], labels[31:])
    rows = frame.to_dict("records")
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    assert many._model is not None and one._model is not None
    in_many = {name: many._model.coef_[:, j] for name, j in many._column.items()}
    in_one = {name: one._model.coef_[:, j] for name, j in one._column.items()}
    for name in in_many:
        np.testing.assert_allclose(in_many[name], in_one[name], rtol=1e-12)
    probabilities = many.predict_proba_many(frame)
    assert probabilities.columns.tolist() == [False, True]
    for i, x in enumerate(rows):
        assert probabilities[True][i] == pytest.approx(one.predict_proba_one(x)[True])
        assert many.predict_many(frame)[i] == one.predict_one(x)
    assert many.predict_many(frame[:0]).empty
    many.learn_many(frame[:0], labels[:0])
    with pytest.raises(ValueError, match="no feature 'task'"):
        many.predict_many(frame.drop(columns="task"))


def test_tools_that_ask_for_probabilities() -> None:
    """river's ROC AUC, one-vs-rest and bagging take it; a default task passes its checks."""
    model = MultiTask(PassiveAggressive(), tasks=("a", "b", "c"))
    assert evaluate.progressive_val_score(stream(300), model, metrics.ROCAUC()).get() > 0.7
    bagged = ensemble.BaggingClassifier(model, n_models=2, seed=1)
    assert evaluate.progressive_val_score(stream(100), bagged, metrics.Accuracy()).get() > 0.5
    accuracy = [
        evaluate.progressive_val_score(
            datasets.ImageSegments().take(200),
            preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(each),
            metrics.Accuracy(),
        ).get()
        for each in (
            MultiTask(PassiveAggressive()),
            linear_model.PAClassifier(learn_intercept=False),
        )
    ]
    assert accuracy[0] == accuracy[1] > 0.3
    assert checks(MultiTask(PassiveAggressive(), tasks=("a", "b"), default_task="a"))


def test_features_for_which_there_is_no_memory_get_no_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Scoring them later would read memory that is not the learner's."""
    model = MultiTask(PassiveAggressive())
    model.learn_one({"f": 1.0}, True)
    many = {f"f{i}": 1.0 for i in range(100)}

    def full(*_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(type(model._begun()._learner), "new_state", full)
        with pytest.raises(ValueError, match="do not fit into the memory"):
            model.learn_one(many, True)
    assert model.decision_one(many) == 0.0
    model.learn_one(many, True)
    assert model.predict_one(many) is True
