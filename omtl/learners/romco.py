"""Correlative and personalised structures, ROMCO (Yang, Zhao, Gao, arXiv:1706.01824, 2017).

We had only the abstract of the paper: the weights are a sum of two matrices, the first of low rank
through a nuclear norm, the second with few nonzero tasks through a group lasso. The steps here are
the textbook steps for such an objective, a gradient and a proximal step for each matrix, not
transcribed from the paper. Its variant with a log-determinant instead of the nuclear norm is not
included.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.eigenvalues import diagonalise
from omtl.kernel.inlining import inlined
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Event, Shape


class TwoStructures(NamedTuple):
    """The shared and the personal parts, (n_tasks, n_features) each, and work space.

    Parameters
    ----------
    U, V : ndarray of shape (n_tasks, n_features)
    gram, vectors : ndarray of shape (n_tasks, n_tasks)
    column : ndarray of shape (n_tasks,)
    """

    U: np.ndarray
    V: np.ndarray
    gram: np.ndarray
    vectors: np.ndarray
    column: np.ndarray


@inlined
def shrink_singular_values(state, by):
    """Reduce the singular values of U by this amount, to at least 0."""
    U, gram, Q, column = state.U, state.gram, state.vectors, state.column
    K, d = U.shape
    for i in range(K):
        for j in range(i, K):
            total = 0.0
            for f in range(d):
                total += U[i, f] * U[j, f]
            gram[i, j] = gram[j, i] = total
    diagonalise(gram, Q)
    for k in range(K):
        sigma = math.sqrt(max(0.0, gram[k, k]))
        column[k] = 1.0 - by / sigma if sigma > by else 0.0
    for i in range(K):
        for j in range(K):
            gram[i, j] = 0.0
            for k in range(K):
                gram[i, j] += Q[i, k] * column[k] * Q[j, k]
    for f in range(d):
        for i in range(K):
            column[i] = U[i, f]
        for i in range(K):
            total = 0.0
            for j in range(K):
                total += gram[i, j] * column[j]
            U[i, f] = total


@inlined
def shrink_tasks(V, by):
    """Reduce the norms of the rows of V by this amount, to at least 0."""
    for k in range(V.shape[0]):
        norm = 0.0
        for f in range(V.shape[1]):
            norm += V[k, f] * V[k, f]
        norm = math.sqrt(norm)
        factor = 1.0 - by / norm if norm > by else 0.0
        for f in range(V.shape[1]):
            V[k, f] *= factor


class ROMCO(NamedTuple):
    """Hinge loss of W = U + V, with λ₁ ‖U‖_* + λ₂ Σ_k ‖v_k‖: one proximal gradient step per round.

    After each round, with the gradients g_k = −y x of the tasks whose loss is positive:
    U ← Q shrink(Σ, η λ₁) Rᵀ of the singular values Q Σ Rᵀ of U − η G, and
    v_k ← (1 − η λ₂ / ‖v_k − η g_k‖)₊ (v_k − η g_k).

    Cost per round: O(n_tasks² · n_features). Features that occur in a single sparse row are not in
    the norms.

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    lam1, lam2 : float in [0, inf)
        λ₁, λ₂ ≥ 0: strength of the preference for a low rank and for few personal parts.

    Estimator
    ---------
    defaults : eta = 0.1, lam1 = 0.1, lam2 = 0.1
    takes : rounds
    """

    eta: float
    lam1: float
    lam2: float

    def new_state(self, shape: Shape) -> TwoStructures:
        """Return zero weights."""
        K, d = shape.n_tasks, shape.n_features
        square = np.zeros((K, K))
        return TwoStructures(np.zeros((K, d)), np.zeros((K, d)), square, square.copy(), np.zeros(K))

    def score(self, state: TwoStructures, rows: Any, event: Event) -> float:
        """Return (u_k + v_k)·x."""
        k, x = event.task, event.example
        return dot(state.U[k], rows, x) + dot(state.V[k], rows, x)

    def update(self, state: TwoStructures, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the gradient step for this example in both matrices."""
        if y * score >= 1.0:
            return False
        axpy(self.eta * y, rows, event.example, state.U[event.task])
        axpy(self.eta * y, rows, event.example, state.V[event.task])
        return True

    def close_round(self, state: TwoStructures, rows: Any) -> None:  # noqa: ARG002
        """Shrink the singular values of U and the rows of V."""
        shrink_singular_values(state, self.eta * self.lam1)
        shrink_tasks(state.V, self.eta * self.lam2)
