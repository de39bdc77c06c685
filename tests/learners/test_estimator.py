"""The estimators: the same bits in any pieces and arrays, and nothing learnt on an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_cases import COMPILED, NAMES, VARIANTS, data, estimator, in_turn, same_bits
from scipy import sparse
from sklearn.base import clone

from omtl.data.networks import mixing_matrix
from omtl.data.rows import examples_of
from omtl.data.streams import Stream, Tasks, lifelong, rounds
from omtl.kernel.play import play
from omtl.reference.problems import Case
from omtl.sklearn import PassiveAggressive, progressive_validation
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.parameters import checked, declared_entries
from omtl.sklearn.stream import BLOCK, arrays_of


def harness(model: MultiTaskClassifier, tasks: Tasks, stream: Stream, compiled: bool) -> Any:
    """Return the trace and the arrays that the harness's play leaves of an estimator's rules."""
    n = len(tasks.names)
    mixing = mixing_matrix(n) if "network" in model.entry.takes else np.eye(n)
    shape = Case(tasks, stream, mixing).shape._replace(seed=getattr(model, "random_state", 0))
    trace, state = play(model._checked_rules(), examples_of(tasks), stream, shape, compiled)
    return trace, arrays_of(state)


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
        order = stream.example
        if "network" not in model.entry.takes:  # a task's own node meets its examples
            stream = stream._replace(node=tasks.task[order])
        trace, expected = harness(model, tasks, stream, compiled)
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
        nodes = [None] * 35 if node is None else node.tolist()
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
@pytest.mark.parametrize(("variant", "layout"), in_turn(VARIANTS, "dense", "sparse"))
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
@pytest.mark.parametrize(("name", "layout"), in_turn(declared_entries(), "sparse", "dense"))
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


@pytest.mark.parametrize(
    "task",
    [
        np.array([-128, 127, -128, 127], dtype=np.int8),
        np.array([2**64 - 3, 2**64 - 1] * 2, dtype=np.uint64),
        np.array([-(2**63), 2**63 - 1] * 2),
        np.array([3, 1, 3, 1], dtype=">i8"),
        np.array([3, 1, 3, 1], dtype=np.float16),
        np.array([3, 1, 3, 1], dtype=np.longdouble),
        np.array([True, False, True, False]),
        [7, "7", 7, "7"],
    ],
    ids=str,
)
def test_tasks_and_labels_are_told_apart_whatever_their_type(task: Any) -> None:
    """Whole numbers at the ends of their range, of another byte order, and beside texts."""
    listed, y = task if isinstance(task, list) else task.tolist(), np.array([0, 1, 1, 0])
    if isinstance(task, np.ndarray):
        y = y.astype(">f8" if task.dtype == ">i8" else task.dtype)
    model = PassiveAggressive().fit(np.eye(4), y, task=task)
    assert set(model.tasks_) == set(listed)
    assert model.predict(np.eye(4), task=task).tolist() == [0, 1, 1, 0]
    assert model.predict(np.eye(4)[::-1], task=listed).tolist() == [0, 0, 0, 0]


def examples(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return examples of two tasks."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 37)) * (rng.random((n, 37)) < 0.4)
    return X, np.where(X @ rng.normal(size=37) > 0.0, 1, -1), np.arange(n) % 2


def learnt(model: MultiTaskClassifier) -> np.ndarray:
    """Return the weights."""
    return arrays_of(model._stream.feed.state)["w"]


def test_any_form_of_the_same_examples_gives_the_same_bits(tmp_path: Path) -> None:
    """From a file mapped into memory; of 32 bits, in one call and in two, and more than a block of
    them; of sparse rows, whatever the type of their indices."""
    X, y, task = examples(20_000)
    assert X.size > BLOCK
    np.save(tmp_path / "X.npy", X)
    few, rows = X.astype(np.float32), sparse.csr_array(X)
    few.flags.writeable = False
    long = (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
    for one, other in (
        (X, np.load(tmp_path / "X.npy", mmap_mode="r")),
        (few.astype(np.float64), few),
        (rows, sparse.csr_array(long, X.shape)),
    ):
        expected = learnt(PassiveAggressive().fit(one, y, task))
        np.testing.assert_array_equal(learnt(PassiveAggressive().fit(other, y, task)), expected)
        parts = PassiveAggressive().partial_fit(other[:99], y[:99], task[:99])
        parts.partial_fit(other[99:], y[99:], task[99:])
        np.testing.assert_array_equal(learnt(parts), expected)


def test_vectors_that_are_not_contiguous_are_read_as_they_are() -> None:
    """A column, every second number, a row of a matrix: compiled code reads adjacent numbers."""
    X, y, _ = examples(20)
    model, plain = (PassiveAggressive().begin(37, [-1, 1]) for _ in range(2))
    for i in range(20):
        x = X[i].copy()
        every_second = np.repeat(x, 2)[::2]
        column = np.column_stack([x, -x])[:, 0]
        for form in (every_second, column, X[i : i + 1], x[::-1][::-1]):
            assert model.decision_one(form) == plain.decision_one(x)
        assert model.learn_one([every_second, column][i % 2], y[i]) == plain.learn_one(x, y[i])
    np.testing.assert_array_equal(learnt(model), learnt(plain))


def test_an_array_as_hyper_parameter_is_the_array() -> None:
    """In the constructor of arrays its numbers would be a shape."""
    assert checked("prior", [2, 3], np.ndarray, {}).tolist() == [2, 3]
