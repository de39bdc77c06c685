"""Learners on networks, over thousands of rounds, and where numbers underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import WIDE_TOLERANCE, Case, compare, problem
from numba import njit
from scipy import sparse

from omtl.data.examples import examples_of
from omtl.data.networks import mixing_matrix
from omtl.data.preparation import in_order, prepared_data
from omtl.data.streams import Stream, Tasks
from omtl.kernel import network as network_vectors
from omtl.kernel import pulled
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.play import play
from omtl.kernel.rules import Shape, findings
from omtl.kernel.small_matrices import find_exponential
from omtl.kernel.vectors import SMALLEST_SCALE
from omtl.learners.adagrad import AdaGrad
from omtl.learners.arow import AROW
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.gradient import GradientDescent
from omtl.learners.omtl import OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.rom import ROMPGD, ROMRDA, factors_of_round, weights_of_sums
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


EXAMPLES = [
    AROW(0.5),
    GradientDescent(0.3, pooled=True),
    AdaGrad(0.3),
    ROMPGD(0.1, 0.5, 0.5, 0.5),
    ROMRDA(1.0, 0.1, 0.1, 0.02),
    MultiPerceptron(3.0),
    MultiPerceptron(3.0, 0.1, 1.0),
    OMTLLogDet(1e-3, 0.5, normalise=False),
    OMTLLogDet(0.1, 0.5),
    OMTLVonNeumann(1e-3, 0.5),
]


@pytest.mark.parametrize("learner", EXAMPLES, ids=repr)
def test_features_of_one_example_may_be_left_out(learner: Any) -> None:
    """Scores are the same without them, as squared norms are those of the whole rows."""
    case = problem((60, 40, 50), n_features=30)
    rng = np.random.default_rng(3)
    X = case.tasks.X * (rng.random(case.tasks.X.shape) < 0.3)
    own = np.diag(rng.normal(size=len(X)))
    tasks = Tasks(sparse.csr_array(np.hstack([X, own])), *_rest_of(case.tasks))
    reduced = prepared_data(tasks)
    assert reduced.tasks.X.shape[1] <= 30
    whole_trace, _ = play(
        learner, examples_of(tasks), case.stream, case._replace(tasks=tasks).shape
    )
    examples, stream = in_order(reduced, case.stream)
    reduced_trace, _ = play(learner, examples, stream, case._replace(tasks=reduced.tasks).shape)
    for whole, kept in zip(whole_trace, reduced_trace, strict=True):
        np.testing.assert_allclose(kept, whole, rtol=1e-9)


def _rest_of(tasks: Tasks) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return all of the tasks but their rows."""
    return tasks.y, tasks.task, tasks.names


# Outliers


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.2, 1.5, 2.5, 100.0])
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_outliers_are_the_tasks_whose_q_is_not_zero(gamma: float, sparse_rows: bool) -> None:
    """The arrays that count them, and the norm that is kept, agree with the oracles' Q."""
    case = problem((400, 300, 350, 20), n_features=3)
    case.tasks.X[::3] *= 0.2  # short rows, which do not revive a q that has become zero
    this = case.sparse if sparse_rows else case

    pgd = ROMPGD(0.05, 1.0, 1.0, gamma)
    Q = compare(pgd, case, False, WIDE_TOLERANCE)
    state = recorded(pgd, this).state
    np.testing.assert_allclose(state.q.scale[:, None] * state.q.vectors, Q, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(state.q.square != 0.0, Q.any(axis=1))
    np.testing.assert_allclose(state.q.square, np.sum(Q**2, axis=1), rtol=1e-9)

    rda = ROMRDA(1.0, 0.1, 0.1, 0.1 * gamma)
    Q = compare(rda, case, False, WIDE_TOLERANCE)
    state = recorded(rda, this).state
    of_round = factors_of_round(rda, state.rounds[0])
    q = np.array([weights_of_sums(of_round, norm)[2] for norm in state.norm])
    np.testing.assert_array_equal(q != 0.0, Q.any(axis=1))
    np.testing.assert_array_equal(q != 0.0, findings(rda, state)["outlier"])
    np.testing.assert_allclose(q[:, None] * state.own.vectors, Q, rtol=1e-8, atol=1e-12)


# Long runs


@pytest.mark.parametrize(
    "learner",
    [
        ROMPGD(0.1, 1e3, 1e3, 1e-3),
        ROMPGD(10.0, 1e3, 1e-6, 0.5),
        ROMPGD(0.01, 1e-6, 1e3, 1.5),
        ROMPGD(1e-3, 1e-6, 1e-6, 1e-6),
    ],
    ids=repr,
)
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_scales_and_norms_of_long_runs(learner: ROMPGD, sparse_rows: bool) -> None:
    """Thousands of rounds, where 1 / (1 + β η) to their number is far below 1e-308."""
    case = problem((4000, 3500), n_features=6)
    compare(learner, case, False, WIDE_TOLERANCE, grown=1e60)
    got = recorded(learner, case.sparse if sparse_rows else case)
    state = got.state
    assert got.fired.sum() > 500
    for scale in (state.p.scale, state.q.scale, state.u.scale):
        assert np.all(scale >= SMALLEST_SCALE)
        assert np.all(scale <= 1.0)
    q = state.q.scale[:, None] * state.q.vectors
    np.testing.assert_allclose(state.q.square, np.sum(q**2, axis=1), rtol=1e-9)


@njit(**OPTIONS)
def find_compiled(state: Any) -> None:
    """Call `find_exponential` in compiled code."""
    find_exponential(state.learnt, state.inverse, state.each, state.memory)


def exponential(state: Any) -> np.ndarray:
    """Return what `find_exponential` finds, compiled or not: the same up to rounding."""
    find_exponential(state.learnt, state.inverse, state.each, state.memory)
    slowly = state.inverse.copy()
    find_compiled(state)
    size = 1.0 + np.abs(state.learnt).max()
    np.testing.assert_allclose(state.inverse, slowly, rtol=1e-13 * size, atol=1e-14)
    return state.inverse[:, : len(slowly)]


@pytest.mark.parametrize("n", [1, 2, 5, 17, 30])
def test_exponential(n: int) -> None:
    """It is that of the eigenvalues and eigenvectors, whatever the norm, of trace n."""
    rng = np.random.default_rng(n)
    V = np.linalg.qr(rng.normal(size=(n, n)))[0]
    state = OMTLVonNeumann(1.0, 0.0).new_state(Shape(n, 3, np.ones((1, 1))))
    far, near, low = np.zeros(n), np.ones(n), np.zeros(n)
    far[0], near[-1], low[: 1 + n // 3] = 1.0, 0.9, rng.random(1 + n // 3)
    for values in (far, near, low, 0.4 * low + 0.6 * far, rng.random(n)):
        for size in (0.0, 1e-9, 0.1, 1.0, 30.0, 90.0, 110.0, 1e3, 1e6):
            state.learnt[:, :n] = (V * (size * values)) @ V.T
            state.learnt[:, :n] = (state.learnt[:, :n] + state.learnt[:, :n].T) / 2.0
            powers = np.exp(size * (values - values.max()))
            expected = n * (V * powers) @ V.T / powers.sum()
            close = 1e-14 * n * (n + size)
            np.testing.assert_allclose(exponential(state), expected, atol=close, err_msg=f"{size}")


@pytest.mark.parametrize("learner", [OMTLLogDet(0.01, 0.5), OMTLCovariance(0.5)], ids=repr)
def test_active_learning_asks_for_some_labels(learner: Any) -> None:
    """And for less where scores are great; what it does not ask for teaches nothing."""
    case = problem((200, 200, 200), n_features=10)
    examples = examples_of(case.tasks)
    asked = []
    for size in (1.0, 10.0):
        larger = case.with_rows(size * case.tasks.X)
        trace, state = play(
            learner._replace(active=True), examples_of(larger.tasks), larger.stream, larger.shape
        )
        assert np.all(trace.updates <= state.asked)
        assert np.all(trace.updates <= trace.mistakes)
        asked.append(state.asked.sum())
    assert 600 > asked[0] > asked[1] > 0
    assert findings(learner._replace(active=True), state)["asked"].sum() == asked[1]
    assert findings(learner, play(learner, examples, case.stream, case.shape)[1]) == {}
