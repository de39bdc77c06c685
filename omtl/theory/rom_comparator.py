"""The best fixed weights in hindsight for ROM's objective, W_* of eq. 1: computed, not guessed.

Over T rounds they minimise Σ hinge(y x·(u + p^i + q^i)) + T r_1(u, P, Q). The sum v^i of p^i and
q^i is best split into q^i = max(0, 1 − γ/(β ‖v^i‖)) v^i and the rest, so the problem depends only
on u and v^i. With the hinge losses' multipliers 0 ≤ a ≤ 1 and the sums s^i = Σ a y x over task i's
examples, its dual is

    maximise Σ a − ‖Σ s^i‖²/(2 T α) − Σ ‖s^i‖²/(2 T β)  where ‖s^i‖ ≤ T γ,

and at the solution T α u = Σ s^i and v^i = (1/(T β) + λ^i) s^i, λ^i ≥ 0 being the multiplier of
(1 − ‖s^i‖²/(T γ)²)/2 ≥ 0 over (T γ)²: task i has an outlier part where λ^i > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from omtl.data.streams import Tasks
from omtl.theory.interior_point import Hinge, Inner, Newton, minimised, normal_matrix, signed
from omtl.util.errors import UserError

GAP = 1e-8
"""Duality gap at which the weights are accepted, relative to 1 + the objective."""

START = 0.5
"""Products of the pairs at the initial point."""

FLOOR = 1e-15
"""Added to the linear equations, relative to their trace, so that rounding cannot change signs."""

PART = 0.99
"""Part of the way to the border that a step may take."""


class FixedWeights(NamedTuple):
    """Fixed weights: u of shape (n_features,), P and Q of shape (n_tasks, n_features)."""

    u: np.ndarray
    P: np.ndarray
    Q: np.ndarray

    @property
    def squares(self) -> tuple[float, float, float]:
        """‖u‖², ‖P‖²_F and ‖Q‖²_F."""
        return float(self.u @ self.u), float(np.sum(self.P**2)), float(np.sum(self.Q**2))


class Regulariser(NamedTuple):
    """r_1(W) = α/2 ‖u‖² + β/2 ‖P‖²_F + γ Σ ‖q^i‖ (ROM paper, section II.C)."""

    alpha: float
    beta: float
    gamma: float

    def of(self, weights: FixedWeights) -> float:
        """Return r_1 of these weights."""
        u, p, _ = weights.squares
        lasso = float(np.linalg.norm(weights.Q, axis=1).sum())
        return 0.5 * self.alpha * u + 0.5 * self.beta * p + self.gamma * lasso

    def split(self, u: np.ndarray, V: np.ndarray) -> FixedWeights:
        """Return the weights with the least r_1 for given p^i + q^i, one row per task."""
        norm = np.linalg.norm(V, axis=1, keepdims=True)
        bound = self.gamma / self.beta
        left = np.where(norm > bound, 1.0 - bound / np.where(norm > 0.0, norm, 1.0), 0.0)
        return FixedWeights(u, V - left * V, left * V)


@dataclass(frozen=True)
class Best:
    """The best fixed weights in hindsight.

    Parameters
    ----------
    weights : FixedWeights
    objective : float
        The sum of their hinge losses plus T r_1.
    gap : float
        Duality gap: other weights can be better by at most this.
    """

    weights: FixedWeights
    objective: float
    gap: float


def best_fixed(tasks: Tasks, n_rounds: int, r: Regulariser) -> Best:
    """Return argmin_W Σ hinge + n_rounds · r_1(W), with its duality gap.

    An interior point method (`omtl.theory.interior_point`) with the tasks' balls as further
    constraints.

    Cost: O(steps · (nonzeros · d + m d³)) for m tasks and d features.

    Parameters
    ----------
    tasks : Tasks
        The examples of the rounds; a task may have none.
    n_rounds : int
        T.
    r : Regulariser

    Raises
    ------
    UserError
        If α, β or γ is not positive, because the weights are then not unique or unbounded.
    ArithmeticError
        If the gap stays above `GAP`.
    """
    if not min(r) > 0.0:
        raise UserError(f"alpha, beta and gamma of {r} must be positive for a best W in hindsight")
    m, d = len(tasks.names), tasks.X.shape[1]
    own = [np.flatnonzero(tasks.task == k) for k in range(m)]
    Z = [signed(tasks.X[mine], tasks.y[mine]) for mine in own]
    problem = _Objective(Z, r, n_rounds)
    at, gap = minimised(problem, problem.start(d), GAP, PART)
    return Best(r.split(at.weights[0], at.weights[1:]), problem.objective_and_gap(at)[0], gap)


class _Objective:
    """The problem, with u and the v^i as rows of the weights.

    The pairs that it adds to the examples' are, by task, λ (T γ)² with the room in the ball,
    (1 − ‖s‖²/(T γ)²)/2.

    Parameters
    ----------
    Z : list of ndarray or csr_array
        The tasks' examples times their labels.
    r : Regulariser
    n_rounds : int
        T.
    """

    def __init__(
        self, Z: list[np.ndarray | sparse.csr_array], r: Regulariser, n_rounds: int
    ) -> None:
        self.Z, self.r, self.n_rounds = Z, r, n_rounds
        self.alpha, self.beta, self.gamma = (n_rounds * weight for weight in r)
        self.sizes = [part.shape[0] for part in Z]

    def start(self, d: int) -> Inner:
        """Return an initial point, inside every ball."""
        norm = np.linalg.norm(self.pulls(np.ones(sum(self.sizes))), axis=1)
        level = 0.5 * self.gamma / np.maximum(norm, self.gamma)
        room = 0.5 * (1.0 - (level * norm / self.gamma) ** 2)
        a = np.repeat(level, self.sizes)
        hinge = np.concatenate([a, 1.0 - a])
        pairs = np.concatenate([hinge, START / room]), np.concatenate([START / hinge, room])
        return Inner(np.zeros((1 + len(self.Z), d)), *pairs)

    def by_task(self, values: np.ndarray) -> list[np.ndarray]:
        """Return values by example as a list by task."""
        return np.split(values, np.cumsum(self.sizes)[:-1])

    def margins(self, weights: np.ndarray) -> np.ndarray:
        """Return y x·w of each example under the weights u + v^i of its task."""
        W = weights[0] + weights[1:]
        return np.concatenate([part @ w for part, w in zip(self.Z, W, strict=True)])

    def pulls(self, values: np.ndarray) -> np.ndarray:
        """Return Σ value · y x by task, shape (n_tasks, n_features)."""
        parts = zip(self.Z, self.by_task(values), strict=True)
        return np.array([part.T @ value for part, value in parts])

    def objective_and_gap(self, at: Inner) -> tuple[float, float]:
        """Return the objective at a point, and its gap to the dual one of its multipliers.

        Those of a task are scaled down to where the dual objective is finite.
        """
        weights = self.r.split(at.weights[0], at.weights[1:])
        loss = float(np.maximum(0.0, 1.0 - self.margins(at.weights)).sum())
        objective = loss + self.n_rounds * self.r.of(weights)
        a = at.left[: sum(self.sizes)]
        S = self.pulls(a)
        left = self.gamma / np.maximum(np.linalg.norm(S, axis=1), self.gamma)
        S *= left[:, None]
        total = float(left @ [part.sum() for part in self.by_task(a)])
        shared = S.sum(axis=0)
        total -= float(shared @ shared) / (2 * self.alpha) + np.sum(S**2) / (2 * self.beta)
        return objective, objective - total

    def newton(self, at: Inner) -> Newton:
        """Return the steps from an interior point; the linear equations are factorised once.

        In du they are (T α + Σ H^i) du + Σ H^i dv^i, and in dv^i H^i du + (H^i + M^i⁻¹) dv^i, where
        H^i = Σ x xᵀ/weight over task i's examples and M^i = ρ^i I + c^i s^i s^iᵀ, with
        ρ^i = 1/(T β) + λ^i and c^i = λ^i/(room · (T γ)²): each dv^i is eliminated by itself.
        """
        d, gamma2, n = at.weights.shape[1], self.gamma**2, 2 * sum(self.sizes)
        force, room = at.left[n:], at.right[n:]
        hinge = Hinge(at, self.margins(at.weights))
        S = self.pulls(at.left[: n // 2])
        square = np.sum(S**2, axis=1)
        rho = 1.0 / self.beta + force / gamma2
        pull = force / (room * gamma2**2)
        shrink = pull / (rho + pull * square)
        whole, H, factors = self.alpha * np.eye(d), [], []
        for k, inverse in enumerate(self.by_task(1.0 / hinge.weight)):
            H.append(normal_matrix(self.Z[k], inverse))
            own = H[k] + (np.eye(d) - shrink[k] * np.outer(S[k], S[k])) / rho[k]
            own[np.diag_indices(d)] += FLOOR * own.trace()
            factors.append(linalg.cho_factor(own, lower=True, overwrite_a=True, check_finite=False))
            whole += H[k] - H[k] @ solve(factors[k], H[k])
        factor = linalg.cho_factor(whole, lower=True, check_finite=False)

        def step(products: np.ndarray, ahead: Inner | None) -> Inner:
            off_room = 0.5 * (1.0 - square / gamma2) - room
            off_V = rho[:, None] * S - at.weights[1:]
            if ahead is not None:  # the terms of second order of the balls
                bend = self.pulls(ahead.left[: n // 2])
                off_room -= 0.5 * np.sum(bend**2, axis=1) / gamma2
                off_V += ahead.left[n:, None] / gamma2 * bend
            target = hinge.target(products[:n])
            # dv = M ds + known, where what changes the room without ds changes the force.
            more_force = (products[n:] - force * off_room) / room - force
            known = off_V + (more_force / gamma2)[:, None] * S
            inner = np.sum(S * known, axis=1)
            pulled = self.pulls(target)
            right = pulled + (known - (shrink * inner)[:, None] * S) / rho[:, None]
            solved = [solve(*both) for both in zip(factors, right, strict=True)]
            rest = S.sum(axis=0) - self.alpha * at.weights[0] + pulled.sum(axis=0)
            rest -= np.sum([h @ row for h, row in zip(H, solved, strict=True)], axis=0)
            du = solve(factor, rest)
            of_tasks = zip(solved, factors, H, strict=True)
            moves = np.array([du, *(row - solve(own, h @ du) for row, own, h in of_tasks)])
            change = target - self.margins(moves) / hinge.weight
            droom = off_room - np.sum(S * self.pulls(change), axis=1) / gamma2
            dforce = (products[n:] - force * droom) / room - force
            left, slacks = hinge.pairs(products[:n], change)
            return Inner(moves, np.concatenate([left, dforce]), np.concatenate([slacks, droom]))

        return step


def solve(factor: tuple[np.ndarray, bool], right: np.ndarray) -> np.ndarray:
    """Return the solution of linear equations that are factorised."""
    return linalg.cho_solve(factor, right, check_finite=False)
