"""Online relationship learning by ADMM (Li, Zhao, Li, Xu, Li, Neurocomputing 611, 2025).

The weights of task k are w_k = u + v_k under multipliers z_k: u is common, v_k the task's own, and
Ω is a relation learnt from V. We had the authors' program (Alberta-Lee/NC-24 at 2f1c9e5), not the
paper; the rules here are the program's. It learns from mistakes only, and a score of 0 predicts +1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape, rules_of
from omtl.kernel.small_matrices import diagonalise

NO_DIRECTION = 1e-7
"""A singular value of V below this share of the largest counts as 0 in Ω⁺."""


class Parts(NamedTuple):
    """W, V and Z of each node, before a round and in it: (n_nodes, 3, n_tasks, n_features).

    `related` has each node's Ω⁺; `u`, `steps` and `met` its u, −g_k, and whether task k steps.
    """

    sent: np.ndarray
    own: np.ndarray
    related: np.ndarray
    u: np.ndarray
    steps: np.ndarray
    met: np.ndarray
    mixing: np.ndarray
    work: np.ndarray

    @classmethod
    def without_weights(cls, shape: Shape, mixing: np.ndarray) -> Parts:
        """Return zero weights of unrelated tasks at each node."""
        n, K, d = len(mixing), shape.n_tasks, shape.n_features
        sent, own = np.zeros((2, n, 3, K, d))
        related = K * np.repeat(np.eye(K)[None], n, axis=0)
        u, steps, met = np.zeros((n, d)), np.zeros((n, K, d)), np.zeros((n, K), dtype=np.bool_)
        return cls(sent, own, related, u, steps, met, mixing, np.zeros((2, K, K)))

    def step(self, admm, i):
        """Take the steps of the tasks that node i has met; u is used, and then the new one."""
        W, V, Z, u = self.own[i, 0], self.own[i, 1], self.own[i, 2], self.u[i]
        related, steps, met = self.related[i], self.steps[i], self.met[i]
        K, rho, lam = W.shape[0], admm.rho, admm.lam1 + admm.lam3
        of_u = lam / (lam * (admm.lam2 + rho * K) + admm.lam2 * rho)
        of_v = admm.lam2 / (admm.lam2 * (lam + rho) + rho * K * lam)
        for f in range(u.size):
            total = 0.0
            for k in range(K):
                if met[k]:
                    pulled = admm.eta * W[k, f] + rho * (u[f] + V[k, f]) - Z[k, f]
                    W[k, f] = (pulled + steps[k, f]) / (rho + admm.eta)
                total += Z[k, f] + rho * W[k, f]
                steps[k, f] = 0.0
                for j in range(K):
                    steps[k, f] += admm.lam4 * related[k, j] * V[j, f]
            u[f] = of_u * total
            for k in range(K):
                if met[k]:
                    V[k, f] = of_v * (Z[k, f] + rho * W[k, f]) + steps[k, f]
                    Z[k, f] += rho * (W[k, f] - u[f] - V[k, f])
                steps[k, f] = 0.0

    def relate(self, node):
        """Write Ω⁺, the pseudo-inverse of (VᵀV)^½ / tr((VᵀV)^½); V = 0 leaves it as it is."""
        V, related = self.own[node, 1], self.related[node]
        gram, vectors = self.work[0], self.work[1]
        K = V.shape[0]
        for j in range(K):
            for k in range(K):
                gram[j, k] = 0.0
                for f in range(V.shape[1]):
                    gram[j, k] += V[j, f] * V[k, f]
        diagonalise(gram, vectors)
        largest, trace = 0.0, 0.0
        for k in range(K):
            gram[k, k] = math.sqrt(max(0.0, gram[k, k]))
            largest, trace = max(largest, gram[k, k]), trace + gram[k, k]
        for i in range(K if largest > 0.0 else 0):
            for j in range(K):
                related[i, j] = 0.0
                for k in range(K):
                    if gram[k, k] > NO_DIRECTION * largest:
                        related[i, j] += trace * vectors[i, k] * vectors[j, k] / gram[k, k]


class CADMM(NamedTuple):
    """C-ADMM, the centralised form (the program's ``multi_task.py``): one step per round.

    Objective of the steps for w, u and v (we had the program, not the paper's text):

        min Σ_t max(0, −y_t w_k·x_t) + λ₂/2 ‖u‖² + λ/2 Σ_k ‖v_k‖²  subject to  w_k = u + v_k,
        λ = λ₁ + λ₃

    Update, with multipliers z_k, for K tasks and all k; g_k = −y x if task k errs, and 0 otherwise:

        w_k ← (η w_k + ρ (u + v_k) − g_k − z_k) / (ρ + η)
        u ← λ Σ_k (z_k + ρ w_k) / (λ (λ₂ + ρ K) + λ₂ ρ)
        v_k ← λ₂ (z_k + ρ w_k) / (λ₂ (λ + ρ) + ρ K λ) + λ₄ (V Ω⁺)_k
        z_k ← z_k + ρ (w_k − u − v_k)
        Ω ← (VᵀV)^½ / tr((VᵀV)^½),  at first I/K

    Cost per example: its part of a round's O(n_tasks² · n_features + n_tasks³).

    Parameters
    ----------
    rho : float in (0, inf)
        ρ > 0, the penalty on w_k − u − v_k.
    eta : float in (0, inf)
        η > 0, how near w_k stays to itself: 1/(ρ + η) is the learning rate.
    lam1, lam2, lam3, lam4 : float in [0, inf)
        λ₁ to λ₄ ≥ 0; λ₁ and λ₃ count through their sum.

    Estimator
    ---------
    defaults : rho = 0.5, eta = 240.0, lam1 = 0.1, lam2 = 20.0, lam3 = 0.1, lam4 = 0.1
    takes : rounds
    cites : li2025online
    """

    rho: float
    eta: float
    lam1: float
    lam2: float
    lam3: float
    lam4: float

    def new_state(self, shape: Shape) -> Parts:
        """Return zero weights in one place."""
        return Parts.without_weights(shape, np.ones((1, 1)))

    def score(self, state: Parts, x: Example) -> float:
        """Return w_k·x."""
        return dot(state.own[0, 0, x.task], x)

    def update(self, state: Parts, x: Example, y: float, score: float) -> bool:
        """Keep −g_k until the end of the round."""
        if (score >= 0.0) == (y > 0.0):
            return False
        axpy(y, x, state.steps[0, x.task])
        return True

    def close_round(self, state: Parts, rows: Any) -> None:  # noqa: ARG002
        """Take the steps of all tasks."""
        state.met[0, :] = True
        state.step(self, 0)
        state.relate(0)


@rules_of(CADMM)
class DADMM(NamedTuple):
    """D-ADMM, on a network (the program's ``admm.py``): each node steps for its example's task.

    Objective, that of `CADMM` at every node, whose weights the network draws together:

        min Σ_t max(0, −y_t w_k·x_t) + λ₂/2 ‖u‖² + λ/2 Σ_k ‖v_k‖²  subject to  w_k = u + v_k

    Update of node i with its neighbours j and their weights a_ij, which it then predicts with:

        (W_i, V_i, Z_i) ← Σ_j a_ij (W_j, V_j, Z_j)

    Then it takes the steps of `CADMM` for the task k of its example alone, with u = 0 in the step
    of w_k, as in the program. There nodes run on clocks of their own and average their neighbours
    without themselves; here all take part in a round, with the network's weights.

    Cost per example: its part of a round's
    O(n_nodes · (n_links + n_tasks²) · n_features + n_nodes · n_tasks³).

    Parameters
    ----------
    rho : float in (0, inf)
        ρ > 0, the penalty on w_k − u − v_k.
    eta : float in (0, inf)
        η > 0, how near w_k stays to itself: 1/(ρ + η) is the learning rate.
    lam1, lam2, lam3, lam4 : float in [0, inf)
        λ₁ to λ₄ ≥ 0; λ₁ and λ₃ count through their sum.

    Estimator
    ---------
    defaults : rho = 5.0, eta = 70.0, lam1 = 0.01, lam2 = 0.01, lam3 = 0.01, lam4 = 0.01
    takes : network, rounds
    cites : li2025online
    """

    rho: float
    eta: float
    lam1: float
    lam2: float
    lam3: float
    lam4: float

    def new_state(self, shape: Shape) -> Parts:
        """Return zero weights at every node."""
        shape.require_a_node_a_task("D-ADMM")
        return Parts.without_weights(shape, np.ascontiguousarray(shape.mixing))

    def open_round(self, state: Parts, rows: Any) -> None:  # noqa: ARG002
        """Let each node combine its neighbours' W, V and Z."""
        own, sent, mixing = state.own, state.sent, state.mixing
        for i, part, k, f in np.ndindex(own.shape):
            own[i, part, k, f] = 0.0
            for j in range(len(mixing)):
                if mixing[i, j] != 0.0:
                    own[i, part, k, f] += mixing[i, j] * sent[j, part, k, f]

    def score(self, state: Parts, x: Example) -> float:
        """Return w_k·x at the node."""
        return dot(state.own[x.node, 0, x.task], x)

    def update(self, state: Parts, x: Example, y: float, score: float) -> bool:
        """Keep −g_k until the end of the round, and which task the node has met."""
        state.met[x.node, x.task] = True
        if (score >= 0.0) == (y > 0.0):
            return False
        axpy(y, x, state.steps[x.node, x.task])
        return True

    def close_round(self, state: Parts, rows: Any) -> None:  # noqa: ARG002
        """Take the steps of the tasks that each node has met, and send all nodes' vectors."""
        for i in range(len(state.mixing)):
            if state.met[i].any():
                state.u[i] = 0.0
                state.step(self, i)
                state.relate(i)
            state.met[i, :] = False
        for i, part, k, f in np.ndindex(state.own.shape):
            state.sent[i, part, k, f] = state.own[i, part, k, f]
