"""ROM's bounds: those that hold in every round, and counterexamples to those that do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, Case, cases, problem
from rom_cases import (
    LEARNERS,
    SEEDS,
    SLACK,
    at_first,
    objective_of,
    one_stream,
    plain,
    regularisers,
)
from scipy import sparse
from scipy.optimize import minimize

from omtl.data.streams import Tasks
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.theory import rom
from omtl.theory.rom_comparator import GAP, FixedWeights, Regulariser, best_fixed


def fixed_weights(case: Case, r: Regulariser, n_rounds: int, seed: int) -> list[FixedWeights]:
    """Return the best weights, shorter ones, none, and random ones."""
    rng = np.random.default_rng(seed)
    best = best_fixed(at_first(case, n_rounds), n_rounds, r).weights
    random = FixedWeights(*(rng.standard_normal(part.shape) for part in best))
    return [
        best,
        FixedWeights(*(0.5 * part for part in best)),
        FixedWeights(*(0.0 * p for p in best)),
        random,
    ]


def best_pgd_eta(n_rounds: float, *, square: float, gradient: float) -> float:
    """Return η = ‖W_*‖_m/(G √T), which minimises the corrected lemma 2 for gradients up to G."""
    return math.sqrt(square / (gradient * n_rounds))


def corrected_theorem3(n_rounds: float, *, square: float, gradient: float) -> float:
    """Return G ‖W_*‖_m √T, which lemma 2 as it can be proved gives at the best η."""
    return math.sqrt(square * gradient * n_rounds)


@THOROUGH
@given(case=cases(), learner=LEARNERS["every round"], seed=SEEDS)
def test_lemma_2_in_the_weighted_norm(case: Case, learner: ROMPGD, seed: int) -> None:
    """It holds after every round, for every fixed W; theorem 3 so corrected for a fitting η."""
    r = Regulariser(*learner[1:4])
    m = case.shape.n_tasks
    got = plain(learner, case)
    n_rounds = got.losses.size
    for T in {1, max(1, n_rounds // 2), n_rounds}:
        for W in fixed_weights(case, r, T, seed):
            regret = (got.losses + got.penalties)[T - 1] - objective_of(at_first(case, T), T, W, r)
            bound = rom.lemma2(
                eta=learner.eta,
                square=rom.weighted_square_norm(W),
                gradients=(got.shared / m + 2.0 * got.own)[T - 1],
            )
            assert regret <= bound + SLACK * (1.0 + got.losses[-1] + bound)
            if m <= 2:  # the printed lemma follows
                printed = rom.lemma2_printed(
                    eta=learner.eta,
                    square=rom.square_norm(W),
                    gradients=(got.shared + 2.0 * got.own)[T - 1],
                )
                assert bound <= printed * (1.0 + SLACK)
    best = best_fixed(case.tasks, n_rounds, r)
    # No round's ‖Σ g‖²/m + 2 Σ ‖g‖² is larger than 3 Σ ‖x‖².
    X = case.tasks.X[case.stream.example]
    largest = float(np.add.reduceat(np.sum(X**2, axis=1), case.stream.start[:-1]).max())
    square = rom.weighted_square_norm(best.weights)
    if largest > 0.0 and square > 0.0:
        known = {"square": square, "gradient": 3.0 * largest}
        tuned = plain(learner._replace(eta=best_pgd_eta(n_rounds, **known)), case)
        regret = (tuned.losses + tuned.penalties)[-1] - best.objective
        bound = corrected_theorem3(n_rounds, **known)
        assert regret <= bound + 2.0 * GAP * (1.0 + best.objective + bound)


@THOROUGH
@given(case=cases(), learner=LEARNERS["RDA"], seed=SEEDS)
def test_lemma_5_with_its_sum_set_right(case: Case, learner: ROMRDA, seed: int) -> None:
    """It and theorem 6 hold after every round, for every fixed W, D being that of W."""
    r = Regulariser(*learner[1:4])
    got = plain(learner, case)
    gradients = np.diff(got.shared, prepend=0.0) + 2.0 * np.diff(got.own, prepend=0.0)
    n_rounds = got.losses.size
    for T in {1, max(1, n_rounds // 2), n_rounds}:
        for W in fixed_weights(case, r, T, seed):
            regret = (got.losses + got.penalties)[T - 1] - objective_of(at_first(case, T), T, W, r)
            known = {
                "kappa": learner.kappa,
                "square": rom.square_norm(W),
                "gradient": float(gradients[:T].max()),
            }
            bound = rom.lemma5(T, **known)
            assert regret <= bound + SLACK * (1.0 + got.losses[-1] + bound)
            assert rom.lemma5_printed(T, **known) <= bound * (1.0 + SLACK)
            assert bound <= rom.theorem6(T, **known) * (1.0 + SLACK)


@THOROUGH
@given(seed=SEEDS, r=regularisers, as_sparse=st.booleans())
def test_best_fixed_is_best(seed: int, r: Regulariser, as_sparse: bool) -> None:
    """Its objective is what is said; no weights near it and no search finds a better one."""
    rng = np.random.default_rng(seed)
    case = problem((6, 9, 4), n_features=3, seed=seed)
    tasks = case.tasks
    given_tasks = (
        Tasks(sparse.csr_array(tasks.X), tasks.y, tasks.task, tasks.names) if as_sparse else tasks
    )
    best = best_fixed(given_tasks, 9, r)
    assert best.objective == pytest.approx(objective_of(tasks, 9, best.weights, r), rel=1e-12)
    assert best.gap <= GAP * (1.0 + best.objective)
    flat = np.concatenate([part.ravel() for part in best.weights])

    def value(x: np.ndarray) -> float:
        u, P, Q = x[:3], x[3:12].reshape(3, 3), x[12:].reshape(3, 3)
        return objective_of(tasks, 9, FixedWeights(u, P, Q), r)

    least = best.objective - 2.0 * GAP * (1.0 + best.objective)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            assert value(flat + size * rng.standard_normal(flat.size)) >= least
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
        got = plain(ROMPGD(eta, 0.0, 1e9, 1e9, every_round), case)
        regret = (got.losses + got.penalties)[-1]
        assert np.diff(got.shared + 2.0 * got.own).max() == largest
        printed = rom.lemma2_printed(
            eta=eta, square=rom.square_norm(W), gradients=(got.shared + 2.0 * got.own)[-1]
        )
        proved = rom.lemma2(
            eta=eta,
            square=rom.weighted_square_norm(W),
            gradients=(got.shared / m + 2.0 * got.own)[-1],
        )
        assert rom.theorem3_printed(T, square=1.0, gradient=largest) < regret <= proved
        assert printed < regret


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
        got = plain(ROMPGD(eta, *r), case)
        assert np.diff(got.shared + 2.0 * got.own).max() == 3.0
        stepped = plain(ROMPGD(eta, *r, every_round=True), case)
        bound = rom.lemma2(
            eta=eta,
            square=rom.weighted_square_norm(best.weights),
            gradients=(stepped.shared + 2.0 * stepped.own)[-1],
        )
        assert (stepped.losses + stepped.penalties)[-1] - best.objective <= bound
        regret = (got.losses + got.penalties)[-1] - best.objective
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
    got = plain(learner, case)
    regret = (got.losses + got.penalties)[-1] - best.objective
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
    got = plain(learner, case)
    regret = (got.losses + got.penalties)[-1] - T  # W = 0 loses 1 a round, and is at no distance
    bound = rom.theorem6(T, kappa=kappa, square=0.0, gradient=3.0)
    assert got.own[-1] == T
    assert regret <= bound
    assert regret + got.proximities[-1] > 3.0 * bound
