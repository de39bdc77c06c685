"""Diagonal covariances of weights, as in AROW: a variance 1 − `drop` per feature."""

from __future__ import annotations

import numpy as np

from omtl.kernel.inlining import forms
from omtl.kernel.products import dense_weighed_square, each_feature


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
