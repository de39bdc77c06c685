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

from omtl.kernel.inlining import inlined
from omtl.kernel.rules import Event, Shape, rules_of
from omtl.kernel.task_vectors import (
    TaskVectors,
    add_combinations,
    dot_task,
    dot_tasks,
    product,
    task_vectors,
)


class Attentions(NamedTuple):
    """The tasks' weights and attention, and the current round.

    Parameters
    ----------
    W : TaskVectors
        The weight vectors w_k.
    P : ndarray of shape (n_tasks, n_tasks)
        Row p_k, a distribution, is task k's attention to all tasks.
    logit : ndarray of shape (n_tasks, n_tasks)
        The logarithm of P up to a constant per row, which does not underflow.
    loss, taken : ndarray of shape (n_tasks, n_tasks)
        ℓ_kj of the round, and how often w_k uses the example of task j.
    label, example : ndarray of shape (n_tasks,)
        The round's example of each task and its label; the label is 0 if there is none.
    learns : ndarray of shape (n_tasks,), bool
        Which tasks learn at the end of the round.
    steps : ndarray of shape (n_tasks,), int64
        How often each task has learnt.
    rates : ndarray of shape (2,)
        C and α.
    """

    W: TaskVectors
    P: np.ndarray
    logit: np.ndarray
    loss: np.ndarray
    taken: np.ndarray
    label: np.ndarray
    example: np.ndarray
    learns: np.ndarray
    steps: np.ndarray
    rates: np.ndarray


def equal_attentions(learner: Any, shape: Shape) -> Attentions:
    """Return zero weights and equal attention to all tasks."""
    m, T = shape.n_tasks, max(1, shape.n_rounds)
    C, alpha, root = learner.C, learner.alpha, math.sqrt(T)
    if learner.by_horizon:  # footnote 2
        C, alpha = C * (1.0 + root) / root**2, alpha * root / (1.0 + root)
    return Attentions(
        W=task_vectors(shape),
        P=np.full((m, m), 1.0 / m),
        logit=np.zeros((m, m)),
        loss=np.zeros((m, m)),
        taken=np.zeros((m, m)),
        label=np.zeros(m),
        example=np.zeros(m, dtype=np.int64),
        learns=np.zeros(m, dtype=np.bool_),
        steps=np.zeros(m, dtype=np.int64),
        rates=np.array([C, alpha]),
    )


@inlined
def find_losses(state, rows):
    """Set ℓ_kj = (1 − y_j w_k·x_j)_+ for the round's examples; 0 for a task without one."""
    m = state.label.size
    for j in range(m):
        y = state.label[j]
        if y != 0.0:
            dot_tasks(state.W, rows, state.example[j])
            for k in range(m):
                state.loss[k, j] = max(0.0, 1.0 - y * product(state.W, k))
        else:
            for k in range(m):
                state.loss[k, j] = 0.0


@inlined
def find_learners(state, any_task):
    """Mark tasks with a loss on any task's example as learning, if so configured; count them."""
    for k in range(state.label.size):
        if any_task:
            state.learns[k] = False
            for j in range(state.label.size):
                state.learns[k] |= state.loss[k, j] > 0.0
        state.steps[k] += state.learns[k]


@inlined
def step_weights(state, rows):
    """Add C Σ_j η_kj 1[ℓ_kj > 0] y_j x_j to w_k for the tasks that learn (eq. 9)."""
    C, alpha = state.rates[0], state.rates[1]
    for k in range(state.label.size):
        for j in range(state.label.size):
            state.taken[k, j] = 0.0
            if state.learns[k] and state.loss[k, j] > 0.0:
                eta = (1.0 - alpha) * state.P[k, j]  # eq. 3
                if k == j:
                    eta += alpha
                state.taken[k, j] = C * eta * state.label[j]
    add_combinations(state.W, state.taken, rows, state.example)


@inlined
def forget_round(state):
    """Prepare for the next round."""
    for k in range(state.label.size):
        state.label[k] = 0.0
        state.learns[k] = False


class OSMTLExponential(NamedTuple):
    """OSMTL-e (algorithm 2 of the OSMTL paper).

    If task k learns, w_k ← w_k + C Σ_j η_kj 1[ℓ_kj > 0] y_j x_j (eq. 9) and then
    p_kj ← p_kj exp(−C (1 − α) ℓ_kj / λ), divided by their sum over j (eq. 11).

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
    """

    C: float
    alpha: float
    lam: float
    margin: float = 0.0
    any_task: bool = False
    by_horizon: bool = False

    def new_state(self, shape: Shape) -> Attentions:
        """Return zero weights and equal attention."""
        return equal_attentions(self, shape)

    def score(self, state: Attentions, rows: Any, event: Event) -> float:
        """Return w_k·x."""
        return dot_task(state.W, event.task, rows, event.example)

    def update(self, state: Attentions, rows: Any, event: Event, y: float, score: float) -> bool:  # noqa: ARG002
        """Keep the example for the end of the round."""
        k = event.task
        state.label[k], state.example[k] = y, event.example
        margin = 1.0 if self.any_task else self.margin
        state.learns[k] = not y * score > margin if margin == 0.0 else y * score < margin
        return state.learns[k]

    def close_round(self, state: Attentions, rows: Any) -> None:
        """Take the steps of the weights, then of the attentions (eq. 11)."""
        find_losses(state, rows)
        find_learners(state, self.any_task)
        step_weights(state, rows)  # eq. 9
        C, alpha = state.rates[0], state.rates[1]
        m, rate = state.label.size, C * (1.0 - alpha) / self.lam
        for k in range(m):
            if not state.learns[k]:
                continue
            p, logit = state.P[k], state.logit[k]
            top = -math.inf
            for j in range(m):
                logit[j] -= rate * state.loss[k, j]
                top = max(top, logit[j])
            total = 0.0
            for j in range(m):
                logit[j] -= top
                p[j] = math.exp(logit[j])
                total += p[j]
            for j in range(m):
                p[j] /= total
        forget_round(state)

    def findings(self, state: Attentions) -> dict[str, np.ndarray]:
        """Return η (eq. 3), shape (n_tasks, n_tasks), and how often each task has learnt."""
        alpha = state.rates[1]
        eta = alpha * np.eye(state.label.size) + (1.0 - alpha) * state.P
        return {"relation": eta, "updates": state.steps.copy()}


@rules_of(OSMTLExponential)
class OSMTLThreshold(NamedTuple):
    """OSMTL-t: OSMTL with thresholded attentions (section 3.2 and footnote 6).

    It has the rules of OSMTL-e, with p_kj ∝ (λ − ℓ_kj)_+ instead of eq. 11. If no ℓ_kj is below λ,
    this is 0 / 0; the paper does not mention this case.

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
    """

    C: float
    alpha: float
    lam: float
    margin: float = 0.0
    any_task: bool = False
    by_horizon: bool = False
    multiplied: bool = False
    uniform: bool = False

    def close_round(self, state: Attentions, rows: Any) -> None:
        """Take the steps of the weights, then of the attentions."""
        find_losses(state, rows)
        find_learners(state, self.any_task)
        step_weights(state, rows)  # eq. 9
        m = state.label.size
        for k in range(m):
            if not state.learns[k]:
                continue
            p, left = state.P[k], state.logit[k]
            total = 0.0
            for j in range(m):
                left[j] = max(0.0, self.lam - state.loss[k, j])
                if self.multiplied:
                    left[j] *= p[j]
                total += left[j]
            for j in range(m):
                if total > 0.0:
                    p[j] = left[j] / total
                elif self.uniform:
                    p[j] = 1.0 / m
        forget_round(state)
