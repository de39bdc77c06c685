"""Batch learners: their solver against others, what their alternations must do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import thorough
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize

from omtl.data.streams import Tasks
from omtl.learners.batch import ITL, SHAMO, STL, Fit, SMTLExponential, SMTLThreshold, Training

THOROUGH = thorough(25)
SEEDS = st.integers(0, 10_000)


def problem(seed: int, m: int = 4, n: int = 12, d: int = 3, clusters: int = 2) -> Tasks:
    """Return tasks of noisy linear labels in clusters, of unequal sizes."""
    rng = np.random.default_rng(seed)
    task = np.concatenate([np.arange(m), rng.integers(0, m, m * (n - 1))])
    X = rng.standard_normal((task.size, d)) * rng.uniform(0.3, 3.0, d)
    U = 2.0 * rng.standard_normal((clusters, d))[np.arange(m) % clusters]
    U = U + 0.2 * rng.standard_normal((m, d))
    y = np.where(np.einsum("ij,ij->i", X, U[task]) + rng.standard_normal(task.size) > 0, 1.0, -1.0)
    return Tasks(X, y, task, tuple(f"task {k}" for k in range(m)))


def fit(learner: Any, tasks: Tasks, seed: int = 0) -> Fit:
    """Fit a learner."""
    return learner.fit(tasks, np.random.default_rng(seed))


def mean_losses(tasks: Tasks, w: np.ndarray, width: float) -> np.ndarray:
    """Return L_j(w) from the definition, one example at a time."""
    found = np.zeros(len(tasks.names))
    for x, y, j in zip(tasks.X, tasks.y, tasks.task, strict=True):
        z = y * float(x @ w)
        below, corner = 1.0 - z - width / 2.0, max(0.0, 1.0 - z) ** 2 / (2.0 * width)
        found[j] += (below if z < 1.0 - width else corner) / np.sum(tasks.task == j)
    return found


def direct(tasks: Tasks, shares: np.ndarray, ridge: float, width: float) -> np.ndarray:
    """Return argmin Σ_j shares_j L_j(w) + ridge/2 ‖w‖² by another method, without derivatives."""

    def value(w: np.ndarray) -> float:
        return float(shares @ mean_losses(tasks, w, width) + ridge / 2.0 * (w @ w))

    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000}
    w = np.zeros(tasks.X.shape[1])
    for _ in range(3):
        w = minimize(value, w, method="Nelder-Mead", options=options).x
    return w


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ridge", [0.01, 0.3])
def test_independent_and_pooled_learners_are_direct_minimisers(seed: int, ridge: float) -> None:
    """ITL of each task's mean loss, STL of that of all examples."""
    tasks = problem(seed, m=3)
    alone, one = fit(ITL(ridge, 0.2), tasks), fit(STL(ridge, 0.2), tasks)
    for k in range(3):
        w = direct(tasks, np.eye(3)[k], ridge, 0.2)
        np.testing.assert_allclose(alone.weights[k], w, atol=2e-2 * np.abs(w).max())
        value = mean_losses(tasks, w, 0.2)[k] + ridge / 2.0 * (w @ w)
        own = alone.weights[k]
        assert mean_losses(tasks, own, 0.2)[k] + ridge / 2.0 * (own @ own) <= value + 1e-10
    shares = np.bincount(tasks.task) / tasks.task.size
    w = direct(tasks, shares, ridge, 0.2)
    for k in range(3):
        np.testing.assert_allclose(one.weights[k], w, atol=2e-2 * np.abs(w).max())
    np.testing.assert_array_equal(alone.eta, np.eye(3))
    np.testing.assert_allclose(one.eta, np.tile(shares, (3, 1)))


@THOROUGH
@given(seed=SEEDS, alpha=st.floats(0.0, 1.0), lam=st.floats(0.01, 2.0))
def test_smtl_e_never_raises_its_objective(seed: int, alpha: float, lam: float) -> None:
    """Eq. 4 falls from round to round, rows of P are distributions, and η keeps α for itself."""
    tasks = problem(seed)
    found = fit(SMTLExponential(alpha, lam, 0.01, tolerance=0.0, rounds=6), tasks)
    assert np.all(np.diff(found.objective) <= 1e-11 * (1.0 + np.abs(found.objective[:-1])))
    np.testing.assert_allclose(found.eta.sum(axis=1), 1.0)
    assert np.all(found.eta >= 0.0)
    assert np.all(np.diag(found.eta) >= alpha - 1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_attentions_minimise_what_they_must(seed: int) -> None:
    """Eq. 6 is the minimiser of eq. 4 over the simplex for fixed weights, found otherwise."""
    m, lam = 4, 0.3
    learner = SMTLExponential(0.25, lam, 0.01)
    losses = np.random.default_rng(seed).uniform(0.0, 1.0, (m, m))
    P = learner.attend(losses, np.full((m, m), 1.0 / m))
    for k in range(m):

        def value(p: np.ndarray, k: int = k) -> float:
            return float(0.75 * p @ losses[k] + lam * p @ np.log(np.maximum(p, 1e-300)))

        simplex = LinearConstraint(np.ones((1, m)), 1.0, 1.0)
        found = minimize(
            value,
            np.full(m, 1.0 / m),
            method="SLSQP",
            bounds=[(1e-9, 1.0)] * m,
            constraints=simplex,
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        np.testing.assert_allclose(P[k], found.x, atol=1e-5)
        assert value(P[k]) <= found.fun + 1e-9


def test_thresholds_cut_off() -> None:
    """p_kj ∝ (λ − L_j)_+; where all losses are above λ, p stays as it was."""
    losses = np.array([[0.1, 0.3, 0.9], [0.6, 0.7, 0.8], [0.5, 0.2, 0.5]])
    before = np.array([[0.2, 0.3, 0.5]] * 3)
    P = SMTLThreshold(0.5, 0.5, 0.01).attend(losses, before)
    np.testing.assert_allclose(P, [[2.0 / 3.0, 1.0 / 3.0, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])


@THOROUGH
@given(seed=SEEDS, M=st.integers(1, 5))
def test_shamo_never_raises_its_objective(seed: int, M: int) -> None:
    """And each task has a model that suits it no less than the others."""
    tasks = problem(seed, m=5)
    found = fit(SHAMO(M, 0.05), tasks, seed)
    assert np.all(np.diff(found.objective) <= 1e-11)
    assert len(np.unique(found.weights, axis=0)) <= M
    np.testing.assert_allclose(found.eta.sum(axis=1), 1.0)
    training = Training(tasks, 0.05, 0.1)
    cost = training.losses(found.weights) + training.norms(found.weights)[:, None]
    assert np.all(np.diag(cost) <= cost.min(axis=0) + 1e-9)


LEARNERS = [
    ITL(0.05),
    STL(0.05),
    SHAMO(2, 0.05),
    SMTLThreshold(0.3, 0.5, 0.05),
    SMTLExponential(0.3, 0.1, 0.05),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: type(each).__name__)
def test_sparse_rows_are_the_same_rows(learner: Any) -> None:
    """And a second fit has the same bits; nothing that was given is changed."""
    tasks = problem(4)
    copies = [tasks.X.copy(), tasks.y.copy(), tasks.task.copy()]
    one, two = fit(learner, tasks), fit(learner, tasks)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip((tasks.X, tasks.y, tasks.task), copies, strict=True):
        np.testing.assert_array_equal(a, b)
    thin = Tasks(sparse.csr_array(tasks.X), tasks.y, tasks.task, tasks.names)
    other = fit(learner, thin)
    np.testing.assert_allclose(other.objective[-1], one.objective[-1], rtol=1e-4)
    np.testing.assert_allclose(other.eta, one.eta, atol=1e-2)
