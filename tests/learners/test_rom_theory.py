"""ROM's bounds: what is measured of a play, bounds that hold, and counterexamples to others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, cases, in_given_order
from profiles import powers
from scipy.optimize import minimize

from omtl.data.rows import examples_of
from omtl.data.streams import Tasks
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.protocols import objective
from omtl.reference.problems import Case, problem
from omtl.theory import comparators, rom
from omtl.theory.comparators import GAP, FixedWeights, Regulariser, best_fixed

SLACK = 1e-9
"""Of comparisons of sums of rounded numbers, relative."""


def measured(learner: Any, case: Case) -> dict[str, np.ndarray]:
    """Return what the protocol measures of a play: sums after each round."""
    rounds, examples = case.shape.n_rounds, examples_of(case.tasks)
    every = case.stream._replace(checkpoint=np.arange(1, rounds + 1))
    is_long = rounds >= 1000
    return objective.measure_objective(learner, examples, every, case.shape, compiled=is_long)


def suffered(got: dict[str, np.ndarray]) -> np.ndarray:
    """Return the losses and penalties up to each round."""
    return got["checkpoint_loss"] + got["checkpoint_penalty"]


def gradients(got: dict[str, np.ndarray], share: float = 1.0) -> np.ndarray:
    """Return Σ ‖G_t‖² up to each round, with a share of the part of u."""
    return share * got["checkpoint_shared"] + 2.0 * got["checkpoint_own"]


def lemma_2(eta: float, W: FixedWeights, got: dict[str, np.ndarray], T: int = 0) -> float:
    """Return lemma 2's bound on the regret up to a round, or the last, as it can be proved."""
    square, share = rom.weighted_square_norm(W), 1.0 / len(W.P)
    return rom.lemma2(eta=eta, square=square, gradients=gradients(got, share)[T - 1])


def lemma_2_printed(eta: float, W: FixedWeights, got: dict[str, np.ndarray], T: int = 0) -> float:
    """Return the bound as it is printed."""
    square = rom.square_norm(W)
    return rom.lemma2_printed(eta=eta, square=square, gradients=gradients(got)[T - 1])


def one_stream(X: list[list[float]], y: list[list[float]]) -> Case:
    """Return a case of one feature, where row t of X and y has the examples of round t."""
    rows, labels, m = np.reshape(X, (-1, 1)), np.ravel(y), len(X[0])
    return in_given_order(rows, labels, np.arange(labels.size) % m, m)


def at_first(case: Case, n_rounds: int) -> Tasks:
    """Return the examples of the first rounds."""
    seen = case.stream.example[: case.stream.start[n_rounds]]
    return Tasks(case.tasks.X[seen], case.tasks.y[seen], case.tasks.task[seen], case.tasks.names)


def objective_of(tasks: Tasks, n_rounds: int, W: FixedWeights, r: Regulariser) -> float:
    """Return the hinge losses of fixed weights plus their regulariser in every round."""
    losses = comparators.losses_under(tasks, W.u + W.P + W.Q)
    return float(losses.sum() + n_rounds * r.of(W))


weights = powers(-3.0, 1.0)
regularisers = st.builds(Regulariser, weights, weights, weights)
every_round = st.builds(ROMPGD, powers(-3, 0), weights, weights, weights, st.just(True))
dual_averaging = st.builds(ROMRDA, powers(-1, 2), weights, weights, weights)
SEEDS = st.integers(0, 10_000)


def regrets(
    got: dict[str, np.ndarray], case: Case, r: Regulariser, seed: int
) -> Iterator[tuple[int, FixedWeights, float, float]]:
    """Yield rounds, fixed weights, the regret for them, and what rounding may add to it.

    The weights are the best ones, shorter ones, none, and random ones.
    """
    rng = np.random.default_rng(seed)
    rounds = got["checkpoint_loss"].size
    for T in {1, max(1, rounds // 2), rounds}:
        tasks = at_first(case, T)
        best = best_fixed(tasks, T, r).weights
        found = [FixedWeights(*(size * part for part in best)) for size in (1.0, 0.5, 0.0)]
        found.append(FixedWeights(*(rng.standard_normal(part.shape) for part in best)))
        slack = SLACK * (1.0 + got["checkpoint_loss"][-1])
        for W in found:
            yield T, W, suffered(got)[T - 1] - objective_of(tasks, T, W, r), slack


@THOROUGH
@given(case=cases(), learner=every_round, seed=SEEDS)
def test_lemma_2_in_the_weighted_norm(case: Case, learner: ROMPGD, seed: int) -> None:
    """It holds after every round, for every fixed W."""
    r = Regulariser(*learner[1:4])
    got = measured(learner, case)
    for T, W, regret, slack in regrets(got, case, r, seed):
        bound = lemma_2(learner.eta, W, got, T)
        assert regret <= bound * (1.0 + SLACK) + slack
        if case.shape.n_tasks <= 2:  # the printed lemma follows
            assert bound <= lemma_2_printed(learner.eta, W, got, T) * (1.0 + SLACK)


@THOROUGH
@given(case=cases(), learner=dual_averaging, seed=SEEDS)
def test_lemma_5_with_its_sum_set_right(case: Case, learner: ROMRDA, seed: int) -> None:
    """It and theorem 6 hold after every round, for every fixed W, D being that of W."""
    r = Regulariser(*learner[1:4])
    got = measured(learner, case)
    for T, W, regret, slack in regrets(got, case, r, seed):
        square, gradient = rom.square_norm(W), got["largest_gradient"][T - 1]
        known = {"kappa": learner.kappa, "square": square, "gradient": gradient}
        bound = rom.lemma5(T, **known)
        assert regret <= bound * (1.0 + SLACK) + slack
        assert rom.lemma5_printed(T, **known) <= bound * (1.0 + SLACK)
        assert bound <= rom.theorem6(T, **known) * (1.0 + SLACK)


@THOROUGH
@given(seed=SEEDS, r=regularisers, as_sparse=st.booleans())
def test_best_fixed_is_best(seed: int, r: Regulariser, as_sparse: bool) -> None:
    """Its objective is what is said, and no search finds a better one."""
    case = problem((6, 9, 4), n_features=3, seed=seed)
    tasks = case.tasks
    best = best_fixed(case.sparse.tasks if as_sparse else tasks, 9, r)
    assert best.objective == pytest.approx(objective_of(tasks, 9, best.weights, r), rel=1e-12)
    assert best.gap <= GAP * (1.0 + best.objective)
    flat = np.concatenate([part.ravel() for part in best.weights])

    def value(x: np.ndarray) -> float:
        u, P, Q = x[:3], x[3:12].reshape(3, 3), x[12:].reshape(3, 3)
        return objective_of(tasks, 9, FixedWeights(u, P, Q), r)

    least = best.objective - 2.0 * GAP * (1.0 + best.objective)
    searched = minimize(value, flat, method="Powell", options={"maxiter": 20})
    assert searched.fun >= least


def test_lemma_2_and_theorem_3_as_printed_fail_for_five_tasks() -> None:
    """Five equal tasks, x = y = 1, only u is free: it steps by η a round, not by 5 η."""
    m, T = 5, 5000
    case = one_stream([[1.0] * m] * T, [[1.0] * m] * T)
    W = FixedWeights(np.ones(1), np.zeros((m, 1)), np.zeros((m, 1)))  # no loss and no regulariser
    largest = m**2 + 2.0 * m
    eta = rom.theorem3_eta(T, square=1.0, gradient=largest)
    for every_round in (False, True):
        got = measured(ROMPGD(eta, 0.0, 1e9, 1e9, every_round), case)
        regret = suffered(got)[-1]
        assert got["largest_gradient"][-1] == largest
        assert lemma_2_printed(eta, W, got) < regret <= lemma_2(eta, W, got)
        assert rom.theorem3_printed(T, square=1.0, gradient=largest) < regret


def test_regret_of_algorithm_1_can_be_linear() -> None:
    """A p that was needed once is kept, and paid for, as long as there is no loss to shrink it.

    First come examples x = 1, then x = 10, of which p = 0.1 has no loss: that is best in hindsight.
    """
    r = Regulariser(1e9, 1.0, 1e9)  # only p is free

    def regrets(T: int) -> tuple[float, float]:
        first = math.ceil(12.3 * math.sqrt(T))
        case = one_stream([[1.0]] * first + [[10.0]] * (T - first), [[1.0]] * T)
        best = best_fixed(case.tasks, T, r)
        known = {"square": rom.square_norm(best.weights), "gradient": 3.0}
        eta = rom.theorem3_eta(T, **known)
        got = measured(ROMPGD(eta, *r), case)
        assert got["largest_gradient"][-1] == 3.0
        stepped = measured(ROMPGD(eta, *r, every_round=True), case)
        assert suffered(stepped)[-1] - best.objective <= lemma_2(eta, best.weights, stepped)
        regret = suffered(got)[-1] - best.objective
        return regret, rom.theorem3_printed(T, **known)

    regret, bound = regrets(16_000)
    later, later_bound = regrets(40_000)
    assert regret > 30.0 * bound
    assert later > 1.5 * regret / bound * later_bound > 45.0 * later_bound
    assert later > 2.4 * regret  # in 2.5 times the rounds


def test_lemma_5_as_printed_fails() -> None:
    """Two rounds of opposite labels, against W = 0, which is the best: 3/κ, not 2.56/κ."""
    case = one_stream([[1.0], [1.0]], [[-1.0], [1.0]])
    learner = ROMRDA(2.0, 1e-9, 1e-9, 1e-9)
    best = best_fixed(case.tasks, 2, Regulariser(*learner[1:]))
    assert rom.square_norm(best.weights) < 1e-6
    got = measured(learner, case)
    regret = suffered(got)[-1] - best.objective
    known = {"kappa": 2.0, "square": 0.0, "gradient": 3.0}
    assert regret == pytest.approx(1.5, rel=1e-6)
    assert rom.lemma5_printed(2, **known) == pytest.approx(1.5 * 0.5 * (1.0 + 0.5**0.5))
    assert rom.lemma5(2, **known) == pytest.approx(1.5)
    assert rom.theorem6(2, **known) == pytest.approx(1.5 * 2.0**0.5)


def test_theorem_6_fails_with_r_2_in_the_place_of_r_1() -> None:
    """Half of the rounds with the one label, half with the other, against W = 0, which is best.

    With κ ≫ G_* the weights stay so small that every round has a loss.
    """
    T, kappa = 88, 20.0
    case = one_stream([[1.0]] * T, [[1.0]] * (T // 2) + [[-1.0]] * (T // 2))
    learner = ROMRDA(kappa, 1e-9, 1e-9, 1e-9)
    got = measured(learner, case)
    regret = suffered(got)[-1] - T  # W = 0 loses 1 a round, and is at no distance
    bound = rom.theorem6(T, kappa=kappa, square=0.0, gradient=3.0)
    assert got["checkpoint_own"][-1] == T
    assert regret <= bound
    assert regret + got["checkpoint_proximity"][-1] > 3.0 * bound
