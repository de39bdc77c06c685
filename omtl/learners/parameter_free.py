"""Parameter-free learning of a bias for many tasks (Denevi, Stamos, Pontil, UAI 2020)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.losses import HINGE, slope
from omtl.kernel.rules import Example, Shape
from omtl.kernel.vectors import Bank

NEWTON = 2.0 / (2.0 - math.log(3.0))
"""Step of the refined estimator, whose bets are at most 1/2 (Cutkosky and Orabona 2018, alg. 1)."""


class Bets(NamedTuple):
    """Vectors p v, each a direction v in the unit ball and a magnitude p = b u (algorithms 1, 2).

    Parameters
    ----------
    v : Bank
        Directions.
    b, u : ndarray of shape (n,)
        Betting fractions and wealths.
    seen : ndarray of shape (n,)
        Numbers of examples.
    squares : ndarray of shape (n,)
        1 + Σ h², of the refined estimator.
    """

    v: Bank
    b: np.ndarray
    u: np.ndarray
    seen: np.ndarray
    squares: np.ndarray

    @classmethod
    def zeros(cls, n: int, shape: Shape, wealth: float) -> Bets:
        """Return `n` zero vectors."""
        v = Bank.zeros(n, shape, normed=True)
        return cls(v, np.zeros(n), np.full(n, wealth), np.zeros(n), np.ones(n))

    def dot(self, k, x):
        """Return p v·x."""
        return self.b[k] * self.u[k] * self.v.dot(k, x)

    def next_fraction(self, k, gain, refined):
        """Return the betting fraction after another gain (step 4b)."""
        if not refined:
            i = self.seen[k] + 1.0
            return ((i - 1.0) * self.b[k] + gain) / i
        h = gain / (1.0 + gain * self.b[k])
        return min(0.5, max(-0.5, self.b[k] + NEWTON * h / (self.squares[k] + h * h)))

    def wager(self, k, gain, refined):
        """Update a direction's magnitude by its gain −⟨g, v⟩ / (L R) (steps 4a to 4c)."""
        b = self.next_fraction(k, gain, refined)
        if refined:
            h = gain / (1.0 + gain * self.b[k])
            self.squares[k] += h * h
        self.u[k] += gain * self.b[k] * self.u[k]
        self.b[k] = b
        self.seen[k] += 1.0

    def pay(self, k, s, x, lipschitz, refined):
        """Learn from the gradient g = s x of the loss."""
        gain = -s * self.v.product[k] / lipschitz
        step = s * math.sqrt(2.0 / (self.seen[k] + 1.0)) / lipschitz
        self.v.projected_step(k, step, x)  # step 3b
        self.wager(k, gain, refined)


class Biased(NamedTuple):
    """The tasks' vectors w_k − θ, and θ itself."""

    own: Bets
    bias: Bets


class ParameterFree(NamedTuple):
    """The aggressive variant, which moves the bias with each example (Denevi et al. 2020, alg. 4).

    Objective, losses of vectors near a common bias θ, each a magnitude times a direction:

        min Σ_t ℓ_t(w_k·x_t),  w_k = θ + p_k v_k,  θ = P V,  ‖v_k‖, ‖V‖ ≤ 1

    Update of both pairs (v, p) after i of their examples, with the gradient g = s x of the loss:

        v ← proj(v − √(2/i) g / (L R))
        u ← u − ⟨g, v⟩ p / (L R)
        b ← ((i − 1) b − ⟨g, v⟩ / (L R)) / i
        p = b u

    Directions take projected subgradient steps, and the estimator of Krichevsky and Trofimov bets
    each magnitude. If `refined`, the fraction b is that of their program and figures, an online
    Newton step: with h = a / (1 − a b) of a = ⟨g, v⟩ / (L R), b ← clip(b − 2 / (2 − ln 3) h / (1 +
    Σ h²), ±½).

    Their tasks come one after the other; here they may come in any order. There is nothing to tune
    if L and R are known: the loss is L-Lipschitz, and rows have norms of at most R.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    lipschitz : float in (0, inf)
        L R: 1 for the hinge and the absolute loss on rows of norm 1.
    wealth : float in (0, inf)
        Initial wealth e of each task's bets; the bound hardly depends on it.
    bias_wealth : float in (0, inf)
        Initial wealth E of the bias's bets.
    loss : int
        As in `omtl.kernel.losses`: 0 the hinge, 1 the absolute, 2 the square loss.
    shared : bool
        Whether to learn the bias; otherwise θ = 0 and tasks learn alone (their algorithm 3, "ITL").
    refined : bool
        Whether the Newton step bets magnitudes, or the estimator of Krichevsky and Trofimov ("KT").

    Estimator
    ---------
    cites : denevi2020online
    """

    lipschitz: float = 1.0
    wealth: float = 1.0
    bias_wealth: float = 1.0
    loss: int = HINGE
    shared: bool = True
    refined: bool = False

    def with_loss(self, loss: int) -> ParameterFree:
        """Return the same learner with another loss, which also allows real targets."""
        return self._replace(loss=loss)

    def new_state(self, shape: Shape) -> Biased:
        """Return zero weights."""
        own = Bets.zeros(shape.n_tasks, shape, self.wealth)
        return Biased(own, Bets.zeros(1, shape, self.bias_wealth))

    def score(self, state: Biased, x: Example) -> float:
        """Return w_k·x."""
        own = state.own.dot(x.task, x)
        return own + (state.bias.dot(0, x) if self.shared else 0.0)

    def update(self, state: Biased, x: Example, y: float, score: float) -> bool:
        """Update the task's own vector and the bias."""
        s = slope(self.loss, y, score)
        state.own.pay(x.task, s, x, self.lipschitz, self.refined)
        if self.shared:
            state.bias.pay(0, s, x, self.lipschitz, self.refined)
        return s != 0.0
