"""ROM's algorithms as plain transcriptions of the paper's equations, with random cases for them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from learner_cases import Case
from miniature import AS_WRITTEN
from profiles import powers

from omtl.data.preparation import PreparedData
from omtl.data.streams import Stream, Tasks
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.protocols.setting import Setting
from omtl.theory import comparators
from omtl.theory.rom_comparator import FixedWeights, Regulariser

SLACK = 1e-9
"""Of comparisons of sums of rounded numbers, relative."""


READING = AS_WRITTEN


class Plain(NamedTuple):
    """What a plain transcription has summed up after each round; and its last weights."""

    losses: np.ndarray
    penalties: np.ndarray
    proximities: np.ndarray
    shared: np.ndarray
    own: np.ndarray
    weights: FixedWeights


def plain(learner: Any, case: Case) -> Plain:
    """Play ROM-PGD or ROM-RDA as the paper's equations have it, with every part written out."""
    m, d = case.shape.n_tasks, case.shape.n_features
    r = Regulariser(learner.alpha, learner.beta, learner.gamma)
    W = FixedWeights(np.zeros(d), np.zeros((m, d)), np.zeros((m, d)))
    sums = FixedWeights(np.zeros(d), np.zeros((m, d)), np.zeros((m, d)))
    rows = []
    for t, given_now in enumerate(case.given, start=1):
        theta = learner.kappa * math.sqrt(t) if isinstance(learner, ROMRDA) else 0.0
        G, loss, active = np.zeros((m, d)), 0.0, set()
        for x, y, i, _ in given_now:
            margin = y * float((W.u + W.P[i] + W.Q[i]) @ x)
            if margin < 1.0:
                loss += 1.0 - margin
                G[i] = -y * x
                active |= {i} if x.any() else set()
        g = G.sum(axis=0)
        rows.append((loss, r.of(W), theta / (2 * t) * sum(W.squares), g @ g, np.sum(G**2)))
        if isinstance(learner, ROMPGD):
            eta = learner.eta
            u = (W.u - eta / m * g) / (1.0 + r.alpha * eta / m)
            P, Q = W.P.copy(), W.Q.copy()
            for i in range(m) if learner.every_round else active:
                P[i] = (P[i] - eta * G[i]) / (1.0 + r.beta * eta)
                hat = Q[i] - eta * G[i]
                Q[i] = max(0.0, 1.0 - eta * r.gamma / max(np.linalg.norm(hat), 1e-300)) * hat
            W = FixedWeights(u, P, Q)
        else:
            sums = FixedWeights(sums.u + g, sums.P + G, sums.Q + G)
            norm = np.linalg.norm(sums.Q, axis=1, keepdims=True) / t
            left = np.maximum(0.0, 1.0 - r.gamma / np.maximum(norm, 1e-300))
            W = FixedWeights(
                -sums.u / t / (r.alpha + theta / t),
                -sums.P / t / (r.beta + theta / t),
                -left * sums.Q / theta,
            )
    return Plain(*np.cumsum(np.array(rows), axis=0).T, weights=W)


def one_stream(X: list[list[float]], y: list[list[float]]) -> Case:
    """Return a case of one feature, where row t of X and y has the examples of round t."""
    rounds, m = len(X), len(X[0])
    tasks = Tasks(
        np.array(X).reshape(-1, 1),
        np.array(y).ravel(),
        np.tile(np.arange(m), rounds),
        tuple(f"task {k}" for k in range(m)),
    )
    stream = Stream(
        start=np.arange(0, rounds * m + 1, m),
        example=np.arange(rounds * m),
        node=np.zeros(rounds * m, dtype=np.int64),
        checkpoint=np.arange(1, rounds + 1),
    )
    return Case(tasks, stream, np.ones((1, 1)))


def at_first(case: Case, n_rounds: int) -> Tasks:
    """Return the examples of the first rounds."""
    seen = case.stream.example[: case.stream.start[n_rounds]]
    return Tasks(case.tasks.X[seen], case.tasks.y[seen], case.tasks.task[seen], case.tasks.names)


def objective_of(tasks: Tasks, n_rounds: int, W: FixedWeights, r: Regulariser) -> float:
    """Return the hinge losses of fixed weights plus their regulariser in every round."""
    losses = comparators.losses_under(tasks, W.u + W.P + W.Q)
    return float(losses.sum() + n_rounds * r.of(W))


weights = powers(-3.0, 1.0)


regularisers = st.builds(Regulariser, weights, weights, weights)


SEEDS = st.integers(0, 10_000)


LEARNERS = {
    "algorithm 1": st.builds(ROMPGD, powers(-3, 0), weights, weights, weights),
    "every round": st.builds(ROMPGD, powers(-3, 0), weights, weights, weights, st.just(True)),
    "RDA": st.builds(ROMRDA, powers(-1, 2), weights, weights, weights),
}


def setting(source: PreparedData) -> Setting:
    """Return a repeat on prepared data."""
    protocol = {"stream": "rounds", "checkpoints": 5}
    return Setting(
        source, protocol, {"topology": "full"}, lambda *_, **__: np.random.default_rng(0)
    )
