"""Samples of each task's examples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_fetchers._tasks import sampled
from omtl.data.streams import Tasks
from omtl.util.errors import UserError


def few(n: tuple[int, ...], n_positive: tuple[int, ...]) -> Tasks:
    """Return tasks with so many examples and positive ones; a row is the example's number."""
    task = np.repeat(np.arange(len(n)), n)
    y = np.concatenate(
        [np.where(np.arange(a) < b, 1.0, -1.0) for a, b in zip(n, n_positive, strict=True)]
    )
    return Tasks(np.arange(task.size, dtype=float)[:, None], y, task, tuple("abcdef"[: len(n)]))


@given(st.integers(0, 99), st.integers(1, 8))
def test_a_sample_is_of_each_tasks_own_examples(seed: int, per_task: int) -> None:
    """As many of each task, none twice, in their order, with their own labels and rows."""
    whole = few((8, 9, 20), (3, 1, 10))
    part = sampled("here", whole, per_task, seed)
    assert np.bincount(part.task).tolist() == [per_task] * 3
    number = np.asarray(part.X)[:, 0].astype(int)
    assert np.all(np.diff(number) > 0)
    np.testing.assert_array_equal(part.y, whole.y[number])
    np.testing.assert_array_equal(part.task, whole.task[number])
    again = sampled("here", whole, per_task, seed)
    assert again.sha256 == part.sha256
    assert sampled("here", whole, None, seed) is whole


def test_a_sample_is_uniform() -> None:
    """Each example is kept as often, within four deviations, whatever its label."""
    whole = few((10, 5), (3, 1))
    kept = np.zeros(15)
    for seed in range(2_000):
        kept[np.asarray(sampled("here", whole, 2, seed).X)[:, 0].astype(int)] += 1.0
    share = np.repeat([0.2, 0.4], [10, 5])
    assert np.all(np.abs(kept / 2_000 - share) < 4.0 * np.sqrt(share * (1 - share) / 2_000))


def test_a_sample_may_have_a_share_of_positives() -> None:
    """Each class is drawn on its own."""
    whole = few((20, 40), (5, 30))
    seen = set()
    for seed in range(20):
        part = sampled("here", whole, 10, seed, positives=0.4)
        assert np.bincount(part.task, weights=part.y > 0.0).tolist() == [4.0, 4.0]
        assert np.bincount(part.task).tolist() == [10, 10]
        seen.add(part.sha256)
    assert len(seen) > 10


def test_the_first_examples_are_taken_without_a_seed() -> None:
    """Of each class, if it is to have a share."""
    whole = few((8, 9), (3, 5))
    assert np.asarray(sampled("here", whole, 2, None).X)[:, 0].tolist() == [0, 1, 8, 9]
    half = sampled("here", whole, 2, None, positives=0.5)
    assert np.asarray(half.X)[:, 0].tolist() == [0, 3, 8, 13]


@pytest.mark.parametrize(
    ("per_task", "positives", "message"),
    [
        (7, None, "here: b has 6 examples to take 7 from; set a smaller per_task"),
        (6, 0.5, "here: a has 2 examples to take 3 from.*or other positives"),
        (6, 2.0, "here: a has 2 examples to take 12 from"),
    ],
)
def test_too_few_examples_are_named(per_task: int, positives: float | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        sampled("here", few((8, 6), (2, 3)), per_task, 0, positives)
