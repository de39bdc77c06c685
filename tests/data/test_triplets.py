"""Triplets, and labels that are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from miniature import a_setting

import data_fetchers
from omtl.data.triplets import BLOCK, Sampler
from omtl.learners.cavallanti import MultiPerceptron
from omtl.protocols import queries
from omtl.protocols.setting import Setting
from omtl.util.errors import UserError


def sampler(rows: list[int] | None = None) -> Sampler:
    """Return a sampler of two tasks with three and two classes of unequal sizes."""
    label = np.array([1, 1, 2, 2, 2, 3, 3, 1, 1, 4, 4, 4])
    task = np.repeat([0, 1], [7, 5])
    return Sampler(label, task, np.arange(12) if rows is None else np.array(rows), ("a", "b"))


def test_triplets_are_of_one_task_and_two_classes() -> None:
    """Two different examples of a class and one of another, the label by a coin."""
    drawn = sampler()
    blocks = list(drawn.stream(400.0, "interleaved", np.random.default_rng(0)))
    q, first, second, y, task = (np.concatenate(each) for each in zip(*blocks, strict=True))
    assert y.size == 400 * 12
    assert all(each.y.size <= BLOCK for each in blocks)
    for each in (q, first, second):
        np.testing.assert_array_equal(drawn.task[each], task)
    mate, stranger = np.where(y > 0, first, second), np.where(y > 0, second, first)
    assert np.all(drawn.label[mate] == drawn.label[q])
    assert np.all(mate != q)
    assert np.all(drawn.label[stranger] != drawn.label[q])
    assert abs(np.mean(y)) < 0.06
    assert abs(np.mean(task) - 5 / 12) < 0.03
    # Classes come alike often, and so do the examples of one.
    share = np.bincount(q[task == 0], minlength=7)[:7] / np.sum(task == 0)
    np.testing.assert_allclose(share, [1 / 6] * 2 + [1 / 9] * 3 + [1 / 6] * 2, atol=0.03)
    share = np.bincount(stranger[task == 1], minlength=12)[7:] / np.sum(task == 1)
    np.testing.assert_allclose(share, [1 / 4] * 2 + [1 / 6] * 3, atol=0.03)


def test_task_by_task() -> None:
    """As many triplets of each task as its examples ask for, across the bounds of blocks."""
    blocks = list(sampler().stream(50.0, "by_task", np.random.default_rng(0)))
    task = np.concatenate([block.task for block in blocks])
    np.testing.assert_array_equal(task, np.repeat([0, 1], [350, 250]))


def test_streams_are_of_their_seed() -> None:
    """The same seed gives the same triplets, another one others; only the given rows come."""
    rows = [0, 1, 2, 3, 7, 8, 9, 10]

    def drawn(seed: int) -> np.ndarray:
        stream = sampler(rows).stream(30.0, "interleaved", np.random.default_rng(seed))
        return np.concatenate([np.stack(block[:3]) for block in stream], axis=1)

    np.testing.assert_array_equal(drawn(1), drawn(1))
    assert np.any(drawn(1) != drawn(2))
    assert set(drawn(1).ravel()) == set(rows)


@pytest.mark.parametrize(
    ("rows", "order", "per_example", "words"),
    [
        ([0, 1, 7, 8, 9, 10], "interleaved", 1.0, "task 'a' has 1 classes"),
        ([0, 1, 2, 7, 8, 9, 10], "interleaved", 1.0, "class 2 of task 'a' has one example"),
        (None, "random", 1.0, "interleaved, by_task"),
        (None, "by_task", 0.01, "must give each task one"),
    ],
)
def test_what_no_triplets_can_be_drawn_of(
    rows: list[int] | None, order: str, per_example: float, words: str
) -> None:
    """One sentence says why."""
    with pytest.raises(UserError, match=words):
        list(sampler(rows).stream(per_example, order, np.random.default_rng(0)))


def setting(**protocol: Any) -> Setting:
    """Return a repeat on a draw of the paper's toy."""
    tasks = data_fetchers.load("opposed_tasks", rng=np.random.default_rng(0))
    return a_setting(tasks, "queries", **protocol)


def test_weights_are_read_off_the_scores() -> None:
    """Scores of unit rows are the weights."""
    here = setting()
    part = queries.queried_part(here)
    learner = MultiPerceptron(2.0)
    _, state = queries.play(learner, part.examples, part.stream, part.shape)
    own, shared = state.own, state.shared
    expected = (3.0 * own + 2.0 * shared) / (3.0 * 3.0)
    np.testing.assert_allclose(queries.weights_of(learner, state, part.shape), expected)
