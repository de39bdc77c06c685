"""An oracle of mtLMNN: the objective triple by triple, and a lower bound of its minimum.

The bound is the Lagrangian dual's, with a multiplier from 0 to mu for each triple's hinge. For
given multipliers the losses are linear in the metrics, and the best parts are projections onto the
cone; by weak duality every value of the dual is below every value of the objective.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize


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
        """Return the dual's maximum, a lower bound on the objective of any metrics."""
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
