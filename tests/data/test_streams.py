"""The streams: every example once, in rounds or in the given order, dealt fairly; triplets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import thorough
from scipy import sparse

import data_fetchers
from omtl.data.preparation import prepare, prepared_data
from omtl.data.streams import (
    Classes,
    Stream,
    Tasks,
    checkpoints,
    dealt_rounds,
    first_part,
    lifelong,
    rounds,
    shuffled,
)
from omtl.data.triplets import BLOCK, Sampler
from omtl.experiment.composition import composed
from omtl.experiment.playing import compute
from omtl.protocols.setting import Setting
from omtl.util.errors import UserError

THOROUGH = thorough(50)
sizes_of_tasks = st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any)


def tasks_of(sizes: list[int], seed: int = 0) -> Tasks:
    """Return tasks of given sizes, their examples mixed."""
    rng = np.random.default_rng(seed)
    task = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(task.size, 2))
    names = tuple(f"task {k}" for k in range(len(sizes)))
    return Tasks(X, rng.choice([-1.0, 1.0], size=task.size), task, names)


def stream_of(tasks: Tasks, n_nodes: int = 3, seed: int = 0, n_checkpoints: int = 100) -> Stream:
    """Return a stream from generators that a seed decides."""
    shuffle, deal = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    return rounds(tasks, shuffle, deal, n_nodes, n_checkpoints)


def split(stream: Stream, array: np.ndarray) -> list[np.ndarray]:
    """Return an array over events by round."""
    return np.split(array, stream.start[1:-1])


@THOROUGH
@given(sizes_of_tasks, st.integers(1, 9), st.integers(0, 99))
def test_rounds_have_one_example_of_every_task(sizes: list[int], n_nodes: int, seed: int) -> None:
    """In the order of the tasks, dealt fairly to the nodes; every example comes once.

    A task that has run out sits out the remaining rounds. The arrays are what compiled code reads.
    """
    tasks = tasks_of(sizes)
    stream = stream_of(tasks, n_nodes, seed)
    assert all(array.dtype == np.int64 and array.flags.c_contiguous for array in stream)
    np.testing.assert_array_equal(np.sort(stream.example), np.arange(sum(sizes)))
    assert stream.start[0] == 0
    assert stream.start[-1] == stream.example.size == stream.node.size
    rounds_of_both = zip(
        split(stream, stream.example), split(stream, stream.node), range(max(sizes)), strict=True
    )
    for examples, nodes, t in rounds_of_both:
        assert tasks.task[examples].tolist() == [k for k, size in enumerate(sizes) if size > t]
        dealt = np.bincount(nodes, minlength=n_nodes)
        assert dealt.size == n_nodes
        assert dealt.max() - dealt.min() <= 1


@THOROUGH
@given(sizes_of_tasks, st.integers(0, 99))
def test_examples_may_come_again(sizes: list[int], seed: int) -> None:
    """Every round has every task, a task's examples in the order in which they came before."""
    tasks = tasks_of(sizes)
    shuffle, deal = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    orders = shuffled(tasks, shuffle, run_out="again")
    by_round = dealt_rounds(orders, deal).example.reshape(max(sizes), -1)
    once = stream_of(tasks, 1, seed).example
    for column, size in zip(by_round.T, filter(None, sizes), strict=True):
        k = tasks.task[column[0]]
        np.testing.assert_array_equal(column[:size], once[tasks.task[once] == k])
        np.testing.assert_array_equal(column[size:], column[: max(sizes) - size])


@THOROUGH
@given(st.integers(0, 5000), st.integers(0, 300))
def test_checkpoints(n_rounds: int, n_checkpoints: int) -> None:
    """Increasing, at most as many as asked for, evenly spread; the last one is the last round."""
    at = checkpoints(n_rounds, n_checkpoints)
    assert at.dtype == np.int64
    assert at.size == min(n_rounds, n_checkpoints)
    if at.size:
        assert at[0] >= 1
        assert at[-1] == n_rounds
        steps = np.diff(at, prepend=0)
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1


@pytest.mark.parametrize("sizes", [(3, 5, 4), (3, 0, 4)])
def test_lifelong(sizes: tuple[int, ...]) -> None:
    """Tasks come one after the other, each whole; the last one has a checkpoint an example.

    One without examples has none: the loop would wait for it, and record no later one.
    """
    tasks = tasks_of(list(sizes))
    orders = set()
    for seed in range(20):
        stream = lifelong(tasks, np.random.default_rng(seed))
        assert sorted(stream.example) == list(range(sum(sizes)))
        np.testing.assert_array_equal(stream.start, np.arange(sum(sizes) + 1))
        came = tasks.task[stream.example]
        order = [int(k) for k in dict.fromkeys(came)]
        np.testing.assert_array_equal(came, np.repeat(order, [sizes[k] for k in order]))
        ends = np.cumsum([sizes[k] for k in order])
        last = np.arange(ends[-2] + 1, sum(sizes) + 1)
        np.testing.assert_array_equal(stream.checkpoint, [*ends[:-1], *last])
        orders.add(tuple(order))
    assert len(orders) == (6 if all(sizes) else 2)


@given(st.integers(1, 40), st.integers(1, 12), st.floats(0.001, 1.0))
def test_first_part(n_rounds: int, n_checkpoints: int, share: float) -> None:
    """The first part of a stream is its beginning, and ends with a checkpoint."""
    stream = stream_of(tasks_of([n_rounds, 1]), n_checkpoints=n_checkpoints)
    part = first_part(stream, share)
    kept = part.start.size - 1
    assert kept - 1 < share * n_rounds <= kept or kept == n_rounds
    np.testing.assert_array_equal(part.start, stream.start[: kept + 1])
    np.testing.assert_array_equal(part.example, stream.example[: part.start[-1]])
    np.testing.assert_array_equal(part.node, stream.node[: part.start[-1]])
    assert part.checkpoint[-1] == kept
    assert np.all(np.diff(part.checkpoint) > 0)
    assert set(part.checkpoint[:-1]) <= set(stream.checkpoint)
    evenly = first_part(stream, share, n_checkpoints)
    np.testing.assert_array_equal(evenly.checkpoint, checkpoints(kept, n_checkpoints))


@pytest.mark.parametrize("protocol", ["rounds", "given_order"])
def test_checkpoints_lie_on_the_part_that_is_played(protocol: str) -> None:
    """A learner that is tuned on the first tenth of a cut stream is tuned on no more."""
    words = ["algorithm=pa", "dataset=random_walk", f"protocol={protocol}", "+protocol.share=0.02"]
    seen = compute(composed(words).experiment.unit(0, 0)).arrays["seen"]
    assert np.diff(seen, prepend=0).max() <= 0.05 * seen[-1]


ROWS = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0], [4.0, 0.0, 0.0]])
TASKS = Tasks(ROWS, np.array([1.0, -1.0, 1.0]), np.array([0, 0, 1]), ("a", "b"))


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_hash_changes_with_any_content(layout: Callable[[np.ndarray], Any]) -> None:
    """A number or its place, a label, a task, a name, a column more: each gives another hash."""
    larger, next_larger = ROWS.copy(), ROWS.copy()
    larger[0, 2], next_larger[0, 2] = 2.5, np.nextafter(2.0, 3.0)
    wider = np.hstack([ROWS, np.zeros((3, 1))])
    rows = (larger, next_larger, ROWS[::-1], ROWS[:, [1, 0, 2]], wider)
    tasks = replace(TASKS, X=layout(ROWS))
    others = [
        *(replace(tasks, X=layout(X)) for X in rows),
        replace(tasks, y=np.array([1.0, 1.0, 1.0])),
        replace(tasks, task=np.array([0, 1, 1])),
        *(replace(tasks, names=names) for names in (("a", "c"), ("b", "a"), ("a", "b", "c"))),
    ]
    hashes = [each.sha256 for each in (tasks, *others)]
    assert len(set(hashes)) == len(hashes)
    assert all(len(each) == 64 for each in hashes)


def test_hash_is_of_the_content_only() -> None:
    """Equal content, however it lies in memory, has an equal hash."""
    for X in (ROWS.copy(), np.asfortranarray(ROWS), np.repeat(ROWS, 2, axis=0)[::2]):
        assert replace(TASKS, X=X, y=TASKS.y.copy()).sha256 == TASKS.sha256


@pytest.mark.parametrize("X", [np.eye(3), sparse.csr_array(np.eye(3))])
def test_classes_are_prepared_as_tasks_are_and_have_no_signs(X: object) -> None:
    classes = Classes(X, np.array([1, 2, 2]), np.array([0, 0, 1]), ("a", "b"))
    source = prepared_data(prepare(classes, "unit", bias=True))
    assert isinstance(source.tasks, Classes)
    assert source.tasks.label.tolist() == [1, 2, 2]
    with pytest.raises(UserError, match=r"a, b have classes instead of labels of -1 and \+1"):
        _ = source.tasks.y
    other = Classes(X, np.array([1, 2, 1]), classes.task, classes.names)
    assert classes.sha256 != other.sha256


PROTOCOL = {"checkpoints": 10, "join": "together"}


def drawn(**options: Any) -> Tasks:
    """Return a small draw."""
    small = {"n_tasks": 4, "n_examples": 40, "n_features": 5}
    return data_fetchers.load("changing_walk", rng=np.random.default_rng(0), **small, **options)


def given_stream(tasks: Tasks, **protocol: Any) -> Any:
    """Return the stream of the protocol."""

    def rng(of: str, **_: Any) -> np.random.Generator:
        assert of == "deal"  # nothing is shuffled
        return np.random.default_rng(0)

    return Setting(prepared_data(prepare(tasks)), PROTOCOL | protocol, None, rng).stream


LATE = [1] * 10 + [2] * 10 + [3] * 10 + [4] * 10


@pytest.mark.parametrize(("join", "sizes"), [("together", LATE[::-1]), ("late", LATE)])
def test_the_order_is_the_data_set_s(join: str, sizes: list[int]) -> None:
    """From the first to the last; where tasks join late, all end together, last to first."""
    tasks = drawn(fewest=0.25)
    assert np.bincount(tasks.task).tolist() == [40, 30, 20, 10]
    stream = given_stream(tasks, join=join)
    assert np.diff(stream.start).tolist() == sizes
    assert stream.checkpoint[-1] == 40
    for k in range(4):
        own = np.flatnonzero(tasks.task == k)[:: 1 if join == "together" else -1]
        assert stream.example[tasks.task[stream.example] == k].tolist() == own.tolist()


LABEL, TASK = np.array([1, 1, 2, 2, 2, 3, 3, 1, 1, 4, 4, 4]), np.repeat([0, 1], [7, 5])


SAMPLER = Sampler(LABEL, TASK, np.arange(12), ("a", "b"))
"""A sampler of two tasks with three and two classes of unequal sizes."""


def test_triplets_are_of_one_task_and_two_classes() -> None:
    """Two different examples of a class and one of another, the label by a coin."""
    blocks = list(SAMPLER.stream(400.0, "interleaved", np.random.default_rng(0)))
    q, first, second, y, task = (np.concatenate(each) for each in zip(*blocks, strict=True))
    assert y.size == 400 * 12
    assert all(each.y.size <= BLOCK for each in blocks)
    for each in (q, first, second):
        np.testing.assert_array_equal(TASK[each], task)
    mate, stranger = np.where(y > 0, first, second), np.where(y > 0, second, first)
    assert np.all(LABEL[mate] == LABEL[q])
    assert np.all(mate != q)
    assert np.all(LABEL[stranger] != LABEL[q])
    assert abs(np.mean(y)) < 0.06
    assert abs(np.mean(task) - 5 / 12) < 0.03
    # Classes come alike often, and so do the examples of one.
    share = np.bincount(q[task == 0], minlength=7)[:7] / np.sum(task == 0)
    np.testing.assert_allclose(share, [1 / 6] * 2 + [1 / 9] * 3 + [1 / 6] * 2, atol=0.03)
    share = np.bincount(stranger[task == 1], minlength=12)[7:] / np.sum(task == 1)
    np.testing.assert_allclose(share, [1 / 4] * 2 + [1 / 6] * 3, atol=0.03)


def test_task_by_task() -> None:
    """As many triplets of each task as its examples ask for, across the bounds of blocks."""
    blocks = list(SAMPLER.stream(50.0, "by_task", np.random.default_rng(0)))
    task = np.concatenate([block.task for block in blocks])
    np.testing.assert_array_equal(task, np.repeat([0, 1], [350, 250]))
