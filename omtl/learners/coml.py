"""Collaborative online multi-task learning (Li, Hoi, Chang, Liu, Jain, TKDE 2014)."""

from __future__ import annotations

from typing import NamedTuple

from omtl.kernel.pulled import Pulled
from omtl.kernel.rules import Example, Shape


class COML(NamedTuple):
    """COML (Li et al. 2014): a global vector w, and a personal vector u_k that predicts for task k.

    Objective of each step, if u_k has a positive hinge loss ℓ(u) = max(0, 1 − y u·x):

        min_u  μ/2 ‖u − w‖² + (1 − μ)/2 ‖u − u_k‖² + C ℓ(u)

    Update, which is a passive-aggressive step from the point v, and one of w with its own loss:

        v = μ w + (1 − μ) u_k
        u_k ← v + min(C, ℓ(v) / ‖x‖²) y x
        w ← w + min(C, ℓ(w) / ‖x‖²) y x

    μ = λ₁ / (λ₁ + λ₂) of the original's two weights, and C is in units of their sum. This follows
    the descriptions in the ROM and DOM papers, which do not say whether u_k changes when it has no
    loss; with ``every_round`` it does, and moves towards w by μ.

    Cost per example: O(nonzeros) on dense rows, O(n_tasks · nonzeros) on sparse ones.

    Parameters
    ----------
    C : float in (0, inf]
        Aggressiveness of both steps, C > 0.
    mu : float in [0, 1)
        How far a personal vector moves towards the global one at each step.
    every_round : bool
        Whether a personal vector moves towards the global one even when it has no loss.

    Estimator
    ---------
    defaults : C = 1.0, mu = 0.5
    cites : li2014collaborative
    """

    C: float
    mu: float
    every_round: bool = False

    def new_state(self, shape: Shape) -> Pulled:
        """Return zero weights."""
        return Pulled.zeros(shape)

    def score(self, state: Pulled, x: Example) -> float:
        """Return u^k·x."""
        return state.dot(x.task, x)

    def update(self, state: Pulled, x: Example, y: float, score: float) -> bool:
        """Take the personal step, then the global one."""
        common = state.W.products[state.pull.size]
        changed = False
        if self.every_round or y * score < 1.0:
            changed = y * score < 1.0 or self.mu > 0.0
            loss = 1.0 - y * (self.mu * common + (1.0 - self.mu) * score)
            step = min(self.C, loss / x.square_norm) if loss > 0.0 else 0.0
            state.pull_and_add(x.task, self.mu, y * step, x)
        loss = 1.0 - y * common
        if loss > 0.0:
            changed = True
            state.add_to_common(self.mu, y * min(self.C, loss / x.square_norm), x)
        return changed
