"""The approximate maximal margin classification algorithm, ALMA (Gentile, JMLR 2001)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.products import axpy
from omtl.kernel.rules import Example, Shape
from omtl.kernel.vectors import Bank


class Weights(NamedTuple):
    """Vectors w in the unit ball, and the number of steps behind each."""

    w: Bank
    steps: np.ndarray


class ALMA(NamedTuple):
    """ALMA₂ (Gentile 2001, figure 1, with p = 2), on examples of length 1.

    Objective, at least the share 1 − α of the largest margin, with x̂ = x / ‖x‖:

        max_{‖w‖ ≤ 1} min_t y_t w·x̂_t

    Update number k, if y w·x̂ ≤ (1 − α) B / √k, with B = 1 / α and C = √2 as in theorem 3:

        w ← w + (C / √k) y x̂
        w ← w / max(1, ‖w‖)

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
    cites : gentile2001new
    """

    alpha: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> Weights:
        """Return zero weights."""
        m = 1 if self.pooled else shape.n_tasks
        return Weights(Bank.zeros(m, shape, normed=True), np.zeros(m))

    def score(self, state: Weights, x: Example) -> float:
        """Return w·x."""
        k = 0 if self.pooled else x.task
        return state.w.dot(k, x)

    def update(self, state: Weights, x: Example, y: float, score: float) -> bool:
        """Take a step if the margin is too small, and project onto the ball."""
        w, k = state.w, 0 if self.pooled else x.task
        length = math.sqrt(x.square_norm)
        margin = y * score / length
        root = math.sqrt(state.steps[k] + 1.0)
        if margin > (1.0 - self.alpha) / (self.alpha * root):
            return False
        state.steps[k] += 1.0
        step = math.sqrt(2.0) / root
        axpy(y * step / (length * w.scale[k]), x, w.vectors[k])
        w.project(k, w.square[k] + step * (step + 2.0 * margin))
        return True
