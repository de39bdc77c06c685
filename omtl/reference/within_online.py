"""Oracle of online-within-online: a vector around a bias for every task."""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.within_online import OnlineWithinOnline
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.vocabulary import examples, slope_of


@transcribes(OnlineWithinOnline)
def within_online(learner: OnlineWithinOnline, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the subgradient steps within tasks around a bias, which moves when a task ends."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    lam, eta, loss = learner
    v, theta = np.zeros((n_tasks, n_features)), np.zeros(n_features)
    gradients: list[np.ndarray] = []
    task, i = -1, np.zeros(n_tasks)
    for x, y, k, _ in examples(rounds):
        if gradients and k != task and x.any():
            theta = theta - eta * np.mean(gradients, axis=0)
            gradients = []
        score = float((theta + v[k]) @ x)
        s, gap = slope_of(loss, y, score)
        yield Step(score, s != 0.0 and bool(x.any()), gap)
        if x.any():
            i[k], task = i[k] + 1, k
            v[k] = v[k] - (s * x + lam * v[k]) / (lam * (i[k] + 1))
            gradients.append(s * x)
