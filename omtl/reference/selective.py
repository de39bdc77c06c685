"""Oracle of the multi-task perceptron that queries labels, with explicit Kronecker products."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.selective import SelectivePerceptron
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.network import inverse_relation
from omtl.reference.vocabulary import compound, examples, uniforms


@transcribes(SelectivePerceptron)
def selective_perceptron(learner: SelectivePerceptron, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of the multi-task perceptron that queries with probability a / (a + |r|)."""
    n_tasks, n_features, seed = shape.n_tasks, shape.n_features, shape.seed
    a, b, at_random = learner
    pooled = np.full((n_tasks, n_tasks), 1.0 / n_tasks)
    A = pooled if math.isinf(b) else inverse_relation(n_tasks, b)
    draws = uniforms(seed)
    w = np.zeros(n_tasks * n_features)
    for x, y, k, _ in examples(rounds):
        phi = compound(x, k, n_tasks)
        score = float(w @ phi)
        gap, fired = abs(y * score), False
        if x.any():
            u = next(draws)
            p = 0.5 if at_random else 1.0 if math.isinf(a) else a / (a + abs(score))
            gap, fired = min(gap, abs(u - p)), u <= p and y * score <= 0.0
        if fired:
            w = w + y * np.kron(A, np.eye(n_features)) @ phi
        yield Step(score, fired, gap)
