"""AROW with a diagonal covariance, feature by feature."""

from typing import NamedTuple

import numpy as np

from omtl.kernel.compiled import compiled
from omtl.ops import dot, nonzeros


class Posterior(NamedTuple):
    """Means of the weights and their variances, shape (n_tasks, n_features) each."""

    w: np.ndarray
    variance: np.ndarray


@compiled
class OwnAROW:
    """AROW (Crammer, Kulesza, Dredze 2009, figure 1) with the diagonal of the covariance.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    r : float
        r > 0: the larger, the less a single example is trusted.
    """

    r: float

    def new_state(self, shape):
        """Return zero means with variances of 1."""
        size = (shape.n_tasks, shape.n_features)
        return Posterior(np.zeros(size), np.ones(size))

    def score(self, state, x):
        """Return w·x."""
        return dot(state.w[x.task], x)

    def update(self, state, x, y, score):
        """Move the means towards the label, and shrink the variances of the features seen."""
        loss = 1.0 - y * score
        if loss <= 0.0:
            return False
        w, variance = state.w[x.task], state.variance[x.task]
        # Features that only this example has are left out of its row, but not of its norm.
        v = x.square_norm
        for f, value in nonzeros(x):
            v -= (1.0 - variance[f]) * value * value
        beta = 1.0 / (max(v, 0.0) + self.r)
        for f, value in nonzeros(x):
            reach = variance[f] * value
            w[f] += beta * loss * y * reach
            variance[f] -= beta * reach * reach
        return True
