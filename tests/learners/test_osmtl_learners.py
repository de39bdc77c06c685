"""The learners of the OSMTL paper agree with their plain transcriptions, and with their limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, WIDE_TOLERANCE, Case, cases, finished, oracle_steps, problem
from profiles import powers

from omtl.data.examples import examples_of
from omtl.data.streams import Tasks
from omtl.kernel.loop import run
from omtl.kernel.play import new_trace, play
from omtl.kernel.rules import findings
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.reference.problems import recorded


def compare(learner: Any, case: Case) -> Any:
    """Assert that all ways of playing a case agree with the oracle; return what that returns.

    They are compared up to the first decision that rounding could turn (none in most cases).
    """
    steps, value = finished(oracle_steps(learner, case))
    size = np.maximum.accumulate([max(1.0, abs(step.score)) for step in steps])
    for this in (case, case.sparse):
        for compiled in (True, False):
            got = recorded(learner, this, compiled)
            for e, step in enumerate(steps):
                assert abs(got.scores[e] - step.score) <= WIDE_TOLERANCE * size[e], f"event {e}"
                if step.gap <= WIDE_TOLERANCE * size[e]:
                    break
                if np.any(case.tasks.X[case.stream.example[e]]):
                    assert got.fired[e] == step.fired, f"event {e}: learns {got.fired[e]}"
    return value


steps = powers(-3.0, 2.0)
shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
margins = st.sampled_from([0.0, 1.0])

LEARNERS = {
    "OSGL": st.builds(OSGL, steps, st.one_of(st.just(1.0), st.floats(1.0, 8.0))),
    "OSGL, implicit": st.builds(OSGLImplicit, steps),
    "OSMTL-e": st.builds(
        OSMTLExponential, steps, shares, powers(-2.0, 2.0), margins, st.booleans(), st.booleans()
    ),
    "OSMTL-t": st.builds(
        OSMTLThreshold,
        *(steps, shares, powers(-2.0, 2.0), margins),
        *(st.booleans(), st.booleans(), st.booleans(), st.booleans()),
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_its_oracle(name: str) -> None:
    """Every score and every step, on tasks of unequal sizes, with empty rows."""

    @THOROUGH
    @given(cases(), LEARNERS[name])
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case)

    agree()


# OSGL


def scores(learner: Any, case: Case) -> np.ndarray:
    """Return the learner's scores of all events."""
    return recorded(learner, case).scores


def test_a_sum_of_losses_ties_nothing() -> None:
    """With r = 1 each task is a perceptron of its own that learns from every loss."""
    case = problem((30, 25, 20))
    np.testing.assert_allclose(
        scores(OSGL(0.3, 1.0), case), scores(Perceptron(0.3, 1.0), case), rtol=1e-12
    )


def test_an_implicit_update_within_the_ball_is_passive_aggressive() -> None:
    """With a large radius nothing is tied either: each task is PA."""
    case = problem((30, 25, 20))
    np.testing.assert_allclose(
        scores(OSGLImplicit(1e9), case), scores(PassiveAggressive(), case), rtol=1e-12
    )


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
    _, eta = compare(learner, case)
    this = case.sparse if sparse_rows else case
    state = recorded(learner, this).state
    told = findings(learner, state)["relation"]
    np.testing.assert_allclose(told, eta, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(told.sum(axis=1), 1.0, rtol=1e-12)
    alpha = state.rates[1]
    assert np.all(np.diag(told) >= alpha)
    assert np.abs(told - told.T).max() > 1e-3, "the relation is not symmetric"


def test_full_concentration_is_the_perceptron() -> None:
    """With α = 1 no task learns from another: a perceptron with step C."""
    case = problem((30, 25, 20))
    for margin in (0.0, 1.0):
        alone = scores(Perceptron(0.5, margin), case)
        for kind in (OSMTLExponential, OSMTLThreshold):
            np.testing.assert_allclose(scores(kind(0.5, 1.0, 1.0, margin), case), alone, rtol=1e-12)


def test_infinite_smoothness_keeps_the_weights_fixed() -> None:
    """With λ = ∞ the attentions stay uniform: FOML in the form of OSMTL."""
    case = problem((30, 25, 20))
    for lam in (float("inf"), 1e15):
        state = recorded(OSMTLExponential(0.5, 0.2, lam, 1.0), case).state
        np.testing.assert_allclose(state.P, 1.0 / 3.0, rtol=1e-12)


def test_tasks_with_the_same_boundary_attend_to_each_other() -> None:
    """Two tasks with one boundary, and a third with the opposite one, from eq. 11."""
    rng = np.random.default_rng(0)
    case = problem((300, 300, 300), n_features=5)
    w = rng.normal(size=5)
    y = np.sign(case.tasks.X @ w) * np.where(case.tasks.task == 2, -1.0, 1.0)
    tasks = Tasks(case.tasks.X, y, case.tasks.task, case.tasks.names)
    for learner in (OSMTLExponential(0.1, 0.5, 0.1, 1.0), OSMTLThreshold(0.1, 0.5, 1.0, 1.0)):
        eta = findings(learner, recorded(learner, case._replace(tasks=tasks)).state)["relation"]
        assert eta[0, 1] > 10.0 * eta[0, 2]
        assert eta[1, 0] > 10.0 * eta[1, 2]
        assert eta[2, 2] > 0.9


def test_attentions_survive_what_underflows() -> None:
    """Losses whose exponential is 0 leave distributions, and attention may come back."""
    case = problem((50, 50, 50))
    case.tasks.X[:] *= 100.0
    state = recorded(OSMTLExponential(10.0, 0.1, 1e-3, 1.0), case).state
    np.testing.assert_allclose(state.P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.all(np.isfinite(state.logit))


@pytest.mark.parametrize("uniform", [False, True])
def test_threshold_below_all_losses(uniform: bool) -> None:
    """Where no loss is below λ, p stays as it was or becomes uniform, as asked."""
    case = problem((1, 1))
    learner = OSMTLThreshold(1.0, 0.5, 0.5, 1.0, uniform=uniform)
    state = learner.new_state(case.shape)
    state.P[:] = [[0.9, 0.1], [0.2, 0.8]]
    before = state.P.copy()
    examples = examples_of(case.tasks)

    run(learner, state, examples, case.stream, new_trace(2, 1), compiled=False)
    np.testing.assert_allclose(state.P, 0.5 if uniform else before)


def test_horizon_sets_the_corollary() -> None:
    """With factors of 1, α and C are corollary 2's."""
    case = problem((25, 25))
    state = OSMTLExponential(1.0, 1.0, 1.0, by_horizon=True).new_state(case.shape)
    np.testing.assert_allclose(state.rates, [(1.0 + 5.0) / 25.0, 5.0 / 6.0])


@pytest.mark.parametrize("any_task", [False, True])
def test_steps_are_counted(any_task: bool) -> None:
    """What the learner counts is what the trace counts, or more where any task's loss will do."""
    case = problem((30, 30, 30))
    learner = OSMTLExponential(0.5, 0.5, 1.0, 1.0, any_task=any_task)
    trace, state = play(learner, examples_of(case.tasks), case.stream, case.shape)
    counted = findings(learner, state)["updates"]
    if any_task:
        assert np.all(counted >= trace.updates)
        assert counted.sum() > trace.updates.sum()
    else:
        np.testing.assert_array_equal(counted, trace.updates)


def test_a_fixed_relation_differs_from_the_multitask_perceptron() -> None:
    """FOML has two readings: they share a task's examples in different directions."""
    case = problem((30, 30, 30))
    b = 3.0
    one = scores(MultiPerceptron(b, 1.0, 1.0), case)
    other = scores(OSMTLExponential(1.0, 1.0 / (1.0 + b), float("inf"), 1.0), case)
    assert np.abs(one - other).max() > 0.1
