"""Streams that change with time, and the protocol that leaves their order as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import data_fetchers
from omtl.data.preparation import prepare, prepared_data
from omtl.data.streams import Tasks
from omtl.protocols.given_order import GivenOrder
from omtl.util.errors import UserError

PROTOCOL = {"checkpoints": 10, "join": "together"}


def drawn(**options: Any) -> Tasks:
    """Return a small draw."""
    small = {"n_tasks": 4, "n_examples": 40, "n_features": 5}
    return data_fetchers.load("changing_walk", rng=np.random.default_rng(0), **small, **options)


def stream_of(tasks: Tasks, **protocol: Any) -> Any:
    """Return the stream of the protocol."""

    def rng(of: str, **_: Any) -> np.random.Generator:
        assert of == "deal"  # nothing is shuffled
        return np.random.default_rng(0)

    return GivenOrder(prepared_data(prepare(tasks)), PROTOCOL | protocol, None, rng).stream


def test_labels_are_those_of_the_weights_where_nothing_changes() -> None:
    """One weight vector tells all labels of a task, and none does where it changes sides."""
    for swap_at, separable in ((1.0, True), (0.5, False)):
        tasks = drawn(swap_at=swap_at)
        own = tasks.task == 1
        X, y = np.asarray(tasks.X)[own] * tasks.y[own, None], tasks.y[own]
        w = np.zeros(5)
        for _ in range(2000):
            wrong = X @ w <= 0.0
            w += X[wrong].sum(axis=0) / len(y)
        assert bool(np.all(X @ w > 0.0)) is separable


def test_runs_of_labels() -> None:
    """Neighbouring tasks are in opposite phase."""
    y = drawn(run=10).y.reshape(4, 4, 10)
    assert y[0].tolist() == [[1.0] * 10, [-1.0] * 10] * 2
    assert np.array_equal(y[1], -y[0])


def test_drift_moves_the_weights() -> None:
    """With the same random numbers otherwise, some labels differ, and later more than early."""
    differ = (drawn(drift=0.3).y != drawn().y).reshape(4, 40)
    assert differ[:, 20:].sum() > differ[:, :20].sum()


def test_the_order_is_the_data_set_s() -> None:
    """Round by round, each task's examples from the first to the last."""
    tasks = drawn()
    stream = stream_of(tasks)
    for k in range(4):
        assert stream.example[tasks.task[stream.example] == k].tolist() == sorted(
            np.flatnonzero(tasks.task == k).tolist()
        )
    assert stream.checkpoint[-1] == 40


def test_tasks_join_one_after_the_other() -> None:
    """The first task is alone at first; all end in the last round."""
    tasks = drawn(fewest=0.25)
    assert np.bincount(tasks.task).tolist() == [40, 30, 20, 10]
    stream = stream_of(tasks, join="late")
    sizes = np.diff(stream.start).tolist()
    assert sizes == [1] * 10 + [2] * 10 + [3] * 10 + [4] * 10
    assert sorted(stream.example.tolist()) == list(range(100))
    assert tasks.task[stream.example[-4:]].tolist() == [0, 1, 2, 3]


def test_the_share_cuts_the_end() -> None:
    """A half of the rounds is played."""
    assert stream_of(drawn(), share=0.5).start.size - 1 == 20


@pytest.mark.parametrize("wrong", [{"drift": -1.0}, {"run": 0}, {"swap_at": 0.0}, {"fewest": 2.0}])
def test_wrong_options_are_told(wrong: dict[str, Any]) -> None:
    """With the range."""
    with pytest.raises(UserError, match="must be"):
        drawn(**wrong)


def test_a_wrong_join_is_told() -> None:
    """With those that there are."""
    with pytest.raises(UserError, match="choose from together, late"):
        stream_of(drawn(), join="early")
