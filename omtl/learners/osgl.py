"""Online learning of multiple tasks with a shared loss (Dekel, Long, Singer, JMLR 2007, "OSGL").

An r-norm ‖ℓ‖_r, the global loss, ties the losses ℓ of all tasks in a round. Each task takes the
step w_k ← w_k + τ_k y_k x_k, and the vector τ is bounded in the dual norm, ‖τ‖_s ≤ C with
1/r + 1/s = 1. Written from the OSMTL paper's description and general knowledge of the original,
whose text we did not have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.deferred import Steps
from omtl.kernel.p_norms import divide_by_norm, least_multiplier, power
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape, rules_of


class TiedLosses(NamedTuple):
    """A weight vector per task, and the round: losses, squared norms of examples, steps."""

    w: np.ndarray
    loss: np.ndarray
    square_norm: np.ndarray
    steps: Steps


class OSGL(NamedTuple):
    """The finite-horizon multi-task perceptron of Dekel et al. (2007).

    Objective, the sum over rounds of a norm of the K tasks' hinge losses ℓ_k:

        min_w Σ_t ‖(ℓ_1, ..., ℓ_K)‖_r,  ℓ_k = max(0, 1 − y_k w_k·x_k)

    Update of all tasks at the end of the round, where τ maximises τ·ℓ over ‖τ‖_s ≤ C, 1/r + 1/s =
    1:

        w_k ← w_k + τ_k y_k x_k,  τ_k = C (ℓ_k / ‖ℓ‖_r)^(r − 1)

    Cost per example: O(nonzeros); per round: O(n_tasks).

    Parameters
    ----------
    C : float in (0, inf)
        Radius C > 0 of the steps.
    r : float in [1, inf)
        The global loss is the r-norm, 1 ≤ r < ∞: 1 is one perceptron per task that learns from
        every loss, 2 is Euclidean.

    Estimator
    ---------
    defaults : C = 0.1
    takes : rounds
    cites : dekel2007online
    """

    C: float
    r: float = 2.0

    def new_state(self, shape: Shape) -> TiedLosses:
        """Return zero weights."""
        m = shape.n_tasks
        w = np.zeros((m, shape.n_features))
        return TiedLosses(w, loss=np.zeros(m), square_norm=np.ones(m), steps=Steps.none(m))

    def score(self, state: TiedLosses, x: Example) -> float:
        """Return w_k·x."""
        return dot(state.w[x.task], x)

    def update(self, state: TiedLosses, x: Example, y: float, score: float) -> bool:
        """Keep the example for the end of the round."""
        k = x.task
        state.loss[k], state.square_norm[k] = max(0.0, 1.0 - y * score), x.square_norm
        if state.loss[k] == 0.0:
            return False
        state.steps.later(y, x)
        return True

    def close_round(self, state: TiedLosses, rows: Any) -> None:
        """Take the steps of all tasks with a loss."""
        divide_by_norm(state.loss, self.r)  # ℓ / ‖ℓ‖_r
        for k in range(state.loss.size):
            y, x = state.steps.take(k, rows)
            if y != 0.0:
                tau = self.C * power(state.loss[k], self.r - 1.0)
                axpy(tau * y, x, state.w[k])
        state.loss[:] = 0.0


@rules_of(OSGL)
class OSGLImplicit(NamedTuple):
    """The implicit update of Dekel et al. (2007), for the Euclidean global loss.

    Objective of each round, with the K tasks' hinge losses ℓ_k, near the weights w' so far:

        min_w ½ Σ_k ‖w_k − w'_k‖² + C ‖(ℓ_1, ..., ℓ_K)‖_2,  ℓ_k = max(0, 1 − y_k w_k·x_k)

    Update of all tasks, where τ maximises 2 τ·ℓ − Σ τ_k² ‖x_k‖² over ‖τ‖_2 ≤ C:

        w_k ← w_k + τ_k y_k x_k,  τ_k = ℓ_k / (‖x_k‖² + μ)

    μ is 0 if τ is then inside the ball, and otherwise puts τ on its surface.

    Cost per example: O(nonzeros); per round: O(n_tasks), times the number of steps to find μ.

    Parameters
    ----------
    C : float in (0, inf)
        Radius C > 0 of the steps.

    Estimator
    ---------
    defaults : C = 0.1
    takes : rounds
    cites : dekel2007online
    """

    C: float

    def close_round(self, state: TiedLosses, rows: Any) -> None:
        """Take the steps of all tasks with a loss."""
        mu = least_multiplier(state.loss, state.square_norm, self.C)
        for k in range(state.loss.size):
            y, x = state.steps.take(k, rows)
            if y != 0.0:
                tau = state.loss[k] / (state.square_norm[k] + mu)
                axpy(tau * y, x, state.w[k])
        state.loss[:] = 0.0
