"""Robust online multi-task learning (Zhang, Zhao, Hao, Soh, Lee, ICDM 2016, "ROM").

The weights of task i are w^i = u + p^i + q^i: a part shared by all tasks, a part of the task's own,
and an outlier part that a group lasso keeps at zero if possible (section II.B). Each round has one
example of each task; u is fixed during the round and learns from all of them at its end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.products import dot
from omtl.kernel.rules import Event, Shape
from omtl.kernel.sharing import shareable
from omtl.kernel.vectors import (
    GroupSparse,
    NormedSum,
    RoundSum,
    Scaled,
    add_and_shrink,
    add_and_threshold,
    add_later,
    add_normed,
    add_round,
    close_sum,
    dot_normed,
    dot_sum,
    group_sparse,
    normed_sum,
    note_norm,
    round_sum,
    scaled,
    shorten,
    shrink,
    square_of_normed,
    square_of_scaled,
    square_of_sum,
)


class Weights(NamedTuple):
    """w^i = u + p^i + q^i."""

    u: RoundSum
    p: Scaled
    q: GroupSparse


@inlined
def step_of_u(rom, m):
    """Return η/m and 1 + α η/m: u ← (u + η/m Σ_i y x) / (1 + α η/m) (eq. 6)."""
    return rom.eta / m, 1.0 + rom.alpha * (rom.eta / m)


@inlined
def step_of_p(rom, m):  # noqa: ARG001
    """Return η and 1 + β η: p^i ← (p^i + η y x) / (1 + β η) (eq. 7)."""
    return rom.eta, 1.0 + rom.beta * rom.eta


@inlined
def step_of_q(rom, m):  # noqa: ARG001
    """Return η and η γ: q̂ = q^i + η y x, q^i ← max(0, 1 − η γ / ‖q̂‖) q̂ (eqs. 8 and 10)."""
    return rom.eta, rom.eta * rom.gamma


@shareable(u=step_of_u, p=step_of_p, q=step_of_q, unless="every_round")
class ROMPGD(NamedTuple):
    """ROM-PGD (ROM paper, section II.C, algorithm 1): proximal gradient steps.

    If task i has a positive hinge loss on (x, y), p^i and q^i take the steps of eqs. 7, 8 and 10;
    otherwise both stay unchanged. At the end of each round u takes the step of eq. 6, a sum over
    the tasks with a loss; u shrinks in every round, and m is the number of all tasks. With
    `every_round`, p^i and q^i also take their steps in every round, with gradient 0 if there is no
    loss, as in eqs. 3 to 5, which lemma 2 is about, but not as in algorithm 1.

    Cost per example: O(nonzeros), amortised; per round: O(n_tasks).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    alpha, beta : float in [0, inf)
        Weights α, β ≥ 0 of ½‖u‖² and of ½‖p^i‖².
    gamma : float in [0, inf)
        Weight γ ≥ 0 of the group lasso ‖q^i‖.
    every_round : bool
        Whether p and q also shrink in rounds without loss.

    Estimator
    ---------
    defaults : eta = 0.1, alpha = 0.01, beta = 0.1, gamma = 0.1
    takes : rounds
    row_lists : q/rows
    """

    eta: float
    alpha: float
    beta: float
    gamma: float
    every_round: bool = False

    def new_state(self, shape: Shape) -> Weights:
        """Return zero weights."""
        return Weights(round_sum(shape), scaled(shape), group_sparse(shape))

    def score(self, state: Weights, rows: Any, event: Event) -> float:
        """Return (u + p^i + q^i)·x."""
        return dot_sum(state.u, state.p, state.q, event.task, rows, event.example)

    def update(self, state: Weights, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the steps of p^i and q^i; keep that of u until the end of the round."""
        if not y * score < 1.0:
            return False
        i, m = event.task, state.u.label.size
        add_and_shrink(state.p, i, y, step_of_p(self, m), rows, event)  # eq. 7
        add_and_threshold(state.q, i, y, step_of_q(self, m), rows, event)  # eqs. 8 and 10
        add_later(state.u, y, event)
        return True

    def close_round(self, state: Weights, rows: Any) -> None:
        """Take the step of u."""
        m = state.u.label.size
        if self.every_round:
            for i in range(m):
                if state.u.label[i] == 0.0:
                    shrink(state.p, i, step_of_p(self, m)[1])  # eq. 7, with gradient 0
                    if state.q.norms.square[i] != 0.0:
                        shorten(state.q, i, rows, step_of_q(self, m)[1])  # eq. 10
        close_sum(state.u, step_of_u(self, m), rows)  # eq. 6

    def findings(self, state: Weights) -> dict[str, np.ndarray]:
        """Return the outlier tasks, those whose q is not zero, as a mask of shape (n_tasks,)."""
        return {"outlier": state.q.norms.square > 0.0}

    def penalty(self, state: Weights) -> float:
        """Return r_1(W) = α/2 ‖u‖² + β/2 Σ‖p^i‖² + γ Σ‖q^i‖, in O(n_tasks · n_features)."""
        total = square_of_sum(0.5 * self.alpha, state.u)
        for i in range(state.u.label.size):
            total += square_of_scaled(0.5 * self.beta, state.p, i)
            total += self.gamma * math.sqrt(square_of_normed(state.q, i))
        return total


class DualSums(NamedTuple):
    """Sums of the negative gradients y x, and their current factors.

    u = ``S.scale[0]`` · `S`, p^i = ``p[i]`` · S^i, q^i = ``q[i]`` · S^i, where S^i is `own`.
    """

    S: RoundSum
    own: NormedSum
    p: np.ndarray
    q: np.ndarray
    rounds: np.ndarray


@inlined
def mean_over(weight, kappa, t):
    """Return 1 / (weight t + κ √t), the factor of a sum of negative gradients over t rounds."""
    return 1.0 / (weight * t + kappa * math.sqrt(t)) if t > 0.0 else 0.0


@inlined
def outlier_over(threshold, theta, norm):
    """Return max(0, 1 − γ t / ‖S^i‖) / θ, from eq. 22, with the threshold γ t and θ = κ √t."""
    return (1.0 - threshold / norm) / theta if norm > threshold else 0.0


@inlined
def sum_up(rda, m):  # noqa: ARG001
    """Return 1 and 1: y x is added to the sums unscaled (eqs. 14 to 16)."""
    return 1.0, 1.0


@inlined
def factors_of_round(rda, t):
    """Return the factors of S in u and of S^i in p^i after t rounds (eqs. 20, 21), γ t and θ."""
    u, p = mean_over(rda.alpha, rda.kappa, t), mean_over(rda.beta, rda.kappa, t)
    return u, p, rda.gamma * t, rda.kappa * math.sqrt(t)


@inlined
def weights_of_sums(factors, norm):
    """Return the factors of S and S^i in a score, given ‖S^i‖ (eqs. 20 to 22)."""
    u, p, threshold, theta = factors
    return u, p + outlier_over(threshold, theta, norm)


@shareable(S=sum_up, own=sum_up, weights=(factors_of_round, weights_of_sums))
class ROMRDA(NamedTuple):
    """ROM-RDA (ROM paper, section II.D, algorithm 2): regularised dual averaging.

    After round t, with θ = κ √t and the means ḡ of all gradients so far (eqs. 14 to 16; those of
    p^i and q^i are the same, and that of u sums over the tasks), u = −ḡ_u / (α + θ / t) (eq. 20),
    p^i = −ḡ^i / (β + θ / t) (eq. 21) and q^i = −max(0, 1 − γ / ‖ḡ^i‖) ḡ^i t / θ (eq. 22). An
    example without hinge loss, or a task without an example in the round, has gradient 0.

    Cost per example: O(nonzeros), amortised; per round: O(n_tasks).

    Parameters
    ----------
    kappa : float in (0, inf)
        κ > 0 of θ_t = κ √t.
    alpha, beta : float in [0, inf)
        Weights α, β ≥ 0 of ½‖u‖² and of ½‖p^i‖².
    gamma : float in [0, inf)
        Weight γ ≥ 0 of the group lasso ‖q^i‖.

    Estimator
    ---------
    defaults : kappa = 1.0, alpha = 0.01, beta = 0.1, gamma = 0.1
    takes : rounds
    """

    kappa: float
    alpha: float
    beta: float
    gamma: float

    def new_state(self, shape: Shape) -> DualSums:
        """Return empty sums."""
        m = shape.n_tasks
        return DualSums(round_sum(shape), normed_sum(shape), np.zeros(m), np.zeros(m), np.zeros(1))

    def score(self, state: DualSums, rows: Any, event: Event) -> float:
        """Return (u + p^i + q^i)·x."""
        i, x = np.uint32(event.task), event.example
        own = dot_normed(state.own, i, rows, x)
        common = state.S.scale[0] * dot(state.S.vector, rows, x)
        return common + (state.p[i] + state.q[i]) * own

    def update(self, state: DualSums, rows: Any, event: Event, y: float, score: float) -> bool:
        """Add the negative gradient to S^i; keep it for S."""
        if not y * score < 1.0:
            return False
        add_normed(state.own, event.task, y, rows, event)  # eqs. 15 and 16
        add_later(state.S, y, event)
        return True

    def close_round(self, state: DualSums, rows: Any) -> None:
        """Add the round's gradients, and update the factors of the sums."""
        state.rounds[0] += 1.0
        t = state.rounds[0]
        state.S.scale[0] = 1.0
        add_round(state.S, 1.0, rows)  # eq. 14
        u, p, threshold, theta = factors_of_round(self, t)
        state.S.scale[0] = u  # eq. 20
        for i in range(state.p.size):
            note_norm(state.own, i)
            state.p[i] = p  # eq. 21
            state.q[i] = outlier_over(threshold, theta, state.own.norm[i])  # eq. 22

    def findings(self, state: DualSums) -> dict[str, np.ndarray]:
        """Return the outlier tasks, those whose q is not zero, as a mask of shape (n_tasks,)."""
        _, _, threshold, theta = factors_of_round(self, state.rounds[0])
        q = [outlier_over(threshold, theta, norm) for norm in state.own.norm]
        return {"outlier": np.array(q) > 0.0}

    def penalty(self, state: DualSums) -> float:
        """Return r_1(W) = α/2 ‖u‖² + β/2 Σ‖p^i‖² + γ Σ‖q^i‖, in O(n_tasks + n_features)."""
        total = square_of_sum(0.5 * self.alpha, state.S)
        for i in range(state.p.size):
            square = square_of_normed(state.own, i)
            total += 0.5 * self.beta * state.p[i] ** 2 * square
            total += self.gamma * state.q[i] * math.sqrt(square)
        return total

    def proximity(self, state: DualSums) -> float:
        """Return θ_t/(2t) ‖W‖² from eq. 12, where t is the current round."""
        square = square_of_sum(1.0, state.S)
        for i in range(state.p.size):
            square += (state.p[i] ** 2 + state.q[i] ** 2) * square_of_normed(state.own, i)
        return 0.5 * self.kappa / math.sqrt(state.rounds[0] + 1.0) * square
