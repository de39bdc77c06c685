"""Online learning of multiple tasks with a shared loss (Dekel, Long, Singer, JMLR 2007, "OSGL").

One round's losses ℓ of all tasks are tied by an r-norm ‖ℓ‖_r, the global loss. Each task takes the
step w_k ← w_k + τ_k y_k x_k, and the vector τ is bounded in the dual norm, ‖τ‖_s ≤ C with
1/r + 1/s = 1. Written from the OSMTL paper's account of it and from general knowledge of the
original, whose text was not at hand.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from omtl.learners.perceptron import task_weights
from omtl.ops import BORROWED, axpy, dot
from omtl.rules import Event, Shape

MOST_HALVINGS = 200
"""Halvings of an interval of floats after which nothing is left to halve."""


class TiedLosses(NamedTuple):
    """One weight vector a task, and the round: labels, examples, losses, squared norms, steps τ."""

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


@register_jitable(**BORROWED)
def suffer(state, event, y, score):
    """Keep an example for the end of the round; return whether it has a loss."""
    k = event.task
    state.label[k] = y
    state.example[k] = event.example
    state.loss[k] = max(0.0, 1.0 - y * score)
    state.square_norm[k] = event.square_norm
    return state.loss[k] > 0.0


@register_jitable(**BORROWED)
def step(state, rows):
    """Take the steps τ, and make ready for the next round."""
    for k in range(state.tau.size):
        if state.tau[k] != 0.0:
            axpy(state.tau[k] * state.label[k], rows, state.example[k], state.w[k])
        state.label[k] = 0.0
        state.loss[k] = 0.0


class OSGL(NamedTuple):
    """The finite-horizon multi-task perceptron of Dekel et al. (2007).

    τ maximises τ·ℓ over ‖τ‖_s ≤ C: τ_k = C (ℓ_k / ‖ℓ‖_r)^(r − 1).

    Cost per example: O(nonzeros); per round: O(n_tasks).

    Parameters
    ----------
    C : float
        Radius C > 0 of the steps.
    r : float
        The global loss is the r-norm, 1 ≤ r < ∞: 1 is a perceptron a task that learns from every
        loss, 2 is Euclidean.
    """

    C: float
    r: float = 2.0

    def new_state(self, shape: Shape) -> TiedLosses:
        """Return zero weights."""
        return untied(shape)

    def score(self, state: TiedLosses, rows: Any, event: Event) -> float:
        """Return w_k·x."""
        return dot(state.w[event.task], rows, event.example)

    def update(
        self,
        state: TiedLosses,
        rows: Any,  # noqa: ARG002
        event: Event,
        y: float,
        score: float,
    ) -> bool:
        """Keep the example for the end of the round."""
        return suffer(state, event, y, score)

    def close_round(self, state: TiedLosses, rows: Any) -> None:
        """Take the steps of all tasks with a loss."""
        m = state.tau.size
        most = 0.0
        for k in range(m):
            most = max(most, state.loss[k])
        total = 0.0
        for k in range(m):
            if state.loss[k] > 0.0:
                total += (state.loss[k] / most) ** self.r
        for k in range(m):
            state.tau[k] = 0.0
            if state.loss[k] > 0.0:
                share = state.loss[k] / most / total ** (1.0 / self.r)
                state.tau[k] = self.C * share ** (self.r - 1.0)
        step(state, rows)


class OSGLImplicit(NamedTuple):
    """The implicit update of Dekel et al. (2007), for the Euclidean global loss.

    τ maximises 2 τ·ℓ − Σ τ_k² ‖x_k‖² over ‖τ‖_2 ≤ C: τ_k = ℓ_k / (‖x_k‖² + μ), where μ ≥ 0 is 0 if
    that is inside, and else puts it on the ball's surface.

    Cost per example: O(nonzeros); per round: O(n_tasks), times the steps to find μ.

    Parameters
    ----------
    C : float
        Radius C > 0 of the steps.
    """

    C: float

    def new_state(self, shape: Shape) -> TiedLosses:
        """Return zero weights."""
        return untied(shape)

    def score(self, state: TiedLosses, rows: Any, event: Event) -> float:
        """Return w_k·x."""
        return dot(state.w[event.task], rows, event.example)

    def update(
        self,
        state: TiedLosses,
        rows: Any,  # noqa: ARG002
        event: Event,
        y: float,
        score: float,
    ) -> bool:
        """Keep the example for the end of the round."""
        return suffer(state, event, y, score)

    def close_round(self, state: TiedLosses, rows: Any) -> None:
        """Take the steps of all tasks with a loss."""
        m = state.tau.size
        square = 0.0
        for k in range(m):
            square += state.loss[k] * state.loss[k]
        # ‖τ‖ falls from that at μ = 0 to at most C at μ = ‖ℓ‖ / C.
        low, high = 0.0, math.sqrt(square) / self.C
        norm = 0.0
        for k in range(m):
            norm += (state.loss[k] / state.square_norm[k]) ** 2
        if norm <= self.C * self.C:
            high = 0.0
        for _ in range(MOST_HALVINGS):
            mu = 0.5 * (low + high)
            if mu <= low or mu >= high:
                break
            norm = 0.0
            for k in range(m):
                norm += (state.loss[k] / (state.square_norm[k] + mu)) ** 2
            if norm > self.C * self.C:
                low = mu
            else:
                high = mu
        for k in range(m):
            state.tau[k] = state.loss[k] / (state.square_norm[k] + high)
        step(state, rows)
