"""Theorem 1 and corollary 2 of the OSMTL paper, held against plays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from learner_cases import random_tasks
from profiles import thorough

from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks, rounds
from omtl.kernel.rules import Shape
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.reference import Steps
from omtl.reference import osmtl as oracle
from omtl.reference.transcriptions import rounds_of
from omtl.theory import comparators, osmtl

THOROUGH = thorough(60)
SLACK = 1e-9


def problem(seed: int, m: int, n: int, d: int, noise: float) -> tuple[Tasks, Stream]:
    """Return tasks of linear labels, some flipped, of unequal sizes, and their rounds."""
    rng = np.random.default_rng(seed)
    tasks = random_tasks(rng, m, n, d, noise)
    return tasks, rounds(tasks, rng, rng, n_checkpoints=tasks.y.size)


def suffered(steps: Steps, tasks: Tasks, stream: Stream) -> np.ndarray:
    """Return each round's loss of each task's own weights, shape (n_rounds, n_tasks)."""
    scores = np.array([step.score for step in steps])
    t = np.repeat(np.arange(stream.start.size - 1), np.diff(stream.start))
    losses = np.zeros((stream.start.size - 1, len(tasks.names)))
    y, task = tasks.y[stream.example], tasks.task[stream.example]
    losses[t, task] = np.maximum(0.0, 1.0 - y * scores)
    return losses


def bound_of(tasks: Tasks, stream: Stream, U: np.ndarray, C: float, alpha: float) -> np.ndarray:
    """Return theorem 1's bound after each round, shape (n_tasks, n_rounds)."""
    return osmtl.theorem1_bound(
        np.arange(1, stream.start.size),
        osmtl.fixed_weights(tasks, stream, U),
        C=C,
        alpha=alpha,
        largest_norm=float(np.linalg.norm(tasks.X, axis=1).max()),
    )


@THOROUGH
@example(600, 3, 8, 0.0, 3.0, 0.3, 1.0, False, False)  # correctors alone would go in a circle
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 5),
    n=st.integers(1, 25),
    noise=st.sampled_from([0.0, 0.2, 0.5]),
    C=st.floats(0.01, 3.0),
    alpha=st.floats(0.05, 1.0),
    lam=st.sampled_from([0.05, 1.0, 50.0]),
    any_task=st.booleans(),
    threshold=st.booleans(),
)
def test_theorem_1_bounds_each_tasks_regret(
    seed: int,
    m: int,
    n: int,
    noise: float,
    C: float,
    alpha: float,
    lam: float,
    any_task: bool,
    threshold: bool,
) -> None:
    """After each round, against the best weights in hindsight, none, and random ones."""
    tasks, stream = problem(seed, m, n, 3, noise)
    given_all, shape = rounds_of(tasks, stream), Shape(m, 3, np.eye(m))
    more: tuple[Any, ...] = (C, alpha, lam, 1.0, any_task)
    steps = (
        oracle.osmtl_t(OSMTLThreshold(*more), given_all, shape)
        if threshold
        else oracle.osmtl_e(OSMTLExponential(*more), given_all, shape)
    )
    losses = suffered(steps, tasks, stream)
    rng = np.random.default_rng(seed)
    best = comparators.best_weights(tasks, 1e-3)
    for U in (best, np.zeros((m, 3)), 3.0 * rng.standard_normal((m, 3))):
        regret = np.cumsum(losses - osmtl.fixed_weights(tasks, stream, U).own, axis=0).T
        assert np.all(regret <= bound_of(tasks, stream, U, C, alpha) + SLACK)


@THOROUGH
@given(seed=st.integers(0, 10_000), m=st.integers(1, 5), n=st.integers(1, 40))
def test_corollary_2_is_theorem_1_at_its_rates(seed: int, m: int, n: int) -> None:
    """No less, by the slack of (1 + √T)² ≤ 4 T; and its rates are those of the learner."""
    tasks, stream = problem(seed, m, n, 3, 0.2)
    T = stream.start.size - 1
    U = np.random.default_rng(seed).standard_normal((m, 3))
    C, alpha = osmtl.corollary2_rates(T)
    state = OSMTLExponential(1.0, 1.0, 1.0, by_horizon=True).new_state(
        Shape(m, 3, mixing_matrix(m), n_rounds=T)
    )
    np.testing.assert_allclose(state.rates, [C, alpha])
    R = float(np.linalg.norm(tasks.X, axis=1).max())
    corollary = osmtl.corollary2_bound(T, osmtl.fixed_weights(tasks, stream, U), R)
    theorem = bound_of(tasks, stream, U, C, alpha)[:, -1]
    assert np.all(theorem <= corollary * (1.0 + SLACK))
    slack = R**2 * (2.0 * math.sqrt(T) - (1.0 + math.sqrt(T)) ** 2 / (2.0 * math.sqrt(T)))
    np.testing.assert_allclose(corollary - theorem, slack, rtol=1e-6, atol=1e-9)


def test_learning_from_mistakes_only_breaks_the_printed_theorem() -> None:
    """With one x and one label the passive learner is right ever after, and suffers all the same;
    the learner of algorithm 2 on the same rounds stays below the bound."""
    T = 400
    tasks = Tasks(np.ones((T, 1)), np.ones(T), np.zeros(T, dtype=np.int64), ("a",))
    stream = rounds(tasks, np.random.default_rng(0), np.random.default_rng(0), n_checkpoints=T)
    C, alpha = osmtl.corollary2_rates(T)
    U = np.ones((1, 1))
    bound = bound_of(tasks, stream, U, C, alpha)[0, -1]
    regrets = {}
    for margin in (0.0, 1.0):
        learner = OSMTLExponential(C, alpha, lam=1.0, margin=margin)
        steps = oracle.osmtl_e(learner, rounds_of(tasks, stream), Shape(1, 1, np.eye(1)))
        regrets[margin] = suffered(steps, tasks, stream).sum()
    assert regrets[0.0] == pytest.approx(1.0 + (T - 1) * (1.0 - C))
    assert regrets[0.0] > 10.0 * bound
    assert regrets[1.0] <= bound
