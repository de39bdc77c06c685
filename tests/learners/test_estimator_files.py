"""Estimators in files, and what is told of wrong arguments."""

from __future__ import annotations

import io
import json
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from estimator_cases import NAMES, VARIANTS, blobs, data, estimator, in_turn, same_bits
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import omtl.learners
from omtl.data.networks import mixing_matrix
from omtl.experiment.schema import read_yaml
from omtl.sklearn import AKLO, NS, ROMPGD, PassiveAggressive
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
    learnt = ROMPGD(eta=1).fit(X, y, task)
    learnt.set_params(eta=5.0, rounds="example").save(tmp_path / "d")  # it goes on as it began
    assert repr(ROMPGD.load(tmp_path / "d")) == "ROMPGD(eta=1.0)"


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
@pytest.mark.parametrize(("variant", "layout"), in_turn(VARIANTS, "sparse", "dense"))
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


WRONG = read_yaml(Path(__file__).parents[1] / "golden" / "wrong_arguments.yaml")
"""Calls with wrong arguments, by what is said of them."""

SCOPE = ESTIMATORS | {
    **{"X": X, "Y": Y, "TASK": TASK, "with_last": with_last},
    **{"np": np, "pd": pd, "sp": sparse, "omtl": omtl},
}
"""What a call may name."""


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_told_and_leave_what_was_learnt(text: str) -> None:
    """A wrong argument is a ValueError (before any learning, a NotFittedError) that says what."""
    model = PassiveAggressive().fit(X, Y, TASK, tasks=range(4))
    before = model.decision_function(X, TASK)
    with pytest.raises(ValueError, match=text):
        eval(WRONG[text], SCOPE, {"m": model})
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
