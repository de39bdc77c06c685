"""The estimators: the harness's bits in any pieces, and what scikit-learn asks of them."""

from __future__ import annotations

import importlib
import inspect
import io
import json
import math
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import omtl.learners
from omtl.data.examples import examples_of
from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks, lifelong, rounds
from omtl.experiment.config import load_option, options, patched, questions
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from omtl.sklearn import (
    AKLO,
    DA,
    DOM1,
    NS,
    ROMPGD,
    PassiveAggressive,
    progressive_validation,
)
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.parameters import TABLE, Entry, entry_of
from omtl.sklearn.states import arrays_of, norms_of
from omtl.util.archives import read_sealed, write_sealed
from omtl.util.errors import UserError

VARIANTS = {
    **{name: (name, {}) for name in TABLE},
    "OMTLCovariance-epoch": ("OMTLCovariance", {"epoch": 0.5}),
    "OSMTLExponential-by_horizon": ("OSMTLExponential", {"by_horizon": True}),
    "ROMPGD-outliers": ("ROMPGD", {"gamma": 2.0, "every_round": True}),
    "DOM2-by_node": ("DOM2", {"by_node": True}),
    "AKLO-sample": ("AKLO", {"sample": True, "random_state": 7}),
}
"""Every estimator at its defaults, and those that take another way through their rules."""

COMPILED = [
    ("PassiveAggressive", "dense"),
    ("PassiveAggressive", "sparse"),
    ("ROMPGD-outliers", "sparse"),
    ("DA", "dense"),
    ("AKLO-sample", "dense"),
]
"""One that looks at rows once, one that lists them, one that looks back, one that draws."""

NAMES = ("ham", "eggs", 3)


def estimator(variant: str) -> MultiTaskClassifier:
    """Return a new estimator of a variant."""
    name, params = VARIANTS[variant]
    return ESTIMATORS[name](**params)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rules run in plain Python."""
    monkeypatch.setattr("omtl.sklearn.stream.COMPILED", False)


def data(layout: str) -> Tasks:
    """Return examples of three tasks, one of which ends early; one row is empty."""
    rng = np.random.default_rng(0)
    task = rng.permutation(np.repeat([0, 1, 2], [14, 9, 12]))
    X = rng.normal(size=(task.size, 37)) * (rng.random((task.size, 37)) < 0.4)
    X[5] = 0.0
    y = np.where(X @ rng.normal(size=37) + 0.3 * rng.normal(size=task.size) > 0.0, 1.0, -1.0)
    names = tuple(map(str, NAMES))
    return Tasks(sparse.csr_array(X) if layout == "sparse" else X, y, task, names)


def harness(model: MultiTaskClassifier, tasks: Tasks, stream: Stream, compiled: bool) -> Any:
    """Return the trace and the arrays that the harness's play leaves of an estimator's rules."""
    n = len(tasks.names)
    networked = "network" in model.entry.takes
    shape = Shape(
        n,
        tasks.X.shape[1],
        mixing_matrix(n) if networked else np.eye(n),
        sparse=sparse.issparse(tasks.X),
        n_rounds=stream.start.size - 1,
        n_examples=tuple(np.bincount(tasks.task).tolist()),
        seed=getattr(model, "random_state", 0),
    )
    trace, state = play(model._checked_rules(), examples_of(tasks), stream, shape, compiled)
    return trace, arrays_of(state)


SCRATCH = {"products", "product", "scores", "share"}
"""Names of arrays that belong to the example that was last scored."""


def same_bits(
    model: MultiTaskClassifier, expected: dict[str, np.ndarray], looked_ahead: bool = False
) -> None:
    """Assert that all that an estimator has learnt is what the harness's play left.

    Numbers of rows are left out, as its rows are elsewhere; and what was last scored, where that
    was not learnt from.
    """
    arrays = arrays_of(model._state)
    assert arrays.keys() == expected.keys()
    elsewhere = {"example", "n_rows", "rows"}
    left_out = elsewhere | (SCRATCH if looked_ahead else set())
    for path, array in arrays.items():
        if path.rpartition("/")[2] not in left_out:
            np.testing.assert_array_equal(array, expected[path], err_msg=path, strict=True)


def assert_same_in_all_pieces(variant: str, layout: str, compiled: bool) -> None:
    """Assert that the harness's play, one call, some calls and single examples leave the same."""
    tasks = data(layout)
    shuffle, deal = np.random.default_rng(1), np.random.default_rng(2)
    by_rounds = rounds(tasks, shuffle, deal, n_nodes=3)
    streams = [(by_rounds, "task"), (lifelong(tasks, shuffle), "example")]
    for stream, kind in streams:
        model = estimator(variant)
        if "rounds" in model.entry.takes:
            model.set_params(rounds=kind)
        trace, expected = harness(model, tasks, stream, compiled)
        order = stream.example
        X, y = tasks.X[order], np.where(tasks.y[order] > 0.0, "yes", "no")
        node = stream.node if "network" in model.entry.takes else None
        task = [NAMES[k] for k in tasks.task[order]]

        def piece(part: slice, nodes: np.ndarray | None = node, names: list = task) -> list:
            return [names[part], None if nodes is None else nodes[part]]

        same_bits(clone(model).fit(X, y, task, node, tasks=NAMES), expected)
        if "n_rounds" in model.entry.takes:
            model.set_params(n_rounds=stream.start.size - 1)
        if "n_examples" in model.entry.takes:
            model.set_params(n_examples={k: task.count(k) for k in NAMES})
        whole = clone(model).partial_fit(X, y, task, node, tasks=NAMES)
        same_bits(whole.end_round(), expected)

        pieces = clone(model).begin(37, ["yes", "no"], NAMES, sparse=layout == "sparse")
        for a, b in zip([0, 1, 8, 9, 20], [1, 8, 9, 20, 35], strict=True):
            # Looking ahead, at tasks that have not come too, must change nothing.
            pieces.predict(X[:6], *piece(slice(0, 6)))
            pieces.partial_fit(X[a:b], y[a:b], *piece(slice(a, b)))
        same_bits(pieces.end_round(), expected, looked_ahead=True)

        single = clone(model).begin(37, ["yes", "no"], NAMES, sparse=layout == "sparse")
        nodes = [0] * 35 if node is None else node.tolist()
        rows = [X[i : i + 1] for i in range(35)] if layout == "sparse" else list(X)
        mistakes = dict.fromkeys(NAMES, 0)
        examples = zip(rows, y, task, nodes, strict=True)
        steps = list(progressive_validation(single, examples))
        for step, k in zip(steps, task, strict=True):
            mistakes[k] += step.prediction != step.truth
        same_bits(single.end_round(), expected)
        assert list(mistakes.values()) == trace.mistakes.tolist()
        assert steps[-1].cumulative_error == 100.0 * trace.mistakes.sum() / 35


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_pieces_give_the_bits_of_a_play(variant: str, layout: str) -> None:
    """One call, some calls, single examples and the harness: the same weights, bit for bit."""
    assert_same_in_all_pieces(variant, layout, compiled=False)


@pytest.mark.parametrize(("variant", "layout"), COMPILED)
def test_compiled_pieces_give_the_bits_of_a_play(variant: str, layout: str) -> None:
    """The same of the compiled loops."""
    assert_same_in_all_pieces(variant, layout, compiled=True)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("variant", VARIANTS)
def test_prediction_is_what_learning_sees(variant: str) -> None:
    """In whole rounds, the score before learning is that of a prediction made before."""
    tasks = data("dense")
    model = estimator(variant).begin(37, [-1, 1], range(3))
    by_task = [np.flatnonzero(tasks.task == k)[:6] for k in range(3)]
    for i in np.stack(by_task, axis=1).ravel():
        x, y, k = tasks.X[i], tasks.y[i], int(tasks.task[i])
        ahead = model.decision_function(tasks.X[i][None], [k])[0]
        assert ahead == model.decision_one(x, k) == model.learn_one(x, y, k)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("name", TABLE)
def test_coefficients_are_the_weights(name: str, layout: str) -> None:
    """Where the score is w·x, `coef_` is w; it asks for no more than predictions do."""
    tasks = data(layout)
    model = ESTIMATORS[name]()
    with pytest.raises(AttributeError, match="has no"):
        model.coef_  # noqa: B018
    model.fit(tasks.X, tasks.y, tasks.task)
    if not model.entry.linear:
        assert not hasattr(model, "coef_")
        return
    W = model.coef_
    assert W.shape == (3, 37)
    expected = np.asarray((tasks.X @ W.T)[np.arange(tasks.y.size), tasks.task])
    got = model.decision_function(tasks.X, tasks.task)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)
    assert np.any(W != 0.0)


def test_an_outlier_part_that_ends_late_is_forgotten() -> None:
    """Compiled, ROM-PGD sets q to zero by the rows that it learnt from, long gone here."""
    model = ROMPGD(eta=1.0, gamma=0.2, beta=0.0, alpha=0.0, every_round=True)
    model.begin(128, [-1, 1], sparse=True)
    for t in range(8):
        row = sparse.csr_array(([1.0 if t == 0 else 10.0, 1.0], [0, t + 1], [0, 2]), shape=(1, 128))
        assert (model.learn_one(row, 1) < 1.0) == (t == 0)
        assert model.findings()["outlier"].item() == (t < 7)
    np.testing.assert_array_equal(model._state.q.vectors, 0.0)


@pytest.mark.parametrize("n_features", [1, 15, 8192, 9001])
def test_norms_are_those_of_rows_alone(n_features: int) -> None:
    """A row's norm does not depend on the rows around it."""
    X = np.random.default_rng(0).normal(size=(5, n_features))
    for rows in (X, sparse.csr_array(X)):
        alone = np.concatenate([norms_of(rows[i : i + 1]) for i in range(5)])
        np.testing.assert_array_equal(norms_of(rows), alone)
        np.testing.assert_allclose(alone, np.sum(X * X, axis=1), rtol=1e-12)


# The table


def rules_of_the_package() -> Iterator[type]:
    """Yield the rules of every online learner of two classes."""
    for info in pkgutil.walk_packages(omtl.learners.__path__, "omtl.learners."):
        for _, each in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
            online = hasattr(each, "score") and hasattr(each, "update")
            if online and hasattr(each, "_fields") and each.__module__ == info.name:
                yield each


def test_every_online_learner_has_an_estimator() -> None:
    """The table, the rules and the names of `omtl.sklearn` are the same."""
    rules = {each.__name__: each for each in rules_of_the_package()}
    assert set(rules) == set(TABLE)
    assert {name: made.rules for name, made in ESTIMATORS.items()} == rules
    assert all(getattr(omtl.sklearn, name) is made for name, made in ESTIMATORS.items())
    assert set(omtl.sklearn.__all__) <= set(dir(omtl.sklearn))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        omtl.sklearn.Nothing  # noqa: B018


def test_a_docstring_declares_the_estimator() -> None:
    """Ranges after the types, the rest in a section of its own; unknown words are refused."""
    entry = entry_of(
        "mine",
        "Mine.\n\nParameters\n----------\na, b : float in [0, 2)\n    Both.\nc : int in [2, inf)\n"
        "d : float\n\nEstimator\n---------\ndefaults : a = 0.5, b = 1e-3\ntakes : rounds, network\n"
        "linear : no",
    )
    assert entry._replace(values={}) == Entry(
        "mine", {"a": 0.5, "b": 1e-3}, takes=("rounds", "network"), linear=False
    )
    assert set(entry.values) == {"a", "b", "c"}
    words, fits = entry.values["b"]
    assert words == "in [0, 2)"
    assert [fits(value) for value in (-0.1, 0.0, 2.0, math.nan)] == [False, True, False, False]
    assert entry.values["c"][0] == "at least 2 and finite"
    with pytest.raises(ValueError, match="no line 'takse'"):
        entry_of("mine", "Mine.\n\nEstimator\n---------\ntakse : rounds")
    with pytest.raises(ValueError, match="is not an interval"):
        entry_of("mine", "Mine.\n\nParameters\n----------\na : float in (0; 1)")


def test_defaults_are_values_of_the_grids() -> None:
    """What the table adds to the rules, a config of the family has, by itself or under an answer.

    OMTL's `epoch` is 0 under an answer: an estimator need not know how long its stream is.
    """
    papers = {name.partition("/")[0] for name in options("reading") if "/" in name}
    answers = [
        sets
        for paper in sorted(papers)
        for question in questions(paper).values()
        for sets in question["options"].values()
    ]
    grids: dict[str, dict[str, set[float]]] = {}
    for name in options("algorithm"):
        config = {"algorithm": load_option("algorithm", name)}
        for changed in ({}, *answers):
            found = patched(config, changed)["algorithm"]
            values = {k: [v] for k, v in found["fixed"].items()} | found["grid"]
            known = grids.setdefault(found["learner"].split(".")[2], {})
            for parameter, numbers in values.items():
                known.setdefault(parameter, set()).update(numbers)
    compared = 0
    for name, entry in TABLE.items():
        for parameter, default in entry.defaults.items():
            if parameter in grids.get(entry.module, {}):
                assert default in grids[entry.module][parameter], (name, parameter)
                compared += 1
    assert compared > 20


def test_the_rules_alone_need_no_scikit_learn() -> None:
    """The modules of `omtl.learners` stay light; the estimators bring scikit-learn."""
    code = (
        "import sys, omtl.learners, omtl.learners.rom; assert 'sklearn' not in sys.modules;"
        "from omtl.sklearn import ROMPGD; assert 'sklearn' in sys.modules;"
        "assert ROMPGD.__module__ == 'omtl.sklearn' and ROMPGD is not omtl.learners.rom.ROMPGD"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# scikit-learn

FAILING = {
    "Majority": {"check_classifiers_train": "it looks at no feature"},
}
"""The checks that an estimator at its defaults cannot pass, with the reason."""


def assert_checks_pass(model: MultiTaskClassifier, failing: dict[str, str]) -> None:
    """Assert that scikit-learn's checks pass, but those that are expected to fail, which do."""
    results = check_estimator(model, expected_failed_checks=failing, on_skip=None)
    status = {each["check_name"]: each["status"] for each in results}
    assert {name for name, got in status.items() if got == "xfail"} == set(failing)
    # It needs an environment variable before SciPy is imported.
    assert {name for name, got in status.items() if got == "skipped"} <= {"check_array_api_input"}
    assert len(status) > 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("name", TABLE)
def test_scikit_learn_checks(name: str) -> None:
    """scikit-learn's own suite, of every estimator at its defaults."""
    assert_checks_pass(ESTIMATORS[name](), FAILING.get(name, {}))


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_compiled_code() -> None:
    """The same of a compiled loop."""
    assert_checks_pass(PassiveAggressive(C=0.1), {})


@pytest.mark.parametrize("variant", VARIANTS)
def test_parameters(variant: str) -> None:
    """get_params, set_params, clone, repr and an explicit signature."""
    model = estimator(variant)
    params = model.get_params()
    assert set(params) == {*model.rules._fields, *model.entry.takes}
    assert clone(model).get_params() == params
    assert list(inspect.signature(type(model)).parameters) == [
        *model.rules._fields,
        *model.entry.takes,
    ]
    for name in params:
        assert (
            f"\n{name}" in model.__doc__ or "As in" in model.__doc__ or f", {name}" in model.__doc__
        )
    with pytest.raises(TypeError, match="nonsense"):
        type(model)(nonsense=1)


def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 120 examples of four related tasks, in rounds."""
    rng = np.random.default_rng(3)
    ways = rng.normal(size=6) + 0.3 * rng.normal(size=(4, 6))
    task = np.tile(np.arange(4), 30)
    X = rng.normal(size=(120, 6))
    return X, (np.einsum("ij,ij->i", X, ways[task]) > 0.0).astype(int), task


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


@pytest.mark.usefixtures("slowly")
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
    with pytest.raises(ValueError, match=r"2 nodes for 4 tasks: give the node .* \(node=\)"):
        two.fit(X, y, task)
    assert two.fit(X, y, task, node=task % 2).score(X, y, task, node=task % 2) > 0.6


# Files

STREAMED = ["PassiveAggressive", "DA", "ROMPGD-outliers", "AKLO-sample", "OSMTLThreshold"]


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("variant", STREAMED)
@pytest.mark.parametrize("way", ["pickle", "file"])
def test_kept_estimators_go_on_where_they_were(
    way: str, variant: str, layout: str, tmp_path: Path
) -> None:
    """In the middle of a round, kept and read again, the rest of the stream gives the same bits."""
    tasks = data(layout)
    task = [NAMES[k] for k in tasks.task]
    model = estimator(variant).partial_fit(tasks.X[:20], tasks.y[:20], task[:20], tasks=NAMES)
    if way == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "model.npz")
        again = omtl.sklearn.load(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert repr(again) == repr(model)
    assert again.tasks_ == model.tasks_ == NAMES
    for each in (model, again):
        each.partial_fit(tasks.X[20:], tasks.y[20:], task[20:])
    same_bits(again, arrays_of(model._state))
    np.testing.assert_array_equal(again.predict(tasks.X, task), model.predict(tasks.X, task))


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


def test_an_estimator_may_be_mapped_into_memory(tmp_path: Path) -> None:
    """joblib gives large estimators to other processes with arrays that cannot be written."""
    X, y, task = blobs()
    model = PassiveAggressive().fit(X, y, task)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    np.testing.assert_array_equal(mapped.predict(X, task), model.predict(X, task))
    mapped.partial_fit(X, y, task)


# Mistakes

X, Y, TASK = blobs()


def fitted() -> MultiTaskClassifier:
    """Return an estimator of four tasks."""
    return PassiveAggressive().fit(X, Y, TASK)


WRONG = {
    "x contains NaN": lambda: fitted().learn_one([np.nan] * 6, 1, 0),
    "x contains NaN, infinity": lambda: fitted().predict_one([np.inf] * 6, 0),
    "Input X contains NaN": lambda: fitted().predict(np.full((1, 6), np.nan), [0]),
    r"shape \(5,\), but PassiveAggressive is expecting 6": lambda: fitted().learn_one(
        [0] * 5, 1, 0
    ),
    "X has 5 features": lambda: fitted().predict(X[:, :5], TASK),
    r"task 'x' was not declared \(declared: 0, 1, 2, 3\).*\(tasks=\)": lambda: fitted().predict_one(
        X[0], "x"
    ),
    "task 9 was not declared": lambda: fitted().partial_fit(X[:1], Y[:1], [9]),
    r"task \[1\] was not declared": lambda: fitted().predict_one(X[0], [1]),
    r"there are 4 tasks: give the task of each example": lambda: fitted().predict(X),
    "task has 2 entries for 120 examples": lambda: fitted().predict(X, [1, 2]),
    "task='abc' must be a sequence of labels": lambda: fitted().predict(X, "abc"),
    "task: a label must be hashable": lambda: fitted().predict(X[:1], [[1]]),
    r"y has the labels \[2\]": lambda: fitted().partial_fit(X[:1], [2], [0]),
    "y='x' is not one of the classes": lambda: fitted().learn_one(X[0], "x", 0),
    "Only binary classification is supported": lambda: PassiveAggressive().fit(
        X, np.arange(120) % 3
    ),
    "one class or none": lambda: PassiveAggressive().partial_fit(X[:1], Y[:1]),
    "classes=.* differ from those of the first call": lambda: fitted().partial_fit(
        X, Y, TASK, None, [4, 5]
    ),
    "tasks differ from those of the first": lambda: fitted().partial_fit(X, Y, TASK, tasks=[1]),
    "tasks must be ordered": lambda: PassiveAggressive().begin(2, [0, 1], {"a", "b"}),
    "must be one or more distinct labels": lambda: PassiveAggressive().begin(2, [0, 1], ["a", "a"]),
    "n_features=0 must be a positive": lambda: PassiveAggressive().begin(0, [0, 1]),
    "PassiveAggressive: C=-1 must be positive": lambda: PassiveAggressive(C=-1).fit(X, Y),
    "C='1' must be a number": lambda: PassiveAggressive(C="1").fit(X, Y),
    "C=nan must be a number": lambda: PassiveAggressive(C=np.nan).fit(X, Y),
    "pooled=1 must be True or False": lambda: PassiveAggressive(pooled=1).fit(X, Y),
    "rounds='x' is not known; choose from task, example": lambda: ROMPGD(rounds="x").fit(X, Y),
    "no topology 'star'": lambda: DOM1(network="star").fit(X, Y, TASK),
    "unexpected keyword argument 'size'": lambda: DOM1(network={"size": 2}).fit(X, Y, TASK),
    "are not square": lambda: DOM1(network=np.ones((2, 3))).fit(X, Y, TASK),
    "each row must sum to 1": lambda: DOM1(network=np.ones((4, 4))).fit(X, Y, TASK),
    "NS: NS: one node a task is needed": lambda: NS(network={"n_nodes": 2}).fit(X, Y, TASK),
    "node must be from 0 to 3": lambda: DOM1().fit(X, Y, TASK, node=TASK + 1),
    "node must be 120 whole numbers": lambda: DOM1().fit(X, Y, TASK, node=[0.5]),
    "n_examples must give a number to each": lambda: AKLO(n_examples={1: 2}).fit(X, Y, TASK),
    "clip=7 is not known": lambda: AKLO(clip=7).fit(X, Y, TASK),
    "has not been fitted yet: call fit, partial_fit or begin": lambda: DA().learn_one(X[0], 1),
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_told(text: str) -> None:
    """A wrong argument is a ValueError (before any learning, a NotFittedError) that says what."""
    with pytest.raises(ValueError, match=text):
        WRONG[text]()


def test_nothing_learnt_nothing_predicted() -> None:
    """Prediction, saving and ending a round ask for a stream that has begun."""
    for call in (
        lambda: DA().predict(X),
        lambda: DA().save("x"),
        lambda: DA().end_round(),
        lambda: DA().predict_one(X[0]),
    ):
        with pytest.raises(NotFittedError):
            call()


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


@pytest.mark.usefixtures("slowly")
def test_tasks_are_sorted_where_they_can_be() -> None:
    """Declared tasks keep their order; others are sorted, or in the order of appearance."""
    two = PassiveAggressive().fit(X[:2], [0, 1], ["b", "a"])
    assert two.tasks_ == ("a", "b")
    assert PassiveAggressive().fit(X[:2], [0, 1], ["b", 1]).tasks_ == ("b", 1)
    assert PassiveAggressive().fit(X[:2], [0, 1], ["b", "a"], tasks=["b", "a"]).tasks_ == ("b", "a")
    assert PassiveAggressive().fit(X[:2], [0, 1]).tasks_ == (0,)
    assert set(two.findings()) == set()
    assert set(ROMPGD().fit(X, Y, TASK).findings()) == {"outlier"}
