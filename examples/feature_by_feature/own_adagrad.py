"""AdaGrad, feature by feature: each weight has a step length of its own."""

from typing import NamedTuple

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import dot, nonzeros


class Adapted(NamedTuple):
    """Weights and sums of squared gradients, shape (n_tasks, n_features) each."""

    w: np.ndarray
    square: np.ndarray


@compiled
class OwnAdaGrad:
    """AdaGrad with diagonal matrices (Duchi et al. 2011, figure 1) on the hinge loss.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    eta : float
        Length η > 0 of a weight's first step.
    """

    eta: float

    def new_state(self, shape):
        """Return zero weights."""
        size = (shape.n_tasks, shape.n_features)
        return Adapted(np.zeros(size), np.zeros(size))

    def score(self, state, x):
        """Return w·x."""
        return dot(state.w[x.task], x)

    def update(self, state, x, y, score):
        """Step each weight by its gradient over the root of its squared gradients so far."""
        if y * score >= 1.0:
            return False
        w, square = state.w[x.task], state.square[x.task]
        for f, value in nonzeros(x):
            square[f] += value * value
            w[f] += self.eta * y * value / np.sqrt(square[f])
        return True
