"""Weight vectors that are shrunk, thresholded or summed at the cost of a row's nonzeros.

==============  ====================================================================================
`Scaled`        a vector per task, divided in O(1)
`GroupSparse`   as Scaled, with the norm known in O(1), and kept exactly zero where possible
`NormedSum`     a sum per task, with the norm known in O(1)
`RoundSum`      one scaled vector that adds the examples of a round at its end
==============  ====================================================================================

All are dense arrays behind a scale: a vector that is divided in every round is multiplied out only
when its scale is about to underflow. The operations choose their form by the kind of vectors:
`dot`, `add`, `shorten`, `close` and `square_norm`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import by_kind, by_rows, inlined
from omtl.kernel.products import (
    axpy,
    dot,
    forget,
    rescale,
    sum_of_features,
    sum_of_squares,
)
from omtl.kernel.rules import Shape, row_at

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, whose squared norm is then still finite."""

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


class Scaled(NamedTuple):
    """Vectors w_k = ``scale[k]`` · ``vectors[k]``."""

    vectors: np.ndarray
    scale: np.ndarray

    @classmethod
    def zeros(cls, shape: Shape) -> Scaled:
        """Return a zero vector for each task."""
        return cls(np.zeros((shape.n_tasks, shape.n_features)), np.ones(shape.n_tasks))


class GroupSparse(NamedTuple):
    """Scaled vectors that a group lasso keeps at zero if possible.

    ``norms.square[k]`` is ‖w_k‖², and exactly 0 if w_k is zero; `product` is w·x for the last
    scored example.
    """

    vectors: np.ndarray
    scale: np.ndarray
    norms: Norms
    product: np.ndarray

    @classmethod
    def zeros(cls, shape: Shape) -> GroupSparse:
        """Return a zero vector for each task."""
        return cls(*Scaled.zeros(shape), zero_norms(shape.n_tasks), np.zeros(1))


class NormedSum(NamedTuple):
    """Sums of rows; ``norm[k]`` is that of sum k at the end of the last round.

    `product` is the product with the last scored example.
    """

    vectors: np.ndarray
    norms: Norms
    norm: np.ndarray
    product: np.ndarray

    @classmethod
    def zeros(cls, shape: Shape) -> NormedSum:
        """Return an empty sum for each task."""
        m = shape.n_tasks
        return cls(np.zeros((m, shape.n_features)), zero_norms(m), np.zeros(m), np.zeros(1))


class RoundSum(NamedTuple):
    """One vector, ``scale[0]`` · `vector`, that adds a round's examples at its end.

    ``label[k]`` is the label of task k's example ``example[k]`` to be added, or 0.
    """

    vector: np.ndarray
    scale: np.ndarray
    label: np.ndarray
    example: np.ndarray

    @classmethod
    def zeros(cls, shape: Shape) -> RoundSum:
        """Return a zero vector with nothing to add."""
        m = shape.n_tasks
        return cls(np.zeros(shape.n_features), np.ones(1), np.zeros(m), np.zeros(m, dtype=np.int64))


def zero_norms(n_tasks: int) -> Norms:
    """Return the norms of zero vectors."""
    return Norms(np.zeros(n_tasks), np.zeros(n_tasks), np.zeros(n_tasks))


# Products


@dot.of(RoundSum)
def _dot_round_sum(w, x):
    return w.scale[0] * dot(w.vector, x)


@dot.of(Scaled)
def _dot_scaled(w, x):
    k = np.uint32(x.task)
    return w.scale[k] * dot(w.vectors[k], x)


@dot.of(GroupSparse)
def _dot_group_sparse(w, x):
    k = np.uint32(x.task)
    w.product[0] = 0.0
    if w.norms.square[k] != 0.0:
        w.product[0] = w.scale[k] * dot(w.vectors[k], x)
    return w.product[0]


@dot.of(NormedSum)
def _dot_normed_sum(w, x):
    k = np.uint32(x.task)
    w.product[0] = 0.0
    if w.norms.square[k] != 0.0:
        w.product[0] = dot(w.vectors[k], x)
    return w.product[0]


# Steps


@by_kind
def add(w, y, x, step):
    """Take the step of an example: add a y x to its task's w_k, then shorten w_k by b.

    `step` is a and b; a `NormedSum`, which has no step, adds y x, and a `RoundSum` notes y x, to be
    added at the end of the round. This costs O(1) if a `GroupSparse` vector stays zero.
    """
    k, (a, divisor) = x.task, step
    axpy(a * y / w.scale[k], x, w.vectors[k])
    shrink(w, k, divisor)


@add.of(GroupSparse)
def _add_group_sparse(w, y, x, step):
    k, (a, threshold) = np.uint32(x.task), step
    if not stays_zero(w, k, a * y, x, threshold):
        axpy(a * y / w.scale[k], x, w.vectors[k])
        threshold_sum(w, k, a * y, x, threshold, w.product[0])


@add.of(NormedSum)
def _add_normed_sum(w, y, x):
    k = np.uint32(x.task)
    axpy(y, x, w.vectors[k])
    follow_norm(w, k, 1.0, y, x, w.product[0])


@add.of(RoundSum)
def _add_round_sum(w, y, x):
    w.label[np.uint32(x.task)] = y
    w.example[np.uint32(x.task)] = x.i


@inlined
def shrink(w, k, divisor):
    """Divide w_k."""
    k = np.uint32(k)
    w.scale[k] /= divisor
    if w.scale[k] < SMALLEST_SCALE:
        multiply_out(w, k)


@inlined
def multiply_out(w, k):
    """Multiply the scale of w_k into its vector."""
    rescale(w.vectors[k], w.scale[k])
    w.scale[k] = 1.0


@inlined
def stays_zero(w, k, a, x, threshold):
    """Return whether w_k is zero and would stay zero after a step."""
    return w.norms.square[k] == 0.0 and abs(a) * math.sqrt(x.square_norm) <= threshold


@inlined
def threshold_sum(w, k, a, x, threshold, product):
    """Threshold w_k, to which `a` times an example was added; `product` is w_k·x before that."""
    follow_norm(w, k, w.scale[k], a, x, product)
    cut_norm(w, k, threshold)


shorten = by_kind(shrink)
"""Divide w_k; of a `GroupSparse` vector, reduce the norm, to at least 0: ``shorten(w, k, by)``."""


@shorten.of(GroupSparse)
def _shorten_group_sparse(w, k, by):
    if w.norms.square[k] != 0.0:
        cut_norm(w, k, by)


@inlined
def cut_norm(w, k, threshold):
    """Set w_k, whose norm is known, to max(0, 1 − threshold / ‖w_k‖) w_k."""
    norms = w.norms
    norm = math.sqrt(max(0.0, norms.square[k]))
    if norm <= threshold:
        forget(w.vectors[k])
        w.scale[k] = 1.0
        norms.square[k] = norms.unseen[k] = norms.error[k] = 0.0
        return
    left = 1.0 - threshold / norm
    w.scale[k] *= left
    norms.square[k] *= left * left
    norms.unseen[k] *= left * left
    norms.error[k] *= left * left
    if w.scale[k] < SMALLEST_SCALE:
        multiply_out(w, k)


@by_kind
def close(w, rows):  # noqa: ARG001
    """End a round: store the norms of the sums, or take the step of a `RoundSum` w.

    That is w ← (w + a Σ y x) / b over the round's examples: ``close(w, rows, (a, b))``.
    """
    for k in range(w.norm.size):
        note_norm(w, k)


@close.of(RoundSum)
def _close_round_sum(w, rows, step):
    a, divisor = step
    add_round(w, a, rows)
    w.scale[0] /= divisor
    if w.scale[0] < SMALLEST_SCALE:
        rescale(w.vector, w.scale[0])
        w.scale[0] = 1.0


@inlined
def note_norm(w, k):
    """Store the norm of sum k at the end of a round."""
    w.norm[k] = math.sqrt(square_norm(w, k))


@inlined
def add_round(u, a, rows):
    """Add a Σ y x over the round's examples to u."""
    for k in range(u.label.size):
        if u.label[k] != 0.0:
            axpy(a * u.label[k] / u.scale[0], row_at(rows, u.example[k]), u.vector)
            u.label[k] = 0.0


# Norms


@by_kind
def square_norm(w, k):
    """Return ‖w_k‖², in O(1) if the norm is tracked, and otherwise in O(n_features)."""
    return max(0.0, w.norms.square[k])


@square_norm.of(Scaled)
def _square_norm_scaled(w, k):
    return w.scale[k] ** 2 * sum_of_squares(w.vectors[k])


@square_norm.of(RoundSum)
def _square_norm_round_sum(w, k):
    return w.scale[k] ** 2 * sum_of_squares(w.vector)


@inlined
def follow_norm(w, k, scale, a, x, product):
    """Update the norm of w_k = scale · vector, to which `a` times an example was added.

    `product` is w_k·x before the addition.
    """
    norms, cross, fresh = w.norms, 2.0 * a * product, a * a * x.square_norm
    norms.unseen[k] += a * a * unseen_square_norm(x)
    norms.error[k] += ROUNDING * (norms.square[k] + abs(cross) + fresh)
    norms.square[k] += cross + fresh
    if norms.error[k] > WORST_ERROR * norms.square[k]:
        norms.square[k] = scale * scale * sum_of_squares(w.vectors[k]) + norms.unseen[k]
        norms.error[k] = ROUNDING * norms.square[k]


@sum_of_features
def row_square(f, value):  # noqa: ARG001
    """Return the sum of the squares of an example's features: ``row_square(x)``."""
    return value * value


def _none_unseen(x):  # noqa: ARG001
    return 0.0


@by_rows(dense=_none_unseen)
def unseen_square_norm(x):
    """Return the part of a row's squared norm in features that the rows do not have."""
    rest = x.square_norm - row_square(x)
    return rest if rest > WORST_ERROR * x.square_norm else 0.0
