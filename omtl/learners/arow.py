"""Adaptive regularisation of weights, AROW (Crammer, Kulesza, Dredze, NIPS 2009)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.by_feature import update_posterior, weighed_square
from omtl.kernel.products import dot
from omtl.kernel.rules import Example, Shape


class Posterior(NamedTuple):
    """Means of the weights, and the decrease of their variances.

    Shape (n_tasks or 1, n_features) each. The variance of a weight is 1 − ``drop``.
    """

    w: np.ndarray
    drop: np.ndarray


class AROW(NamedTuple):
    """AROW (Crammer et al. 2009, figure 1) with a diagonal covariance Σ, the identity at first.

    Objective of each step, which moves a Gaussian over the weights from N(w', Σ') to N(w, Σ):

        min KL(N(w, Σ) ‖ N(w', Σ')) + (ℓ(w)² + xᵀΣx) / (2 r),  ℓ(w) = max(0, 1 − y w·x)

    Update, if y w·x < 1, with v = xᵀΣx and β = 1 / (v + r), keeping only the diagonal of Σ:

        w ← w + β (1 − y w·x) y Σx
        Σ ← Σ − β Σx xᵀΣ

    Cost per example: O(nonzeros).

    Parameters
    ----------
    r : float in (0, inf)
        r > 0: the larger, the smaller the effect of one example.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : r = 1.0
    cites : crammer2009adaptive
    """

    r: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> Posterior:
        """Return zero means, with variances of 1."""
        size = (1 if self.pooled else shape.n_tasks, shape.n_features)
        return Posterior(np.zeros(size), np.zeros(size))

    def score(self, state: Posterior, x: Example) -> float:
        """Return w·x."""
        return dot(state.w[0 if self.pooled else x.task], x)

    def update(self, state: Posterior, x: Example, y: float, score: float) -> bool:
        """Move the means towards this example, and shrink the variances."""
        loss = 1.0 - y * score
        if loss <= 0.0:
            return False
        k = 0 if self.pooled else x.task
        # Features of no other example are only in the row's norm, with variance 1.
        v = x.square_norm - weighed_square(state.drop[k], x)
        beta = 1.0 / (max(v, 0.0) + self.r)
        update_posterior(x, beta * loss * y, beta, state.w[k], state.drop[k])
        return True
