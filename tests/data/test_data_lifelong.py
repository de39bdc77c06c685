"""The AKLO paper's data: two kinds of Gaussian tasks, and few examples of each real task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_sets import real
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import data_fetchers
from data_fetchers._sampling import sampled
from omtl.data.streams import Tasks
from omtl.experiment.config import load_option
from omtl.util.errors import UserError


def drawn(seed: int = 0, **options: object) -> Tasks:
    """Return a draw of the synthetic tasks."""
    return data_fetchers.load("lifelong_gaussians", rng=np.random.default_rng(seed), **options)


def of_task(tasks: Tasks, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a task's rows and labels."""
    own = tasks.task == k
    return np.asarray(tasks.X)[own], tasks.y[own]


def test_syn1_is_two_kinds_in_two_places() -> None:
    """25 tasks of 100 examples of each kind, about [10, 10] and [20, 5], of covariance I."""
    tasks = drawn()
    assert tasks.X.shape == (5_000, 2)
    assert np.bincount(tasks.task).tolist() == [100] * 50
    for rows, place in ((tasks.task < 25, (10.0, 10.0)), (tasks.task >= 25, (20.0, 5.0))):
        X = np.asarray(tasks.X)[rows]
        np.testing.assert_allclose(X.mean(axis=0), place, atol=5.0 / np.sqrt(2_500))
        np.testing.assert_allclose(np.cov(X.T), np.eye(2), atol=0.15)


def test_syn1_boundaries() -> None:
    """Without spread, labels are sign(−x₁ + x₂) and sign(−x₁/4 + x₂)."""
    tasks = drawn(spread=0.0)
    X, kind = np.asarray(tasks.X), tasks.task >= 25
    wanted = np.where(kind, X[:, 1] - 0.25 * X[:, 0], X[:, 1] - X[:, 0]) > 0.0
    np.testing.assert_array_equal(tasks.y > 0.0, wanted)
    for k in (0, 49):
        assert 20 < np.sum(of_task(tasks, k)[1] > 0.0) < 80


def test_syn2_is_one_place_with_opposite_labels() -> None:
    """All about [10, 10]; the second kind's labels are the opposite of the first boundary's."""
    tasks = drawn(kinds="opposite", spread=0.0)
    X = np.asarray(tasks.X)
    np.testing.assert_allclose(X.mean(axis=0), 10.0, atol=0.1)
    side = np.where(tasks.task < 25, 1.0, -1.0)
    np.testing.assert_array_equal(tasks.y, side * np.where(X[:, 1] > X[:, 0], 1.0, -1.0))


@pytest.mark.parametrize(("spread_is", "std"), [("variance", 1e-3**0.5), ("std", 1e-3)])
def test_each_task_has_its_own_boundary(spread_is: str, std: float) -> None:
    """ε_T is one number for both components: labels are of a_T = a + ε_T (1, 1)."""
    tasks = drawn(spread_is=spread_is, n_tasks=400)
    rng = np.random.default_rng(0)
    epsilon = std * rng.standard_normal(400)
    for k in range(400):
        X, y = of_task(tasks, k)
        a = np.array([-1.0, 1.0] if k < 200 else [-0.25, 1.0]) + epsilon[k]
        np.testing.assert_array_equal(y, np.where(X @ a > 0.0, 1.0, -1.0))


@given(st.integers(0, 9), st.integers(1, 7), st.integers(1, 5))
def test_draws_are_of_the_generator(seed: int, n_tasks: int, n_examples: int) -> None:
    """The same generator gives the same data; another, other data."""
    options = {"n_tasks": n_tasks, "n_examples": n_examples}
    one, again, other = drawn(seed, **options), drawn(seed, **options), drawn(seed + 1, **options)
    assert one.sha256 == again.sha256 != other.sha256
    assert len(one.names) == n_tasks
    assert sum("kind 1" in name for name in one.names) == (n_tasks + 1) // 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": "other"}, "'other' is not among shifted, opposite"),
        ({"spread_is": "sd"}, "'sd' is not among variance, std"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        drawn(**options)


# Few examples of each task


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


def test_sparse_rows_stay_sparse() -> None:
    """A sample of sparse rows has these rows."""
    whole = few((6, 6), (3, 3))
    thin = Tasks(sparse.csr_array(whole.X), whole.y, whole.task, whole.names)
    part = sampled("here", thin, 3, 0)
    assert isinstance(part.X, sparse.csr_array)
    np.testing.assert_array_equal(part.X.toarray(), sampled("here", whole, 3, 0).X)


@pytest.mark.parametrize(
    ("per_task", "positives", "message"),
    [
        (7, None, "here: b has 6 examples to draw 7 from; set a smaller per_task"),
        (6, 0.5, "here: a has 2 examples to draw 3 from.*or other positives"),
        (6, 2.0, "here: a has 2 examples to draw 12 from"),
    ],
)
def test_too_few_examples_are_named(per_task: int, positives: float | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        sampled("here", few((8, 6), (2, 3)), per_task, 0, positives)


# The paper's real data


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        ("lifelong_landmine", (29, 150, 9)),
        ("lifelong_spam", (14, 200, 152_543)),
        ("lifelong_shoes", (10, 100, 542)),
    ],
)
def test_real_sets_are_as_large_as_the_paper_says(
    real_home: Path | None, config: str, shape: tuple[int, int, int]
) -> None:
    """29 × 150, 14 × 200, 10 × 100; another sample seed gives other examples."""
    dataset = load_option("dataset", config)
    n_tasks, per_task, n_features = shape
    tasks = real(dataset["module"], real_home, **dataset["options"])
    assert tasks.X.shape == (n_tasks * per_task, n_features)
    assert np.bincount(tasks.task).tolist() == [per_task] * n_tasks
    whole = real(dataset["module"], real_home, **dataset["options"] | {"per_task": None})
    assert whole.names == tasks.names
    assert whole.X.shape[0] > tasks.X.shape[0]
    other = real(dataset["module"], real_home, **dataset["options"] | {"sample_seed": 1})
    assert other.sha256 != tasks.sha256


def test_the_poorest_field_decides_how_many_landmines_all_can_have(real_home: Path | None) -> None:
    """15 of 150 is a tenth; more than the poorest field has is refused."""
    tasks = real("landmine", real_home, per_task=150, positives=0.1)
    assert np.bincount(tasks.task, weights=tasks.y > 0.0).tolist() == [15.0] * 29
    with pytest.raises(UserError, match=r"field 10 .* has 15 examples to draw 16 from"):
        real("landmine", real_home, per_task=150, positives=16 / 150)


def test_a_constant_answer_beats_the_papers_landmine_row(real_home: Path | None) -> None:
    """In a uniform sample "clutter" errs less than the paper's best learner, 10.39 %."""
    tasks = real("landmine", real_home, per_task=150)
    assert 100.0 * np.mean(tasks.y > 0.0) < 7.0
