"""Oracle of multi-task AROW, with the whole Σ over all tasks' rows and a shared row."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.multitask_arow import MultiTaskAROW
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.vocabulary import compound, examples


@transcribes(MultiTaskAROW)
def multitask_arow(learner: MultiTaskAROW, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of AROW on the rows (√(1 − c) φ, √c x), Σ made diagonal after each."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    r, c = learner
    mu = np.zeros((n_tasks + 1) * n_features)
    sigma = np.eye((n_tasks + 1) * n_features)
    for x, y, k, _ in examples(rounds):
        z = np.concatenate([math.sqrt(1.0 - c) * compound(x, k, n_tasks), math.sqrt(c) * x])
        m, v = float(mu @ z), float(z @ sigma @ z)
        fired = m * y < 1.0 and bool(x.any())
        if fired:
            beta = 1.0 / (v + r)
            mu = mu + max(0.0, 1.0 - y * m) * beta * y * (sigma @ z)
            sigma = np.diag(np.diag(sigma - beta * np.outer(sigma @ z, sigma @ z)))
        yield Step(m, fired, abs(y * m - 1.0))
