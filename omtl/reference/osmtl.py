"""Oracles of OSGL and OSMTL: every weight vector in every round, from the papers' equations.

All losses of a round use the weights from before it, so each round is computed completely before
its steps are yielded. Empty rows have nothing to learn from and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.reference import ReferenceStep, Rounds, transcribes
from omtl.reference.vocabulary import hinge_step, weights_of_losses, zero_weights


def _shared_loss(
    rounds: Rounds, shape: Shape, steps: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> Generator[ReferenceStep, None, np.ndarray]:
    """Yield the steps of w_k ← w_k + τ_k y_k x_k, with τ from all losses and squared norms."""
    W = zero_weights(shape)
    for given in rounds:
        present = [(x, y, k) for x, y, k, _ in given if x.any()]
        losses = np.array([max(0.0, 1.0 - y * float(W[k] @ x)) for x, y, k in present])
        outcomes = [hinge_step(W[k] @ x, x, y) for x, y, k, _ in given]
        if np.any(losses > 0.0):
            tau = steps(losses, np.array([float(x @ x) for x, _, _ in present]))
            for (x, y, k), size in zip(present, tau, strict=True):
                W[k] = W[k] + size * y * x
        yield from outcomes
    return W


@transcribes(OSGL)
def osgl(learner: OSGL, rounds: Rounds, shape: Shape) -> Generator[ReferenceStep, None, np.ndarray]:
    """Yield the steps of the finite-horizon perceptron: τ is C times the gradient of ‖ℓ‖_r."""
    C, r = learner

    def steps(losses: np.ndarray, square_norms: np.ndarray) -> np.ndarray:  # noqa: ARG001
        gradient = (losses / np.linalg.norm(losses, r)) ** (r - 1.0)
        return C * np.where(losses > 0.0, gradient, 0.0)

    return _shared_loss(rounds, shape, steps)


@transcribes(OSGLImplicit)
def osgl_implicit(
    learner: OSGLImplicit, rounds: Rounds, shape: Shape
) -> Generator[ReferenceStep, None, np.ndarray]:
    """Yield the steps of the implicit update, with μ found by Newton's method on 1/‖τ‖ = 1/C."""
    C = learner.C

    def steps(losses: np.ndarray, square_norms: np.ndarray) -> np.ndarray:
        mu = 0.0
        for _ in range(100):
            tau = losses / (square_norms + mu)
            norm = float(np.linalg.norm(tau))
            if norm <= C * (1.0 + 1e-14):
                break
            # 1/‖τ(μ)‖ is concave and rises: Newton's steps come to its root from below.
            slope = float(np.sum(losses**2 / (square_norms + mu) ** 3)) / norm**3
            mu += (1.0 / C - 1.0 / norm) / slope
        return tau

    return _shared_loss(rounds, shape, steps)


def _osmtl(
    learner: OSMTLExponential | OSMTLThreshold,
    rounds: Rounds,
    shape: Shape,
    attend: Callable[[int, np.ndarray, np.ndarray, float], np.ndarray],
) -> Generator[ReferenceStep, None, tuple[np.ndarray, np.ndarray]]:
    """Yield the steps of algorithm 2; `attend` gives the new p_k from k, the last one and ℓ_k."""
    n_tasks = shape.n_tasks
    C, alpha, margin, any_task = learner.C, learner.alpha, learner.margin, learner.any_task
    if learner.by_horizon:
        T = len(rounds)
        alpha = alpha * np.sqrt(T) / (1.0 + np.sqrt(T))
        C = C * (1.0 + np.sqrt(T)) / T
    W = zero_weights(shape)
    P = np.full((n_tasks, n_tasks), 1.0 / n_tasks)
    for given in rounds:
        present = {k: (x, y) for x, y, k, _ in given if x.any()}
        margins = np.full((n_tasks, n_tasks), np.inf)  # y_j w_k·x_j, of task k's weights
        for j, (x, y) in present.items():
            margins[:, j] = y * (W @ x)
        losses = np.where(margins < 1.0, 1.0 - margins, 0.0)
        near = np.abs(margins - 1.0).min()
        outcomes = []
        learns = np.zeros(n_tasks, dtype=bool)
        for x, y, k, _ in given:
            own = y * float(W[k] @ x)
            if any_task or margin == 1.0:
                fired, gap = own < 1.0, near
            else:
                fired, gap = own <= 0.0, min(near, abs(own))
            learns[k] = fired and k in present
            outcomes.append(ReferenceStep(float(W[k] @ x), bool(learns[k]), gap))
        learning = losses.any(axis=1) if any_task else learns
        new_W, new_P = W.copy(), P.copy()
        for k in map(int, np.flatnonzero(learning)):
            eta = alpha * np.eye(n_tasks)[k] + (1.0 - alpha) * P[k]  # eq. 3
            for j, (x, y) in present.items():
                if losses[k, j] > 0.0:
                    new_W[k] += C * eta[j] * y * x  # eq. 9
            new_P[k] = attend(k, P[k], losses[k], C * (1.0 - alpha))
        W, P = new_W, new_P
        yield from outcomes
    return W, alpha * np.eye(n_tasks) + (1.0 - alpha) * P


@transcribes(OSMTLExponential)
def osmtl_e(
    learner: OSMTLExponential, rounds: Rounds, shape: Shape
) -> Generator[ReferenceStep, None, tuple[np.ndarray, np.ndarray]]:
    """Yield the steps of OSMTL-e."""

    exponents = np.zeros((shape.n_tasks, shape.n_tasks))
    """−log p, but for a constant: p itself may become too small for a number."""

    def attend(k: int, _: np.ndarray, losses: np.ndarray, weight: float) -> np.ndarray:
        exponents[k] += weight / learner.lam * losses
        return weights_of_losses(exponents[k])  # eq. 11

    return _osmtl(learner, rounds, shape, attend)


@transcribes(OSMTLThreshold)
def osmtl_t(
    learner: OSMTLThreshold, rounds: Rounds, shape: Shape
) -> Generator[ReferenceStep, None, tuple[np.ndarray, np.ndarray]]:
    """Yield the steps of OSMTL-t."""

    def attend(_: int, p: np.ndarray, losses: np.ndarray, __: float) -> np.ndarray:
        new = np.maximum(0.0, learner.lam - losses) * (p if learner.multiplied else 1.0)
        if new.sum() > 0.0:
            return new / new.sum()
        return np.full(p.size, 1.0 / p.size) if learner.uniform else p

    return _osmtl(learner, rounds, shape, attend)
