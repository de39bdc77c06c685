"""Adaptive regularisation of weights, AROW (Crammer, Kulesza, Dredze, NIPS 2009)."""

from __future__ import annotations

from typing import NamedTuple

from omtl.kernel.by_feature import Gaussians
from omtl.kernel.rules import Example, Shape


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

    def new_state(self, shape: Shape) -> Gaussians:
        """Return zero means, with variances of 1."""
        return Gaussians.standard(1 if self.pooled else shape.n_tasks, shape.n_features)

    def score(self, state: Gaussians, x: Example) -> float:
        """Return w·x."""
        return state.dot(0 if self.pooled else x.task, x)

    def update(self, state: Gaussians, x: Example, y: float, score: float) -> bool:
        """Move the means towards this example, and shrink the variances."""
        loss = 1.0 - y * score
        if loss <= 0.0:
            return False
        k = 0 if self.pooled else x.task
        beta = 1.0 / (max(x.square_norm - state.dropped(k, x), 0.0) + self.r)
        state.learn(k, beta * loss * y, beta, x)
        return True
