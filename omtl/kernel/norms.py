"""Squared norms that are updated step by step instead of recomputed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.rows import DenseRows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.products import sum_of_squares
from omtl.kernel.rules import Example

ROUNDING = 1e-15
"""Bound on the relative error that one step adds to a squared norm."""

WORST_ERROR = 1e-11
"""A squared norm is recomputed if its relative error may exceed this."""


class Norms(NamedTuple):
    """Squared norms of vectors to which rows are added, by task.

    They are updated from the products with the added rows, in O(1) per step. Where cancellation may
    have lost digits (`error` is a bound), they are recomputed; `unseen` is the part in features
    that the rows no longer have (each occurs in one example only, so it never cancels).
    """

    square: np.ndarray
    unseen: np.ndarray
    error: np.ndarray


def zero_norms(n_tasks: int) -> Norms:
    """Return the norms of zero vectors."""
    return Norms(np.zeros(n_tasks), np.zeros(n_tasks), np.zeros(n_tasks))


@inlined
def keep_norm(norms, k, scale, w, step, product, square_norm, unseen):
    """Update the squared norm of scale · w = v + step · x, where `product` is v·x.

    `square_norm` is that of x, and `unseen` the part of it in features that the rows do not have.
    """
    cross = 2.0 * step * product
    fresh = step * step * square_norm
    norms.unseen[k] += step * step * unseen
    norms.error[k] += ROUNDING * (norms.square[k] + abs(cross) + fresh)
    norms.square[k] += cross + fresh
    if norms.error[k] > WORST_ERROR * norms.square[k]:
        norms.square[k] = scale * scale * sum_of_squares(w) + norms.unseen[k]
        norms.error[k] = ROUNDING * norms.square[k]


def _no_square_norm(x):  # noqa: ARG001
    return 0.0


def _rest_of_square_norm(x):
    rest = x.square_norm
    for k in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        rest -= x.rows.values[k] * x.rows.values[k]
    return rest if rest > WORST_ERROR * x.square_norm else 0.0


@by_rows(dense=_no_square_norm, sparse=_rest_of_square_norm)
def unseen_square_norm(x: Example) -> float:
    """Return the part of a row's squared norm in features that the rows do not have."""
    if isinstance(x.rows, DenseRows):
        return 0.0
    values = x.rows.values[x.rows.indptr[x.i] : x.rows.indptr[x.i + 1]]
    rest = x.square_norm - float(values @ values)
    return rest if rest > WORST_ERROR * x.square_norm else 0.0
