"""Oracle of Hedge over strengths of sharing, with a vector over all tasks for each strength."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.hedge import HedgedMultiTask
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.vocabulary import compound, examples, exponential_weights


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
        score = float(p @ scores)
        fired = y * score < 1.0 and bool(x.any())
        yield Step(score, fired, abs(y * score - 1.0))
        t += bool(x.any())
        if not fired:
            continue
        apart = scores - scores[0]
        apart[np.abs(apart) <= 1e-12 * np.abs(scores).max()] = 0.0  # they differ by rounding
        losses.append(-y * (scores[0] + apart))
        for j, inverse in enumerate(inverses):
            step = np.kron(inverse, np.eye(n_features)) @ phi / inverse[k, k]
            w[j] = w[j] + eta * t**-0.5 * y * step
        spread = sum((one.max() - one.min()) ** 2 for one in losses)
        if spread > 0.0:
            rate = math.sqrt(math.log(n_experts) / spread)
            p = exponential_weights(np.sum(losses, axis=0), rate)
