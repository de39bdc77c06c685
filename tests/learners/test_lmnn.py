"""mtLMNN reaches the optimum, LMNN's with one task, and refuses what it cannot use."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from omtl.learners.lmnn import MTLMNN
from omtl.metric_learning import descent, quadratic_forms
from omtl.metric_learning.descent import Solution
from omtl.util.errors import UserError
from tests.helpers.lmnn_problem import Problem

CLOSE = 3e-4
"""Relative distance of an objective from its bound; the learners' `tol` is `TOL`."""

TOL = 1e-5


def two_tasks(seed: int, n: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a small X, with overlapping classes, y and task.

    Parameters
    ----------
    seed : int
    n : int
        Examples of each task, three classes in turn.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(2 * n) % 3
    X = rng.normal(size=(2 * n, 3))
    X[:, 0] += y
    return X, y, np.repeat([0, 1], n)


def solved(problem: Problem, tol: float = TOL) -> Solution:
    """Return the learner's solution of an oracle's problem.

    Parameters
    ----------
    problem : Problem
    tol : float
    """
    p = problem
    learner = MTLMNN(p.gamma, p.gamma0, p.n_neighbors, p.mu, tol=tol)
    return learner.solve(p.X, p.y, p.task, p.n_tasks)


@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize(
    ("seed", "n_neighbors", "mu", "gamma", "gamma0"),
    [(1, 2, 0.5, 1.0, 1.0), (2, 1, 0.8, 0.1, 3.0), (3, 1, 0.3, 5.0, 2.0)],
)
def test_the_objective_is_the_minimum(
    n_tasks: int, seed: int, n_neighbors: int, mu: float, gamma: float, gamma0: float
) -> None:
    X, y, task = two_tasks(seed)
    problem = Problem(X, y, task % n_tasks, n_tasks, n_neighbors, mu, gamma, gamma0)
    solution = solved(problem)
    assert solution.converged
    assert solution.objective == pytest.approx(problem.objective(solution.parts), rel=1e-10)
    np.testing.assert_allclose(solution.metrics, problem.metrics(solution.parts))
    bound = problem.bound()
    assert bound * (1.0 - 1e-9) <= solution.objective <= bound * (1.0 + CLOSE)
    for matrix in (*solution.parts, *solution.metrics):
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > -1e-9


@pytest.mark.parametrize(("n", "dense"), [(9, 8), (9, 0), (5, 8), (5, 0)])
def test_more_features_than_examples(n: int, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts in a basis of their task's rows reach the same minimum, whatever is multiplied how."""
    for module in (descent, quadratic_forms):
        monkeypatch.setattr(module, "DENSE", dense)
    monkeypatch.setattr(quadratic_forms, "BLOCK", 2)
    rng = np.random.default_rng(n)
    y, task = np.arange(2 * n) % 2, np.repeat([0, 1], n)
    problem = Problem(rng.normal(size=(2 * n, 6)), y, task, 2, 1, 0.5, 1.0, 1.0)
    solution = solved(problem)
    assert solution.parts.shape == (3, 6, 6)
    assert solution.objective == pytest.approx(problem.objective(solution.parts), rel=1e-10)
    bound = problem.bound()
    assert bound * (1.0 - 1e-9) <= solution.objective <= bound * (1.0 + CLOSE)


def test_no_impostor_is_missing_from_the_working_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few impostors have a loss at first, and all do once the metric has shrunk to where it is."""
    X, y, task = two_tasks(8, n=30)
    X = 5.0 * X
    monkeypatch.setattr(descent, "SEARCH_EVERY", 40)
    solution = MTLMNN(0.1, 0.1, 2, tol=TOL).solve(X, y, task, 2)
    problem = Problem(X, y, task, 2, 2, 0.5, 0.1, 0.1)
    assert solution.objective == pytest.approx(problem.objective(solution.parts), rel=1e-10)


X, Y, TASK = two_tasks(10)


@pytest.mark.parametrize(
    ("learner", "data", "told"),
    [
        (MTLMNN(-1.0, 1.0), (X, Y, TASK, 2), "gamma must be a number from 0, not -1.0"),
        (MTLMNN(1.0, np.nan), (X, Y, TASK, 2), "gamma0 must be a number from 0, not nan"),
        (MTLMNN(1.0, 1.0, 0), (X, Y, TASK, 2), "n_neighbors must be a whole number from 1"),
        (MTLMNN(1.0, 1.0, 3), (X, Y, TASK, 2), "class 0 has 3 examples in task 0"),
        (MTLMNN(1.0, 1.0, mu=1.0), (X, Y, TASK, 2), "mu must be between 0 and 1"),
        (MTLMNN(1.0, 1.0, tol=0.0), (X, Y, TASK, 2), "tol must be between 0 and 1"),
        (MTLMNN(1.0, 1.0, max_iter=0), (X, Y, TASK, 2), "max_iter must be a whole number"),
        (MTLMNN(1.0, 1.0, 1), (X, Y, TASK, 3), "task 2 of 3 has no examples"),
        (MTLMNN(1.0, 1.0, 1), (X, Y, TASK, 1), "tasks must be from 0 to 0"),
        (MTLMNN(1.0, 1.0, 1), (X, Y, TASK, 0), "n_tasks must be a whole number from 1"),
        (MTLMNN(1.0, 1.0, 1), (X[:-1], Y, TASK, 2), "their shapes are"),
        (MTLMNN(1.0, 1.0, 1), (np.where(X > 1, np.inf, X), Y, TASK, 2), "not finite"),
        (MTLMNN(1.0, 1.0, 1), (sparse.csr_array(X), Y, TASK, 2), "X is sparse"),
    ],
)
def test_what_cannot_be_used_is_refused(learner: MTLMNN, data: tuple, told: str) -> None:
    with pytest.raises(UserError, match=told):
        learner.fit(*data)
