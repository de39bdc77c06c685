"""Functions shared by the transcriptions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from omtl.kernel.rules import Shape
from omtl.reference import GivenExample, ReferenceStep, Rounds

MASK = 2**64 - 1


def examples(rounds: Rounds, pooled: bool = False) -> Iterator[GivenExample]:
    """Yield the examples of a stream one by one, for rules without rounds.

    If `pooled`, all are of task 0.
    """
    for given in chain.from_iterable(rounds):
        yield given._replace(task=0) if pooled else given


def zero_weights(shape: Shape) -> np.ndarray:
    """Return zero weights of every task, shape (n_tasks, n_features)."""
    return np.zeros((shape.n_tasks, shape.n_features))


def compound(x: np.ndarray, task: int, n_tasks: int) -> np.ndarray:
    """Return φ (DOM paper, eq. 3): the row at its task's place, zeros elsewhere."""
    phi = np.zeros((n_tasks, x.size))
    phi[task] = x
    return phi.ravel()


def inverse_relation(n_tasks: int, b: float) -> np.ndarray:
    """Return B⁻¹ of eq. 10 of the DOM paper, A⁻¹ of section 3.2 of the OMTRSL paper."""
    m = n_tasks
    return np.array([[(b + m * (j == k)) / ((b + 1.0) * m) for k in range(m)] for j in range(m)])


class Gaussian:
    """A distribution N(μ, Σ) over weights, the standard one at first, whose Σ is kept diagonal."""

    def __init__(self, n_features: int) -> None:
        self.mu, self.sigma = np.zeros(n_features), np.eye(n_features)

    def move(self, x: np.ndarray, a: float, beta: float) -> None:
        """Set μ to μ + a Σx and Σ to Σ − β Σx xᵀΣ."""
        image = self.sigma @ x
        self.mu = self.mu + a * image
        self.sigma = np.diag(np.diag(self.sigma - beta * np.outer(image, image)))


def hinge_step(score: float, x: np.ndarray, y: float) -> ReferenceStep:
    """Return the step of a rule that applies where the hinge loss is positive."""
    return ReferenceStep(float(score), y * score < 1.0 and bool(x.any()), abs(y * score - 1.0))


def slope_of(loss: int, y: float, z: float) -> tuple[float, float]:
    """Return a subgradient of a loss in the score z, and the distance of z from its next change.

    The losses are 0, 1 or 2: max(0, 1 − y z), |z − y| or (z − y)² / 2.
    """
    if loss == 0:
        return (-y if 1.0 - y * z > 0.0 else 0.0), abs(y * z - 1.0)
    return (1.0 if z > y else -1.0) if loss == 1 else z - y, abs(z - y)


def weights_of_losses(losses: np.ndarray, rate: float = 1.0) -> np.ndarray:
    """Return p with p_i ∝ exp(−rate · losses_i), with the largest term divided out."""
    p = np.exp(-rate * (losses - losses.min()))
    return p / p.sum()


def uniforms(seed: int) -> Iterator[float]:
    """Yield a learner's draws from [0, 1), by Marsaglia's xorshift64 (13, 7, 17)."""
    word = int(np.random.default_rng(seed).integers(1, 2**64, size=1, dtype=np.uint64)[0])
    while True:
        word ^= (word << 13) & MASK
        word ^= word >> 7
        word ^= (word << 17) & MASK
        yield (word >> 11) / 2**53
