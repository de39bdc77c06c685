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

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from omtl.data.streams import Tasks
from omtl.theory.comparators import longest, moved, normal_matrix, signed
from omtl.util.errors import UserError

GAP = 1e-8
"""Duality gap at which the weights are accepted, relative to 1 + the objective."""

START = 0.5
"""Products of the pairs at the initial point."""

FLOOR = 1e-15
"""Added to the linear equations, relative to their trace, so that rounding cannot change signs."""

MOST_STEPS = 200
"""Number of Newton steps after which the solver gives up; 15 to 40 are usual."""


class Weights(NamedTuple):
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

    def of(self, weights: Weights) -> float:
        """Return r_1 of these weights."""
        u, p, _ = weights.squares
        lasso = float(np.linalg.norm(weights.Q, axis=1).sum())
        return 0.5 * self.alpha * u + 0.5 * self.beta * p + self.gamma * lasso

    def split(self, u: np.ndarray, V: np.ndarray) -> Weights:
        """Return the weights with the least r_1 for given p^i + q^i, one row per task."""
        norm = np.linalg.norm(V, axis=1, keepdims=True)
        bound = self.gamma / self.beta
        left = np.where(norm > bound, 1.0 - bound / np.where(norm > 0.0, norm, 1.0), 0.0)
        return Weights(u, V - left * V, left * V)


@dataclass(frozen=True)
class Best:
    """The best fixed weights in hindsight.

    Parameters
    ----------
    weights : Weights
    loss, penalty : float
        The sum of their hinge losses, and their r_1 (for one round).
    objective : float
        Loss plus T times penalty.
    gap : float
        Duality gap: other weights can be better by at most this.
    """

    weights: Weights
    loss: float
    penalty: float
    objective: float
    gap: float


def best_fixed(tasks: Tasks, n_rounds: int, r: Regulariser) -> Best:
    """Return argmin_W Σ hinge + n_rounds · r_1(W), with its duality gap.

    A primal-dual interior point method with a predictor and a corrector, as
    `omtl.theory.comparators.hinge_minimiser`, with the tasks' balls as further constraints. The gap
    is to the dual objective of the multipliers, those of a task being shortened where ‖s^i‖ > T γ.

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
    problem = _Problem(Z, n_rounds * r.alpha, n_rounds * r.beta, n_rounds * r.gamma)
    at = problem.start(d)
    for _ in range(MOST_STEPS):
        weights = r.split(at.u, at.V)
        loss = float(np.maximum(0.0, 1.0 - problem.margins(at.u + at.V)).sum())
        objective = loss + n_rounds * r.of(weights)
        gap = objective - problem.dual(at.a)
        if gap <= GAP * (1.0 + objective):
            return Best(weights, loss, r.of(weights), objective, max(gap, 0.0))
        if not math.isfinite(gap):
            break
        try:
            at = problem.next(at)
        except (linalg.LinAlgError, OverflowError):  # rounding errors, with almost no regulariser
            break
    raise ArithmeticError(f"the duality gap of the comparator stays at {gap:.3g}")


class _Point(NamedTuple):
    """An interior point, or a step from one to another.

    u and V; by example a, 1 − a, the surplus and the slack of y x·w + slack − surplus = 1; by task
    λ (T γ)² and the room in the ball, (1 − ‖s‖²/(T γ)²)/2.
    """

    u: np.ndarray
    V: np.ndarray
    a: np.ndarray
    b: np.ndarray
    surplus: np.ndarray
    slack: np.ndarray
    force: np.ndarray
    room: np.ndarray

    def pairs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the pairs whose products go to 0."""
        return [(self.a, self.surplus), (self.b, self.slack), (self.force, self.room)]

    def mu(self) -> float:
        """Return the mean product of the pairs."""
        pairs = self.pairs()
        return sum(float(x @ y) for x, y in pairs) / sum(x.size for x, _ in pairs)


class _Problem(NamedTuple):
    """The problem: tasks' examples times labels, and T α, T β, T γ."""

    Z: list[np.ndarray | sparse.csr_array]
    alpha: float
    beta: float
    gamma: float

    def start(self, d: int) -> _Point:
        """Return an initial point, inside every ball."""
        n, m = sum(part.shape[0] for part in self.Z), len(self.Z)
        norm = np.linalg.norm(self.pulls(np.ones(n)), axis=1)
        level = 0.5 * self.gamma / np.maximum(norm, self.gamma)
        a = np.repeat(level, [part.shape[0] for part in self.Z])
        room = 0.5 * (1.0 - (level * norm / self.gamma) ** 2)
        surplus, slack = START / a, START / (1.0 - a)
        return _Point(np.zeros(d), np.zeros((m, d)), a, 1.0 - a, surplus, slack, START / room, room)

    def by_task(self, values: np.ndarray) -> list[np.ndarray]:
        """Return values by example as a list by task."""
        return np.split(values, np.cumsum([part.shape[0] for part in self.Z])[:-1])

    def margins(self, W: np.ndarray) -> np.ndarray:
        """Return y x·w of each example under weights of its task, one row of W per task."""
        return np.concatenate([part @ w for part, w in zip(self.Z, W, strict=True)])

    def pulls(self, values: np.ndarray) -> np.ndarray:
        """Return Σ value · y x by task, shape (n_tasks, n_features)."""
        parts = zip(self.Z, self.by_task(values), strict=True)
        return np.array([part.T @ value for part, value in parts])

    def dual(self, a: np.ndarray) -> float:
        """Return the dual objective of multipliers, scaled down to where it is finite."""
        S = self.pulls(a)
        norm = np.linalg.norm(S, axis=1)
        left = self.gamma / np.maximum(norm, self.gamma)
        S *= left[:, None]
        total = float(left @ [part.sum() for part in self.by_task(a)])
        shared = S.sum(axis=0)
        return total - float(shared @ shared) / (2 * self.alpha) - np.sum(S**2) / (2 * self.beta)

    def next(self, at: _Point) -> _Point:
        """Return the point after Mehrotra's predictor and corrector."""
        newton = _Newton(self, at)
        ahead = newton.step([np.zeros(x.size) for x, _ in at.pairs()], np.zeros_like(at.V))
        near = moved(at, ahead, min(1.0, longest(at[2:], ahead[2:])))
        centre = max(near.mu(), 0.0) ** 3 / at.mu() ** 2
        products = [centre - dx * dy for dx, dy in ahead.pairs()]
        corrected = newton.step(products, self.pulls(ahead.a), ahead.force)
        return moved(at, corrected, min(1.0, 0.99 * longest(at[2:], corrected[2:])))


class _Newton:
    """The linear equations for a step from an interior point, factorised once.

    In du they are (T α + Σ H^i) du + Σ H^i dv^i, and in dv^i H^i du + (H^i + M^i⁻¹) dv^i, where
    H^i = Σ x xᵀ/weight over task i's examples and M^i = ρ^i I + c^i s^i s^iᵀ, with
    ρ^i = 1/(T β) + λ^i and c^i = λ^i/(room · (T γ)²): each dv^i is eliminated by itself.
    """

    def __init__(self, problem: _Problem, at: _Point) -> None:
        self.problem, self.at = problem, at
        d, gamma2 = at.u.size, problem.gamma**2
        self.S = problem.pulls(at.a)
        self.weight = at.surplus / at.a + at.slack / at.b
        self.rho = 1.0 / problem.beta + at.force / gamma2
        self.pull = at.force / (at.room * gamma2**2)
        square = np.sum(self.S**2, axis=1)
        self.shrink = self.pull / (self.rho + self.pull * square)
        whole = problem.alpha * np.eye(d)
        self.H, self.factors = [], []
        for k, (Z, inverse) in enumerate(
            zip(problem.Z, problem.by_task(1.0 / self.weight), strict=True)
        ):
            H = normal_matrix(Z, inverse)
            own = H + (np.eye(d) - self.shrink[k] * np.outer(self.S[k], self.S[k])) / self.rho[k]
            own[np.diag_indices(d)] += FLOOR * own.trace()
            factor = linalg.cho_factor(own, lower=True, overwrite_a=True, check_finite=False)
            whole += H - H @ linalg.cho_solve(factor, H, check_finite=False)
            self.H.append(H)
            self.factors.append(factor)
        self.whole = linalg.cho_factor(whole, lower=True, check_finite=False)
        self.off = 1.0 - problem.margins(at.u + at.V) - at.slack + at.surplus
        self.off_u = self.S.sum(axis=0) - problem.alpha * at.u
        self.off_V = self.rho[:, None] * self.S - at.V
        self.off_room = 0.5 * (1.0 - square / gamma2) - at.room

    def step(
        self, products: list[np.ndarray], bend: np.ndarray, turn: np.ndarray | float = 0.0
    ) -> _Point:
        """Return the step that brings the products of the pairs to these values.

        The terms of second order are those of a step that changes s by `bend` and the force by
        `turn`.
        """
        problem, at = self.problem, self.at
        off_room = self.off_room - 0.5 * np.sum(bend**2, axis=1) / problem.gamma**2
        off_V = self.off_V + np.reshape(turn, (-1, 1)) / problem.gamma**2 * bend
        to_surplus, to_slack, to_force = products
        more_surplus = to_surplus / at.a - at.surplus
        more_slack = to_slack / at.b - at.slack
        target = (self.off - more_slack + more_surplus) / self.weight
        # dv = M ds + known, where what changes the room without ds changes the force.
        more_force = (to_force - at.force * off_room) / at.room - at.force
        known = off_V + (more_force / problem.gamma**2)[:, None] * self.S
        inner = np.sum(self.S * known, axis=1)
        resisted = (known - (self.shrink * inner)[:, None] * self.S) / self.rho[:, None]
        pulled = problem.pulls(target)
        right = pulled + resisted
        solved = [
            linalg.cho_solve(factor, row, check_finite=False)
            for factor, row in zip(self.factors, right, strict=True)
        ]
        rest = self.off_u + pulled.sum(axis=0)
        rest -= sum((H @ row for H, row in zip(self.H, solved, strict=True)), np.zeros_like(rest))
        du = linalg.cho_solve(self.whole, rest, check_finite=False)
        dV = np.array(
            [
                row - linalg.cho_solve(factor, H @ du, check_finite=False)
                for row, factor, H in zip(solved, self.factors, self.H, strict=True)
            ]
        )
        da = target - problem.margins(du + dV) / self.weight
        dS = problem.pulls(da)
        droom = off_room - np.sum(self.S * dS, axis=1) / problem.gamma**2
        dforce = (to_force - at.force * droom) / at.room - at.force
        return _Point(
            du,
            dV,
            da,
            -da,
            more_surplus - at.surplus / at.a * da,
            more_slack + at.slack / at.b * da,
            dforce,
            droom,
        )
