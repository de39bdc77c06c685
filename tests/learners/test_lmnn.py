"""mtLMNN reaches the optimum, LMNN's with one task."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from omtl.learners.lmnn import MTLMNN
from omtl.metric_learning import descent, quadratic_forms
from omtl.metric_learning.descent import Solution


class Problem:
    """A small problem, every triple of it written out.

    Parameters
    ----------
    X : ndarray of shape (n_examples, n_features)
    y, task : ndarray of shape (n_examples,)
    n_tasks : int
    learner : MTLMNN
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int, learner: MTLMNN
    ) -> None:
        self.data, self.learner = (X, y, task, n_tasks), learner
        self.pull = np.zeros((n_tasks, X.shape[1], X.shape[1]))
        push, self.task_of = [], []
        squares = np.sum((X[:, None] - X) ** 2, axis=2)
        for i, t in enumerate(task):
            like = np.flatnonzero((y == y[i]) & (task == t) & (np.arange(y.size) != i))
            for j in like[np.argsort(squares[i, like])[: learner.n_neighbors]]:
                near = np.outer(X[i] - X[j], X[i] - X[j])
                self.pull[t] += (1.0 - learner.mu) * near
                for other in np.flatnonzero((y != y[i]) & (task == t)):
                    push.append(near - np.outer(X[i] - X[other], X[i] - X[other]))
                    self.task_of.append(t)
        self.push = np.array(push)

    def cost(self, parts: np.ndarray) -> float:
        """Return the regulariser; `parts` are M_0, M_1, ..."""
        away = parts[0] - np.eye(parts.shape[1])
        gammas = self.learner.gamma0, self.learner.gamma
        return float(gammas[0] * np.sum(away**2) + gammas[1] * np.sum(parts[1:] ** 2))

    def distances(self, parts: np.ndarray) -> np.ndarray:
        """Return 1 plus the distance to the target less that to the other, of each triple."""
        return 1.0 + np.sum(self.push * (parts[0] + parts[1:])[self.task_of], axis=(1, 2))

    def objective(self, parts: np.ndarray) -> float:
        """Return the objective."""
        hinges = self.learner.mu * np.maximum(0.0, self.distances(parts)).sum()
        return self.cost(parts) + np.sum(self.pull * (parts[0] + parts[1:])) + float(hinges)

    def bound(self) -> float:
        """Return the Lagrangian dual's maximum, a lower bound on the objective of any metrics.

        It has a multiplier from 0 to mu for each triple's hinge. For given multipliers the losses
        are linear in the metrics, and the best parts are projections onto the cone.
        """

        def minus_dual(multiplier: np.ndarray) -> tuple[float, np.ndarray]:
            linear = self.pull.copy()
            np.add.at(linear, self.task_of, multiplier[:, None, None] * self.push)
            first = np.eye(linear.shape[1]) - linear.sum(axis=0) / (2.0 * self.learner.gamma0)
            parts = np.stack([*map(in_cone, [first, *(-linear / (2.0 * self.learner.gamma))])])
            slope = self.distances(parts)
            value = self.cost(parts) + np.sum(self.pull * (parts[0] + parts[1:]))
            return -float(value + multiplier @ slope), -slope

        found = minimize(
            minus_dual,
            np.full(len(self.push), 0.5 * self.learner.mu),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, self.learner.mu)] * len(self.push),
            options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-14, "gtol": 1e-9},
        )
        return -float(found.fun)

    def solved(self) -> Solution:
        """Return the learner's solution, which must be within `CLOSE` of the bound."""
        solution = self.learner.solve(*self.data)
        assert solution.objective == pytest.approx(self.objective(solution.parts), rel=1e-10)
        bound = self.bound()
        assert bound * (1.0 - 1e-9) <= solution.objective <= bound * (1.0 + CLOSE)
        return solution


def in_cone(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
    """
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


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


@pytest.mark.parametrize("n_tasks", [1, 2])
@pytest.mark.parametrize(
    ("seed", "learner"),
    [
        (1, MTLMNN(1.0, 1.0, 2, 0.5, tol=TOL)),
        (2, MTLMNN(0.1, 3.0, 1, 0.8, tol=TOL)),
        (3, MTLMNN(5.0, 2.0, 1, 0.3, tol=TOL)),
    ],
)
def test_the_objective_is_the_minimum(n_tasks: int, seed: int, learner: MTLMNN) -> None:
    X, y, task = two_tasks(seed)
    solution = Problem(X, y, task % n_tasks, n_tasks, learner).solved()
    assert solution.converged
    np.testing.assert_allclose(solution.metrics, solution.parts[0] + solution.parts[1:])
    for matrix in (*solution.parts, *solution.metrics):
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > -1e-9


@pytest.mark.parametrize(("n", "dense"), [(9, 8), (9, 0), (5, 8), (5, 0)])
def test_more_features_than_examples(n: int, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts in a basis of their task's rows reach the same minimum, whatever is multiplied how."""
    for module in (descent, quadratic_forms):
        monkeypatch.setattr(module, "DENSE", dense)
    monkeypatch.setattr(quadratic_forms, "BLOCK", 2)
    X = np.random.default_rng(n).normal(size=(2 * n, 6))
    learner = MTLMNN(1.0, 1.0, 1, 0.5, tol=TOL)
    solution = Problem(X, np.arange(2 * n) % 2, np.repeat([0, 1], n), 2, learner).solved()
    assert solution.parts.shape == (3, 6, 6)


def test_no_impostor_is_missing_from_the_working_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few impostors have a loss at first, and all do once the metric has shrunk to where it is."""
    X, y, task = two_tasks(8, n=30)
    X = 5.0 * X
    monkeypatch.setattr(descent, "SEARCH_EVERY", 40)
    learner = MTLMNN(0.1, 0.1, 2, tol=TOL)
    solution, problem = learner.solve(X, y, task, 2), Problem(X, y, task, 2, learner)
    assert solution.objective == pytest.approx(problem.objective(solution.parts), rel=1e-10)
