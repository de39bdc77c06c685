"""Learners on networks, over thousands of rounds, and where numbers underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import WIDE_TOLERANCE, Case, compare, problem

from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks
from omtl.kernel import network as network_vectors
from omtl.kernel import pulled
from omtl.kernel.rules import Shape, findings
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.reference.problems import recorded
from omtl.util.errors import UserError


def test_coml_scale_does_not_underflow() -> None:
    """COML over thousands of rounds: (1 − μ) to the number of steps is far below 1e-308."""
    learner = COML(C=0.5, mu=0.9)
    case = problem((3000, 2500), n_features=6)
    compare(learner, case, plain=False)
    got = recorded(learner, case)
    assert got.fired.sum() > 1000
    assert np.all(got.state.scale > pulled.SMALLEST_SCALE * 0.1)
    assert np.all(got.state.pull <= 1.0 + 1e-12)


@pytest.mark.parametrize(
    ("learner", "tail"),
    [
        (NS(0.05), "ring"),
        (DST(0.05), "fast"),
        (DOM1(0.05, 3.0), "ring"),
        (DOM1(0.05, 3.0), "fast"),
        (DOM2(0.05, 0.4), "ring"),
        (DOM2(0.05, 0.4, False, True), "fast"),
        (DA(0.5, 3.0), "fast"),
    ],
    ids=repr,
)
def test_fast_decaying_modes_do_not_underflow(learner: Any, tail: str) -> None:
    """Thousands of rounds where decay to the number of rounds is far below 1e-308."""
    n_tasks = 5 if tail == "ring" else 2
    fast = np.array([[0.5 + 1e-7, 0.5 - 1e-7], [0.5 - 1e-7, 0.5 + 1e-7]])
    mixing = mixing_matrix(5, "ring") if tail == "ring" else fast
    case = problem((1500,) * n_tasks, n_features=3, mixing=mixing)
    compare(learner, case, plain=False)
    state = recorded(learner, case).state
    net = getattr(state, "net", state)
    if not isinstance(net, network_vectors.NodeVectors):  # which are in no modes
        assert 1500 * np.log10(np.abs(net.decay[-1])) < -320
        assert np.all(np.abs(net.scale) >= network_vectors.SMALLEST_SCALE)
    assert np.all(np.isfinite(net.W.vectors))


@pytest.mark.parametrize("topology", ["ring", "grid"])
def test_a_node_that_has_heard_of_nothing_predicts_exactly_zero(topology: str) -> None:
    """A score of 0 is a tie, thus a mistake; rounding must not turn it into a label.

    Only node 0 learns, in round 0; in round 1 the nodes that are two links away know nothing.
    """
    mixing = mixing_matrix(9, topology)
    far = np.flatnonzero(mixing[:, 0] == 0.0)
    X = np.random.default_rng(0).normal(size=(1 + far.size, 4))
    tasks = Tasks(
        X, np.ones(1 + far.size), np.arange(1 + far.size), tuple("abcdefghi"[: 1 + far.size])
    )
    stream = Stream(
        start=np.array([0, 1, 1 + far.size]),
        example=np.arange(1 + far.size),
        node=np.concatenate([[0], far]),
        checkpoint=np.array([2]),
    )
    got = recorded(DOM1(1.0, 4.0), Case(tasks, stream, mixing))
    np.testing.assert_array_equal(got.scores, 0.0)


@pytest.mark.parametrize("learner", [NS(0.1), DOM2(0.1, 0.5, by_node=True)], ids=repr)
def test_a_node_a_task_is_required(learner: Any) -> None:
    """Learners whose nodes are tasks refuse another network, and say what to set."""
    with pytest.raises(UserError, match=r"set network\.n_nodes=3"):
        learner.new_state(Shape(3, 2, mixing_matrix(4)))


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
