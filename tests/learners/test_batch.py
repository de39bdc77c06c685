"""Batch learners: their solver against others, what their alternations must do, their protocol."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import random_tasks
from profiles import thorough
from scipy import sparse

from omtl.data.streams import Tasks
from omtl.kernel import smooth_hinge as module
from omtl.kernel.smooth_hinge import minimisers, smooth_hinge
from omtl.learners.batch import ITL, SHAMO, STL, Fit, SMTLExponential, SMTLThreshold, Training

CERTAINLY = thorough(25)

CERTIFIED = 1e-10
"""By how much an objective may be above its minimum; rounding leaves less, and most often 1e-12."""


class Problem(NamedTuple):
    """What there is to minimise."""

    signed: np.ndarray
    c: np.ndarray
    ridge: float
    width: float

    def state(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the models' objectives and gradients, from the definition."""
        loss, slope = smooth_hinge((self.signed @ W.T).T, self.width)
        values = (self.c * loss).sum(axis=1) + 0.5 * self.ridge * (W**2).sum(axis=1)
        return values, self.ridge * W - (self.c * slope) @ self.signed

    def gaps(self, W: np.ndarray) -> np.ndarray:
        """Return by how much the objectives are at most above their minima."""
        _, gradients = self.state(W)
        return (gradients**2).sum(axis=1) / (2.0 * self.ridge)


def hinge_problem(seed: int, n_models: int = 3, most: int = 80) -> Problem:
    """Return a problem of any size and scale: features that are copies or all zero, few positives,
    classes that a line parts and others, weights that are zero."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, most)), int(rng.integers(1, 12))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
    if rng.random() < 0.3:
        X[:, 0] = 0.0
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.3:
        X = np.round(X)
    y = np.where(X @ rng.standard_normal(d) > 0.0, 1.0, -1.0)
    if rng.random() < 0.7:
        y = np.where(rng.random(n) < rng.random(), 1.0, -1.0)
    c = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0, 10.0])), n_models)
    c[:, rng.random(n) < rng.choice([0.0, 0.5])] = 0.0
    return Problem(
        y[:, None] * X, c, rng.choice([1e-4, 1e-2, 1.0]), rng.choice([0.01, 0.1, 1.0, 5.0])
    )


def test_smooth_hinge() -> None:
    """Below the hinge by at most width/2, and its slope is its derivative."""
    z = np.linspace(-2.0, 2.0, 401)
    for width in (0.05, 1.0):
        loss, slope = smooth_hinge(z, width)
        hinge = np.maximum(0.0, 1.0 - z)
        assert np.all(loss <= hinge + 1e-12)
        assert np.all(loss >= hinge - width / 2.0 - 1e-12)
        more, _ = smooth_hinge(z + 1e-6, width)
        np.testing.assert_allclose((loss - more) / 1e-6, slope, atol=1e-5 / width)


@CERTAINLY
@given(st.integers(0, 10**6))
def test_minimisers_are_certified(seed: int) -> None:
    """By the norm of the gradient."""
    given_here = hinge_problem(seed)
    assert np.all(given_here.gaps(minimisers(*given_here)) <= CERTIFIED)


def test_many_or_sparse_features_have_the_same_minimisers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As nearly as L-BFGS-B comes to them."""
    rng = np.random.default_rng(0)
    signed = rng.standard_normal((60, 6))
    given_here = Problem(signed, rng.dirichlet(np.ones(60), 2), 0.1, 0.2)
    W = minimisers(*given_here)
    thin = minimisers(sparse.csr_array(signed), *given_here[1:])
    monkeypatch.setattr(module, "MOST_FEATURES", 5)
    wide = minimisers(*given_here)
    for other in (thin, wide):
        assert not np.array_equal(other, W)
        np.testing.assert_allclose(other, W, atol=2e-3)


THOROUGH = thorough(10)
SEEDS = st.integers(0, 10_000)


def problem(seed: int, m: int = 4) -> Tasks:
    """Return tasks of linear labels, some of them flipped, of unequal sizes."""
    return random_tasks(np.random.default_rng(seed), m, 12, 3, 0.2)


def fit(learner: Any, tasks: Tasks, seed: int = 0) -> Fit:
    """Fit a learner."""
    return learner.fit(tasks, np.random.default_rng(seed))


@pytest.mark.parametrize("ridge", [0.01, 0.3])
def test_independent_and_pooled_learners_are_minimisers(ridge: float) -> None:
    """ITL of each task's mean loss, STL of that of all examples."""
    tasks = problem(0, m=3)
    own = (tasks.task == np.arange(3)[:, None]) / np.bincount(tasks.task)[:, None]
    every = np.full_like(own, 1.0 / tasks.y.size)
    alone, one = fit(ITL(ridge, 0.2), tasks), fit(STL(ridge, 0.2), tasks)
    for found, c in ((alone, own), (one, every)):
        gaps = Problem(tasks.y[:, None] * tasks.X, c, ridge, 0.2).gaps(found.weights)
        assert np.all(gaps <= CERTIFIED)
    np.testing.assert_array_equal(alone.eta, np.eye(3))
    np.testing.assert_allclose(one.eta, np.tile(own.astype(bool).mean(axis=1), (3, 1)))


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


def test_attentions_minimise_what_they_must() -> None:
    """Eq. 6 is the minimiser of eq. 4 over the simplex for fixed weights: all slopes are equal."""
    losses = np.random.default_rng(0).uniform(0.0, 1.0, (4, 4))
    P = SMTLExponential(0.25, 0.3, 0.01).attend(losses, np.full((4, 4), 0.25))
    slopes = 0.75 * losses + 0.3 * np.log(P)
    np.testing.assert_allclose(slopes, slopes[:, :1] * np.ones(4))
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


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
    for array in (tasks.X, tasks.y, tasks.task):
        array.flags.writeable = False
    one, two = fit(learner, tasks), fit(learner, tasks)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
    thin = Tasks(sparse.csr_array(tasks.X), tasks.y, tasks.task, tasks.names)
    other = fit(learner, thin)
    np.testing.assert_allclose(other.objective[-1], one.objective[-1], rtol=1e-4)
    np.testing.assert_allclose(other.eta, one.eta, atol=1e-2)
