"""Oracles of learners that came after the papers, with explicit matrices over all tasks."""

from __future__ import annotations

import math

import numpy as np

from omtl.reference import Rounds, Step, Steps
from omtl.reference.lifelong import first_word, xorshift
from omtl.reference.network import compound, inverse_relation


def hedged_multi_task(
    rounds: Rounds, n_tasks: int, n_features: int, eta: float, n_experts: int
) -> Steps:
    """Yield the steps of MT-OGD for each of the strengths, weighed by Hedge.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta : float
    n_experts : int
    """
    ones, eye = np.ones((n_tasks, n_tasks)), np.eye(n_tasks)
    strengths = np.linspace(0.0, 1.0, n_experts)
    inverses = [(1.0 - c) * eye + c * ones / n_tasks for c in strengths]
    w = np.zeros((n_experts, n_tasks * n_features))
    losses: list[np.ndarray] = []
    p, t = np.full(n_experts, 1.0 / n_experts), 0
    for given in rounds:
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            scores = w @ phi
            score = float(p @ scores)
            fired = y * score < 1.0 and bool(x.any())
            yield Step(score, fired, abs(y * score - 1.0))
            t += bool(x.any())
            if not fired:
                continue
            apart = scores - scores[0]
            apart[np.abs(apart) <= 1e-12 * np.abs(scores).max()] = 0.0  # they differ by rounding
            losses.append(-y * (scores[0] + apart))
            for j, inverse in enumerate(inverses):
                step = np.kron(inverse, np.eye(n_features)) @ phi / inverse[k, k]
                w[j] = w[j] + eta * t**-0.5 * y * step
            spread = sum((one.max() - one.min()) ** 2 for one in losses)
            if spread > 0.0:
                total = np.sum(losses, axis=0)
                p = np.exp(-math.sqrt(math.log(n_experts) / spread) * (total - total.min()))
                p = p / p.sum()


def multitask_arow(rounds: Rounds, n_tasks: int, n_features: int, r: float, c: float) -> Steps:
    """Yield the steps of AROW on the rows (√(1 − c) φ, √c x), Σ made diagonal after each.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    r, c : float
    """
    mu = np.zeros((n_tasks + 1) * n_features)
    sigma = np.eye((n_tasks + 1) * n_features)
    for given in rounds:
        for x, y, k, _ in given:
            own = math.sqrt(1.0 - c) * compound(x, k, n_tasks)
            z = np.concatenate([own, math.sqrt(c) * x])
            m, v = float(mu @ z), float(z @ sigma @ z)
            fired = m * y < 1.0 and bool(x.any())
            if fired:
                beta = 1.0 / (v + r)
                mu = mu + max(0.0, 1.0 - y * m) * beta * y * (sigma @ z)
                sigma = np.diag(np.diag(sigma - beta * np.outer(sigma @ z, sigma @ z)))
            yield Step(m, fired, abs(y * m - 1.0))


def selective_perceptron(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    a: float,
    b: float,
    at_random: bool,
    seed: int = 0,
) -> Steps:
    """Yield the steps of the multi-task perceptron that asks with probability a / (a + |r|).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    a, b : float
    at_random : bool
    seed : int
    """
    pooled = np.full((n_tasks, n_tasks), 1.0 / n_tasks)
    A = pooled if math.isinf(b) else inverse_relation(n_tasks, b)
    word = first_word(seed)
    w = np.zeros(n_tasks * n_features)
    for given in rounds:
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            score = float(w @ phi)
            gap, fired = abs(y * score), False
            if x.any():
                word, u = xorshift(word)
                p = 0.5 if at_random else 1.0 if math.isinf(a) else a / (a + abs(score))
                gap, fired = min(gap, abs(u - p)), u <= p and y * score <= 0.0
            if fired:
                w = w + y * np.kron(A, np.eye(n_features)) @ phi
            yield Step(score, fired, gap)
