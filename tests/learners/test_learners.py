"""Learners on networks, over thousands of rounds, and where numbers underflow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import compare, played
from scipy import sparse

from omtl.data.networks import mixing_matrix
from omtl.data.preparation import in_order, prepared_data
from omtl.data.rows import examples_of
from omtl.data.streams import Stream, Tasks
from omtl.kernel.play import play
from omtl.kernel.rules import Shape, findings, penalty, proximity
from omtl.kernel.small_matrices import find_exponential
from omtl.learners.arow import AROW
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.omtl import OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.rom import ROMPGD, ROMRDA, factors_of_round, weights_of_sums
from omtl.reference.problems import Case, problem
from omtl.sklearn.stream import arrays_of
from omtl.theory.comparators import FixedWeights, Regulariser

FAST = np.array([[0.5 + 1e-7, 0.5 - 1e-7], [0.5 - 1e-7, 0.5 + 1e-7]])
"""Combination weights one of whose modes is gone after a few rounds."""

LONG = [
    (COML(C=0.5, mu=0.9), (3000, 2500), 6, None),
    *((each, (1500,) * 5, 3, None) for each in (NS(0.05), DOM1(0.05, 3.0), DOM2(0.05, 0.4))),
    *((each, (1500,) * 2, 3, FAST) for each in (DST(0.05), DOM1(0.05, 3.0), DA(0.5, 3.0))),
    (DOM2(0.05, 0.4, False, True), (1500, 1500), 3, FAST),
    (ROMPGD(0.1, 1e3, 1e3, 1e-3), (4000, 3500), 6, None),
    (ROMPGD(10.0, 1e3, 1e-6, 0.5), (4000, 3500), 6, None),
    (ROMPGD(0.01, 1e-6, 1e3, 1.5), (4000, 3500), 6, None),
    (ROMPGD(1e-3, 1e-6, 1e-6, 1e-6), (4000, 3500), 6, None),
]
"""Learners with the sizes of tasks, features and a network where products of a factor for each
round are far below 1e-308."""


@pytest.mark.parametrize(
    ("learner", "sizes", "n_features", "mixing"), LONG, ids=[repr(each[0]) for each in LONG]
)
def test_nothing_underflows_in_thousands_of_rounds(
    learner: Any, sizes: tuple[int, ...], n_features: int, mixing: np.ndarray | None
) -> None:
    """Scores are the reference's to the end, and what vectors are multiplied by does not vanish."""
    case = problem(sizes, n_features)
    case = case if mixing is None else case._replace(mixing=mixing)
    compare(learner, case, plain=False)
    got = played(learner, case)
    assert got.fired.sum() > 500
    for path, array in arrays_of(got.state).items():
        assert np.isfinite(array).all(), path
        if path.endswith("scale"):
            assert np.abs(array).min() > 1e-201


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
    got = played(DOM1(1.0, 4.0), Case(tasks, stream, mixing))
    np.testing.assert_array_equal(got.scores, 0.0)


SHARED = [
    OSMTLExponential(0.7, 0.3, 0.2, margin=1.0),
    OSMTLThreshold(0.7, 0.3, 1.1, margin=1.0),
    OSMTLThreshold(0.7, 0.3, 1.1, margin=1.0, multiplied=True),
    OSMTLExponential(2.0, 0.9, 0.2, any_task=True, by_horizon=True),
]


@pytest.mark.parametrize("learner", SHARED, ids=repr)
def test_relation_is_the_oracles_and_row_stochastic(learner: Any) -> None:
    """η is eq. 3's: its rows sum to 1, and its diagonal is at least α."""
    case = problem((20, 20, 20))
    _, eta = compare(learner, case, plain=False)
    state = played(learner, case).state
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
    state = played(OSMTLExponential(10.0, 0.1, 1e-3, 1.0), case).state
    np.testing.assert_allclose(state.P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(np.isfinite(state.logit))


EXAMPLES = [
    AROW(0.5),
    ROMPGD(0.1, 0.5, 0.5, 0.5),
    ROMRDA(1.0, 0.1, 0.1, 0.02),
    MultiPerceptron(3.0, 0.1, 1.0),
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
    whole = case.with_rows(sparse.csr_array(np.hstack([X, own])))
    reduced = prepared_data(whole.tasks)
    assert reduced.tasks.X.shape[1] <= 30
    expected, _ = play(learner, examples_of(whole.tasks), whole.stream, whole.shape, False)
    examples, stream = in_order(reduced, case.stream)
    shape = case._replace(tasks=reduced.tasks).shape
    for kept, one in zip(play(learner, examples, stream, shape, False)[0], expected, strict=True):
        np.testing.assert_allclose(kept, one, rtol=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.2, 1.5, 2.5, 100.0])
def test_outliers_are_the_tasks_whose_q_is_not_zero(gamma: float) -> None:
    """What counts them, the norm that is kept, and r_1 agree with the oracles' weights."""
    case = problem((400, 300, 350, 20), n_features=3)
    case.tasks.X[::3] *= 0.2  # short rows, which do not revive a q that has become zero

    pgd = ROMPGD(0.05, 1.0, 1.0, gamma)
    W = FixedWeights(*compare(pgd, case, plain=False))
    Q, state = W.Q, played(pgd, case).state
    assert penalty(pgd, state) == pytest.approx(Regulariser(1.0, 1.0, gamma).of(W))
    np.testing.assert_allclose(state.q.scale[:, None] * state.q.vectors, Q, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(state.q.square != 0.0, Q.any(axis=1))
    np.testing.assert_allclose(state.q.square, np.sum(Q**2, axis=1), rtol=1e-9)

    rda = ROMRDA(1.0, 0.1, 0.1, 0.1 * gamma)
    W = FixedWeights(*compare(rda, case, plain=False))
    Q, state = W.Q, played(rda, case).state
    assert penalty(rda, state) == pytest.approx(Regulariser(0.1, 0.1, 0.1 * gamma).of(W))
    pull = 0.5 / np.sqrt(case.shape.n_rounds + 1)  # θ/(2t) of the next round
    assert proximity(rda, state) == pytest.approx(pull * sum(W.squares))
    of_round = factors_of_round(rda, state.rounds[0])
    q = np.array([weights_of_sums(of_round, norm)[2] for norm in state.norm])
    np.testing.assert_array_equal(q != 0.0, Q.any(axis=1))
    np.testing.assert_array_equal(q != 0.0, findings(rda, state)["outlier"])
    np.testing.assert_allclose(q[:, None] * state.own.vectors, Q, rtol=1e-8, atol=1e-12)


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
            find_exponential(state.learnt, state.inverse, state.each, state.memory)
            found = state.inverse[:, :n]
            np.testing.assert_allclose(found, expected, atol=close, err_msg=f"{size}")


@pytest.mark.parametrize("learner", [OMTLLogDet(0.01, 0.5), OMTLCovariance(0.5)], ids=repr)
def test_active_learning_asks_for_some_labels(learner: Any) -> None:
    """And for less where scores are great; what it does not ask for teaches nothing."""
    case = problem((200, 200, 200), n_features=10)
    active = learner._replace(active=True)
    asked = []
    for size in (1.0, 10.0):
        examples = examples_of(case.with_rows(size * case.tasks.X).tasks)
        trace, state = play(active, examples, case.stream, case.shape, False)
        assert np.all(trace.updates <= state.asked)
        assert np.all(trace.updates <= trace.mistakes)
        asked.append(state.asked.sum())
    assert 600 > asked[0] > asked[1] > 0
    assert findings(active, state)["asked"].sum() == asked[1]
    assert findings(learner, play(learner, examples, case.stream, case.shape, False)[1]) == {}
