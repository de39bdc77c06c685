"""Parameter-free learning of a bias at the end of each task (Denevi et al., UAI 2020)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.losses import HINGE, slope
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Event, Shape
from omtl.kernel.vectors import shrink
from omtl.learners.parameter_free import Bets, ask, bets, next_fraction, stride, turn, wager


class Lazy(NamedTuple):
    """The tasks' vectors and the bias, with the current task's gradients so far.

    Parameters
    ----------
    own, bias : Bets
    G : ndarray of shape (n_features,)
        The sum of the task's gradients.
    current : ndarray of shape (2,), int64
        The current task, and the number of its examples since the previous task.
    """

    own: Bets
    bias: Bets
    G: np.ndarray
    current: np.ndarray


@inlined
def step_of(state, lipschitz):
    """Return step, length and gain of the bias at the end of the task (steps 3A to 4A)."""
    V, scale, G = state.bias.v.vectors[0], state.bias.v.scale[0], state.G
    along, square = 0.0, 0.0
    for j in range(G.size):
        along += V[j] * G[j]
        square += G[j] * G[j]
    along *= scale
    each = lipschitz * state.current[1]
    step = math.sqrt(2.0 / (state.bias.seen[0] + 1.0)) / each
    length = state.bias.square[0] - 2.0 * step * along + step * step * square
    return step, max(0.0, length), -along / each


@inlined
def end_task(state, lipschitz, refined):
    """Update the bias by the task's gradients."""
    step, length, gain = step_of(state, lipschitz)
    V, scale = state.bias.v.vectors[0], state.bias.v.scale[0]
    for j in range(V.size):
        V[j] -= step / scale * state.G[j]
        state.G[j] = 0.0
    if length > 1.0:
        shrink(state.bias.v, 0, math.sqrt(length))
    state.bias.square[0] = min(1.0, length)
    state.bias.seen[0] += 1.0
    wager(state.bias, 0, gain, refined)
    state.current[1] = 0


class LazyParameterFree(NamedTuple):
    """The lazy variant, which moves the bias at the end of each task (Denevi et al. 2020, alg. 5).

    w_k = p_k v_k + θ as in `omtl.learners.parameter_free`, but θ = P V moves once per task: with G
    the sum of the task's n gradients and t the number of tasks so far,

    V ← proj(V − √(2/t) G / (L R n)),  U ← U − ⟨G, V⟩ P / (L R n), and B from ⟨G, V⟩ / (L R n).

    A task ends when an example of another task arrives; if tasks alternate, after each example.

    Cost per example: O(nonzeros), and O(n_features) when a task ends.

    Parameters
    ----------
    lipschitz : float in (0, inf)
        L R: 1 for the hinge and the absolute loss on rows of norm 1.
    wealth : float in (0, inf)
        Initial wealth e of each task's bets.
    bias_wealth : float in (0, inf)
        Initial wealth E of the bias's bets.
    loss : int
        As in `omtl.kernel.losses`.
    refined : bool
        Whether the Newton step bets magnitudes, or the estimator of Krichevsky and Trofimov ("KT").
    """

    lipschitz: float = 1.0
    wealth: float = 1.0
    bias_wealth: float = 1.0
    loss: int = HINGE
    refined: bool = False

    def with_loss(self, loss: int) -> LazyParameterFree:
        """Return the same learner with another loss, which also allows real targets."""
        return self._replace(loss=loss)

    def new_state(self, shape: Shape) -> Lazy:
        """Return zero weights."""
        return Lazy(
            bets(shape, self.wealth),
            bets(shape._replace(n_tasks=1), self.bias_wealth),
            np.zeros(shape.n_features),
            np.zeros(2, dtype=np.int64),
        )

    def score(self, state: Lazy, rows: Any, event: Event) -> float:
        """Return w_k·x, after a finished task has updated the bias."""
        own = ask(state.own, event.task, rows, event.example)
        if state.current[1] == 0 or state.current[0] == event.task:
            return own + ask(state.bias, 0, rows, event.example)
        step, length, gain = step_of(state, self.lipschitz)
        product = state.bias.v.scale[0] * dot(state.bias.v.vectors[0], rows, event.example)
        product -= step * dot(state.G, rows, event.example)
        u = state.bias.u[0] * (1.0 + gain * state.bias.b[0])
        b = next_fraction(state.bias, 0, state.bias.seen[0] + 1.0, gain, self.refined)
        return own + b * u * product / max(1.0, math.sqrt(length))

    def update(self, state: Lazy, rows: Any, event: Event, y: float, score: float) -> bool:
        """Update the task's own vector, and add the gradient to the task's sum."""
        if state.current[1] > 0 and state.current[0] != event.task:
            end_task(state, self.lipschitz, self.refined)
        own, k = state.own, event.task
        s = slope(self.loss, y, score)
        turn(own, k, s * stride(own, k) / self.lipschitz, rows, event)
        wager(own, k, -s * own.product[k] / self.lipschitz, self.refined)
        axpy(s, rows, event.example, state.G)
        state.current[0] = k
        state.current[1] += 1
        return s != 0.0
