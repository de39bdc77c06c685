"""The protocol that leaves the order of examples as it is."""

from __future__ import annotations

from typing import Any

import numpy as np

import data_fetchers
from omtl.data.preparation import prepare, prepared_data
from omtl.data.streams import Tasks
from omtl.protocols.setting import Setting

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

    return Setting(prepared_data(prepare(tasks)), PROTOCOL | protocol, None, rng).stream


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
