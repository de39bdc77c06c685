"""Oracles of the baselines that no paper of the project has, with full matrices."""

from __future__ import annotations

from collections import Counter

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.adagrad import AdaGrad
from omtl.learners.arow import AROW
from omtl.learners.gradient import GradientDescent
from omtl.learners.majority import Majority
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.vocabulary import examples, slope_of


@transcribes(GradientDescent)
def gradient_descent(learner: GradientDescent, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of w ← w − (η / √t) ∂ℓ(y, w·x) (Zinkevich 2003, section 2)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    eta, pooled, loss = learner
    w = np.zeros((n_tasks, n_features))
    t = [0] * n_tasks
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        score = float(w[k] @ x)
        if x.any():
            t[k] += 1
            gradient, _ = slope_of(loss, y, score)
            w[k] = w[k] - eta * t[k] ** -0.5 * gradient * x
        slope, gap = slope_of(loss, y, score)
        yield Step(score, slope != 0.0 and bool(x.any()), gap)


@transcribes(AdaGrad)
def adagrad(learner: AdaGrad, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of w ← w − η diag(G)^(−½) g, G = Σ g gᵀ (Duchi et al. 2011, eq. 1)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    eta, pooled = learner
    w = np.zeros((n_tasks, n_features))
    G = np.zeros((n_tasks, n_features, n_features))
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        score = float(w[k] @ x)
        fired = y * score < 1.0 and bool(x.any())
        if fired:
            gradient = -y * x
            G[k] += np.outer(gradient, gradient)
            w[k] = w[k] - eta * np.sqrt(np.linalg.pinv(np.diag(np.diag(G[k])))) @ gradient
        yield Step(score, fired, abs(y * score - 1.0))


@transcribes(AROW)
def arow(learner: AROW, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of AROW (Crammer et al. 2009, figure 1), Σ made diagonal after each."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    r, pooled = learner
    mu = np.zeros((n_tasks, n_features))
    sigma = np.stack([np.eye(n_features)] * n_tasks)
    for x, y, task, _ in examples(rounds):
        k = 0 if pooled else task
        m, v = float(mu[k] @ x), float(x @ sigma[k] @ x)
        fired = m * y < 1.0 and bool(x.any())
        if fired:
            beta = 1.0 / (v + r)
            alpha = max(0.0, 1.0 - y * m) * beta
            mu[k] = mu[k] + alpha * y * (sigma[k] @ x)
            full = sigma[k] - beta * np.outer(sigma[k] @ x, sigma[k] @ x)
            sigma[k] = np.diag(np.diag(full))
        yield Step(m, fired, abs(y * m - 1.0))


@transcribes(Majority)
def majority(learner: Majority, rounds: Rounds, shape: Shape) -> Steps:  # noqa: ARG001
    """Yield the more frequent label of each task so far, +1 where there is none."""
    labels: list[Counter[float]] = [Counter() for _ in range(shape.n_tasks)]
    for x, y, task, _ in examples(rounds):
        seen = labels[task]
        yield Step(seen[1.0] - seen[-1.0] + 0.5, False, 0.5)
        if x.any():
            seen[y] += 1
