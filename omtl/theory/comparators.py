"""The best fixed weights in hindsight, the comparator of regret: computed, not guessed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from omtl.data.rows import square_norms
from omtl.data.streams import Stream, Tasks
from omtl.theory.interior_point import (
    Hinge,
    Inner,
    Newton,
    minimised,
    normal_matrix,
    signed,
)
from omtl.util.errors import UserError

VANISHING = 1e-6
"""Default ridge of `best_weights`, in units of the examples' mean squared norm."""

GAP = 1e-10
"""Duality gap at which a comparator is accepted, relative to 1 + its objective."""

PART = 0.995
"""Part of the way to the border that a step may take."""


def losses_under(tasks: Tasks, U: np.ndarray) -> np.ndarray:
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
        Loss of each example (`losses_under`).
    stream : Stream
        The order of the examples.
    """
    lost = np.concatenate([[0.0], np.cumsum(losses[stream.example])])
    return lost[stream.start[stream.checkpoint]]


def best_weights(tasks: Tasks, ridge: float = VANISHING) -> np.ndarray:
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

    Returns
    -------
    ndarray of shape (n_tasks, n_features)

    Raises
    ------
    UserError
        If the ridge is not positive, or a task has no examples.
    """
    if not ridge > 0.0:
        raise UserError(f"ridge={ridge} must be positive, such as {VANISHING}")
    square_norm = square_norms(tasks.X)
    U = np.empty((len(tasks.names), tasks.X.shape[1]))
    for k, name in enumerate(tasks.names):
        mine = np.flatnonzero(tasks.task == k)
        if mine.size == 0:
            raise UserError(f"{name} has no examples, so no weights are best for it")
        scaled = ridge * (float(square_norm[mine].mean()) or 1.0)
        U[k], _ = hinge_minimiser(tasks.X[mine], tasks.y[mine], scaled)
    return U


def hinge_minimiser(
    X: np.ndarray | sparse.csr_array, y: np.ndarray, ridge: float
) -> tuple[np.ndarray, float]:
    """Return argmin_w Σ_i max(0, 1 − y_i x_i·w) + ridge/2 ‖w‖², and its duality gap.

    An interior point method (`omtl.theory.interior_point`) on the constraints
    y_i x_i·w + ξ_i − s_i = 1, ξ, s ≥ 0, whose multipliers are 0 ≤ α ≤ 1; each step solves d linear
    equations. It needs no more steps for a vanishing ridge than for a large one, and the gap to the
    dual objective Σα − ‖Σ α_i y_i x_i‖²/(2 ridge) certifies the solution.

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
    problem = _Ridge(signed(X, y), ridge)
    n, d = problem.Z.shape
    start = Inner(np.zeros(d), np.full(2 * n, 0.5), np.repeat([1.0, 2.0], n))
    at, gap = minimised(problem, start, GAP, PART)
    return at.weights, gap


class _Ridge(NamedTuple):
    """The problem: the examples times their labels, and the ridge."""

    Z: np.ndarray | sparse.csr_array
    ridge: float

    def objective_and_gap(self, at: Inner) -> tuple[float, float]:
        """Return the objective of an interior point, and its duality gap."""
        Z, w, alpha = self.Z, at.weights, at.left[: self.Z.shape[0]]
        margins, pull = Z @ w, Z.T @ alpha
        primal = float(np.maximum(0.0, 1.0 - margins).sum() + self.ridge / 2.0 * (w @ w))
        return primal, primal - float(alpha.sum() - (pull @ pull) / (2.0 * self.ridge))

    def newton(self, at: Inner) -> Newton:
        """Return the steps from an interior point; the linear equations are factorised once."""
        Z, w, alpha = self.Z, at.weights, at.left[: self.Z.shape[0]]
        hinge = Hinge(at, Z @ w)
        normal = normal_matrix(Z, 1.0 / hinge.weight)
        normal[np.diag_indices(w.size)] += self.ridge
        factor = linalg.cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)
        force = Z.T @ alpha - self.ridge * w

        def step(products: np.ndarray, ahead: Inner | None) -> Inner:  # noqa: ARG001
            target = hinge.target(products)
            dw = linalg.cho_solve(factor, force + Z.T @ target, check_finite=False)
            return Inner(dw, *hinge.pairs(products, target - (Z @ dw) / hinge.weight))

        return step
