"""Active learning from peers: if a task is unsure, it asks other tasks, then queries the label.

PEER is algorithm 1 of Murugesan and Carbonell (NIPS 2017), as Shen, Zhang and Xu (2018, "Humble
Active Learning from Peers for Personalization", section 4.1) print it, and HUMBLE is algorithm 2 of
the latter. Of the first paper, we had only that description and its program (keerthi166/peer-amtl).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.distributions import normalise
from omtl.kernel.losses import hinge
from omtl.kernel.products import axpy, dot, rescale
from omtl.kernel.random_numbers import seeded, uniform
from omtl.kernel.rules import Example, Shape


class Trusted(NamedTuple):
    """The tasks' weights, and how much they trust each other.

    Parameters
    ----------
    w : ndarray of shape (n_tasks, n_features)
    tau : ndarray of shape (n_tasks, n_tasks)
        How much task k trusts task m, ``tau[k, m]``.
    p : ndarray of shape (n_tasks,)
        p_km = w_m·x of the last example.
    asked, peers, wrong : ndarray of shape (n_tasks,), int64
        Labels queried, peers' answers used for learning, and wrong answers: the peers' if they
        answered, else the task's own.
    random : ndarray of shape (1,), uint64
    """

    w: np.ndarray
    tau: np.ndarray
    p: np.ndarray
    asked: np.ndarray
    peers: np.ndarray
    wrong: np.ndarray
    random: np.ndarray

    @classmethod
    def without_weights(cls, shape: Shape, tau: np.ndarray) -> Trusted:
        """Return zero weights of tasks that trust each other by this much."""
        K = shape.n_tasks
        w, p = np.zeros((K, shape.n_features)), np.zeros(K)
        asked, peers, wrong = np.zeros((3, K), dtype=np.int64)
        return cls(w, tau, p, asked, peers, wrong, seeded(shape.seed))

    def ask_all(self, x):
        """Take the products p_km of the example with all tasks' weights."""
        for m in range(self.p.size):
            self.p[m] = dot(self.w[m], x)

    def is_sure(self, b, answer):
        """Return False with probability b / (b + |answer|): a question is due."""
        return uniform(self) * (b + abs(answer)) > b

    def is_spent(self, budget):
        """Whether as many labels were asked for as may be."""
        return self.asked.sum() >= budget


class Peer(NamedTuple):
    """PEER (Shen et al. 2018, algorithm 1, after Murugesan and Carbonell 2017).

    Objective, few mistakes with few labels, by perceptrons of the K tasks:

        min_w Σ_t max(0, −y_t w_k·x_t),  p_km = w_m·x

    Update, on whatever label is learnt from, after at most two questions:

        P(ask the peers) = b₁ / (b₁ + |p_kk|),  p̃ = Σ_{m ≠ k} τ_km p_km
        P(then query y) = b₂ / (b₂ + |p̃|)
        w_k ← w_k + y x  if y was queried and the prediction is wrong
        w_k ← w_k + sign(p̃) x  if the peers were asked and y was not queried
        τ_km ∝ τ_km exp(−ℓ_km / λ)  for m ≠ k if y was queried,  ℓ_km = max(0, 1 − y p_km)

    The prediction is the sign of p_kk. If `single`, p̃ is the p_km of the most trusted peer.

    Cost per example: O(nonzeros), and O(n_tasks · nonzeros) if peers are asked.

    Parameters
    ----------
    b1, b2 : float in (0, inf)
        Sampling parameters > 0 for a task's own answer and for its peers'.
    lam : float in [0, inf)
        λ > 0; 0 for the sum of the ℓ_km, as in the authors' program.
    on_mistakes : bool
        Whether to update τ only if the prediction was wrong, as in the program.
    single : bool
        Whether the most trusted peer answers alone (the first in a tie).
    budget : float in [0, inf]
        Labels that may be asked for, by all tasks together.
    stops : bool
        Whether learning ends with the last of them, as in the program; peers still teach after it
        in section 5.1.

    Estimator
    ---------
    defaults : b1 = 1.0, b2 = 1.0
    takes : random_state
    cites : murugesan2017active, shen2018humble
    """

    b1: float
    b2: float
    lam: float = 0.0
    on_mistakes: bool = False
    single: bool = False
    budget: float = math.inf
    stops: bool = False

    def new_state(self, shape: Shape) -> Trusted:
        """Return zero weights of tasks that trust all others equally."""
        K = shape.n_tasks
        return Trusted.without_weights(shape, (np.ones((K, K)) - np.eye(K)) / max(K - 1, 1))

    def score(self, state: Trusted, x: Example) -> float:
        """Return p_kk."""
        return dot(state.w[x.task], x)

    def update(self, state: Trusted, x: Example, y: float, score: float) -> bool:
        """Ask the peers, query the label, and learn from the answer."""
        k, K = x.task, state.p.size
        mistaken = not y * score > 0.0
        sure, is_over = state.is_sure(self.b1, score), self.stops and state.is_spent(self.budget)
        if is_over or sure:
            state.wrong[k] += mistaken
            return False
        state.ask_all(x)
        answer, most = 0.0, -1.0
        for m in range(K):
            if m != k and not self.single:
                answer += state.tau[k, m] * state.p[m]
            elif m != k and state.tau[k, m] > most:
                answer, most = state.p[m], state.tau[k, m]
        if state.is_sure(self.b2, answer):
            label = 1.0 if answer >= 0.0 else -1.0
            state.peers[k] += 1
            state.wrong[k] += label != y
            axpy(label, x, state.w[k])
            return True
        state.wrong[k] += mistaken
        if state.is_spent(self.budget):
            return False
        state.asked[k] += 1
        if mistaken:
            axpy(y, x, state.w[k])
        if mistaken or not self.on_mistakes:
            self.trust(state, k, y)
        return mistaken

    def findings(self, state: Trusted) -> dict[str, np.ndarray]:
        """Return the labels queried, the peers' answers used, and wrong answers."""
        return {"asked": state.asked, "peers": state.peers, "wrong": state.wrong}

    def trust(self, state, k, y):
        """Make τ_km proportional to τ_km exp(−ℓ_km / λ), m ≠ k; τ_kk is 0."""
        lam = self.lam
        if lam == 0.0:
            for m in range(state.p.size):
                lam += hinge(y, state.p[m]) if m != k else 0.0
        if lam > 0.0:
            for m in range(state.p.size):
                state.tau[k, m] *= math.exp(-hinge(y, state.p[m]) / lam)
            normalise(state.tau[k], state.tau[k])


class Humble(NamedTuple):
    """HUMBLE (Shen et al. 2018, algorithm 2): tasks always answer together.

    Objective, few mistakes of the common answer p with few labels:

        min Σ_t 1[y_t p_t ≤ 0],  p = Σ_m τ_km p_km,  p_km = w_m·x

    Update, if the label y is queried; that of w_k only if the prediction is wrong:

        P(query y) = b / (b + |p|)
        w_k ← w_k + y x
        τ_km ∝ τ_km exp(−C ℓ_km)  for all m,  ℓ_km = max(0, 1 − y p_km)

    Cost per example: O(n_tasks · nonzeros).

    Parameters
    ----------
    b : float in (0, inf)
        Sampling parameter b > 0.
    C : float in [0, inf)
        How fast trust is lost, C ≥ 0.
    scaled : bool
        As the authors' program: the τ_km add up to K instead of 1, and the ℓ_km are at most 2 and
        divided by their sum.
    budget : float in [0, inf]
        Labels that may be asked for, by all tasks together; nothing is learnt after them.

    Estimator
    ---------
    defaults : b = 1.0, C = 3.4011973816621555
    takes : random_state
    cites : shen2018humble
    """

    b: float
    C: float
    scaled: bool = False
    budget: float = math.inf

    def new_state(self, shape: Shape) -> Trusted:
        """Return zero weights of tasks that trust all equally."""
        K = shape.n_tasks
        return Trusted.without_weights(shape, np.full((K, K), 1.0 if self.scaled else 1.0 / K))

    def score(self, state: Trusted, x: Example) -> float:
        """Return p."""
        state.ask_all(x)
        total = 0.0
        for m in range(state.p.size):
            total += state.tau[x.task, m] * state.p[m]
        return total

    def update(self, state: Trusted, x: Example, y: float, score: float) -> bool:
        """Query the label or not, and learn from it."""
        k, K = x.task, state.p.size
        mistaken = not y * score > 0.0
        state.wrong[k] += mistaken
        if state.is_sure(self.b, score) or state.is_spent(self.budget):
            return False
        state.asked[k] += 1
        if mistaken:
            axpy(y, x, state.w[k])
        most, in_all = (2.0, float(K)) if self.scaled else (math.inf, 1.0)
        unit, total = 0.0, 0.0
        if self.scaled:
            for m in range(K):
                unit += min(most, hinge(y, state.p[m]))
        for m in range(K):
            loss = min(most, hinge(y, state.p[m])) / (unit or 1.0)
            state.tau[k, m] *= math.exp(-self.C * loss)
            total += state.tau[k, m]
        if total > 0.0:
            rescale(state.tau[k], in_all / total)
        return mistaken

    def findings(self, state: Trusted) -> dict[str, np.ndarray]:
        """Return the labels queried, and wrong answers."""
        return {"asked": state.asked, "wrong": state.wrong}
