"""The approximate maximal margin classification algorithm, ALMA (Gentile, JMLR 2001)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.products import axpy, dot, rescale
from omtl.kernel.rules import Event, Shape
from omtl.kernel.vectors import SMALLEST_SCALE


class InBall(NamedTuple):
    """Vectors w_k = ``scale[k]`` · ``w[k]`` in the unit ball, and the number of steps behind each.

    ``square[k]`` is ‖w_k‖².
    """

    w: np.ndarray
    scale: np.ndarray
    square: np.ndarray
    steps: np.ndarray


class ALMA(NamedTuple):
    """ALMA₂ (Gentile 2001, figure 1, with p = 2), on examples of length 1.

    With x̂ = x / ‖x‖ and k − 1 steps so far: if y w·x̂ ≤ (1 − α) B / √k, w ← w + (C / √k) y x̂, and
    then w ← w / max(1, ‖w‖). B = 1 / α and C = √2, as in the paper's theorem 3.

    Cost per example: O(nonzeros), amortised.

    Parameters
    ----------
    alpha : float in (0, 1]
        α, above 0 and at most 1: the share of the largest margin that may be missed.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : alpha = 0.9
    """

    alpha: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> InBall:
        """Return zero weights."""
        m = 1 if self.pooled else shape.n_tasks
        return InBall(np.zeros((m, shape.n_features)), np.ones(m), np.zeros(m), np.zeros(m))

    def score(self, state: InBall, rows: Any, event: Event) -> float:
        """Return w·x."""
        k = 0 if self.pooled else event.task
        return state.scale[k] * dot(state.w[k], rows, event.example)

    def update(self, state: InBall, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a step if the margin is too small, and project onto the ball."""
        k = 0 if self.pooled else event.task
        length = math.sqrt(event.square_norm)
        margin = y * score / length
        root = math.sqrt(state.steps[k] + 1.0)
        if margin > (1.0 - self.alpha) / (self.alpha * root):
            return False
        state.steps[k] += 1.0
        step = math.sqrt(2.0) / root
        axpy(y * step / (length * state.scale[k]), rows, event.example, state.w[k])
        state.square[k] += step * (step + 2.0 * margin)
        if state.square[k] > 1.0:
            state.scale[k] /= math.sqrt(state.square[k])
            state.square[k] = 1.0
        if state.scale[k] < SMALLEST_SCALE:
            rescale(state.w[k], state.scale[k])
            state.scale[k] = 1.0
        return True
