"""The learners of the OSMTL paper agree with their plain transcriptions, and with their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import (
    WIDE_TOLERANCE,
    Case,
    compare,
    problem,
)

from omtl.kernel.rules import findings
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.reference.problems import recorded

# OSGL


def first_steps(learner: Any, case: Case) -> np.ndarray:
    """Return τ, from w_k = τ_k y_k x_k, after a round with one example of each task."""
    X, y = case.tasks.X, case.tasks.y
    w = recorded(learner, case).state.w
    tau = y * np.einsum("kf,kf->k", w, X) / np.einsum("kf,kf->k", X, X)
    np.testing.assert_allclose(w, (tau * y)[:, None] * X, rtol=1e-12)
    return tau


@pytest.mark.parametrize("C", [1e-2, 0.3])
def test_the_steps_of_a_round_are_on_the_ball(C: float) -> None:
    """‖τ‖₂ is C in the first round, where all tasks have a loss, and τ follows the losses."""
    case = problem((1, 1, 1, 1))
    for learner in (OSGL(C), OSGLImplicit(C)):
        tau = first_steps(learner, case)
        np.testing.assert_allclose(np.linalg.norm(tau), C, rtol=1e-12)
        assert np.all(tau > 0.0)
    np.testing.assert_allclose(first_steps(OSGL(C), case), C / 2.0)


# OSMTL


SHARED = [
    OSMTLExponential(0.7, 0.3, 0.2, margin=1.0),
    OSMTLThreshold(0.7, 0.3, 1.1, margin=1.0),
    OSMTLThreshold(0.7, 0.3, 1.1, margin=1.0, multiplied=True),
    OSMTLExponential(2.0, 0.9, 0.2, any_task=True, by_horizon=True),
]


@pytest.mark.parametrize("learner", SHARED, ids=repr)
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_relation_is_the_oracles_and_row_stochastic(learner: Any, sparse_rows: bool) -> None:
    """η is eq. 3's: its rows sum to 1, and its diagonal is at least α."""
    case = problem((20, 20, 20))
    _, eta = compare(learner, case, tolerance=WIDE_TOLERANCE)
    this = case.sparse if sparse_rows else case
    state = recorded(learner, this).state
    told = findings(learner, state)["relation"]
    np.testing.assert_allclose(told, eta, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(told.sum(axis=1), 1.0, rtol=1e-12)
    alpha = state.rates[1]
    assert np.all(np.diag(told) >= alpha)
    assert np.abs(told - told.T).max() > 1e-3, "the relation is not symmetric"


def test_attentions_survive_what_underflows() -> None:
    """Losses whose exponential is 0 leave distributions, and attention may come back."""
    case = problem((50, 50, 50))
    case.tasks.X[:] *= 100.0
    state = recorded(OSMTLExponential(10.0, 0.1, 1e-3, 1.0), case).state
    np.testing.assert_allclose(state.P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(np.isfinite(state.logit))
