"""Adaptive subgradient steps on the hinge loss (Duchi, Hazan, Singer, JMLR 2011)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.products import dot, each_feature
from omtl.kernel.rules import Example, Shape


class Adapted(NamedTuple):
    """Weights, and the sums of the squares of their gradients: (n_tasks or 1, n_features) each."""

    w: np.ndarray
    square: np.ndarray


@each_feature
def adapt(f, value, a, w, square):
    """Add the squares of `x` to `square`, then a x_f / √square_f to each ``w[f]``."""
    # No branch, and a quotient that cannot raise, so that it is vectorised.
    total = square[f] + value * value
    square[f] = total
    w[f] += np.divide(a * value, np.sqrt(total if total > 0.0 else 1.0))


class AdaGrad(NamedTuple):
    """AdaGrad with diagonal matrices (Duchi et al. 2011, section 1.1 and figure 1).

    Objective, the sum of the hinge losses:

        min_w Σ_t ℓ_t(w),  ℓ_t(w) = max(0, 1 − y_t w·x_t)

    Update, if the loss is positive, with its gradient g = −y x, for each feature f:

        G_f ← G_f + g_f²
        w_f ← w_f − η g_f / √G_f

    So each weight has a learning rate of its own. δ, which the paper adds to the root, is 0: a
    weight whose sum is 0 has no gradient.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Length η > 0 of a weight's first step.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : eta = 0.1
    cites : duchi2011adaptive
    """

    eta: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> Adapted:
        """Return zero weights."""
        size = (1 if self.pooled else shape.n_tasks, shape.n_features)
        return Adapted(np.zeros(size), np.zeros(size))

    def score(self, state: Adapted, x: Example) -> float:
        """Return w·x."""
        return dot(state.w[0 if self.pooled else x.task], x)

    def update(self, state: Adapted, x: Example, y: float, score: float) -> bool:
        """Take a step along this example's gradient."""
        if y * score >= 1.0:
            return False
        k = 0 if self.pooled else x.task
        adapt(x, self.eta * y, state.w[k], state.square[k])
        return True
