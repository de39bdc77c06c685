"""The leaky perceptron, an example of a learner in an installed package."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import axpy, dot


class Weights(NamedTuple):
    """The weight vector of each task, shape (n_tasks, n_features)."""

    w: np.ndarray


@compiled
class LeakyPerceptron:
    """A perceptron of our own that forgets: w ← (1 − λ) w + y x after a mistake.

    Cost per mistake: O(features).

    Parameters
    ----------
    leak : float
        λ, the part of the weights that is forgotten after each mistake.
    """

    leak: float = 0.0

    def new_state(self, shape: Any) -> Weights:
        """Return zero weights."""
        return Weights(np.zeros((shape.n_tasks, shape.n_features)))

    def score(self, state: Any, x: Any) -> float:
        """Return w·x."""
        return dot(state.w[x.task], x)

    def update(self, state: Any, x: Any, y: float, score: float) -> bool:
        """Forget and add after a mistake."""
        if y * score > 0.0:
            return False
        w = state.w[x.task]
        for j in range(w.size):
            w[j] *= 1.0 - self.leak
        axpy(y, x, w)
        return True
