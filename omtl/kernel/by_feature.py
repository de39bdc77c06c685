"""Gaussians over weights with diagonal covariances, as in AROW."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import compiled_as, forms
from omtl.kernel.lanes import lane_sums
from omtl.kernel.products import dot, each_feature


@compiled_as(lambda weights, x: lane_sums((weights,), (x, x))[0])
def dense_weighed_square(weights: np.ndarray, x: np.ndarray) -> float:
    """Return the sum of the squares of a dense vector, each times its weight."""
    return float(weights @ (x * x))


def _dense_weighed_square(weights, x):
    return dense_weighed_square(weights, x.rows.X[x.i])


def _sparse_weighed_square(weights, x):
    total = 0.0
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        value = x.rows.values[e]
        total += weights[np.uint32(x.rows.indices[e])] * value * value
    return total


weighed_square = forms(_dense_weighed_square, _sparse_weighed_square)
"""Return Σ_f weights_f x_f² of an example: ``weighed_square(weights, x)``."""


@each_feature
def update_posterior(f, value, a, beta, w, drop):
    """Set w to w + a Σx and Σ to Σ − β Σx xᵀΣ: ``update_posterior(x, a, beta, w, drop)``."""
    reach = (1.0 - drop[f]) * value
    w[f] += a * reach
    drop[f] += beta * reach * reach


class Gaussians(NamedTuple):
    """Distributions N(w_k, Σ_k) over weights, with diagonal Σ_k = I at first.

    `w` and `drop` have the shape (n, n_features). The variance of a weight is 1 − ``drop``.
    """

    w: np.ndarray
    drop: np.ndarray

    @classmethod
    def standard(cls, n: int, n_features: int) -> Gaussians:
        """Return `n` standard normal distributions."""
        return cls(*np.zeros((2, n, n_features)))

    def dot(self, k, x):
        """Return w_k·x."""
        return dot(self.w[k], x)

    def dropped(self, k, x):
        """Return xᵀ(I − Σ_k)x; features of no other example are only in x's norm, variance 1."""
        return weighed_square(self.drop[k], x)

    def learn(self, k, a, beta, x):
        """Set w_k to w_k + a Σ_k x, and Σ_k to Σ_k − β Σ_k x xᵀ Σ_k."""
        update_posterior(x, a, beta, self.w[k], self.drop[k])
