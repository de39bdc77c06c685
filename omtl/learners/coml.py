"""Collaborative online multi-task learning (Li, Hoi, Chang, Liu, Jain, TKDE 2014)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.ops import axpy, dot, rescale
from omtl.rules import Event, Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, long before it could underflow."""


class Collaboration(NamedTuple):
    """A global vector and each task's own, u^k = lean[k] · w + scale[k] · own[k].

    Leaning on w is then a change of two numbers, and a step of w is undone in each `own`:
    nothing costs O(features) an example.
    """

    w: np.ndarray
    own: np.ndarray
    lean: np.ndarray
    scale: np.ndarray


class COML(NamedTuple):
    """COML: a global vector w and a personal u^k, which predicts for task k.

    On (x, y) of task k, where u^k has a positive hinge loss,
    u^k ← argmin_u  (μ/2)‖u − w‖² + ((1−μ)/2)‖u − u^k‖² + C ℓ(u),
    which is a passive-aggressive step (τ at most C) from the point μ w + (1−μ) u^k. Then w takes a
    PA-I step of its own with its own loss. μ = λ₁ / (λ₁ + λ₂) of the original's two weights, and C
    is counted in units of their sum. Written from the ROM and DOM papers' accounts of it.

    Cost per example: O(n_tasks · nonzeros).

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
            own=np.zeros((shape.n_tasks, shape.n_features)),
            lean=np.zeros(shape.n_tasks),
            scale=np.ones(shape.n_tasks),
        )

    def score(self, state: Collaboration, rows: Any, event: Event) -> float:
        """Return u^k·x."""
        k = event.task
        x = event.example
        personal = state.scale[k] * dot(state.own[k], rows, x)
        if state.lean[k] == 0.0:
            return personal
        return personal + state.lean[k] * dot(state.w, rows, x)

    def update(self, state: Collaboration, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the personal step, then the global one."""
        k = event.task
        x = event.example
        global_score = dot(state.w, rows, x)
        changed = False
        if y * score < 1.0:
            changed = True
            mu = self.mu
            state.lean[k] = mu + (1.0 - mu) * state.lean[k]
            state.scale[k] *= 1.0 - mu
            if state.scale[k] < SMALLEST_SCALE:
                rescale(state.own[k], state.scale[k])
                state.scale[k] = 1.0
            loss = 1.0 - y * (mu * global_score + (1.0 - mu) * score)
            if loss > 0.0:
                step = min(self.C, loss / event.square_norm)
                axpy(y * step / state.scale[k], rows, x, state.own[k])
        global_loss = 1.0 - y * global_score
        if global_loss > 0.0:
            changed = True
            step = y * min(self.C, global_loss / event.square_norm)
            axpy(step, rows, x, state.w)
            for j in range(state.lean.size):
                if state.lean[j] != 0.0:
                    axpy(-step * state.lean[j] / state.scale[j], rows, x, state.own[j])
        return changed
