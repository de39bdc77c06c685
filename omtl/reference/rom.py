"""Oracles of ROM-PGD, ROM-RDA and ROMCO, with all parts of the weights written out in every round.

After all steps, those of ROM return u, P and Q, of shapes (n_features,) and (n_tasks, n_features).
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.learners.romco import ROMCO
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import hinge_step, zero_weights


@transcribes(ROMPGD)
def rom_pgd(
    learner: ROMPGD, rounds: Rounds, shape: Shape
) -> Generator[ReferenceStep, None, tuple[np.ndarray, ...]]:
    """Yield the steps of algorithm 1, or of eqs. 6, 7 and 10 in every round."""
    n_tasks = shape.n_tasks
    eta, alpha, beta, gamma, every_round = learner
    u, P, Q = np.zeros(shape.n_features), zero_weights(shape), zero_weights(shape)
    for given in rounds:
        gradients = zero_weights(shape)
        stepping = set(range(n_tasks)) if every_round else set()
        for x, y, i, _ in given:
            step = hinge_step((u + P[i] + Q[i]) @ x, x, y)
            if step.fired:
                gradients[i] = -y * x
                stepping.add(i)
            yield step
        for i in stepping:
            P[i] = (P[i] - eta * gradients[i]) / (1.0 + beta * eta)  # eq. 7
            hat = Q[i] - eta * gradients[i]  # eq. 8
            norm = np.linalg.norm(hat)
            if norm > 0.0:
                Q[i] = max(0.0, 1.0 - eta * gamma / norm) * hat  # eq. 10
        u = (u - eta / n_tasks * gradients.sum(axis=0)) / (1.0 + alpha * eta / n_tasks)  # eq. 6
    return u, P, Q


@transcribes(ROMRDA)
def rom_rda(
    learner: ROMRDA, rounds: Rounds, shape: Shape
) -> Generator[ReferenceStep, None, tuple[np.ndarray, ...]]:
    """Yield the steps of algorithm 2, with θ_t = κ √t."""
    kappa, alpha, beta, gamma = learner
    u, P, Q = np.zeros(shape.n_features), zero_weights(shape), zero_weights(shape)
    mean_u, mean_P, mean_Q = np.zeros(shape.n_features), zero_weights(shape), zero_weights(shape)
    for t, given in enumerate(rounds, start=1):
        theta = kappa * np.sqrt(t)
        gradients = zero_weights(shape)
        for x, y, i, _ in given:
            step = hinge_step((u + P[i] + Q[i]) @ x, x, y)
            if step.fired:
                gradients[i] = -y * x
            yield step
        mean_u = gradients.sum(axis=0) / t + (t - 1) / t * mean_u  # eq. 14
        mean_P = gradients / t + (t - 1) / t * mean_P  # eq. 15
        mean_Q = gradients / t + (t - 1) / t * mean_Q  # eq. 16
        u = -mean_u / (alpha + theta / t)  # eq. 20
        P = -mean_P / (beta + theta / t)  # eq. 21
        for i in range(shape.n_tasks):  # eq. 22
            norm = float(np.linalg.norm(mean_Q[i]))
            left = max(0.0, 1.0 - gamma / norm) if norm > 0.0 else 0.0
            Q[i] = -left * t * mean_Q[i] / theta
    return u, P, Q


@transcribes(ROMCO)
def romco(learner: ROMCO, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of gradients on U + V, singular values and tasks shrunk after each round."""
    eta, lam1, lam2 = learner
    U, V = zero_weights(shape), zero_weights(shape)
    for given in rounds:
        for x, y, k, _ in given:
            step = hinge_step((U[k] + V[k]) @ x, x, y)
            yield step
            if step.fired:
                U[k] += eta * y * x
                V[k] += eta * y * x
        left, sigma, right = np.linalg.svd(U, full_matrices=False)
        U = left @ np.diag(np.maximum(0.0, sigma - eta * lam1)) @ right
        U[np.abs(U) <= 1e-15 * sigma.max()] = 0.0  # the decomposition's rounding error
        norms = np.linalg.norm(V, axis=1)
        V *= (np.maximum(0.0, norms - eta * lam2) / np.where(norms > 0.0, norms, 1.0))[:, None]
