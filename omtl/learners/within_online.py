"""Online-within-online: learning a bias at the end of each task (Denevi et al., NeurIPS 2019).

Of "Online-Within-Online Meta-Learning" we had the abstract and the authors' program, not the text.
The program (dstamos/Adversarial-LTL) has the instance that learns a feature map. This is the other
instance that the abstract names, which learns a bias, with the program's steps for the map applied
to the bias.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.deferred import CurrentTask
from omtl.kernel.losses import HINGE, slope
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape


class Within(NamedTuple):
    """Sums of gradients by task, the bias, and the current task.

    Parameters
    ----------
    S : ndarray of shape (n_tasks, n_features)
        Sums of all gradients of a task.
    seen : ndarray of shape (n_tasks,)
        Numbers of examples.
    theta : ndarray of shape (n_features,)
        The bias.
    current : CurrentTask
    """

    S: np.ndarray
    seen: np.ndarray
    theta: np.ndarray
    current: CurrentTask


class OnlineWithinOnline(NamedTuple):
    """Descent within each task around a bias θ, and of the bias between tasks (Denevi et al. 2019).

    Objective, over the n_k examples of each task k, with the pull λ towards θ:

        min_θ Σ_k min_w (1/n_k) Σ_t ℓ_t(w·x_t) + λ/2 ‖w − θ‖²

    Update after the i-th example of task k with gradient g, and of θ after a task of n examples:

        S_k ← S_k + g,  w_k = θ − S_k / (λ (i + 1))
        θ ← θ − η G / n,  G the sum of the task's gradients

    The steps within a task are 1 / (λ (i + 1)) long, and G / n approximates the gradient of the
    inner minimum with respect to θ. A task ends when an example of another task arrives.

    Cost per example: O(nonzeros), and O(n_features) when a task ends.

    Parameters
    ----------
    lam : float in (0, inf)
        Strength λ > 0 of the pull towards the bias.
    eta : float in [0, inf)
        Step η ≥ 0 of the bias; with 0 tasks learn alone.
    loss : int
        As in `omtl.kernel.losses`.

    Estimator
    ---------
    defaults : lam = 1.0, eta = 0.1
    cites : denevi2019within
    """

    lam: float
    eta: float
    loss: int = HINGE

    def with_loss(self, loss: int) -> OnlineWithinOnline:
        """Return the same learner with another loss, which also allows real targets."""
        return self._replace(loss=loss)

    def new_state(self, shape: Shape) -> Within:
        """Return zero weights."""
        K, d = shape.n_tasks, shape.n_features
        return Within(np.zeros((K, d)), np.zeros(K), np.zeros(d), CurrentTask.none(d))

    def score(self, state: Within, x: Example) -> float:
        """Return w_k·x, after a finished task has updated the bias."""
        k, current = x.task, state.current
        own = dot(state.S[k], x) / (self.lam * (state.seen[k] + 1.0))
        shared = dot(state.theta, x)
        if current.has_ended(x):
            shared -= self.eta / current.n[0] * dot(current.G, x)
        return shared - own

    def update(self, state: Within, x: Example, y: float, score: float) -> bool:
        """Add the gradient to the task's sum, after a finished task has updated the bias."""
        k, current = x.task, state.current
        if current.has_ended(x):
            step = self.eta / current.n[0]
            for j in range(state.theta.size):
                state.theta[j] -= step * current.G[j]
            current.forget()
        s = slope(self.loss, y, score)
        axpy(s, x, state.S[k])
        current.add_gradient(s, x)
        state.seen[k] += 1.0
        return s != 0.0
