"""Data sets that are drawn: their tasks are what their descriptions say; samples of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import data_fetchers
from data_fetchers._shared import sampled
from data_fetchers.synthetic import opposed_weights, random_walk_weights
from omtl.data.streams import Tasks


def drawn(name: str, seed: int = 0, **options: Any) -> Tasks:
    """Return a draw of a data set."""
    return data_fetchers.load(name, rng=np.random.default_rng(seed), **options)


def changing(**options: Any) -> Tasks:
    """Return a small draw of tasks that change."""
    return drawn("changing_walk", **{"n_tasks": 4, "n_examples": 40, "n_features": 5} | options)


def lifelong(**options: Any) -> Tasks:
    """Return a draw of tasks of two kinds."""
    return drawn("lifelong_gaussians", **options)


def test_weights_of_a_walk_are_those_of_its_labels() -> None:
    weights = random_walk_weights(np.random.default_rng(0), 9, 100, 0.1, "variance")
    tasks = drawn("random_walk", n_examples=50)
    y = np.sign(np.einsum("ij,ij->i", np.asarray(tasks.X), weights[tasks.task]))
    np.testing.assert_array_equal(tasks.y, y)
    steps = np.diff(random_walk_weights(np.random.default_rng(0), 9, 5000, 0.1, "std"), axis=0)
    np.testing.assert_allclose(steps.std(axis=1), 0.1, rtol=0.05)


def test_wrong_labels_of_an_outlier_walk() -> None:
    """The draw is the same but for the labels."""
    right, wrong = (drawn("outlier_walk", flipped=share) for share in (0.0, 0.1))
    np.testing.assert_array_equal(right.X, wrong.X)
    assert abs(np.mean(right.y != wrong.y) - 0.1) < 0.015  # five standard deviations


def test_tasks_change_as_they_are_said_to() -> None:
    """In runs of one label, by changing sides, and by drifting away from where they began."""
    plain, runs, swapped = changing(), changing(run=2), changing(swap_at=0.5)
    phase = np.arange(40) // 2 + np.arange(4)[:, None]
    np.testing.assert_array_equal(runs.y.reshape(4, 40), np.where(phase % 2, -1.0, 1.0))
    np.testing.assert_array_equal(runs.X * runs.y[:, None], plain.X * plain.y[:, None])
    turned = np.ones((4, 40))
    turned[1::2, 20:] = -1.0
    np.testing.assert_array_equal(swapped.y, plain.y * turned.ravel())
    np.testing.assert_array_equal(swapped.X, plain.X)
    one, other = (changing(n_examples=2000, drift=drift).y.reshape(4, -1) for drift in (0.0, 0.01))
    assert (one == other)[:, :20].mean() > 0.8 > 0.65 > (one == other)[:, 1000:].mean()


def test_tasks_are_opposed() -> None:
    """w1 = −w2, w3 has no correlation with them, and labels follow."""
    w = opposed_weights(np.random.default_rng(3), 10)
    np.testing.assert_array_equal(w[0], -w[1])
    assert abs(np.corrcoef(w)[0, 2]) < 1e-12
    tasks = drawn("opposed_tasks", 3)
    assert np.bincount(tasks.task).tolist() == [100] * 3
    y = np.sign(np.einsum("ij,ij->i", np.asarray(tasks.X), w[tasks.task]))
    np.testing.assert_array_equal(tasks.y, y)


def test_biased_tasks_have_as_much_noise_as_signal() -> None:
    tasks = drawn("biased_tasks", 3, n_tasks=200, n_examples=40)
    np.testing.assert_allclose(np.linalg.norm(tasks.X, axis=1), 1.0)
    fits = []
    for k in range(200):
        X, y = tasks.X[tasks.task == k], tasks.y[tasks.task == k]
        fits.append(np.linalg.lstsq(X, y)[0])
        assert 1.2 < y.var() / (X @ fits[-1]).var() < 4.0
    assert np.mean(fits) == pytest.approx(4.0, abs=0.5)


def test_syn1_is_two_kinds_in_two_places() -> None:
    """25 tasks of 100 examples of each kind, about [10, 10] and [20, 5], of covariance I."""
    tasks = lifelong()
    assert tasks.X.shape == (5_000, 2)
    assert np.bincount(tasks.task).tolist() == [100] * 50
    for rows, place in ((tasks.task < 25, (10.0, 10.0)), (tasks.task >= 25, (20.0, 5.0))):
        X = np.asarray(tasks.X)[rows]
        np.testing.assert_allclose(X.mean(axis=0), place, atol=5.0 / np.sqrt(2_500))
        np.testing.assert_allclose(np.cov(X.T), np.eye(2), atol=0.15)


@pytest.mark.parametrize(("spread_is", "std"), [("variance", 1e-3**0.5), ("std", 1e-3)])
def test_each_task_has_its_own_boundary(spread_is: str, std: float) -> None:
    """ε_T is one number for both components: labels are of a_T = a + ε_T (1, 1)."""
    tasks = lifelong(spread_is=spread_is, n_tasks=400)
    rng = np.random.default_rng(0)
    epsilon = std * rng.standard_normal(400)
    for k in range(400):
        X, y = np.asarray(tasks.X)[tasks.task == k], tasks.y[tasks.task == k]
        a = np.array([-1.0, 1.0] if k < 200 else [-0.25, 1.0]) + epsilon[k]
        np.testing.assert_array_equal(y, np.where(X @ a > 0.0, 1.0, -1.0))


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
