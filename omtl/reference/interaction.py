"""Oracles of the multi-task perceptrons, with explicit Kronecker products and inverses of A."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.omtl import OMTLBatchOpt, OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.reference import Rounds, Step, Steps, transcribes
from omtl.reference.network import inverse_relation
from omtl.reference.vocabulary import compound, uniforms

Learn = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""Maps A⁻¹ and the weights, shape (n_tasks, n_features), to the next A⁻¹; None keeps the last."""

ILL = 1e6
"""Condition number above which inverses are not compared."""


@transcribes(MultiPerceptron)
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
    return _perceptrons(rounds, inverse, n_features, eta, margin, None, lambda A, _: A, False)


@transcribes(OMTLCovariance)
def omtl_covariance(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    epoch: float,
    rate: float,
    margin: float,
    normalise: bool,
    as_printed: bool,
    active: bool,
) -> Steps:
    """Yield the steps of OMTL with A = cov(W) (Saha et al. 2011, eq. 3.9) or A⁻¹ = cov(W).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    epoch, rate, margin : float
    normalise, as_printed, active : bool
    """

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray | None:
        del last
        A = np.zeros((n_tasks, n_tasks)) if n_features == 1 else np.atleast_2d(np.cov(W))
        return _inverse(A) if as_printed else A

    alone = n_tasks * np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, normalise, active)


@transcribes(OMTLBatchOpt)
def omtl_batch_opt(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    epoch: float,
    rate: float,
    margin: float,
    normalise: bool,
    active: bool,
) -> Steps:
    """Yield the steps of BatchOpt, A = (WᵀW)^½ / tr((WᵀW)^½) (eq. 3.10).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    epoch, rate, margin : float
    normalise, active : bool
    """

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray | None:
        del last
        if _inverse(W @ W.T) is None:
            return None
        values, vectors = np.linalg.eigh(W @ W.T)
        root = vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return np.linalg.inv(root / np.trace(root))

    alone = n_tasks * np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, normalise, active)


@transcribes(OMTLLogDet)
def omtl_logdet(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    eta: float,
    epoch: float,
    rate: float,
    margin: float,
    normalise: bool,
    active: bool,
) -> Steps:
    """Yield the steps of OMTL with A ← (A⁻¹ + η WᵀW)⁻¹ (eq. 3.7).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta, epoch, rate, margin : float
    normalise, active : bool
    """

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray:
        return last + eta * W @ W.T

    alone = n_tasks * np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, normalise, active)


@transcribes(OMTLVonNeumann)
def omtl_von_neumann(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    eta: float,
    epoch: float,
    rate: float,
    margin: float,
    active: bool,
) -> Steps:
    """Yield the steps of OMTL with A ← exp(log A − η WᵀW) (eq. 3.8).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta, epoch, rate, margin : float
    active : bool
    """
    log_A = -math.log(n_tasks) * np.eye(n_tasks)

    def learn(last: np.ndarray, W: np.ndarray) -> np.ndarray:
        nonlocal log_A
        del last
        log_A = log_A - eta * W @ W.T
        values, vectors = np.linalg.eigh(-log_A)
        # The trace removes any factor: without the largest one, nothing overflows.
        return vectors @ np.diag(np.exp(values - values.max())) @ vectors.T

    alone = n_tasks * np.eye(n_tasks)
    return _perceptrons(rounds, alone, n_features, rate, margin, epoch, learn, True, active)


def _inverse(A: np.ndarray) -> np.ndarray | None:
    """Return the inverse, None if there is none."""
    return None if np.linalg.cond(A) > 1e12 else np.linalg.inv(A)


def _perceptrons(
    rounds: Rounds,
    inverse: np.ndarray,
    n_features: int,
    rate: float,
    margin: float,
    epoch: float | None,
    learn: Learn,
    normalise: bool,
    active: bool = False,
    seed: int = 0,
) -> Steps:
    """Yield the steps of w ← w + y (A ⊗ I)⁻¹ φ, followed by learning A from the previous w."""
    n_tasks = len(inverse)
    draws = uniforms(seed)
    w = np.zeros(n_tasks * n_features)
    used = n_tasks * inverse / np.trace(inverse) if normalise else inverse
    for t, given in enumerate(rounds):
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            score = float(w @ phi)
            fired = y * score <= margin and bool(x.any())
            gap = abs(y * score - margin)
            if active and x.any():
                u = next(draws)
                relation = _inverse(used)
                if relation is not None:
                    b = np.abs(relation[k]).sum()
                    chance = b / (b + abs(score))
                    fired &= bool(u <= chance)
                    gap = min(gap, abs(u - chance))
                if np.linalg.cond(used) > ILL:
                    gap = 0.0
            if fired:
                before = w.reshape(n_tasks, n_features)
                w = w + rate * y * np.kron(used, np.eye(n_features)) @ phi
                if epoch is not None and t >= max(1, math.ceil(epoch * len(rounds))):
                    new = learn(inverse, before)
                    inverse = inverse if new is None else new
                    if np.linalg.cond(inverse) > ILL:
                        gap = 0.0  # later steps may consist of rounding errors
                    if new is not None and not normalise:
                        used = new
                    elif new is not None and np.trace(new) > 0.0:
                        used = n_tasks * new / np.trace(new)
            yield Step(score, fired, gap)
