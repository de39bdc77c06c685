"""Oracles of PA-II, ALMA, SCW and the second-order perceptron, with full matrices."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from omtl.kernel.rules import Shape
from omtl.learners.alma import ALMA
from omtl.learners.passive_aggressive import PassiveAggressiveII
from omtl.learners.second_order import SecondOrderPerceptron
from omtl.learners.soft_confidence import SCW
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.vocabulary import examples


@transcribes(PassiveAggressiveII)
def pa_ii(learner: PassiveAggressiveII, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of PA-II (Crammer et al. 2006, figure 1)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    C, pooled = learner
    w = np.zeros((n_tasks, n_features))
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        score = float(w[k] @ x)
        loss = max(0.0, 1.0 - y * score)
        if x.any():
            w[k] = w[k] + loss / (np.linalg.norm(x) ** 2 + 1.0 / (2.0 * C)) * y * x
        yield Step(score, loss > 0.0 and bool(x.any()), abs(y * score - 1.0))


@transcribes(ALMA)
def alma(learner: ALMA, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of ALMA₂(α; 1/α, √2) (Gentile 2001, figure 1)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    alpha, pooled = learner
    B, C = 1.0 / alpha, math.sqrt(2.0)
    w = np.zeros((n_tasks, n_features))
    step = [1] * n_tasks
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        score = float(w[k] @ x)
        if not x.any():
            yield Step(score, False, 1.0)
            continue
        unit = x / np.linalg.norm(x)
        nothing_yet = not w[k].any()
        margin, wanted = y * float(w[k] @ unit), (1.0 - alpha) * B / math.sqrt(step[k])
        if margin <= wanted:
            moved = w[k] + C / math.sqrt(step[k]) * y * unit
            w[k] = moved / max(1.0, float(np.linalg.norm(moved)))
            step[k] += 1
        # Rounding cannot change a margin of zero weights.
        gap = 1.0 if nothing_yet else abs(margin - wanted)
        yield Step(score, margin <= wanted, gap)


@transcribes(SCW)
def scw(learner: SCW, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of SCW-I (Wang et al. 2012, proposition 1), Σ made diagonal after each."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    C, eta, pooled = learner
    phi = float(ndtri(eta))
    psi, zeta = 1.0 + phi**2 / 2.0, 1.0 + phi**2
    mu = np.zeros((n_tasks, n_features))
    sigma = np.stack([np.eye(n_features)] * n_tasks)
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        score, v = float(mu[k] @ x), float(x @ sigma[k] @ x)
        m = y * score
        fired = phi * math.sqrt(v) - m > 0.0 and bool(x.any())
        if fired:
            root = math.sqrt(m**2 * phi**4 / 4.0 + v * phi**2 * zeta)
            alpha = min(C, max(0.0, (-m * psi + root) / (v * zeta)))
            u = 0.25 * (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4.0 * v)) ** 2
            beta = alpha * phi / (math.sqrt(u) + v * alpha * phi)
            mu[k] = mu[k] + alpha * y * (sigma[k] @ x)
            full = sigma[k] - beta * np.outer(sigma[k] @ x, sigma[k] @ x)
            sigma[k] = np.diag(np.diag(full))
        yield Step(score, fired, abs(phi * math.sqrt(v) - m))


@transcribes(SecondOrderPerceptron)
def second_order(learner: SecondOrderPerceptron, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of the second-order perceptron (Cesa-Bianchi et al. 2005), S diagonal."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    a, pooled = learner
    v = np.zeros((n_tasks, n_features))
    S = np.zeros((n_tasks, n_features, n_features))
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        now = np.diag(np.diag(a * np.eye(n_features) + S[k] + np.outer(x, x)))
        score = float(v[k] @ np.linalg.inv(now) @ x)
        gap = abs(score) if v[k].any() else 1.0  # rounding cannot change a score of zero weights
        fired = y * score <= 0.0 and bool(x.any())
        if fired:
            v[k] = v[k] + y * x
            S[k] = S[k] + np.diag(np.diag(np.outer(x, x)))
        yield Step(score, fired, gap)
