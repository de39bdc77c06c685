"""Multi-task gradient descent with a Hedge over the strength of sharing (ours, on MT-OGD).

MT-OGD is multi-task online gradient descent (Cesa-Bianchi, Laforgue, Paudice, Pontil, Multitask
Online Mirror Descent, TMLR 2022). We did not have their text: what we say about it is general
knowledge, and the way the experts share their gradients is ours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.distributions import exponential_weights
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape
from omtl.util.errors import UserError


class Experts(NamedTuple):
    """Sums of steps that all experts share, and Hedge's statistics of each expert.

    Parameters
    ----------
    own, shared : ndarray of shape (n_tasks, n_features), (n_features,)
        s^k = Σ η_t y x over the steps of task k, and s = Σ_k s^k.
    scores, loss, p : ndarray of shape (n_experts,)
        Each expert's last answer, its linear losses so far, and its weight.
    steps, spread : ndarray of shape (1,)
        Number of examples so far; Σ (largest − smallest loss)².
    """

    own: np.ndarray
    shared: np.ndarray
    scores: np.ndarray
    loss: np.ndarray
    p: np.ndarray
    steps: np.ndarray
    spread: np.ndarray

    def charge(self, y):
        """Charge the experts −y times their answers, and reweight them."""
        least = most = -y * self.scores[0]
        for j in range(self.p.size):
            loss = -y * self.scores[j]
            self.loss[j] += loss
            least, most = min(least, loss), max(most, loss)
        self.spread[0] += (most - least) * (most - least)
        if self.spread[0] != 0.0:
            gamma = math.sqrt(math.log(self.p.size) / self.spread[0])
            exponential_weights(self.p, self.loss, gamma)


class HedgedMultiTask(NamedTuple):
    """MT-OGD on the hinge loss, with Hedge over the strength b of sharing.

    Objective of each step of expert j of E from w', for K tasks, in a norm of the expert's own:

        min_w ½ Σ_{i,l} (A_j)_{i,l} (w_i − w'_i)·(w_l − w'_l) − η_t y w_k·x
        A_j⁻¹ = (1 − c_j) I + c_j 11ᵀ / K,  c_j = 0, 1/(E−1), ..., 1

    Update, with the gradient −y x at the common answer Σ_j p_j w_j^k·x, shared by all experts:

        s^k ← s^k + η y x / √t,  s = Σ_k s^k
        w_j^k = ((1 − c_j) s^k + c_j s / K) / (1 − c_j + c_j / K)
        p_j ∝ exp(−γ_t L_j),  L_j = Σ −y w_j^k·x over the steps
        γ_t = √(ln E / Σ (max_j ℓ_j − min_j ℓ_j)²)

    A_j is the matrix of the multi-task perceptron, (A⁻¹)_{i,k} = (b + K δ_ik) / ((1 + b) K), with c
    = b / (1 + b): from tasks that learn alone to one vector for all. A step is divided by
    (A_j⁻¹)_{k,k}, so that all experts move the example's task by the same amount. Hedge needs no
    rate to be tuned.

    Cost per example: O(nonzeros + n_experts).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    n_experts : int in [2, inf)
        Number of strengths E ≥ 2.

    Estimator
    ---------
    defaults : eta = 1.0
    cites : cesabianchi2022multitask
    """

    eta: float
    n_experts: int = 9

    def new_state(self, shape: Shape) -> Experts:
        """Return zero weights, and experts of equal weight."""
        E = self.n_experts
        if E < 2:
            raise UserError(f"n_experts={E} must be at least 2: tasks alone, and all as one")
        return Experts(
            own=np.zeros((shape.n_tasks, shape.n_features)),
            shared=np.zeros(shape.n_features),
            scores=np.zeros(E),
            loss=np.zeros(E),
            p=np.full(E, 1.0 / E),
            steps=np.zeros(1),
            spread=np.zeros(1),
        )

    def score(self, state: Experts, x: Example) -> float:
        """Return Σ_j p_j w_j^k·x."""
        K = state.own.shape[0]
        own = dot(state.own[x.task], x)
        others = dot(state.shared, x) - own
        total = 0.0
        for j in range(self.n_experts):
            c = j / (self.n_experts - 1)
            state.scores[j] = own + c / K / (1.0 - c + c / K) * others
            total += state.p[j] * state.scores[j]
        return total

    def update(self, state: Experts, x: Example, y: float, score: float) -> bool:
        """Take a step of all experts if the hinge loss is positive, and reweight them."""
        state.steps[0] += 1.0
        if y * score >= 1.0:
            return False
        eta = self.eta / math.sqrt(state.steps[0])
        axpy(eta * y, x, state.own[x.task])
        axpy(eta * y, x, state.shared)
        state.charge(y)
        return True

    def findings(self, state: Experts) -> dict[str, np.ndarray]:
        """Return the weights of the experts."""
        return {"p": state.p}
