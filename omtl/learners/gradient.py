"""Online gradient descent (Zinkevich, ICML 2003) on the hinge loss, with steps that shrink."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.losses import HINGE, slope
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape


class Descents(NamedTuple):
    """One weight vector per task (or one for all tasks), each after ``seen[k]`` examples."""

    w: np.ndarray
    seen: np.ndarray


class GradientDescent(NamedTuple):
    """Greedy projection, or online gradient descent (Zinkevich 2003, section 2), with η_t = η / √t.

    Objective, the sum of the losses, by default the hinge loss ℓ(s) = max(0, 1 − y s):

        min_w Σ_t ℓ_t(w·x_t)

    Update after the t-th example of a vector; for the hinge loss, ℓ' = −y if it is positive, else
    0:

        w ← w − (η / √t) ℓ'(w·x) x

    On real targets the loss may be the absolute or the square loss. Weights are unconstrained, so
    nothing is projected. No paper of this project has this learner: `omtl.learners.perceptron` with
    a margin of 1 has the same step at all times, `omtl.learners.lifelong.OGD` has a regulariser and
    steps of 1 / (λ t).

    Cost per example: O(nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Length η > 0 of the first step.
    pooled : bool
        One weight vector for all tasks instead of one per task.
    loss : int
        As in `omtl.kernel.losses`: 0 the hinge, 1 the absolute, 2 the square loss.

    Estimator
    ---------
    defaults : eta = 1.0
    cites : zinkevich2003online
    """

    eta: float
    pooled: bool = False
    loss: int = HINGE

    def with_loss(self, loss: int) -> GradientDescent:
        """Return the same learner with another loss, which also allows real targets."""
        return self._replace(loss=loss)

    def new_state(self, shape: Shape) -> Descents:
        """Return zero weights."""
        n = 1 if self.pooled else shape.n_tasks
        return Descents(np.zeros((n, shape.n_features)), np.zeros(n))

    def score(self, state: Descents, x: Example) -> float:
        """Return w·x."""
        return dot(state.w[0 if self.pooled else x.task], x)

    def update(self, state: Descents, x: Example, y: float, score: float) -> bool:
        """Take the gradient step for this example."""
        k = 0 if self.pooled else x.task
        state.seen[k] += 1.0
        s = slope(self.loss, y, score)
        if s == 0.0:
            return False
        axpy(-s * self.eta / np.sqrt(state.seen[k]), x, state.w[k])
        return True
