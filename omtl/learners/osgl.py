"""Online learning of multiple tasks with a shared loss (Dekel, Long, Singer, JMLR 2007, "OSGL").

An r-norm ‖ℓ‖_r, the global loss, ties the losses ℓ of all tasks in a round. Each task takes the
step w_k ← w_k + τ_k y_k x_k, and the vector τ is bounded in the dual norm, ‖τ‖_s ≤ C with
1/r + 1/s = 1. Written from the OSMTL paper's description and general knowledge of the original,
whose text we did not have.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Event, Shape, rules_of
from omtl.learners.perceptron import task_weights

MOST_HALVINGS = 200
"""Number of bisections after which an interval of floats cannot be halved further."""

NEAR = 1e-8
"""Relative length of a Newton step below which only rounding errors remain."""

ROUNDING = 1e-15
"""Slight overestimate of the relative error of a root found by Newton's method."""


class TiedLosses(NamedTuple):
    """A weight vector per task, and the round: labels, examples, losses, squared norms, steps τ."""

    w: np.ndarray
    label: np.ndarray
    example: np.ndarray
    loss: np.ndarray
    square_norm: np.ndarray
    tau: np.ndarray


def untied(shape: Shape) -> TiedLosses:
    """Return zero weights and an empty round."""
    m = shape.n_tasks
    return TiedLosses(
        task_weights(shape, pooled=False).w,
        np.zeros(m),
        np.zeros(m, dtype=np.int64),
        np.zeros(m),
        np.ones(m),
        np.zeros(m),
    )


@inlined
def take_steps(state, rows):
    """Add τ_k y_k x_k to w_k, and prepare for the next round."""
    for k in range(state.tau.size):
        if state.tau[k] != 0.0:
            axpy(state.tau[k] * state.label[k], rows, state.example[k], state.w[k])
        state.label[k] = 0.0
        state.loss[k] = 0.0


@inlined
def power(x, r):
    """Return x^r; products are much faster than the power function, and round better."""
    if r == 1.0:
        return x
    return x * x if r == 2.0 else x**r


class OSGL(NamedTuple):
    """The finite-horizon multi-task perceptron of Dekel et al. (2007).

    τ maximises τ·ℓ over ‖τ‖_s ≤ C: τ_k = C (ℓ_k / ‖ℓ‖_r)^(r − 1).

    Cost per example: O(nonzeros); per round: O(n_tasks).

    Parameters
    ----------
    C : float in (0, inf)
        Radius C > 0 of the steps.
    r : float in [1, inf)
        The global loss is the r-norm, 1 ≤ r < ∞: 1 is one perceptron per task that learns from
        every loss, 2 is Euclidean.

    Estimator
    ---------
    defaults : C = 0.1
    takes : rounds
    """

    C: float
    r: float = 2.0

    def new_state(self, shape: Shape) -> TiedLosses:
        """Return zero weights."""
        return untied(shape)

    def score(self, state: TiedLosses, rows: Any, event: Event) -> float:
        """Return w_k·x."""
        return dot(state.w[event.task], rows, event.example)

    def update(self, state: TiedLosses, rows: Any, event: Event, y: float, score: float) -> bool:  # noqa: ARG002
        """Keep the example for the end of the round."""
        k = event.task
        state.label[k], state.example[k] = y, event.example
        state.loss[k] = max(0.0, 1.0 - y * score)
        state.square_norm[k] = event.square_norm
        return state.loss[k] > 0.0

    def close_round(self, state: TiedLosses, rows: Any) -> None:
        """Take the steps of all tasks with a loss."""
        m = state.tau.size
        most = 0.0
        for k in range(m):
            most = max(most, state.loss[k])
        total = 0.0
        for k in range(m):
            state.tau[k] = 0.0
            if state.loss[k] > 0.0:
                state.tau[k] = state.loss[k] / most
                total += power(state.tau[k], self.r)
        norm = math.sqrt(total) if self.r == 2.0 else total ** (1.0 / self.r)
        for k in range(m):
            if state.loss[k] > 0.0:
                share = state.tau[k] / norm
                state.tau[k] = self.C * power(share, self.r - 1.0)
        take_steps(state, rows)


@inlined
def square_of_steps(state, mu):
    """Return ‖τ‖² of τ_k = ℓ_k / (‖x_k‖² + μ)."""
    total = 0.0
    for k in range(state.tau.size):
        total += (state.loss[k] / (state.square_norm[k] + mu)) ** 2
    return total


@inlined
def least_mu(state, C):
    """Return the least μ ≥ 0 with ‖τ‖ ≤ C: Newton's method on 1 / ‖τ‖, with final bisection."""
    if square_of_steps(state, 0.0) <= C * C:
        return 0.0
    square = 0.0
    for k in range(state.tau.size):
        square += state.loss[k] * state.loss[k]
    # ‖τ‖ falls from its value at μ = 0 to at most C at μ = ‖ℓ‖ / C.
    low, high = 0.0, math.sqrt(square) / C
    mu, length = 0.0, math.inf
    while length > NEAR * mu:
        norm, fall = 0.0, 0.0
        for k in range(state.tau.size):
            inverse = 1.0 / (state.square_norm[k] + mu)
            part = (state.loss[k] * inverse) ** 2
            norm += part
            fall += part * inverse
        if norm > C * C:
            low = mu
        else:
            high = mu
        if not fall > 0.0:
            break
        next_mu = mu + (math.sqrt(norm) / C - 1.0) * norm / fall
        if not low < next_mu < high:
            break
        mu, length = next_mu, min(0.5 * length, abs(next_mu - mu))
    for side in (1.0 - ROUNDING, 1.0 + ROUNDING):
        edge = side * mu
        if low < edge < high:
            if square_of_steps(state, edge) > C * C:
                low = edge
            else:
                high = edge
    for _ in range(MOST_HALVINGS):
        mu = 0.5 * (low + high)
        if mu <= low or mu >= high:
            break
        if square_of_steps(state, mu) > C * C:
            low = mu
        else:
            high = mu
    return high


@rules_of(OSGL)
class OSGLImplicit(NamedTuple):
    """The implicit update of Dekel et al. (2007), for the Euclidean global loss.

    τ maximises 2 τ·ℓ − Σ τ_k² ‖x_k‖² over ‖τ‖_2 ≤ C: τ_k = ℓ_k / (‖x_k‖² + μ), where μ is 0 if τ is
    then inside the ball, and otherwise puts τ on its surface.

    Cost per example: O(nonzeros); per round: O(n_tasks), times the number of steps to find μ.

    Parameters
    ----------
    C : float in (0, inf)
        Radius C > 0 of the steps.

    Estimator
    ---------
    defaults : C = 0.1
    takes : rounds
    """

    C: float

    def close_round(self, state: TiedLosses, rows: Any) -> None:
        """Take the steps of all tasks with a loss."""
        mu = least_mu(state, self.C)
        for k in range(state.tau.size):
            state.tau[k] = state.loss[k] / (state.square_norm[k] + mu)
        take_steps(state, rows)
