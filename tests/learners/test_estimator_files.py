"""Estimators in files, and what is told of wrong arguments."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_cases import NAMES, VARIANTS, blobs, data, estimator, same_bits
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import omtl.learners
from omtl.data.networks import mixing_matrix
from omtl.sklearn import AKLO, DA, DOM1, NS, ROMPGD, PassiveAggressive
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.stream import arrays_of
from omtl.util.archives import read_sealed, write_sealed
from omtl.util.errors import UserError

STREAMED = ["PassiveAggressive", "DA", "ROMPGD-outliers", "AKLO-sample", "OSMTLThreshold"]


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("variant", STREAMED)
def test_kept_estimators_go_on_where_they_were(variant: str, layout: str, tmp_path: Path) -> None:
    """In the middle of a round, kept and read again, the rest of the stream gives the same bits."""
    tasks = data(layout)
    task = [NAMES[k] for k in tasks.task]
    model = estimator(variant).partial_fit(tasks.X[:20], tasks.y[:20], task[:20], tasks=NAMES)
    model.save(tmp_path / "model.npz")
    kept = [omtl.sklearn.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))]
    model.partial_fit(tasks.X[20:], tasks.y[20:], task[20:])
    for again in kept:
        assert repr(again) == repr(model)
        assert again.tasks_ == model.tasks_ == NAMES
        again.partial_fit(tasks.X[20:], tasks.y[20:], task[20:])
        np.testing.assert_array_equal(again.predict(tasks.X, task), model.predict(tasks.X, task))
        same_bits(again, arrays_of(model._stream.feed.state))


@pytest.mark.usefixtures("slowly")
def test_the_same_model_is_the_same_file(tmp_path: Path) -> None:
    """A file's bytes are of what it keeps alone, with every kind of parameter."""
    X, y, task = blobs()
    mixing = mixing_matrix(4, "ring")
    for kind in (mixing, {"topology": "ring", "edges": None}, {"edges": [[0, 1], [1, 2], [2, 3]]}):
        model = NS(network=kind).fit(X, np.where(y > 0, "up", "down"), task)
        model.save(tmp_path / "a")
        omtl.sklearn.load(tmp_path / "a").save(tmp_path / "b")
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    model = AKLO(n_examples=dict.fromkeys(range(4), 30)).fit(X, y, task)
    model.save(tmp_path / "c")
    assert AKLO.load(tmp_path / "c").get_params() == model.get_params()


def changed(path: Path, **changes: Any) -> Path:
    """Write a copy of a model's file with other values in its description."""
    arrays = read_sealed(path)
    about = json.loads(str(arrays["about"])) | changes
    write_sealed(path.with_name("changed.npz"), arrays | {"about": np.array(json.dumps(about))})
    return path.with_name("changed.npz")


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    """What is no model, another's, of a later version, damaged, or holds a pickle."""
    X, y, task = blobs()
    good = tmp_path / "good.npz"
    PassiveAggressive().fit(X, y, task).save(good)
    code = io.BytesIO()
    np.savez(code, about=np.array([{"format": "omtl model"}], dtype=object))
    cut = good.read_bytes()[:-40]
    for content in (b"", b"no model", pickle.dumps([1]), cut, code.getvalue()):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(UserError, match="is not a model file, or is damaged"):
            omtl.sklearn.load(tmp_path / "bad")
    for text, path in {
        "has version 9": changed(good, version=9),
        "has a PassiveAggressive, not a ROMPGD": good,
        "cannot be read": tmp_path / "none",
    }.items():
        with pytest.raises(UserError, match=text):
            ROMPGD.load(path)
    for changes in ({"learner": "print"}, {"format": "x"}, {"params": {"D": 1}}, {"tasks": [1]}):
        with pytest.raises(UserError, match="is not a model file"):
            omtl.sklearn.load(changed(good, **changes))
    for array in (np.zeros((1, 1)), read_sealed(good)["state/w"].astype(np.float32)):
        write_sealed(tmp_path / "other.npz", read_sealed(good) | {"state/w": array})
        with pytest.raises(UserError, match="state/w does not fit"):
            omtl.sklearn.load(tmp_path / "other.npz")
    with pytest.raises(UserError, match=r"tasks: \(1, 2\) cannot be stored in a file"):
        PassiveAggressive().begin(2, [0, 1], [(1, 2)]).save(tmp_path / "x")


COUNTS = {
    *("round", "n_met", "last_met", "seen", "horizon", "random", "n_unmet", "together_from"),
    *("asked", "steps", "n", "peers", "wrong"),
}
"""Arrays of whole numbers that say how many, not where."""


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_index_of_nothing_is_refused(variant: str, layout: str, tmp_path: Path) -> None:
    """Compiled code would write there; the file's hash may be right."""
    tasks = data(layout)
    task = [NAMES[k] for k in tasks.task]
    model = estimator(variant).partial_fit(tasks.X[:20], tasks.y[:20], task[:20], tasks=NAMES)
    model.save(tmp_path / "model")
    whole = read_sealed(tmp_path / "model")
    assert omtl.sklearn.load(tmp_path / "model").tasks_ == NAMES
    for name, array in whole.items():
        is_state = name.startswith(("state/", "window/", "clock/"))
        if array.dtype.kind in "iu" and is_state and name.rpartition("/")[2] not in COUNTS:
            for place, odd in product(range(array.size), (10**6, -7)):
                forged = array.copy()
                forged.flat[place] = odd
                write_sealed(tmp_path / "forged", whole | {name: forged})
                with pytest.raises(UserError, match="index of nothing"):
                    omtl.sklearn.load(tmp_path / "forged")
                if place > 3:
                    break


X, Y, TASK = blobs()


def with_last(array: np.ndarray, value: Any) -> np.ndarray:
    """Return an array whose last entry is another."""
    changed = array.astype(type(value))
    changed.flat[-1] = value
    return changed


WRONG: dict[str, Callable[[Any], Any]] = {
    "^Input X contains NaN": lambda m: m.learn_one([np.nan] * 6, 1, 0),
    "Input X contains infinity": lambda m: m.predict_one([np.inf] * 6, 0),
    "Input X contains NaN": lambda m: m.predict(np.full((1, 6), np.nan), [0]),
    "X contains infinity": lambda m: m.fit(with_last(X, np.inf), Y, TASK),
    "contains infinity": lambda m: m.fit(sparse.csr_array(with_last(X, np.inf)), Y, TASK),
    r"X has 5 features, but PassiveAggressive is expecting 6": lambda m: m.learn_one([0] * 5, 1, 0),
    "X has 7 features, but PassiveAggressive is expecting 6": (
        lambda m: m.decision_function(np.ones((1, 7)), [0])
    ),
    # A stream that does not begin leaves the last one, whose rows have another length.
    "task 3 was not declared": lambda m: m.fit(np.ones((120, 50)), Y, TASK, tasks=range(3)),
    "C=-2 must be positive": lambda m: m.set_params(C=-2).fit(np.ones((120, 50)), Y, TASK),
    "classes must be|one class or none": lambda m: m.begin(50, [1]),
    "a label is NaN": lambda m: m.fit(X, Y, with_last(TASK, np.nan)),
    "NaN or None, which names no task": lambda m: m.partial_fit(X[:1], Y[:1], [None]),
    r"x has the shape \(2, 6\), but must be one": lambda m: m.predict_one(X[:2], 0),
    r"y=\[1\] must be a single label": lambda m: m.learn_one(X[0], [1], 0),
    "task 8 was not declared": lambda m: m.predict(X[:1], [8]),
    r"task 'x' was not declared \(declared: 0, 1, 2, 3\).*\(tasks=\)": (
        lambda m: m.predict_one(X[0], "x")
    ),
    "label must be hashable, such as a string": lambda m: m.predict_one(X[0], [1]),
    "task 9 was not declared": lambda m: m.partial_fit(X, Y, with_last(TASK, 9)),
    "there are 4 tasks: give the task of each example": lambda m: m.predict(X),
    "task has 2 entries for 120 examples": lambda m: m.predict(X, [1, 2]),
    "task='abc' must be a sequence of labels": lambda m: m.predict(X, "abc"),
    "task: a label must be hashable": lambda m: m.predict(X[:1], [[1]]),
    r"y has the labels \[0, 1, 2\]|y has the labels \[2\]": (
        lambda m: m.partial_fit(X, with_last(Y, 2), TASK)
    ),
    r"y has the labels \['x'\]": lambda m: m.learn_one(X[0], "x", 0),
    "one class or none": lambda _: PassiveAggressive().partial_fit(X[:1], Y[:1]),
    "classes=.* differ from those of the first call": (
        lambda m: m.partial_fit(X, Y, TASK, None, [4, 5])
    ),
    "tasks differ from those of the first": lambda m: m.partial_fit(X, Y, TASK, tasks=[1]),
    "tasks must be ordered": lambda m: m.begin(2, [0, 1], {"a", "b"}),
    "must be one or more distinct labels": lambda m: m.begin(2, [0, 1], ["a", "a"]),
    "n_features=0 must be a positive": lambda m: m.begin(0, [0, 1]),
    "PassiveAggressive: C=-1 must be positive": lambda _: PassiveAggressive(C=-1).fit(X, Y),
    "C='1' must be a number": lambda _: PassiveAggressive(C="1").fit(X, Y),
    "C=nan must be a number": lambda _: PassiveAggressive(C=np.nan).fit(X, Y),
    "pooled=1 must be True or False": lambda _: PassiveAggressive(pooled=1).fit(X, Y),
    "rounds='x' is not known; choose from task, example": lambda _: ROMPGD(rounds="x").fit(X, Y),
    "no topology 'star'": lambda _: DOM1(network="star").fit(X, Y, TASK),
    "unexpected keyword argument 'size'": lambda _: DOM1(network={"size": 2}).fit(X, Y, TASK),
    "weights is a name; give": lambda _: DOM1(network={"weights": np.eye(4)}).fit(X, Y, TASK),
    "must be a name, a mapping": lambda _: DOM1(network=[[1], [1, 2]]).fit(X, Y, TASK),
    "are not square": lambda _: DOM1(network=np.ones((2, 3))).fit(X, Y, TASK),
    "each row must sum to 1": lambda _: DOM1(network=np.ones((4, 4))).fit(X, Y, TASK),
    "NS: NS: one node a task is needed": lambda _: NS(network={"n_nodes": 2}).fit(X, Y, TASK),
    "node must be from 0 to 3": lambda _: DOM1().fit(X, Y, TASK, node=TASK + 1),
    "node must be 120 whole numbers": lambda _: DOM1().fit(X, Y, TASK, node=[0.5]),
    "n_examples must give a number to each": lambda _: AKLO(n_examples={1: 2}).fit(X, Y, TASK),
    "clip=7 is not known": lambda _: AKLO(clip=7).fit(X, Y, TASK),
    "has not been fitted yet: call fit, partial_fit or begin": lambda _: DA().learn_one(X[0], 1),
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_told_and_leave_what_was_learnt(text: str) -> None:
    """A wrong argument is a ValueError (before any learning, a NotFittedError) that says what."""
    model = PassiveAggressive().fit(X, Y, TASK, tasks=range(4))
    before = model.decision_function(X, TASK)
    with pytest.raises(ValueError, match=text):
        WRONG[text](model)
    np.testing.assert_array_equal(model.decision_function(X, TASK), before)


@pytest.mark.usefixtures("slowly")
def test_divergence_is_told() -> None:
    """Scores that are not finite come with a warning."""
    with np.errstate(all="ignore"):
        with pytest.warns(ConvergenceWarning, match="use a smaller learning rate"):
            ESTIMATORS["Perceptron"](eta=1e308, margin=1.0).fit(1e10 * X, Y, TASK)
        model = ESTIMATORS["Perceptron"](eta=1e308, margin=1.0).begin(6, [0, 1])
        with pytest.warns(ConvergenceWarning, match="Perceptron: scores are no longer finite"):
            for x, y in product(1e10 * X[:3], (0, 1)):
                model.learn_one(x, y)
