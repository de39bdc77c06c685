"""Correlative and personalised structures, ROMCO (Yang, Zhao, Gao, arXiv:1706.01824, 2017).

We had only the abstract of the paper: the weights are a sum of two matrices, the first of low rank
through a nuclear norm, the second with few nonzero tasks through a group lasso. The steps here are
the textbook steps for such an objective, a gradient and a proximal step for each matrix, not
transcribed from the paper. Its variant with a log-determinant instead of the nuclear norm is not
included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape
from omtl.kernel.small_matrices import LowRank, low_rank, shrink_rows, shrink_singular_values


class TwoStructures(NamedTuple):
    """The shared and the personal parts of the weights, (n_tasks, n_features) each."""

    U: LowRank
    V: np.ndarray


class ROMCO(NamedTuple):
    """A shared part U of low rank, and personal parts V (after Yang, Zhao, Gao 2017).

    Objective, with the weights W = U + V and the hinge loss ℓ of K tasks:

        min_{U, V} Σ_t Σ_k ℓ(u_k + v_k; x_k, y_k) + λ₁ ‖U‖_* + λ₂ Σ_k ‖v_k‖

    Update after each round, with the gradients g_k = −y x of the tasks whose loss is positive:

        U ← Q max(0, Σ − η λ₁) Rᵀ,  where Q Σ Rᵀ = U − η G
        v̂ = v_k − η g_k,  v_k ← max(0, 1 − η λ₂ / ‖v̂‖) v̂

    Features that occur in a single sparse row are not in the norms.

    Cost per example: its part of a round's O(n_tasks² · n_features).

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
    cites : yang2017romco
    """

    eta: float
    lam1: float
    lam2: float

    def new_state(self, shape: Shape) -> TwoStructures:
        """Return zero weights."""
        K, d = shape.n_tasks, shape.n_features
        return TwoStructures(low_rank(K, d), np.zeros((K, d)))

    def score(self, state: TwoStructures, x: Example) -> float:
        """Return (u_k + v_k)·x."""
        k = x.task
        return dot(state.U.matrix[k], x) + dot(state.V[k], x)

    def update(self, state: TwoStructures, x: Example, y: float, score: float) -> bool:
        """Take the gradient step for this example in both matrices."""
        if y * score >= 1.0:
            return False
        axpy(self.eta * y, x, state.U.matrix[x.task])
        axpy(self.eta * y, x, state.V[x.task])
        return True

    def close_round(self, state: TwoStructures, rows: Any) -> None:  # noqa: ARG002
        """Shrink the singular values of U and the rows of V."""
        shrink_singular_values(state.U, self.eta * self.lam1)
        shrink_rows(state.V, self.eta * self.lam2)
