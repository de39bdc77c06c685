"""Robust online multi-task learning (Zhang, Zhao, Hao, Soh, Lee, ICDM 2016, "ROM").

The weights of task i are w^i = u + p^i + q^i: a part shared by all tasks, a part of the task's own,
and an outlier part that a group lasso keeps at zero if possible (section II.B). Each round has at
most one example of each task; u is fixed during the round and learns from all of them at its end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.deferred import Steps
from omtl.kernel.rules import Example, Shape
from omtl.kernel.sharing import shareable
from omtl.kernel.vectors import Bank


class Weights(NamedTuple):
    """The state of ROM-PGD: w^i = u + p^i + q^i, and the round's examples with a loss.

    Parameters
    ----------
    u : Bank
        One vector, shared by all tasks.
    p, q : Bank
        One vector for each task; the norms of `q`, which a group lasso shortens, are tracked.
    given : Steps
        By task, the label and the row from which u learns at the end of the round.
    """

    u: Bank
    p: Bank
    q: Bank
    given: Steps


def step_of_u(eta, alpha, n_tasks):
    """Return η/m and 1 + α η/m: u ← (u + η/m Σ_i y x) / (1 + α η/m) (eq. 6)."""
    return eta / n_tasks, 1.0 + alpha * (eta / n_tasks)


def step_of_p(eta, beta):
    """Return η and 1 + β η: p^i ← (p^i + η y x) / (1 + β η) (eq. 7)."""
    return eta, 1.0 + beta * eta


def step_of_q(eta, gamma):
    """Return η and η γ: q̂ = q^i + η y x, q^i ← max(0, 1 − η γ / ‖q̂‖) q̂ (eqs. 8 and 10)."""
    return eta, eta * gamma


@shareable(u=step_of_u, p=step_of_p, q=step_of_q, unless="every_round")
class ROMPGD(NamedTuple):
    """ROM-PGD (ROM paper, section II.C, algorithm 1): proximal gradient steps.

    Objective, with the weights w_i = u + p_i + q_i of task i of m, and the hinge loss ℓ:

        min Σ_t Σ_i ℓ(w_i; x_i, y_i) + α/2 ‖u‖² + β/2 Σ_i ‖p_i‖² + γ Σ_i ‖q_i‖

    Update of p_i and q_i if task i has a loss, and of u at the end of each round:

        p_i ← (p_i + η y x) / (1 + β η)                                   (eq. 7)
        q̂ = q_i + η y x,  q_i ← max(0, 1 − η γ / ‖q̂‖) q̂                   (eqs. 8 and 10)
        u ← (u + η/m Σ_i y_i x_i) / (1 + α η / m), the sum over losses    (eq. 6)

    So q_i is zero unless the task needs it: then the task is an outlier. u shrinks in every round.
    With `every_round`, p_i and q_i also take their steps in every round, with gradient 0 if there
    is no loss, as in eqs. 3 to 5, which lemma 2 is about, but not as in algorithm 1.

    Cost per example: O(nonzeros), amortised; per round: O(n_tasks).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    alpha, beta : float in [0, inf)
        Weights α, β ≥ 0 of ½‖u‖² and of ½‖p_i‖².
    gamma : float in [0, inf)
        Weight γ ≥ 0 of the group lasso ‖q_i‖.
    every_round : bool
        Whether p and q also shrink in rounds without loss.

    Estimator
    ---------
    defaults : eta = 0.1, alpha = 0.01, beta = 0.1, gamma = 0.1
    takes : rounds
    cites : zhang2016rom
    """

    eta: float
    alpha: float
    beta: float
    gamma: float
    every_round: bool = False

    def new_state(self, shape: Shape) -> Weights:
        """Return zero weights."""
        m = shape.n_tasks
        u, p, q = Bank.zeros(1, shape), Bank.zeros(m, shape), Bank.zeros(m, shape, normed=True)
        return Weights(u, p, q, Steps.none(m))

    def score(self, state: Weights, x: Example) -> float:
        """Return (u + p^i + q^i)·x."""
        shared = state.u.dot(0, x)
        return shared + state.p.dot(x.task, x) + state.q.dot_unless_zero(x.task, x)

    def update(self, state: Weights, x: Example, y: float, score: float) -> bool:
        """Take the steps of p^i and q^i; keep that of u until the end of the round."""
        if not y * score < 1.0:
            return False
        a, divisor = step_of_p(self.eta, self.beta)
        state.p.add(x.task, a * y, x)
        state.p.divide(x.task, divisor)  # eq. 7
        a, threshold = step_of_q(self.eta, self.gamma)
        state.q.add_and_shorten(x.task, a * y, x, threshold)  # eqs. 8 and 10
        state.given.later(y, x)
        return True

    def close_round(self, state: Weights, rows: Any) -> None:
        """Take the step of u."""
        m = state.given.weight.size
        for i in range(m):
            if self.every_round and state.given.weight[i] == 0.0:  # gradient 0
                state.p.divide(i, step_of_p(self.eta, self.beta)[1])  # eq. 7
                state.q.shorten(i, step_of_q(self.eta, self.gamma)[1])  # eq. 10
        a, divisor = step_of_u(self.eta, self.alpha, m)
        state.u.add_round(state.given, a, rows)  # eq. 6
        state.u.divide(0, divisor)

    def findings(self, state: Weights) -> dict[str, np.ndarray]:
        """Return the outlier tasks, those whose q is not zero, as a mask of shape (n_tasks,)."""
        return {"outlier": state.q.square > 0.0}

    def penalty(self, state: Weights) -> float:
        """Return r_1(W) = α/2 ‖u‖² + β/2 Σ‖p^i‖² + γ Σ‖q^i‖, in O(n_tasks · n_features)."""
        total = 0.5 * self.alpha * state.u.square_norm(0)
        for i in range(state.given.weight.size):
            total += 0.5 * self.beta * state.p.square_norm(i)
            total += self.gamma * math.sqrt(state.q.square_norm(i))
        return total


class DualSums(NamedTuple):
    """The sums of the negative gradients y x of all tasks and of each, and the number of rounds.

    ``norm[i]`` is that of ``own[i]`` at the end of the last round; `given` has the examples that S
    adds at the end of this one.
    """

    S: Bank
    own: Bank
    norm: np.ndarray
    rounds: np.ndarray
    given: Steps


def factors_of_round(rda, t):
    """Return the factors of S in u and of S^i in p^i after t rounds (eqs. 20, 21), γ t and θ."""
    t = max(1.0, t)  # before the first round the sums are 0, whatever their factors
    theta = rda.kappa * math.sqrt(t)
    return 1.0 / (rda.alpha * t + theta), 1.0 / (rda.beta * t + theta), rda.gamma * t, theta


def weights_of_sums(factors, norm):
    """Return the factors of S in u and of S^i in p^i and q^i, given ‖S^i‖ (eqs. 20 to 22)."""
    u, p, threshold, theta = factors
    return u, p, (1.0 - threshold / norm) / theta if norm > threshold else 0.0


@shareable(S=None, own=None, weights=(factors_of_round, weights_of_sums))
class ROMRDA(NamedTuple):
    """ROM-RDA (ROM paper, section II.D, algorithm 2): regularised dual averaging.

    Objective after round t, with the weights w_i = u + p_i + q_i and the means ḡ of all gradients:

        min ḡ·W + α/2 ‖u‖² + β/2 Σ_i ‖p_i‖² + γ Σ_i ‖q_i‖ + θ/(2t) ‖W‖²,  θ = κ √t    (eq. 12)

    Update of all parts at the end of each round:

        u = −ḡ_u / (α + θ / t)                             (eq. 20)
        p_i = −ḡ_i / (β + θ / t)                           (eq. 21)
        q_i = −max(0, 1 − γ / ‖ḡ_i‖) (t / θ) ḡ_i           (eq. 22)

    The gradients of p_i and q_i are the same, and that of u sums over the tasks (eqs. 14 to 16). An
    example without hinge loss, or a task without an example in the round, has gradient 0.

    Cost per example: O(nonzeros), amortised; per round: O(n_tasks).

    Parameters
    ----------
    kappa : float in (0, inf)
        κ > 0 of θ_t = κ √t.
    alpha, beta : float in [0, inf)
        Weights α, β ≥ 0 of ½‖u‖² and of ½‖p_i‖².
    gamma : float in [0, inf)
        Weight γ ≥ 0 of the group lasso ‖q_i‖.

    Estimator
    ---------
    defaults : kappa = 1.0, alpha = 0.01, beta = 0.1, gamma = 0.1
    takes : rounds
    cites : zhang2016rom
    """

    kappa: float
    alpha: float
    beta: float
    gamma: float

    def new_state(self, shape: Shape) -> DualSums:
        """Return empty sums."""
        m = shape.n_tasks
        S, own = Bank.zeros(1, shape), Bank.zeros(m, shape, normed=True)
        return DualSums(S, own, np.zeros(m), np.zeros(1), Steps.none(m))

    def score(self, state: DualSums, x: Example) -> float:
        """Return (u + p^i + q^i)·x."""
        own, norm = state.own.dot_unless_zero(x.task, x), state.norm[x.task]
        u, p, q = weights_of_sums(factors_of_round(self, state.rounds[0]), norm)
        return u * state.S.dot(0, x) + (p + q) * own

    def update(self, state: DualSums, x: Example, y: float, score: float) -> bool:
        """Add the negative gradient to S^i; keep it for S."""
        if not y * score < 1.0:
            return False
        state.own.add(x.task, y, x)  # eqs. 15 and 16
        state.own.follow_norm(x.task, y, x)
        state.given.later(y, x)
        return True

    def close_round(self, state: DualSums, rows: Any) -> None:
        """Add the round's gradients to S."""
        state.S.add_round(state.given, 1.0, rows)  # eq. 14
        for i in range(state.norm.size):
            state.norm[i] = math.sqrt(state.own.square_norm(i))
        state.rounds[0] += 1.0

    def findings(self, state: DualSums) -> dict[str, np.ndarray]:
        """Return the outlier tasks, those whose q is not zero, as a mask of shape (n_tasks,)."""
        return {"outlier": state.norm > self.gamma * state.rounds[0]}  # eq. 22

    def penalty(self, state: DualSums) -> float:
        """Return r_1(W) = α/2 ‖u‖² + β/2 Σ‖p^i‖² + γ Σ‖q^i‖, in O(n_tasks + n_features)."""
        factors = factors_of_round(self, state.rounds[0])
        total = 0.5 * self.alpha * factors[0] ** 2 * state.S.square_norm(0)
        for i in range(state.norm.size):
            _, p, q = weights_of_sums(factors, state.norm[i])
            total += 0.5 * self.beta * p**2 * state.own.square_norm(i)
            total += self.gamma * q * state.norm[i]
        return total

    def proximity(self, state: DualSums) -> float:
        """Return θ_t/(2t) ‖W‖² from eq. 12, where t is the current round."""
        factors = factors_of_round(self, state.rounds[0])
        square = factors[0] ** 2 * state.S.square_norm(0)
        for i in range(state.norm.size):
            _, p, q = weights_of_sums(factors, state.norm[i])
            square += (p**2 + q**2) * state.own.square_norm(i)
        return 0.5 * self.kappa / math.sqrt(state.rounds[0] + 1.0) * square
