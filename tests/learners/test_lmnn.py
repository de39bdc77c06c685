"""mtLMNN reaches the optimum, LMNN's with one task, and refuses what it cannot use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from omtl.learners.lmnn import MTLMNN
from omtl.metric_learning import descent, quadratic_forms
from omtl.metric_learning.descent import Solution
from omtl.util.errors import UserError


@dataclass(frozen=True)
class Problem:
    """A small problem, every triple of it written out.

    Parameters
    ----------
    X : ndarray of shape (n_examples, n_features)
    y, task : ndarray of shape (n_examples,)
    n_tasks, n_neighbors : int
    mu, gamma, gamma0 : float
    """

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray
    n_tasks: int
    n_neighbors: int
    mu: float
    gamma: float
    gamma0: float

    def targets(self) -> list[tuple[int, int]]:
        """Return the pairs of an example and a target neighbour."""
        pairs = []
        for i, x in enumerate(self.X):
            own = [
                j
                for j in range(len(self.X))
                if j != i and self.y[j] == self.y[i] and self.task[j] == self.task[i]
            ]
            own.sort(key=lambda j: float(np.sum((x - self.X[j]) ** 2)))
            pairs += [(i, j) for j in own[: self.n_neighbors]]
        return pairs

    def triples(self) -> list[tuple[int, int, int]]:
        """Return the triples of an example, a target neighbour, and one of another class."""
        return [
            (i, j, other)
            for i, j in self.targets()
            for other in range(len(self.X))
            if self.y[other] != self.y[i] and self.task[other] == self.task[i]
        ]

    def outer(self, i: int, j: int) -> np.ndarray:
        """Return (x_i - x_j)(x_i - x_j)ᵀ."""
        difference = self.X[i] - self.X[j]
        return np.outer(difference, difference)

    def metrics(self, parts: np.ndarray) -> np.ndarray:
        """Return the tasks' metrics; `parts` are M_0, M_1, ..."""
        return parts[0] + parts[1:]

    def cost(self, parts: np.ndarray) -> float:
        """Return the regulariser."""
        away = parts[0] - np.eye(self.X.shape[1])
        return float(self.gamma0 * np.sum(away**2) + self.gamma * np.sum(parts[1:] ** 2))

    def objective(self, parts: np.ndarray) -> float:
        """Return the objective, the sum of all its terms one by one."""
        metrics = self.metrics(parts)

        def distance(i: int, j: int) -> float:
            return float(np.sum(self.outer(i, j) * metrics[self.task[i]]))

        total = self.cost(parts)
        for i, j in self.targets():
            total += (1.0 - self.mu) * distance(i, j)
        for i, j, other in self.triples():
            total += self.mu * max(0.0, 1.0 + distance(i, j) - distance(i, other))
        return total

    def best_parts(self, linear: np.ndarray) -> np.ndarray:
        """Return the parts of the least cost plus the losses ⟨linear_t, M_0 + M_t⟩."""
        first = in_cone(np.eye(self.X.shape[1]) - linear.sum(axis=0) / (2.0 * self.gamma0))
        return np.stack([first, *(in_cone(-g / (2.0 * self.gamma)) for g in linear)])

    def bound(self) -> float:
        """Return the Lagrangian dual's maximum, a lower bound on the objective of any metrics.

        It has a multiplier from 0 to mu for each triple's hinge. For given multipliers the losses
        are linear in the metrics, and the best parts are projections onto the cone.
        """
        triples = self.triples()
        shape = (self.n_tasks, self.X.shape[1], self.X.shape[1])
        pull = np.zeros(shape)
        for i, j in self.targets():
            pull[self.task[i]] += (1.0 - self.mu) * self.outer(i, j)
        push = np.array([self.outer(i, j) - self.outer(i, other) for i, j, other in triples])
        task_of = np.array([self.task[i] for i, _, _ in triples])

        def minus_dual(multiplier: np.ndarray) -> tuple[float, np.ndarray]:
            linear = pull.copy()
            for t in range(self.n_tasks):
                linear[t] += np.tensordot(multiplier[task_of == t], push[task_of == t], axes=1)
            parts = self.best_parts(linear)
            metrics = self.metrics(parts)
            value = multiplier.sum() + self.cost(parts) + np.sum(linear * metrics)
            slope = 1.0 + np.sum(push * metrics[task_of], axis=(1, 2))
            return -float(value), -slope

        found = minimize(
            minus_dual,
            np.full(len(triples), 0.5 * self.mu),
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, self.mu)] * len(triples),
            options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-14, "gtol": 1e-9},
        )
        return -float(found.fun)


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
