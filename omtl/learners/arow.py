"""Adaptive regularisation of weights, AROW (Crammer, Kulesza, Dredze, NIPS 2009)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from omtl.ops import BORROWED, DenseRows, Rows, dense_weighed_square, dot
from omtl.rules import Event, Shape


class Believed(NamedTuple):
    """Means of the weights and what their variances have lost, (n_tasks or 1, n_features) each.

    The variance of a weight is 1 − ``lost``.
    """

    w: np.ndarray
    lost: np.ndarray


class AROW(NamedTuple):
    """AROW (Crammer et al. 2009, figure 1) with a diagonal covariance Σ, the identity at first.

    Where y w·x < 1, with v = xᵀΣx and β = 1 / (v + r), w ← w + β (1 − y w·x) y Σx and
    Σ ← Σ − β Σx xᵀΣ, of which the diagonal is kept.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    r : float
        r > 0: how little one example is trusted.
    pooled : bool
        One weight vector for all tasks instead of one a task.
    """

    r: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> Believed:
        """Return zero means, with variances of 1."""
        size = (1 if self.pooled else shape.n_tasks, shape.n_features)
        return Believed(np.zeros(size), np.zeros(size))

    def score(self, state: Believed, rows: Any, event: Event) -> float:
        """Return w·x."""
        return dot(state.w[0 if self.pooled else event.task], rows, event.example)

    def update(self, state: Believed, rows: Any, event: Event, y: float, score: float) -> bool:
        """Move the means to this example, and trust them more."""
        loss = 1.0 - y * score
        if loss <= 0.0:
            return False
        k = 0 if self.pooled else event.task
        # Features that no other example has are not in the row, only in its norm: of variance 1.
        v = event.square_norm - weighed_square(state.lost[k], rows, event.example)
        beta = 1.0 / (max(v, 0.0) + self.r)
        believe(beta * loss * y, beta, rows, event.example, state.w[k], state.lost[k])
        return True


def weighed_square(weights: np.ndarray, rows: Rows, i: int) -> float:
    """Return the sum of the squares of row `i`, each times its feature's weight."""
    if isinstance(rows, DenseRows):
        return float(weights @ rows.X[i] ** 2)
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    return float(weights[rows.indices[part]] @ rows.values[part] ** 2)


def believe(a: float, beta: float, rows: Rows, i: int, w: np.ndarray, lost: np.ndarray) -> None:
    """Add a Σx to `w` and the diagonal of β Σx xᵀΣ to `lost`, in place, for row `i`."""
    if isinstance(rows, DenseRows):
        at, x = np.arange(w.size), rows.X[i]
    else:
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        at, x = rows.indices[part], rows.values[part]
    reach = (1.0 - lost[at]) * x
    w[at] += a * reach
    lost[at] += beta * reach * reach


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(weighed_square, jit_options=BORROWED)
def _weighed_square(weights, rows, i):  # noqa: ARG001
    def dense(weights, rows, i):
        return dense_weighed_square(weights, rows.X[i])

    def compressed(weights, rows, i):
        total = 0.0
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            total += weights[np.uint32(rows.indices[e])] * rows.values[e] * rows.values[e]
        return total

    return dense if rows.instance_class is DenseRows else compressed


@overload(believe, jit_options=BORROWED)
def _believe(a, beta, rows, i, w, lost):  # noqa: ARG001
    def dense(a, beta, rows, i, w, lost):
        for f in range(w.size):
            reach = (1.0 - lost[f]) * rows.X[i, f]
            w[f] += a * reach
            lost[f] += beta * reach * reach

    def compressed(a, beta, rows, i, w, lost):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            f = np.uint32(rows.indices[e])
            reach = (1.0 - lost[f]) * rows.values[e]
            w[f] += a * reach
            lost[f] += beta * reach * reach

    return dense if rows.instance_class is DenseRows else compressed
