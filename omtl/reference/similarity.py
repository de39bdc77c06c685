"""OMTRSL and OASIS as their papers print them: K dense matrices, one triplet after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from omtl.learners.similarity import OMTRSL, OMTRSLActive, OMTRSLRandom
from omtl.reference.vocabulary import inverse_relation


class Round(NamedTuple):
    """The result of a round: the score p, whether the label was queried, and the step τ."""

    p: float
    queried: bool
    tau: float


def omtrsl(
    learner: OMTRSL | OMTRSLActive | OMTRSLRandom,
    triplets: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray, float, int]],
    draws: Iterable[float],
    n_tasks: int,
    n_features: int,
) -> tuple[list[Round], np.ndarray]:
    """Run algorithm 1, algorithm 2, or random queries; OASIS is algorithm 1 on one task.

    Parameters
    ----------
    learner : NamedTuple
    triplets : iterable of tuple
        x, x¹, x², y and the task.
    draws : iterable of float
        Uniform numbers; Z_t = 1 where one is below Pr(Z_t = 1).
    n_tasks, n_features : int

    Returns
    -------
    tuple of (list of Round, ndarray)
        The rounds, and the matrices after them, shape (n_tasks, n_features, n_features).
    """
    A_inverse = inverse_relation(n_tasks, learner.b)
    M = np.stack([np.eye(n_features) for _ in range(n_tasks)])
    rounds = []
    for (x, x1, x2, y, t), draw in zip(triplets, draws, strict=True):
        X = np.outer(x, x1 - x2)
        p = float(x @ M[t] @ x1 - x @ M[t] @ x2)
        chance = 1.0
        if isinstance(learner, OMTRSLActive):
            chance = learner.delta / (learner.delta + abs(p))
        if isinstance(learner, OMTRSLRandom):
            chance = learner.rate
        queried = draw < chance
        loss = max(0.0, 1.0 - y * p)
        norm = np.sum(X**2) * (1.0 if learner.plain_step else A_inverse[t, t])
        tau = 0.0
        if queried and loss > 0.0 and norm > 0.0:
            tau = min(learner.C, loss / norm)
            for k in range(n_tasks):
                M[k] = M[k] + y * tau * A_inverse[k, t] * X
        rounds.append(Round(p, bool(queried), tau))
    return rounds, M
