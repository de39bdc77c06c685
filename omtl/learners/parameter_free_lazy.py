"""Parameter-free learning of a bias at the end of each task (Denevi et al., UAI 2020)."""

from __future__ import annotations

import math
from typing import NamedTuple

from omtl.kernel.deferred import CurrentTask
from omtl.kernel.losses import HINGE, slope
from omtl.kernel.products import dot
from omtl.kernel.rules import Example, Shape, rules_of
from omtl.learners.parameter_free import Bets, ParameterFree


class Lazy(NamedTuple):
    """The tasks' vectors w_k − θ, the bias θ, and the current task's gradients."""

    own: Bets
    bias: Bets
    current: CurrentTask


@rules_of(ParameterFree)
class LazyParameterFree(NamedTuple):
    """The lazy variant, which moves the bias at the end of each task (Denevi et al. 2020, alg. 5).

    Objective, losses of vectors near a common bias θ, each a magnitude times a direction:

        min Σ_t ℓ_t(w_k·x_t),  w_k = θ + p_k v_k,  θ = P V,  ‖v_k‖, ‖V‖ ≤ 1

    Update of θ after the t-th task, with G the sum of the task's n gradients, and B from ⟨G, V⟩
    too:

        V ← proj(V − √(2/t) G / (L R n))
        U ← U − ⟨G, V⟩ P / (L R n)
        P = B U

    v_k and p_k move with each example, as in `ParameterFree`. A task ends when an example of
    another task arrives; if tasks alternate, after each example.

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

    Estimator
    ---------
    cites : denevi2020online
    """

    lipschitz: float = 1.0
    wealth: float = 1.0
    bias_wealth: float = 1.0
    loss: int = HINGE
    refined: bool = False

    def new_state(self, shape: Shape) -> Lazy:
        """Return zero weights."""
        return Lazy(
            Bets.zeros(shape.n_tasks, shape, self.wealth),
            Bets.zeros(1, shape, self.bias_wealth),
            CurrentTask.none(shape.n_features),
        )

    def score(self, state: Lazy, x: Example) -> float:
        """Return w_k·x, after a finished task has updated the bias."""
        bias, current = state.bias, state.current
        own = state.own.dot(x.task, x)
        if not current.has_ended(x):
            return own + bias.dot(0, x)
        step, length, gain = self.step_of_bias(state)
        product = bias.v.dot(0, x)
        product -= step * dot(current.G, x)
        u = bias.u[0] * (1.0 + gain * bias.b[0])
        b = bias.next_fraction(0, gain, self.refined)
        return own + b * u * product / max(1.0, math.sqrt(length))

    def update(self, state: Lazy, x: Example, y: float, score: float) -> bool:
        """Update the task's own vector, and add the gradient to the task's sum."""
        if state.current.has_ended(x):
            self.end_task(state)
        s = slope(self.loss, y, score)
        state.own.pay(x.task, s, x, self.lipschitz, self.refined)
        state.current.add_gradient(s, x)
        return s != 0.0

    def step_of_bias(self, state):
        """Return step, squared length and gain of the bias at a task's end (steps 3A to 4A)."""
        bias, C = state.bias, self.lipschitz * state.current.n[0]
        v, G, along, square = bias.v.vectors[0], state.current.G, 0.0, 0.0
        for f in range(G.size):
            along += v[f] * G[f]
            square += G[f] * G[f]
        along *= bias.v.scale[0]
        step = math.sqrt(2.0 / (bias.seen[0] + 1.0)) / C
        length = bias.v.square[0] - 2.0 * step * along + step * step * square
        return step, max(0.0, length), -along / C

    def end_task(self, state):
        """Update the bias by the task's gradients."""
        step, length, gain = self.step_of_bias(state)
        v, G = state.bias.v, state.current.G
        factor = step / v.scale[0]
        for f in range(G.size):
            v.vectors[0, f] -= factor * G[f]
        v.project(0, length)
        state.bias.wager(0, gain, self.refined)
        state.current.forget()
