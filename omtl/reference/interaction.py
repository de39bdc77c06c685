"""Oracles of the multi-task perceptrons, with explicit Kronecker products and inverses of A."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.omtl import OMTLBatchOpt, OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.selective import SelectivePerceptron
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import compound, inverse_relation, uniforms

Learn = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""Maps A⁻¹ and the weights, shape (n_tasks, n_features), to the next A⁻¹; None keeps the last."""

Query = Callable[[np.ndarray, int, float], float]
"""The probability of a query, given A⁻¹, the task and the score."""

ILL = 1e6
"""Condition number above which inverses are not compared."""


class PerceptronManner(NamedTuple):
    """How perceptrons learn.

    Parameters
    ----------
    rate, margin : float
        They add `rate` times the example where y w·x is at most `margin`.
    epoch : float
        The share of the rounds before A is learnt.
    normalise : bool
        Whether A⁻¹ is divided by its trace, times the number of tasks, when it is used.
    active : bool
        Whether labels are queried as A has it.
    unit_trace : bool
        Whether A⁻¹ is multiplied by the trace of A instead.
    keeps_trace : bool
        Whether A⁻¹ is learnt from the scaled one.
    """

    rate: float = 1.0
    margin: float = 0.0
    epoch: float = math.inf
    normalise: bool = False
    active: bool = False
    unit_trace: bool = False
    keeps_trace: bool = False

    @classmethod
    def of(cls, learner: Any, **others: Any) -> PerceptronManner:
        """Return the manner of a learner that has hyper-parameters of these names."""
        named = {name: getattr(learner, name) for name in cls._fields if hasattr(learner, name)}
        return cls(**named | others)

    def scaled(self, inverse: np.ndarray) -> np.ndarray | None:
        """Return A⁻¹ as it is used; None if it cannot be scaled."""
        if not self.normalise:
            return inverse
        if self.unit_trace:
            A = _inverse(inverse)
            return None if A is None else inverse * np.trace(A)
        trace = np.trace(inverse)
        return len(inverse) * inverse / trace if trace > 0.0 else None


@transcribes(MultiPerceptron)
def multi_perceptron(learner: MultiPerceptron, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of the multi-task perceptron with the A⁻¹ of the DOM paper's eq. 10."""
    manner = PerceptronManner.of(learner, rate=learner.eta)
    return _perceptrons(rounds, shape, manner, None, inverse_relation(shape.n_tasks, learner.b))


@transcribes(OMTLCovariance)
def omtl_covariance(learner: OMTLCovariance, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of OMTL with A = cov(W) (Saha et al. 2011, eq. 3.9) or A⁻¹ = cov(W)."""
    n_tasks, n_features = shape.n_tasks, shape.n_features

    def learn(_: np.ndarray, W: np.ndarray) -> np.ndarray | None:
        A = np.zeros((n_tasks, n_tasks)) if n_features == 1 else np.atleast_2d(np.cov(W))
        return _inverse(A) if learner.as_printed else A

    return _perceptrons(rounds, shape, PerceptronManner.of(learner), learn)


@transcribes(OMTLBatchOpt)
def omtl_batch_opt(learner: OMTLBatchOpt, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of BatchOpt, A = (WᵀW)^½ / tr((WᵀW)^½) (eq. 3.10)."""

    def learn(_: np.ndarray, W: np.ndarray) -> np.ndarray | None:
        if _inverse(W @ W.T) is None:
            return None
        values, vectors = np.linalg.eigh(W @ W.T)
        root = vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return np.linalg.inv(root / np.trace(root))

    return _perceptrons(rounds, shape, PerceptronManner.of(learner), learn)


@transcribes(OMTLLogDet)
def omtl_logdet(learner: OMTLLogDet, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of OMTL with A ← (A⁻¹ + η WᵀW)⁻¹ (eq. 3.7)."""
    manner = PerceptronManner.of(learner)
    return _perceptrons(rounds, shape, manner, lambda last, W: last + learner.eta * W @ W.T)


@transcribes(OMTLVonNeumann)
def omtl_von_neumann(learner: OMTLVonNeumann, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of OMTL with A ← exp(log A − η WᵀW) (eq. 3.8)."""
    log_A = -math.log(shape.n_tasks) * np.eye(shape.n_tasks)

    def learn(_: np.ndarray, W: np.ndarray) -> np.ndarray:
        nonlocal log_A
        log_A = log_A - learner.eta * W @ W.T
        values, vectors = np.linalg.eigh(-log_A)
        # The trace removes any factor: without the largest one, nothing overflows.
        return vectors @ np.diag(np.exp(values - values.max())) @ vectors.T

    return _perceptrons(rounds, shape, PerceptronManner.of(learner, normalise=True), learn)


@transcribes(SelectivePerceptron)
def selective_perceptron(learner: SelectivePerceptron, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of the multi-task perceptron that queries with probability a / (a + |r|)."""
    n_tasks = shape.n_tasks
    a, b, at_random = learner
    pooled = np.full((n_tasks, n_tasks), 1.0 / n_tasks)
    fixed = pooled if math.isinf(b) else inverse_relation(n_tasks, b)

    def query(_: np.ndarray, __: int, score: float) -> float:
        return 0.5 if at_random else 1.0 if math.isinf(a) else a / (a + abs(score))

    return _perceptrons(rounds, shape, PerceptronManner(), None, fixed, query)


def _by_relation(inverse: np.ndarray, k: int, score: float) -> float:
    """Return b / (b + |score|) with b = Σ_j |A_{k,j}|, or 1 if A⁻¹ has no inverse."""
    relation = _inverse(inverse)
    b = math.inf if relation is None else float(np.abs(relation[k]).sum())
    return 1.0 if math.isinf(b) else b / (b + abs(score))


def _inverse(A: np.ndarray) -> np.ndarray | None:
    """Return the inverse, None if there is none."""
    return None if np.linalg.cond(A) > 1e12 else np.linalg.inv(A)


def _perceptrons(
    rounds: Rounds,
    shape: Shape,
    manner: PerceptronManner,
    learn: Learn | None,
    inverse: np.ndarray | None = None,
    query: Query | None = None,
) -> Steps:
    """Yield the steps of w ← w + y (A ⊗ I)⁻¹ φ, followed by learning A from the previous w.

    Without `inverse`, A⁻¹ begins as n_tasks I; without `query`, all labels are queried.
    """
    n_tasks, n_features = shape.n_tasks, shape.n_features
    rate, margin, epoch = manner.rate, manner.margin, manner.epoch
    query = _by_relation if manner.active else query
    if inverse is None:
        inverse = n_tasks * np.eye(n_tasks)
    draws = uniforms(shape.seed)
    w = np.zeros(n_tasks * n_features)
    used = manner.scaled(inverse)
    assert used is not None
    inverse = used if manner.keeps_trace else inverse
    for t, given in enumerate(rounds):
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            score = float(w @ phi)
            fired = y * score <= margin and bool(x.any())
            gap = abs(y * score - margin)
            if query and x.any():
                u, chance = next(draws), query(used, k, score)
                fired &= bool(u <= chance)
                gap = min(gap, abs(u - chance))
                if learn is not None and np.linalg.cond(used) > ILL:
                    gap = 0.0
            if fired:
                before = w.reshape(n_tasks, n_features)
                w = w + rate * y * np.kron(used, np.eye(n_features)) @ phi
                if learn is not None and t >= max(1.0, np.ceil(epoch * len(rounds))):
                    new = learn(inverse, before)
                    inverse = inverse if new is None else new
                    if np.linalg.cond(inverse) > ILL:
                        gap = 0.0  # later steps may consist of rounding errors
                    scaled = None if new is None else manner.scaled(new)
                    used = used if scaled is None else scaled
                    inverse = used if manner.keeps_trace else inverse
            yield ReferenceStep(score, fired, gap)
