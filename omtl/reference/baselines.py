"""Oracles of the single-task baselines that no paper of the project has, with full matrices."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from scipy.special import ndtri

from omtl.kernel.rules import Shape
from omtl.learners.adagrad import AdaGrad
from omtl.learners.alma import ALMA
from omtl.learners.arow import AROW
from omtl.learners.gradient import GradientDescent
from omtl.learners.majority import Majority
from omtl.learners.passive_aggressive import PassiveAggressiveII
from omtl.learners.second_order import SecondOrderPerceptron
from omtl.learners.soft_confidence import SCW
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import Gaussian, examples, hinge_step, slope_of, zero_weights


@transcribes(GradientDescent)
def gradient_descent(learner: GradientDescent, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of w ← w − (η / √t) ∂ℓ(y, w·x) (Zinkevich 2003, section 2)."""
    eta, pooled, loss = learner
    w = zero_weights(shape)
    t = [0] * shape.n_tasks
    for x, y, k, _ in examples(rounds, pooled):
        score = float(w[k] @ x)
        slope, gap = slope_of(loss, y, score)
        if x.any():
            t[k] += 1
            w[k] = w[k] - eta * t[k] ** -0.5 * slope * x
        yield ReferenceStep(score, slope != 0.0 and bool(x.any()), gap)


@transcribes(AdaGrad)
def adagrad(learner: AdaGrad, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of w ← w − η diag(G)^(−½) g, G = Σ g gᵀ (Duchi et al. 2011, eq. 1)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    eta, pooled = learner
    w = zero_weights(shape)
    G = np.zeros((n_tasks, n_features, n_features))
    for x, y, k, _ in examples(rounds, pooled):
        step = hinge_step(w[k] @ x, x, y)
        if step.fired:
            gradient = -y * x
            G[k] += np.outer(gradient, gradient)
            w[k] = w[k] - eta * np.sqrt(np.linalg.pinv(np.diag(np.diag(G[k])))) @ gradient
        yield step


@transcribes(AROW)
def arow(learner: AROW, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of AROW (Crammer et al. 2009, figure 1), Σ made diagonal after each."""
    r, pooled = learner
    w = [Gaussian(shape.n_features) for _ in range(shape.n_tasks)]
    for x, y, k, _ in examples(rounds, pooled):
        step = hinge_step(w[k].mu @ x, x, y)
        if step.fired:
            beta = 1.0 / (float(x @ w[k].sigma @ x) + r)
            w[k].move(x, (1.0 - y * step.score) * beta * y, beta)
        yield step


@transcribes(Majority)
def majority(learner: Majority, rounds: Rounds, shape: Shape) -> Steps:  # noqa: ARG001
    """Yield the more frequent label of each task so far, +1 where there is none."""
    labels: list[Counter[float]] = [Counter() for _ in range(shape.n_tasks)]
    for x, y, task, _ in examples(rounds):
        seen = labels[task]
        yield ReferenceStep(seen[1.0] - seen[-1.0] + 0.5, False, 0.5)
        if x.any():
            seen[y] += 1


@transcribes(PassiveAggressiveII)
def pa_ii(learner: PassiveAggressiveII, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of PA-II (Crammer et al. 2006, figure 1)."""
    C, pooled = learner
    w = zero_weights(shape)
    for x, y, k, _ in examples(rounds, pooled):
        step = hinge_step(w[k] @ x, x, y)
        if step.fired:
            loss = 1.0 - y * step.score
            w[k] = w[k] + loss / (np.linalg.norm(x) ** 2 + 1.0 / (2.0 * C)) * y * x
        yield step


@transcribes(ALMA)
def alma(learner: ALMA, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of ALMA₂(α; 1/α, √2) (Gentile 2001, figure 1)."""
    alpha, pooled = learner
    B, C = 1.0 / alpha, math.sqrt(2.0)
    w = zero_weights(shape)
    step = [1] * shape.n_tasks
    for x, y, k, _ in examples(rounds, pooled):
        score = float(w[k] @ x)
        if not x.any():
            yield ReferenceStep(score, False, 1.0)
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
        yield ReferenceStep(score, margin <= wanted, gap)


@transcribes(SCW)
def scw(learner: SCW, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of SCW-I (Wang et al. 2012, proposition 1), Σ made diagonal after each."""
    C, eta, pooled = learner
    phi = float(ndtri(eta))
    psi, zeta = 1.0 + phi**2 / 2.0, 1.0 + phi**2
    w = [Gaussian(shape.n_features) for _ in range(shape.n_tasks)]
    for x, y, k, _ in examples(rounds, pooled):
        score, v = float(w[k].mu @ x), float(x @ w[k].sigma @ x)
        m = y * score
        fired = phi * math.sqrt(v) - m > 0.0 and bool(x.any())
        if fired:
            root = math.sqrt(m**2 * phi**4 / 4.0 + v * phi**2 * zeta)
            alpha = min(C, max(0.0, (-m * psi + root) / (v * zeta)))
            u = 0.25 * (-alpha * v * phi + math.sqrt(alpha**2 * v**2 * phi**2 + 4.0 * v)) ** 2
            beta = alpha * phi / (math.sqrt(u) + v * alpha * phi)
            w[k].move(x, alpha * y, beta)
        yield ReferenceStep(score, fired, abs(phi * math.sqrt(v) - m))


@transcribes(SecondOrderPerceptron)
def second_order(learner: SecondOrderPerceptron, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of the second-order perceptron (Cesa-Bianchi et al. 2005), S diagonal."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    a, pooled = learner
    v = zero_weights(shape)
    S = np.zeros((n_tasks, n_features, n_features))
    for x, y, k, _ in examples(rounds, pooled):
        now = np.diag(np.diag(a * np.eye(n_features) + S[k] + np.outer(x, x)))
        score = float(v[k] @ np.linalg.inv(now) @ x)
        gap = abs(score) if v[k].any() else 1.0  # rounding cannot change a score of zero weights
        fired = y * score <= 0.0 and bool(x.any())
        if fired:
            v[k] = v[k] + y * x
            S[k] = S[k] + np.diag(np.diag(np.outer(x, x)))
        yield ReferenceStep(score, fired, gap)
