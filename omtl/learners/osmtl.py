"""Smoothed online multi-task learning (Murugesan, Liu, Carbonell, Yang, NIPS 2016, "OSMTL").

Task k learns from the examples of all tasks of a round, each as much as its relation to that task
says: η = α I + (1 − α) P (eq. 3), where row p_k of P is a distribution over the tasks, learnt from
the losses ℓ_kj = (1 − y_j w_k·x_j)_+ of task k's weights on the other tasks' examples.
Everything within a round is from before the round: the steps are taken at its end (algorithm 2).

Open in the paper, and chosen here: p is uniform at first; a task without an example in a round has
no loss in it (eq. 7 has no term of it).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.fused import axpy_all
from omtl.learners.diffusion import Diffusion, diffusion, hear, learn
from omtl.ops import BORROWED, DenseRows, Rows
from omtl.rules import Event, Shape


class Attentions(NamedTuple):
    """The tasks' weights, whom they attend to, and the round as far as it is known.

    Parameters
    ----------
    net : Diffusion
        The weight vectors, w_k in slot k.
    attention : ndarray of shape (n_tasks, n_tasks)
        P, each row a distribution.
    logit : ndarray of shape (n_tasks, n_tasks)
        The logarithm of P up to a constant a row, which does not underflow.
    loss : ndarray of shape (n_tasks, n_tasks)
        ℓ_kj of the round.
    label, example : ndarray of shape (n_tasks,)
        The round's example of each task with its label, which is 0 where there is none.
    fired : ndarray of shape (n_tasks,), bool
        Which tasks learn at the end of the round.
    taken : ndarray of shape (n_tasks,), int64
        The examples that a task takes in.
    steps : ndarray of shape (n_tasks,), int64
        How often each task has learnt.
    rates : ndarray of shape (2,)
        C and α.
    """

    net: Diffusion
    attention: np.ndarray
    logit: np.ndarray
    loss: np.ndarray
    label: np.ndarray
    example: np.ndarray
    fired: np.ndarray
    taken: np.ndarray
    steps: np.ndarray
    rates: np.ndarray


def equal_attentions(shape: Shape, C: float, alpha: float, by_horizon: bool) -> Attentions:
    """Return zero weights of tasks that attend to all tasks alike."""
    m = shape.n_tasks
    if by_horizon:
        root = math.sqrt(max(1, shape.n_rounds))
        C, alpha = C * (1.0 + root) / root**2, alpha * root / (1.0 + root)
    return Attentions(
        net=diffusion(shape._replace(mixing=np.ones((1, 1))), n_slots=m),
        attention=np.full((m, m), 1.0 / m),
        logit=np.zeros((m, m)),
        loss=np.zeros((m, m)),
        label=np.zeros(m),
        example=np.zeros(m, dtype=np.int64),
        fired=np.zeros(m, dtype=np.bool_),
        taken=np.zeros(m, dtype=np.int64),
        steps=np.zeros(m, dtype=np.int64),
        rates=np.array([C, alpha]),
    )


@register_jitable(**BORROWED)
def own_score(state, rows, event):
    """Return w_k·x."""
    hear(state.net, rows, event.example, event.task, event.task + 1)
    return state.net.products[event.task]


@register_jitable(**BORROWED)
def note(state, event, y, score, margin):
    """Keep an example for the end of the round; return whether its task learns then."""
    k = event.task
    state.label[k] = y
    state.example[k] = event.example
    state.fired[k] = not y * score > margin if margin == 0.0 else y * score < margin
    return state.fired[k]


@register_jitable(**BORROWED)
def suffer(state, rows, any_task):
    """Find the losses of all tasks' weights on the round's examples, and who learns."""
    m = state.label.size
    for j in range(m):
        if state.label[j] != 0.0:
            hear(state.net, rows, state.example[j], 0, m)
            for k in range(m):
                state.loss[k, j] = max(0.0, 1.0 - state.label[j] * state.net.products[k])
        else:
            for k in range(m):
                state.loss[k, j] = 0.0
    for k in range(m):
        if any_task:
            state.fired[k] = False
            for j in range(m):
                if state.loss[k, j] > 0.0:
                    state.fired[k] = True
        if state.fired[k]:
            state.steps[k] += 1


@register_jitable(**BORROWED)
def step_of(state, k, j):
    """Return by how much task k takes in the example of task j, on which it has a loss (eq. 9)."""
    C, alpha = state.rates[0], state.rates[1]
    weight = (1.0 - alpha) * state.attention[k, j]
    if k == j:
        weight += alpha
    return C * weight * state.label[j]


@register_jitable(**BORROWED)
def share_by_example(state, rows):
    """Let the tasks that learn take in the examples on which they have a loss, one by one."""
    m = state.label.size
    for j in range(m):
        learns = False
        for k in range(m):
            state.net.steps[k] = 0.0
            if state.fired[k] and state.loss[k, j] > 0.0:
                state.net.steps[k] = step_of(state, k, j)
                learns = True
        if learns:
            learn(state.net, rows, state.example[j], 0, m)


def share(state: Attentions, rows: Rows) -> None:
    """Let the tasks that learn take in the examples on which they have a loss."""
    share_by_example(state, rows)


# The compiled twin. Numba wants the argument names of the function above, and no annotations.


@overload(share, jit_options=BORROWED)
def _share(state, rows):  # noqa: ARG001
    def by_task(state, rows):
        net, m = state.net, state.label.size
        for k in range(m):
            n = 0
            for j in range(m):
                if state.fired[k] and state.loss[k, j] > 0.0:
                    net.steps[n] = step_of(state, k, j)
                    state.taken[n] = state.example[j]
                    n += 1
            axpy_all(net.steps, rows, state.taken, n, net.vectors[k, : rows.X.shape[1]])

    return by_task if rows.instance_class is DenseRows else share_by_example


@register_jitable(**BORROWED)
def forget_round(state):
    """Make ready for the next round."""
    for k in range(state.label.size):
        state.label[k] = 0.0
        state.fired[k] = False


def relation(state: Attentions) -> dict[str, np.ndarray]:
    """Return the relationship matrix η (eq. 3), and how often each task has learnt."""
    alpha = state.rates[1]
    m = state.label.size
    eta = alpha * np.eye(m) + (1.0 - alpha) * state.attention
    return {"relation": eta, "updates": state.steps.copy()}


class OSMTLExponential(NamedTuple):
    """OSMTL-e (algorithm 2 of the OSMTL paper).

    Where task k learns, w_k ← w_k + C Σ_j η_kj 1[ℓ_kj > 0] y_j x_j (eq. 9) and then
    p_kj ← p_kj exp(−C (1 − α) ℓ_kj / λ), divided by their sum over j (eq. 11).

    Cost per example: O(n_tasks · nonzeros); per round: O(n_tasks²).

    Parameters
    ----------
    C : float
        Step C > 0.
    alpha : float
        Concentration 0 ≤ α ≤ 1 on the own task.
    lam : float
        Smoothness λ > 0 of the attentions.
    margin : float
        Learn where y_k w_k·x_k is at most 0 ("passive": mistakes only), or below 1 (algorithm 2).
    any_task : bool
        Learn where any ℓ_kj is positive instead ("aggressive", section 2.4).
    by_horizon : bool
        Whether `C` and `alpha` are factors of (1 + √T) / T and √T / (1 + √T), for T rounds
        (footnote 2; corollary 2 has both 1).
    """

    C: float
    alpha: float
    lam: float
    margin: float = 0.0
    any_task: bool = False
    by_horizon: bool = False

    def new_state(self, shape: Shape) -> Attentions:
        """Return zero weights and equal attentions."""
        return equal_attentions(shape, self.C, self.alpha, self.by_horizon)

    def score(self, state: Attentions, rows: Any, event: Event) -> float:
        """Return w_k·x."""
        return own_score(state, rows, event)

    def update(
        self,
        state: Attentions,
        rows: Any,  # noqa: ARG002
        event: Event,
        y: float,
        score: float,
    ) -> bool:
        """Keep the example for the end of the round."""
        return note(state, event, y, score, 1.0 if self.any_task else self.margin)

    def close_round(self, state: Attentions, rows: Any) -> None:
        """Take the steps of the weights (eq. 9), then of the attentions (eq. 11)."""
        suffer(state, rows, self.any_task)
        share(state, rows)
        m = state.label.size
        rate = state.rates[0] * (1.0 - state.rates[1]) / self.lam
        for k in range(m):
            if not state.fired[k]:
                continue
            top = -math.inf
            for j in range(m):
                state.logit[k, j] -= rate * state.loss[k, j]
                top = max(top, state.logit[k, j])
            total = 0.0
            for j in range(m):
                state.logit[k, j] -= top
                state.attention[k, j] = math.exp(state.logit[k, j])
                total += state.attention[k, j]
            for j in range(m):
                state.attention[k, j] /= total
        forget_round(state)

    def findings(self, state: Attentions) -> dict[str, np.ndarray]:
        """Return η, shape (n_tasks, n_tasks), and how often each task has learnt."""
        return relation(state)


class OSMTLThreshold(NamedTuple):
    """OSMTL-t: OSMTL with thresholded attentions (section 3.2 and footnote 6).

    As OSMTL-e, with p_kj ∝ (λ − ℓ_kj)_+ in place of eq. 11. Where no ℓ_kj is below λ this is 0 / 0,
    of which the paper says nothing.

    Cost per example: O(n_tasks · nonzeros); per round: O(n_tasks²).

    Parameters
    ----------
    C, alpha, margin, any_task, by_horizon
        As of `OSMTLExponential`.
    lam : float
        Threshold λ > 0 of the losses.
    multiplied : bool
        Whether the last p_kj is a factor of the new one, as it is in eq. 11.
    uniform : bool
        Whether p becomes uniform where it is undefined; else it stays as it was.
    """

    C: float
    alpha: float
    lam: float
    margin: float = 0.0
    any_task: bool = False
    by_horizon: bool = False
    multiplied: bool = False
    uniform: bool = False

    def new_state(self, shape: Shape) -> Attentions:
        """Return zero weights and equal attentions."""
        return equal_attentions(shape, self.C, self.alpha, self.by_horizon)

    def score(self, state: Attentions, rows: Any, event: Event) -> float:
        """Return w_k·x."""
        return own_score(state, rows, event)

    def update(
        self,
        state: Attentions,
        rows: Any,  # noqa: ARG002
        event: Event,
        y: float,
        score: float,
    ) -> bool:
        """Keep the example for the end of the round."""
        return note(state, event, y, score, 1.0 if self.any_task else self.margin)

    def close_round(self, state: Attentions, rows: Any) -> None:
        """Take the steps of the weights (eq. 9), then of the attentions."""
        suffer(state, rows, self.any_task)
        share(state, rows)
        m = state.label.size
        for k in range(m):
            if not state.fired[k]:
                continue
            total = 0.0
            for j in range(m):
                left = max(0.0, self.lam - state.loss[k, j])
                if self.multiplied:
                    left *= state.attention[k, j]
                state.logit[k, j] = left
                total += left
            for j in range(m):
                if total > 0.0:
                    state.attention[k, j] = state.logit[k, j] / total
                elif self.uniform:
                    state.attention[k, j] = 1.0 / m
        forget_round(state)

    def findings(self, state: Attentions) -> dict[str, np.ndarray]:
        """Return η, shape (n_tasks, n_tasks), and how often each task has learnt."""
        return relation(state)
