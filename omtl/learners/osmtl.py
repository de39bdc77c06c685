"""Smoothed online multi-task learning (Murugesan, Liu, Carbonell, Yang, NIPS 2016, "OSMTL").

Task k learns from the examples of all tasks in a round, weighted by its relation to each task: η =
α I + (1 − α) P (eq. 3), where row p_k of P is a distribution over the tasks, learnt from the losses
ℓ_kj = (1 − y_j w_k·x_j)_+ of task k's weights on the other tasks' examples. Within a round
everything uses the state from before the round: steps are taken at its end (algorithm 2).

Open in the paper, and chosen here: p starts uniform; a task without an example in a round has no
loss in it (eq. 7 has no term for it).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.deferred import Steps
from omtl.kernel.distributions import normalise, softmax
from omtl.kernel.losses import hinge
from omtl.kernel.rules import Example, Shape, rules_of
from omtl.kernel.side_by_side import SideBySide


class Attentions(NamedTuple):
    """The tasks' weights and attention, and the current round.

    Parameters
    ----------
    W : SideBySide
        The weight vectors w_k.
    P : ndarray of shape (n_tasks, n_tasks)
        Row p_k, a distribution, is task k's attention to all tasks.
    logit : ndarray of shape (n_tasks, n_tasks)
        OSMTL-e: the logarithm of P up to a constant per row, which does not underflow. OSMTL-t: P
        before it is normalised.
    given : Steps
        The round's examples x_j, and their labels as weights.
    learns : ndarray of shape (n_tasks,), bool
        Whether a task learns at the end of the round.
    loss, taken : ndarray of shape (n_tasks, n_tasks)
        ℓ_kj of the round, and the multiple of x_j that is added to w_k.
    steps : ndarray of shape (n_tasks,), int64
        How often each task has learnt.
    rates : ndarray of shape (2,)
        C and α.
    """

    W: SideBySide
    P: np.ndarray
    logit: np.ndarray
    given: Steps
    learns: np.ndarray
    loss: np.ndarray
    taken: np.ndarray
    steps: np.ndarray
    rates: np.ndarray

    def find_losses(self, rows):
        """Find ℓ_kj, the losses of all tasks' weights on the examples of the round."""
        self.loss[:] = 0.0
        for j in range(self.steps.size):
            y, x = self.given.of_task(j, rows)
            if y != 0.0:
                self.W.dot_all(x)
                for k in range(self.steps.size):
                    self.loss[k, j] = hinge(y, self.W.products[k])

    def add_taken(self, rows):
        """Add the examples of the round to all tasks' weights, as often as `taken` says."""
        for j in range(self.steps.size):
            y, x = self.given.take(j, rows)
            if y != 0.0:
                for k in range(self.steps.size):
                    self.W.steps[k] = self.taken[k, j]
                self.W.add_all(x)


class OSMTLExponential(NamedTuple):
    """OSMTL-e (algorithm 2 of the OSMTL paper).

    Objective of task k, with its losses ℓ_kj on the tasks' examples and the entropy H:

        min_{w_k, p_k} Σ_j η_kj ℓ_kj − λ H(p_k),  η_kj = α δ_kj + (1 − α) p_kj
        ℓ_kj = max(0, 1 − y_j w_k·x_j)

    Update at the end of the round, if task k learns (eqs. 9 and 11):

        w_k ← w_k + C Σ_j η_kj 1[ℓ_kj > 0] y_j x_j
        p_kj ∝ p_kj exp(−C (1 − α) ℓ_kj / λ)

    Cost per example: O(n_tasks · nonzeros); per round: O(n_tasks²).

    Parameters
    ----------
    C : float in (0, inf)
        Step C > 0.
    alpha : float in [0, 1]
        Concentration 0 ≤ α ≤ 1 on the task itself.
    lam : float in (0, inf]
        Smoothness λ > 0 of the attentions.
    margin : float
        Learn if y_k w_k·x_k is at most 0 ("passive": mistakes only), or below 1 (algorithm 2).
    any_task : bool
        Learn if any ℓ_kj is positive instead ("aggressive", section 2.4).
    by_horizon : bool
        Whether `C` and `alpha` are factors of (1 + √T) / T and √T / (1 + √T), for T rounds
        (footnote 2; corollary 2 has both 1).

    Estimator
    ---------
    defaults : C = 1.0, alpha = 0.5, lam = 1.0
    takes : rounds, n_rounds
    cites : murugesan2016adaptive
    """

    C: float
    alpha: float
    lam: float
    margin: float = 0.0
    any_task: bool = False
    by_horizon: bool = False

    def new_state(self, shape: Shape) -> Attentions:
        """Return zero weights and equal attention to all tasks."""
        m, root = shape.n_tasks, math.sqrt(max(1, shape.n_rounds))
        C, alpha = self.C, self.alpha
        if self.by_horizon:  # footnote 2
            C, alpha = C * (1.0 + root) / root**2, alpha * root / (1.0 + root)
        return Attentions(
            W=SideBySide.zeros(m, shape),
            P=np.full((m, m), 1.0 / m),
            logit=np.zeros((m, m)),
            given=Steps.none(m),
            learns=np.zeros(m, dtype=np.bool_),
            loss=np.zeros((m, m)),
            taken=np.zeros((m, m)),
            steps=np.zeros(m, dtype=np.int64),
            rates=np.array([C, alpha]),
        )

    def score(self, state: Attentions, x: Example) -> float:
        """Return w_k·x."""
        return state.W.dot_own(x)

    def update(self, state: Attentions, x: Example, y: float, score: float) -> bool:
        """Keep the example for the end of the round."""
        margin = 1.0 if self.any_task else self.margin
        learns = not y * score > margin if margin == 0.0 else y * score < margin
        state.given.later(y, x)
        state.learns[x.task] = learns
        return learns

    def close_round(self, state: Attentions, rows: Any) -> None:
        """Take the steps of the weights and of the attentions."""
        label, learns = state.given.weight, state.learns
        C, alpha = state.rates[0], state.rates[1]
        state.find_losses(rows)
        for k in range(label.size):
            learns[k] = learns[k] and not self.any_task
            for j in range(label.size):
                learns[k] |= self.any_task and state.loss[k, j] > 0.0
            for j in range(label.size):
                state.taken[k, j] = 0.0
                if learns[k] and state.loss[k, j] > 0.0:
                    eta = alpha * (k == j) + (1.0 - alpha) * state.P[k, j]  # eq. 3
                    state.taken[k, j] = C * eta * label[j]
            if learns[k]:
                self.attend(state, k)
                state.steps[k] += 1
        state.add_taken(rows)  # eq. 9
        learns[:] = False

    def attend(self, state: Attentions, k: int) -> None:
        """Multiply p_kj by exp(−C (1 − α) ℓ_kj / λ), and normalise (eq. 11)."""
        rate = state.rates[0] * (1.0 - state.rates[1]) / self.lam
        for j in range(state.steps.size):
            state.logit[k, j] -= rate * state.loss[k, j]
        softmax(state.logit[k], state.P[k])

    def findings(self, state: Attentions) -> dict[str, np.ndarray]:
        """Return η (eq. 3), shape (n_tasks, n_tasks), and how often each task has learnt."""
        alpha = state.rates[1]
        eta = alpha * np.eye(state.steps.size) + (1.0 - alpha) * state.P
        return {"relation": eta, "updates": state.steps.copy()}


@rules_of(OSMTLExponential)
class OSMTLThreshold(NamedTuple):
    """OSMTL-t: OSMTL with thresholded attentions (section 3.2 and footnote 6).

    Objective of task k, with attention p_k only to tasks whose loss is below λ:

        min_{w_k} Σ_j η_kj ℓ_kj,  η_kj = α δ_kj + (1 − α) p_kj
        ℓ_kj = max(0, 1 − y_j w_k·x_j)

    Update at the end of the round, if task k learns (eq. 9 and section 3.2):

        w_k ← w_k + C Σ_j η_kj 1[ℓ_kj > 0] y_j x_j
        p_kj ∝ max(0, λ − ℓ_kj)

    If no ℓ_kj is below λ, the last is 0 / 0; the paper does not mention this case.

    Cost per example: O(n_tasks · nonzeros); per round: O(n_tasks²).

    Parameters
    ----------
    C : float in (0, inf)
    alpha : float in [0, 1]
    margin, any_task, by_horizon
        As in `OSMTLExponential`.
    lam : float in (0, inf]
        Threshold λ > 0 of the losses.
    multiplied : bool
        Whether the previous p_kj is a factor of the new one, as in eq. 11.
    uniform : bool
        Whether p becomes uniform where it is undefined; otherwise it stays unchanged.

    Estimator
    ---------
    defaults : C = 1.0, alpha = 0.5, lam = 1.0
    takes : rounds, n_rounds
    cites : murugesan2016adaptive
    """

    C: float
    alpha: float
    lam: float
    margin: float = 0.0
    any_task: bool = False
    by_horizon: bool = False
    multiplied: bool = False
    uniform: bool = False

    def attend(self, state: Attentions, k: int) -> None:
        """Set p_kj ∝ (λ − ℓ_kj)_+ (section 3.2)."""
        p, share = state.P[k], state.logit[k]
        for j in range(p.size):
            share[j] = max(0.0, self.lam - state.loss[k, j]) * (p[j] if self.multiplied else 1.0)
        if not normalise(share, p) and self.uniform:
            p[:] = 1.0 / p.size
