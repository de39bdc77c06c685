"""Oracles of C-ADMM and D-ADMM, line by line as in the authors' program."""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.admm import CADMM, DADMM, NO_DIRECTION
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import zero_weights


@transcribes(CADMM)
def cadmm(learner: CADMM, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of C-ADMM: W while examples come, then u, V, Z and Ω."""
    rho, eta, lam1, lam2, lam3, lam4 = learner
    K, lam = shape.n_tasks, lam1 + lam3
    W, V, Z = zero_weights(shape), zero_weights(shape), zero_weights(shape)
    u, related = np.zeros(shape.n_features), K * np.eye(K)
    for given in rounds:
        gradients = zero_weights(shape)
        for x, y, k, _ in given:
            step = _step(W[k] @ x, x, y)
            gradients[k] = -y * x * step.fired
            yield step
        W = eta / (rho + eta) * W + rho / (rho + eta) * (u + V) - (gradients + Z) / (rho + eta)
        u = lam * (Z + rho * W).sum(axis=0) / (lam * (lam2 + rho * K) + lam2 * rho)
        V = lam2 / (lam2 * (lam + rho) + rho * K * lam) * (rho * W + Z) + lam4 * related @ V
        Z = Z + rho * (W - u - V)
        related = _inverse(V, related)


@transcribes(DADMM)
def dadmm(learner: DADMM, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of D-ADMM: each node's, for the task of its example."""
    rho, eta, lam1, lam2, lam3, lam4 = learner
    K, lam = shape.n_tasks, lam1 + lam3
    sent = np.zeros((K, 3, K, shape.n_features))
    related = [K * np.eye(K) for _ in range(K)]
    for given in rounds:
        own = np.einsum("ij,jpkf->ipkf", shape.mixing, sent)
        for x, y, k, i in given:
            W, V, Z = own[i]
            step = _step(W[k] @ x, x, y)
            yield step
            if not x.any():
                continue  # no learner learns from an empty row
            gradient = -y * x * step.fired
            W[k] = (
                eta / (rho + eta) * W[k]
                + rho / (rho + eta) * V[k]
                - (gradient + Z[k]) / (rho + eta)
            )
            u = lam * (Z + rho * W).sum(axis=0) / (lam * (lam2 + rho * K) + lam2 * rho)
            through = lam4 * related[i][k] @ V
            V[k] = lam2 / (lam2 * (lam + rho) + rho * K * lam) * (Z[k] + rho * W[k]) + through
            Z[k] = Z[k] + rho * (W[k] - u - V[k])
            related[i] = _inverse(V, related[i])
        sent = own


def _step(score: float, x: np.ndarray, y: float) -> ReferenceStep:
    """Return the step of a rule that learns from mistakes, where 0 predicts +1."""
    fired = (1.0 if score >= 0.0 else -1.0) != y and bool(x.any())
    return ReferenceStep(float(score), fired, abs(float(score)))


def _inverse(V: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return Ω⁺ for Ω = (VᵀV)^½ / tr((VᵀV)^½), with the tasks as rows; the last one if V = 0."""
    left, sigma, _ = np.linalg.svd(V, full_matrices=False)
    kept = sigma > NO_DIRECTION * sigma.max(initial=0.0)
    found: np.ndarray = sigma.sum() * left[:, kept] / sigma[kept] @ left[:, kept].T
    return found if V.any() else last
