"""Oracle of multi-task learning among neighbours, with every message between agents."""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.neighbours import NeighbourhoodMT
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.vocabulary import examples


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
        score = float(A[i] @ X[:, i] @ x)
        fired = y * score < 1.0 and bool(x.any())
        yield Step(score, fired, abs(y * score - 1.0))
        seen[i] += bool(x.any())
        if fired:
            for j in range(n_tasks):
                phi = np.outer(inverses[j][:, i], A[i, j] * y * x) / scale
                X[j] = X[j] + eta * seen[i] ** -0.5 * phi
