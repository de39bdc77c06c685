"""The best fixed weights in hindsight, the comparator of regret: computed, not guessed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from scipy import linalg, sparse

from omtl.data.rows import square_norms
from omtl.data.streams import Stream, Tasks
from omtl.util.errors import UserError

VANISHING = 1e-6
"""Default ridge of `best_fixed`, in units of the examples' mean squared norm."""

GAP = 1e-10
"""Duality gap at which a comparator is accepted, relative to 1 + its objective."""

MOST_STEPS = 200
"""Number of Newton steps after which `hinge_minimiser` gives up; 15 to 40 are usual."""


Point = TypeVar("Point", bound=tuple[np.ndarray, ...])
"""An interior point, or a step from one to another."""


@dataclass(frozen=True)
class Comparator:
    """Fixed weights of all tasks, with which a learner is compared.

    Parameters
    ----------
    weights : ndarray of shape (n_tasks, n_features)
    losses : ndarray of shape (n_examples,)
        Hinge loss on each example.
    ridge : ndarray of shape (n_tasks,)
        λ of the objective that the weights minimise, hinge loss + λ/2 ‖u‖².
    gap : ndarray of shape (n_tasks,)
        Duality gap of that objective: other weights can be better by at most this.
    """

    weights: np.ndarray
    losses: np.ndarray
    ridge: np.ndarray
    gap: np.ndarray


def hinge_losses(tasks: Tasks, U: np.ndarray) -> np.ndarray:
    """Return each example's hinge loss under fixed weights, shape (n_examples,)."""
    losses = np.empty(tasks.y.size)
    for k in range(U.shape[0]):
        mine = np.flatnonzero(tasks.task == k)
        losses[mine] = np.maximum(0.0, 1.0 - tasks.y[mine] * (tasks.X[mine] @ U[k]))
    return losses


def at_checkpoints(losses: np.ndarray, stream: Stream) -> np.ndarray:
    """Return the sum of losses up to each checkpoint of a stream, shape (n_checkpoints,).

    Parameters
    ----------
    losses : ndarray of shape (n_examples,)
        Loss of each example, such as `Comparator.losses`.
    stream : Stream
        The order of the examples.
    """
    lost = np.concatenate([[0.0], np.cumsum(losses[stream.example])])
    return lost[stream.start[stream.checkpoint]]


def best_fixed(tasks: Tasks, ridge: float = VANISHING) -> Comparator:
    """Return for each task the best fixed weights in hindsight, u_* of theorem 4.

    The weights with the least hinge loss need not be unique: on separable data a whole cone has
    zero loss, and the bound grows with the norm. So we minimise hinge loss + λ/2 ‖u‖², where λ is
    `ridge` times the task's mean squared norm of an example, small enough to matter only among
    weights of (nearly) equal loss. For λ → 0 the solution tends to the shortest minimiser of the
    hinge loss; for any λ no vector of the same norm or less has a smaller hinge loss, up to the
    duality gap. Larger ridges give a path of comparators, and the bounds hold for each of them.

    Cost: O(steps · (nonzeros · d + d³)) per task for d features.

    Parameters
    ----------
    tasks : Tasks
    ridge : float
        Ridge > 0, in units of the mean squared norm of the task's examples.

    Raises
    ------
    UserError
        If the ridge is not positive, or a task has no examples.
    """
    if not ridge > 0.0:
        raise UserError(f"ridge={ridge} must be positive, such as {VANISHING}")
    square_norm = square_norms(tasks.X)
    found = []
    for k, name in enumerate(tasks.names):
        mine = np.flatnonzero(tasks.task == k)
        if mine.size == 0:
            raise UserError(f"{name} has no examples, so no weights are best for it")
        scaled = ridge * (float(square_norm[mine].mean()) or 1.0)
        w, gap = hinge_minimiser(tasks.X[mine], tasks.y[mine], scaled)
        found.append((w, scaled, gap))
    U, ridges, gaps = (np.array(part) for part in zip(*found, strict=True))
    return Comparator(U, hinge_losses(tasks, U), ridges, gaps)


def hinge_minimiser(
    X: np.ndarray | sparse.csr_array, y: np.ndarray, ridge: float
) -> tuple[np.ndarray, float]:
    """Return argmin_w Σ_i max(0, 1 − y_i x_i·w) + ridge/2 ‖w‖², and its duality gap.

    A primal-dual interior point method with Mehrotra's predictor and corrector (Nocedal, Wright
    2006, section 16.6) on the constraints y_i x_i·w + ξ_i − s_i = 1, ξ, s ≥ 0, whose multipliers
    are 0 ≤ α ≤ 1; each step solves d linear equations. It needs no more steps for a vanishing ridge
    than for a large one, and the gap to the dual objective Σα − ‖Σ α_i y_i x_i‖²/(2 ridge)
    certifies the solution.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features)
    y : ndarray of shape (n_examples,)
        Labels, −1 or +1.
    ridge : float
        Ridge > 0.

    Raises
    ------
    ArithmeticError
        If the gap stays above `GAP`.
    """
    Z = signed(X, y)
    n, d = Z.shape
    half, ones = np.full(n, 0.5), np.ones(n)
    at = _Point(np.zeros(d), half, half, ones, 2.0 * ones)
    for _ in range(MOST_STEPS):
        margins, pull = Z @ at.w, Z.T @ at.alpha
        primal = float(np.maximum(0.0, 1.0 - margins).sum() + ridge / 2.0 * (at.w @ at.w))
        gap = primal - float(at.alpha.sum() - (pull @ pull) / (2.0 * ridge))
        if gap <= GAP * (1.0 + primal):
            return at.w, max(gap, 0.0)
        newton = _Newton(Z, at, ridge)
        still = np.zeros(n)
        ahead = newton.step(still, still)
        mu = (at.alpha @ at.surplus + at.beta @ at.slack) / (2 * n)
        near = moved(at, ahead, min(1.0, longest(at[1:], ahead[1:])))
        centre = (near.alpha @ near.surplus + near.beta @ near.slack) ** 3 / (2 * n) ** 3 / mu**2
        corrected = newton.step(
            centre - ahead.alpha * ahead.surplus, centre - ahead.beta * ahead.slack
        )
        at = moved(at, corrected, min(1.0, 0.995 * longest(at[1:], corrected[1:])))
    raise ArithmeticError(f"the duality gap of the comparator stays at {gap:.3g}")


def signed(X: np.ndarray | sparse.csr_array, y: np.ndarray) -> np.ndarray | sparse.csr_array:
    """Return examples times their labels."""
    return sparse.csr_array(sparse.diags_array(y) @ X) if sparse.issparse(X) else y[:, None] * X


def normal_matrix(Z: np.ndarray | sparse.csr_array, weight: np.ndarray) -> np.ndarray:
    """Return Σ weight z zᵀ over the rows of Z."""
    if sparse.issparse(Z):
        return (Z.T @ (sparse.diags_array(weight) @ Z)).toarray()
    return Z.T @ (weight[:, None] * Z)


def moved(at: Point, step: Point, length: float) -> Point:
    """Return an interior point after a part of a step."""
    return type(at)(*(x + length * dx for x, dx in zip(at, step, strict=True)))


def longest(values: Iterable[np.ndarray], steps: Iterable[np.ndarray]) -> float:
    """Return the part of a step that keeps values non-negative."""
    return min(
        float(np.min(-x[dx < 0.0] / dx[dx < 0.0], initial=math.inf))
        for x, dx in zip(values, steps, strict=True)
    )


class _Point(NamedTuple):
    """An interior point: the weights, α, 1 − α, s, ξ; or a step from one to another."""

    w: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    surplus: np.ndarray
    slack: np.ndarray


class _Newton:
    """The linear equations for a step from an interior point, factorised once."""

    def __init__(self, Z: np.ndarray | sparse.csr_array, at: _Point, ridge: float) -> None:
        self.Z, self.at = Z, at
        self.weight = at.surplus / at.alpha + at.slack / at.beta
        normal = normal_matrix(Z, 1.0 / self.weight)
        normal[np.diag_indices(at.w.size)] += ridge
        self.factor = linalg.cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)
        self.off = 1.0 - Z @ at.w - at.slack + at.surplus
        self.force = Z.T @ at.alpha - ridge * at.w

    def step(self, to_surplus: np.ndarray, to_slack: np.ndarray) -> _Point:
        """Return the step that brings the products α s and (1 − α) ξ to these values."""
        _, alpha, beta, surplus, slack = self.at
        more_surplus = to_surplus / alpha - surplus
        more_slack = to_slack / beta - slack
        target = (self.off - more_slack + more_surplus) / self.weight
        dw = linalg.cho_solve(self.factor, self.force + self.Z.T @ target, check_finite=False)
        dalpha = target - (self.Z @ dw) / self.weight
        return _Point(
            dw,
            dalpha,
            -dalpha,
            more_surplus - surplus / alpha * dalpha,
            more_slack + slack / beta * dalpha,
        )
