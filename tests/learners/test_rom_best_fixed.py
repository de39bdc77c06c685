"""ROM's best fixed weights in hindsight: no search and no other solver finds better ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, problem
from rom_cases import SEEDS, objective_of, one_stream, regularisers
from scipy import sparse
from scipy.optimize import minimize

from omtl.data.streams import Tasks
from omtl.theory.rom_comparator import GAP, FixedWeights, Regulariser, best_fixed
from omtl.util.errors import UserError


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


@pytest.mark.parametrize("r", [(0.1, 0.2, 0.3), (0.5, 1.0, 0.05), (0.05, 2.0, 1.0)])
def test_best_fixed_of_a_smooth_solver(r: tuple[float, float, float]) -> None:
    """SLSQP finds the same on the problem with slacks and norms' bounds as variables."""
    r = Regulariser(*r)
    tasks, n_rounds = problem((8, 7), n_features=2).tasks, 8
    n = tasks.y.size

    def parts(x: np.ndarray) -> tuple[FixedWeights, np.ndarray, np.ndarray]:
        W = FixedWeights(x[:2], x[2:6].reshape(2, 2), x[6:10].reshape(2, 2))
        return W, x[10 : 10 + n], x[10 + n :]

    def value(x: np.ndarray) -> float:
        W, slack, size = parts(x)
        u, p, _ = W.squares
        return slack.sum() + n_rounds * (r.alpha / 2 * u + r.beta / 2 * p + r.gamma * size.sum())

    def feasible(x: np.ndarray) -> np.ndarray:
        W, slack, size = parts(x)
        margins = tasks.y * np.einsum("ij,ij->i", tasks.X, (W.u + W.P + W.Q)[tasks.task])
        return np.concatenate([margins + slack - 1.0, slack, size**2 - np.sum(W.Q**2, 1), size])

    start = np.concatenate([np.zeros(6), 0.1 * np.ones(4), np.full(n, 2.0), np.ones(2)])
    found = minimize(
        value,
        start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": feasible},
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    best = best_fixed(tasks, n_rounds, r)
    assert best.objective == pytest.approx(found.fun, rel=1e-5)
    np.testing.assert_allclose(best.weights.u, found.x[:2], atol=1e-3)


def test_best_fixed_by_hand() -> None:
    """One example a round, x = 1 and y = 1: the lasso's part grows where it is the cheapest."""
    case = one_stream([[1.0]] * 5, [[1.0]] * 5)
    best = best_fixed(case.tasks, 5, Regulariser(10.0, 10.0, 0.1))
    # T α u = T β p = T γ at w = 1: u = p = γ/10, and q is the rest.
    np.testing.assert_allclose(
        [best.weights.u[0], best.weights.P[0, 0], best.weights.Q[0, 0]],
        [0.01, 0.01, 0.98],
        atol=1e-5,
    )
    dear = best_fixed(case.tasks, 5, Regulariser(10.0, 10.0, 100.0))
    np.testing.assert_allclose(dear.weights.u, 0.1, atol=1e-5)
    np.testing.assert_allclose(dear.weights.P, 0.1, atol=1e-5)
    assert np.all(dear.weights.Q == 0.0)


def test_best_fixed_with_a_task_that_has_no_examples() -> None:
    """Its own weights are 0."""
    tasks = problem((6, 0, 5)).tasks
    best = best_fixed(tasks, 6, Regulariser(0.1, 0.1, 0.1))
    np.testing.assert_allclose(best.weights.P[1], 0.0, atol=1e-6)
    with pytest.raises(UserError, match="must be positive"):
        best_fixed(tasks, 6, Regulariser(0.1, 0.0, 0.1))
