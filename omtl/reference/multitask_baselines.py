"""Oracles of the multi-task baselines that no paper of the project has, all vectors written out."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.hedge import HedgedMultiTask
from omtl.learners.multitask_arow import MultiTaskAROW
from omtl.learners.neighbours import NeighbourhoodMT
from omtl.reference import Rounds, Steps, transcribes
from omtl.reference.vocabulary import Gaussian, compound, examples, hinge_step, weights_of_losses


@transcribes(HedgedMultiTask)
def hedged_multi_task(learner: HedgedMultiTask, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of MT-OGD for each of the strengths, weighted by Hedge."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    eta, n_experts = learner
    ones, eye = np.ones((n_tasks, n_tasks)), np.eye(n_tasks)
    strengths = np.linspace(0.0, 1.0, n_experts)
    inverses = [(1.0 - c) * eye + c * ones / n_tasks for c in strengths]
    w = np.zeros((n_experts, n_tasks * n_features))
    losses: list[np.ndarray] = []
    p, t = np.full(n_experts, 1.0 / n_experts), 0
    for x, y, k, _ in examples(rounds):
        phi = compound(x, k, n_tasks)
        scores = w @ phi
        step = hinge_step(p @ scores, x, y)
        yield step
        t += bool(x.any())
        if not step.fired:
            continue
        apart = scores - scores[0]
        apart[np.abs(apart) <= 1e-12 * np.abs(scores).max()] = 0.0  # they differ by rounding
        losses.append(-y * (scores[0] + apart))
        for j, inverse in enumerate(inverses):
            spread = np.kron(inverse, np.eye(n_features)) @ phi / inverse[k, k]
            w[j] = w[j] + eta * t**-0.5 * y * spread
        squares = sum((one.max() - one.min()) ** 2 for one in losses)
        if squares > 0.0:
            rate = math.sqrt(math.log(n_experts) / squares)
            p = weights_of_losses(np.sum(losses, axis=0), rate)


@transcribes(MultiTaskAROW)
def multitask_arow(learner: MultiTaskAROW, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of AROW on the rows (√(1 − c) φ, √c x), Σ made diagonal after each."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    r, c = learner
    w = Gaussian((n_tasks + 1) * n_features)
    for x, y, k, _ in examples(rounds):
        z = np.concatenate([math.sqrt(1.0 - c) * compound(x, k, n_tasks), math.sqrt(c) * x])
        step = hinge_step(w.mu @ z, x, y)
        if step.fired:
            beta = 1.0 / (float(z @ w.sigma @ z) + r)
            w.move(z, (1.0 - y * step.score) * beta * y, beta)
        yield step


@transcribes(NeighbourhoodMT)
def neighbourhood_mt(learner: NeighbourhoodMT, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of neighbourhoods that each run MT-OGD, with separate weights."""
    n_tasks, n_features, A = shape.n_tasks, shape.n_features, shape.mixing
    eta, b = learner
    X = np.zeros((n_tasks, n_tasks, n_features))  # X[j, i]: what j sends to agent i
    seen = np.zeros(n_tasks)
    inverses = []
    for j in range(n_tasks):
        member = (A[:, j] > 0.0).astype(float)
        inverses.append((np.diag(member) + b * np.outer(member, member) / member.sum()) / (1.0 + b))
    each = [sum(A[i, j] ** 2 * inverses[j][i, i] for j in range(n_tasks)) for i in range(n_tasks)]
    scale = np.mean(each)
    for x, y, i, _ in examples(rounds):
        step = hinge_step(A[i] @ X[:, i] @ x, x, y)
        yield step
        seen[i] += bool(x.any())
        if step.fired:
            for j in range(n_tasks):
                phi = np.outer(inverses[j][:, i], A[i, j] * y * x) / scale
                X[j] = X[j] + eta * seen[i] ** -0.5 * phi
