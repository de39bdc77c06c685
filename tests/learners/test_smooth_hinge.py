"""Minimisers of smooth hinge losses: certificates, and other solvers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import thorough
from scipy import sparse
from scipy.optimize import minimize

from omtl.kernel import smooth_hinge as module
from omtl.kernel.smooth_hinge import minimisers, smooth_hinge

THOROUGH = thorough(100)

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


def problem(seed: int, n_models: int = 3, most: int = 80) -> Problem:
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


@THOROUGH
@given(st.integers(0, 10**6))
def test_minimisers_are_certified(seed: int) -> None:
    """By the norm of the gradient; what is given is not changed."""
    given_here = problem(seed)
    copies = given_here.signed.copy(), given_here.c.copy()
    W = minimisers(*given_here)
    assert np.all(given_here.gaps(W) <= CERTIFIED)
    for one, other in zip(given_here, copies, strict=False):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(20))
def test_minimisers_are_those_of_a_general_solver(seed: int) -> None:
    """SciPy's trust region method, with exact second derivatives of its own."""
    given_here = problem(seed, n_models=1)

    def curvature(w: np.ndarray) -> np.ndarray:
        z = given_here.signed @ w
        inside = given_here.c[0] * ((z < 1.0) & (z > 1.0 - given_here.width)) / given_here.width
        ridge = given_here.ridge * np.eye(w.size)
        return (given_here.signed.T * inside) @ given_here.signed + ridge

    found: Any = minimize(
        lambda w: float(given_here.state(w[None])[0][0]),
        np.zeros(given_here.signed.shape[1]),
        jac=lambda w: given_here.state(w[None])[1][0],
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-9, "maxiter": 2000},
    )
    W = minimisers(*given_here)
    assert given_here.state(W)[0][0] <= found.fun + 1e-12
    allowed = np.sqrt(2.0 * max(found.fun - given_here.state(W)[0][0], 0.0) / given_here.ridge)
    np.testing.assert_allclose(W[0], found.x, atol=allowed + 1e-5)


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
