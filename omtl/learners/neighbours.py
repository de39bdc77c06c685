"""Decentralised multi-task learning among neighbours (after Achddou, Cesa-Bianchi, Laforgue 2024).

Of MT-CO₂OL ("Multitask Online Learning: Listen to the Neighborhood Buzz", AISTATS 2024) we had only
the abstract and summaries: this follows general knowledge of it, and has its form, not its
constants.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.rules import Example, Shape
from omtl.kernel.side_by_side import SideBySide


class Neighbourhoods(NamedTuple):
    """The agents' sums of steps, their weights for each other, and their numbers of examples."""

    s: SideBySide
    M: np.ndarray
    seen: np.ndarray


def worth(mixing: np.ndarray, b: float) -> np.ndarray:
    """Return M_ik = Σ_j a_ij a_kj (A_j⁻¹)_ik over the neighbourhoods j of both i and k.

    A_j⁻¹ = (I + b 11ᵀ / N_j) / (1 + b) for the N_j agents k with a_kj > 0.
    """
    member = (mixing > 0.0).astype(np.float64)
    sizes = member.sum(axis=0)
    together = (mixing / sizes) @ mixing.T
    return (np.diag((mixing**2).sum(axis=1)) + b * together) / (1.0 + b)


class NeighbourhoodMT(NamedTuple):
    """Each neighbourhood runs MT-OGD, and each agent combines its neighbourhoods.

    Objective, the hinge losses of all agents, where agent i has task i:

        min_w Σ_t ℓ(w_i; x_t, y_t),  ℓ(w; x, y) = max(0, 1 − y w·x)

    Update after the t-th example of agent k, if it has a loss, and the weights of each agent i:

        s_k ← s_k + η y x / √t
        w_i = Σ_k M_ik s_k,  M_ik = Σ_j a_ij a_kj (A_j⁻¹)_{i,k}
        A_j⁻¹ = (I + b 11ᵀ / N_j) / (1 + b)

    Neighbourhood j, of N_j agents, is run by agent j for those i with a_ij > 0, by MT-OGD with A_j:
    it receives a_ij g for each gradient g of agent i, and returns X_j,i = −Σ (A_j⁻¹)_{i,k} a_kj η_t
    g. Agent i predicts by w_i = Σ_j a_ij X_j,i. M is scaled to a mean diagonal of 1. Only agents
    with a common neighbourhood have M_ik > 0: knowledge travels over at most two links.

    Cost per example: O(n_tasks · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    b : float in [0, inf)
        Assumed similarity of a neighbourhood's tasks, b ≥ 0: 0 for none.

    Estimator
    ---------
    defaults : eta = 0.1, b = 4.0
    takes : network, rounds
    cites : achddou2024multitask
    """

    eta: float
    b: float

    def new_state(self, shape: Shape) -> Neighbourhoods:
        """Return zero weights."""
        K = shape.n_tasks
        shape.require_a_node_a_task("NeighbourhoodMT")
        M = worth(shape.mixing, self.b)
        return Neighbourhoods(SideBySide.zeros(K, shape), M / M.diagonal().mean(), np.zeros(K))

    def score(self, state: Neighbourhoods, x: Example) -> float:
        """Return w_i·x."""
        state.s.dot_all(x)
        total = 0.0
        for k in range(state.seen.size):
            total += state.M[x.task, k] * state.s.products[k]
        return total

    def update(self, state: Neighbourhoods, x: Example, y: float, score: float) -> bool:
        """Take the gradient step for this example."""
        k = x.task
        state.seen[k] += 1.0
        if y * score >= 1.0:
            return False
        state.s.add_own(self.eta * y / math.sqrt(state.seen[k]), x)
        return True
