"""Oracles of the learners without a network: perceptron, passive-aggressive, COML."""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.coml import COML
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import examples, zero_weights


@transcribes(Perceptron)
def perceptron(learner: Perceptron, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of w ← w + η y x where y w·x ≤ margin (DOM paper, section 4.1)."""
    eta, margin, pooled = learner
    w = zero_weights(shape)
    for x, y, k, _ in examples(rounds, pooled):
        score = float(w[k] @ x)
        fired = y * score <= margin and x.any()
        if fired:
            w[k] = w[k] + eta * y * x
        yield ReferenceStep(score, fired, abs(y * score - margin))


@transcribes(PassiveAggressive)
def passive_aggressive(learner: PassiveAggressive, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of PA and PA-I: w ← argmin ½‖u − w‖² + C ℓ(u) where y w·x ≤ margin."""
    C, pooled, margin = learner
    w = zero_weights(shape)
    for x, y, k, _ in examples(rounds, pooled):
        score = float(w[k] @ x)
        fired = y * score < 1.0 and y * score <= margin and bool(np.any(x))
        if fired:
            w[k] = _passive_aggressive_step(w[k], x, y, C)
        yield ReferenceStep(score, fired, min(abs(y * score - 1.0), abs(y * score - margin)))


@transcribes(COML)
def coml(learner: COML, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of COML (Li, Hoi, Chang, Liu, Jain, TKDE 2014).

    Where u^k has a positive hinge loss,
    u^k ← argmin_u (μ/2)‖u − w‖² + ((1−μ)/2)‖u − u^k‖² + C ℓ(u); then w takes its own PA-I step
    with the same C. With ``every_round``, u^k is that minimum without a loss too.
    """
    C, mu, every_round = learner
    w = np.zeros(shape.n_features)
    u = zero_weights(shape)
    for x, y, k, _ in examples(rounds):
        score = float(u[k] @ x)
        global_score = float(w @ x)
        if (every_round or y * score < 1.0) and x.any():
            u[k] = _passive_aggressive_step(mu * w + (1.0 - mu) * u[k], x, y, C)
        w = _passive_aggressive_step(w, x, y, C)
        leans = every_round and mu > 0.0
        fired = x.any() and (leans or y * score < 1.0 or y * global_score < 1.0)
        yield ReferenceStep(score, fired, min(abs(y * score - 1.0), abs(y * global_score - 1.0)))


def _passive_aggressive_step(w: np.ndarray, x: np.ndarray, y: float, C: float) -> np.ndarray:
    """Return argmin_u ½‖u − w‖² + C ℓ(u), with ℓ(u) = max(0, 1 − y u·x)."""
    loss = max(0.0, 1.0 - y * float(w @ x))
    square_norm = float(x @ x)
    if square_norm == 0.0:
        return w
    return w + min(C, loss / square_norm) * y * x
