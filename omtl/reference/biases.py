"""Oracles of the learners of a bias that tasks share: online-within-online and parameter-free."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.learners.within_online import OnlineWithinOnline
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import examples, slope_of, zero_weights


class Bet:
    """A vector p v of Denevi, Stamos and Pontil (2020), algorithms 1 (p = b u) and 2 (v)."""

    def __init__(self, n_features: int, wealth: float, refined: bool) -> None:
        self.v, self.b, self.u = np.zeros(n_features), 0.0, wealth
        self.i, self.squares, self.refined = 0, 1.0, refined

    @property
    def w(self) -> np.ndarray:
        """The vector."""
        return self.b * self.u * self.v

    def pay(self, g: np.ndarray, C: float) -> None:
        """Take a step of the gradient g, where |⟨g, v⟩| ≤ C."""
        a = float(g @ self.v) / C
        self.i, self.u = self.i + 1, self.u * (1.0 - a * self.b)
        if self.refined:  # Cutkosky and Orabona (2018), algorithm 1
            h = a / (1.0 - a * self.b)
            self.squares += h**2
            step = 2.0 / (2.0 - math.log(3.0)) * h / self.squares
            self.b = float(np.clip(self.b - step, -0.5, 0.5))
        else:
            self.b = ((self.i - 1) * self.b - a) / self.i
        v = self.v - math.sqrt(2.0 / self.i) / C * g
        self.v = v / max(1.0, float(np.linalg.norm(v)))


@transcribes(ParameterFree)
def parameter_free(learner: ParameterFree, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of algorithm 4 of Denevi, Stamos and Pontil (2020)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    lipschitz, wealth, bias_wealth, loss, shared, refined = learner
    own = [Bet(n_features, wealth, refined) for _ in range(n_tasks)]
    bias = Bet(n_features, bias_wealth, refined)
    for x, y, k, _ in examples(rounds):
        score = float((own[k].w + (bias.w if shared else 0.0)) @ x)
        s, gap = slope_of(loss, y, score)
        yield ReferenceStep(score, s != 0.0 and bool(x.any()), gap)
        if x.any():
            own[k].pay(s * x, lipschitz)
            bias.pay(s * x, lipschitz)


@transcribes(LazyParameterFree)
def parameter_free_lazy(learner: LazyParameterFree, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of algorithm 5 of Denevi, Stamos and Pontil (2020)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    lipschitz, wealth, bias_wealth, loss, refined = learner
    own = [Bet(n_features, wealth, refined) for _ in range(n_tasks)]
    bias = Bet(n_features, bias_wealth, refined)
    gradients: list[np.ndarray] = []
    task = -1
    for x, y, k, _ in examples(rounds):
        if gradients and k != task and x.any():  # a row without features scores 0 anyway
            bias.pay(np.sum(gradients, axis=0), lipschitz * len(gradients))
            gradients = []
        score = float((own[k].w + bias.w) @ x)
        s, gap = slope_of(loss, y, score)
        yield ReferenceStep(score, s != 0.0 and bool(x.any()), gap)
        if x.any():
            own[k].pay(s * x, lipschitz)
            gradients.append(s * x)
            task = k


@transcribes(OnlineWithinOnline)
def within_online(learner: OnlineWithinOnline, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the subgradient steps within tasks around a bias, which moves when a task ends."""
    lam, eta, loss = learner
    v, theta = zero_weights(shape), np.zeros(shape.n_features)
    gradients: list[np.ndarray] = []
    task, i = -1, np.zeros(shape.n_tasks)
    for x, y, k, _ in examples(rounds):
        if gradients and k != task and x.any():
            theta = theta - eta * np.mean(gradients, axis=0)
            gradients = []
        score = float((theta + v[k]) @ x)
        s, gap = slope_of(loss, y, score)
        yield ReferenceStep(score, s != 0.0 and bool(x.any()), gap)
        if x.any():
            i[k], task = i[k] + 1, k
            v[k] = v[k] - (s * x + lam * v[k]) / (lam * (i[k] + 1))
            gradients.append(s * x)
