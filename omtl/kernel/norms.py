"""Squared norms that are updated step by step instead of summed up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.rows import DenseRows, Rows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.products import sum_of_squares

ROUNDING = 1e-15
"""Bound of the relative error with which one step changes a squared norm."""

WORST_ERROR = 1e-11
"""A squared norm whose relative error may be larger than this is summed up anew."""


class Norms(NamedTuple):
    """Squared norms of vectors that rows are added to, by task.

    They follow from the products with the rows that are added, in O(1) a step; where cancellation
    may have cost digits (`error` bounds it) they are summed up anew, of which `unseen` is the part
    in features that the rows no longer have (each is of one example only, so that it never
    cancels).
    """

    square: np.ndarray
    unseen: np.ndarray
    error: np.ndarray


def zero_norms(n_tasks: int) -> Norms:
    """Return the norms of zero vectors."""
    return Norms(np.zeros(n_tasks), np.zeros(n_tasks), np.zeros(n_tasks))


@inlined
def keep_norm(norms, k, scale, w, step, product, square_norm, unseen):
    """Follow the squared norm of scale · w = v + step · x, where `product` is v·x.

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


def _no_square_norm(rows, i, square_norm):  # noqa: ARG001
    return 0.0


def _rest_of_square_norm(rows, i, square_norm):
    rest = square_norm
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        rest -= rows.values[k] * rows.values[k]
    return rest if rest > WORST_ERROR * square_norm else 0.0


@by_rows(dense=_no_square_norm, sparse=_rest_of_square_norm)
def unseen_square_norm(rows: Rows, i: int, square_norm: float) -> float:
    """Return the part of a row's squared norm that is in features which the rows do not have."""
    if isinstance(rows, DenseRows):
        return 0.0
    values = rows.values[rows.indptr[i] : rows.indptr[i + 1]]
    rest = square_norm - float(values @ values)
    return rest if rest > WORST_ERROR * square_norm else 0.0
