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
