"""Collaborative online multi-task learning (Li, Hoi, Chang, Liu, Jain, TKDE 2014)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from omtl.ops import (
    BORROWED,
    DenseRows,
    Rows,
    axpy,
    axpy_one,
    axpys,
    dot,
    dot_one,
    rescale,
    zero_vectors,
)
from omtl.rules import Event, Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, long before it could underflow."""


class Collaboration(NamedTuple):
    """A global vector and each task's own, u^k = lean[k] · w + scale[k] · own[k].

    On dense rows lean stays 0 and scale 1: own[k] is u^k. On sparse rows leaning on w is a change
    of two numbers, and a step of w is undone in each `own`: nothing costs O(features) an example.

    `own` is from `omtl.ops.zero_vectors`; `heard`, of shape (1,), is w·x of the example that was
    last scored, and `steps`, of shape (n_tasks,), belong to the example that is learnt.
    """

    w: np.ndarray
    own: np.ndarray
    lean: np.ndarray
    scale: np.ndarray
    heard: np.ndarray
    steps: np.ndarray


def approach(state: Collaboration, rows: Rows, i: int, k: int, mu: float, a: float) -> None:
    """Let u^k be μ w + (1−μ) u^k and `a` times row `i`."""
    if isinstance(rows, DenseRows):
        state.own[k] = (mu * state.w + (1.0 - mu) * state.own[k]) + a * rows.X[i]
        return
    state.lean[k] = mu + (1.0 - mu) * state.lean[k]
    state.scale[k] *= 1.0 - mu
    if state.scale[k] < SMALLEST_SCALE:
        rescale(state.own[k], state.scale[k])
        state.scale[k] = 1.0
    if a != 0.0:
        axpy_one(a / state.scale[k], rows, i, k, state.own)


def hold(state: Collaboration, rows: Rows, i: int, step: float) -> None:
    """Keep all u^k as they are where w takes `step` times row `i`."""
    if isinstance(rows, DenseRows):
        return
    for j in range(state.lean.size):
        state.steps[j] = -step * state.lean[j] / state.scale[j]
    axpys(state.steps, rows, i, 0, state.lean.size, state.own)


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(approach, jit_options=BORROWED)
def _approach(state, rows, i, k, mu, a):  # noqa: ARG001
    def dense(state, rows, i, k, mu, a):
        own, w = state.own[k], state.w
        for f in range(w.size):
            own[f] = (mu * w[f] + (1.0 - mu) * own[f]) + a * rows.X[i, f]

    def compressed(state, rows, i, k, mu, a):
        state.lean[k] = mu + (1.0 - mu) * state.lean[k]
        state.scale[k] *= 1.0 - mu
        if state.scale[k] < SMALLEST_SCALE:
            rescale(state.own[k], state.scale[k])
            state.scale[k] = 1.0
        if a != 0.0:
            axpy_one(a / state.scale[k], rows, i, k, state.own)

    return dense if rows.instance_class is DenseRows else compressed


@overload(hold, jit_options=BORROWED)
def _hold(state, rows, i, step):  # noqa: ARG001
    def dense(state, rows, i, step):
        pass

    def compressed(state, rows, i, step):
        for j in range(state.lean.size):
            state.steps[j] = -step * state.lean[j] / state.scale[j]
        axpys(state.steps, rows, i, 0, state.lean.size, state.own)

    return dense if rows.instance_class is DenseRows else compressed


class COML(NamedTuple):
    """COML: a global vector w and a personal u^k, which predicts for task k.

    On (x, y) of task k, where u^k has a positive hinge loss,
    u^k ← argmin_u  (μ/2)‖u − w‖² + ((1−μ)/2)‖u − u^k‖² + C ℓ(u),
    which is a passive-aggressive step (τ at most C) from the point μ w + (1−μ) u^k. Then w takes a
    PA-I step of its own with its own loss. μ = λ₁ / (λ₁ + λ₂) of the original's two weights, and C
    is counted in units of their sum. Written from the ROM and DOM papers' accounts of it.

    Cost per example: O(nonzeros) on dense rows, O(n_tasks · nonzeros) on sparse ones.

    Parameters
    ----------
    C : float
        Aggressiveness of both steps, C > 0.
    mu : float in [0, 1)
        How much a personal vector leans on the global one at each step.
    """

    C: float
    mu: float

    def new_state(self, shape: Shape) -> Collaboration:
        """Return zero weights."""
        return Collaboration(
            w=np.zeros(shape.n_features),
            own=zero_vectors(shape.n_tasks, shape.n_features, shape.sparse),
            lean=np.zeros(shape.n_tasks),
            scale=np.ones(shape.n_tasks),
            heard=np.zeros(1),
            steps=np.zeros(shape.n_tasks),
        )

    def score(self, state: Collaboration, rows: Any, event: Event) -> float:
        """Return u^k·x."""
        k = event.task
        x = event.example
        state.heard[0] = dot(state.w, rows, x)
        personal = state.scale[k] * dot_one(state.own, k, rows, x)
        if state.lean[k] == 0.0:
            return personal
        return personal + state.lean[k] * state.heard[0]

    def update(self, state: Collaboration, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the personal step, then the global one."""
        x = event.example
        global_score = state.heard[0]
        changed = False
        if y * score < 1.0:
            changed = True
            loss = 1.0 - y * (self.mu * global_score + (1.0 - self.mu) * score)
            step = min(self.C, loss / event.square_norm) if loss > 0.0 else 0.0
            approach(state, rows, x, event.task, self.mu, y * step)
        global_loss = 1.0 - y * global_score
        if global_loss > 0.0:
            changed = True
            step = y * min(self.C, global_loss / event.square_norm)
            axpy(step, rows, x, state.w)
            if self.mu != 0.0:
                hold(state, rows, x, step)
        return changed
