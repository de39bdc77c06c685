"""Oracles of the multi-task perceptrons, with explicit Kronecker products and inverses of A."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from oracles import Rounds, Step, Steps
from oracles.network import compound, inverse_relation

Learn = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From A⁻¹ and the weights, shape (n_tasks, n_features), to the next A⁻¹."""


def multi_perceptron(
    rounds: Rounds, n_tasks: int, n_features: int, b: float, eta: float, margin: float
) -> Steps:
    """Yield the steps of the multi-task perceptron with the A⁻¹ of the DOM paper's eq. 10.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    b, eta, margin : float
    """
    inverse = inverse_relation(n_tasks, b)
    return _perceptrons(rounds, inverse, n_features, eta, margin, None, lambda A, _: A)


def omtl_covariance(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    epoch: float,
    rate: float,
    margin: float,
    normalise: bool,
) -> Steps:
    """Yield the steps of OMTL with A⁻¹ = cov(W).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    epoch, rate, margin : float
    normalise : bool
    """

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray:
        del last
        if n_features == 1:
            return np.zeros((n_tasks, n_tasks))
        return np.atleast_2d(np.cov(W))

    alone = np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, normalise)


def omtl_logdet(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    eta: float,
    epoch: float,
    rate: float,
    margin: float,
    normalise: bool,
) -> Steps:
    """Yield the steps of OMTL with A ← (A⁻¹ + η WᵀW)⁻¹.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta, epoch, rate, margin : float
    normalise : bool
    """

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray:
        return last + eta * W @ W.T

    alone = np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, normalise)


def omtl_von_neumann(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    eta: float,
    epoch: float,
    rate: float,
    margin: float,
) -> Steps:
    """Yield the steps of OMTL with A ← exp(log A − η WᵀW).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta, epoch, rate, margin : float
    """
    log_A = np.zeros((n_tasks, n_tasks))

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray:
        nonlocal log_A
        del last
        log_A = log_A - eta * W @ W.T
        values, vectors = np.linalg.eigh(-log_A)
        # Any factor is taken out by the trace: without the largest, nothing overflows.
        return vectors @ np.diag(np.exp(values - values.max())) @ vectors.T

    alone = np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, True)


def _perceptrons(
    rounds: Rounds,
    inverse: np.ndarray,
    n_features: int,
    rate: float,
    margin: float,
    epoch: float | None,
    learn: Learn,
    normalise: bool = False,
) -> Steps:
    """Yield the steps of w ← w + y (A ⊗ I)⁻¹ φ, after which A is learnt from the w before."""
    n_tasks = len(inverse)
    w = np.zeros(n_tasks * n_features)
    used = inverse
    for t, given in enumerate(rounds):
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            score = float(w @ phi)
            fired = y * score <= margin and bool(x.any())
            if fired:
                before = w.reshape(n_tasks, n_features)
                w = w + rate * y * np.kron(used, np.eye(n_features)) @ phi
                if epoch is not None and t >= max(1, math.ceil(epoch * len(rounds))):
                    inverse = learn(inverse, before)
                    if not normalise:
                        used = inverse
                    elif np.trace(inverse) > 0.0:
                        used = n_tasks * inverse / np.trace(inverse)
            yield Step(score, fired, abs(y * score - margin))
