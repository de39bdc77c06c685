"""Weight vectors that are shrunk, thresholded or summed at the cost of a row's nonzeros.

==============  ====================================================================================
`Scaled`        a vector per task; `shrink` divides one in O(1)
`GroupSparse`   as Scaled, with the norm known in O(1); `add_and_threshold` keeps it exactly zero
`NormedSum`     a sum per task, with the norm known in O(1)
`RoundSum`      one scaled vector that adds the examples of a round at its end
==============  ====================================================================================

All are dense arrays behind a scale: a vector that is divided in every round is multiplied out only
when its scale is about to underflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.norms import Norms, keep_norm, unseen_square_norm, zero_norms
from omtl.kernel.products import axpy, axpy_all, dot, dot_three, rescale, sum_of_squares
from omtl.kernel.rules import Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, whose squared norm is then still finite."""


class Scaled(NamedTuple):
    """Vectors w_k = ``scale[k]`` · ``vectors[k]``."""

    vectors: np.ndarray
    scale: np.ndarray


class GroupSparse(NamedTuple):
    """Scaled vectors that a group lasso keeps at zero if possible.

    ``norms.square[k]`` is ‖w_k‖², and exactly 0 if w_k is zero; `product` is w·x for the last
    scored example.
    """

    vectors: np.ndarray
    scale: np.ndarray
    norms: Norms
    product: np.ndarray


class NormedSum(NamedTuple):
    """Sums of rows; ``norm[k]`` is that of sum k at the end of the last round.

    `product` is the product with the last scored example.
    """

    vectors: np.ndarray
    norms: Norms
    norm: np.ndarray
    product: np.ndarray


class RoundSum(NamedTuple):
    """One vector, ``scale[0]`` · `vector`, that adds a round's examples at its end.

    ``label[k]`` is the label of task k's example ``example[k]`` to be added, or 0.
    """

    vector: np.ndarray
    scale: np.ndarray
    label: np.ndarray
    example: np.ndarray


def scaled(shape: Shape) -> Scaled:
    """Return a zero vector for each task."""
    return Scaled(np.zeros((shape.n_tasks, shape.n_features)), np.ones(shape.n_tasks))


def group_sparse(shape: Shape) -> GroupSparse:
    """Return a zero vector for each task."""
    m, d = shape.n_tasks, shape.n_features
    return GroupSparse(np.zeros((m, d)), np.ones(m), zero_norms(m), np.zeros(1))


def normed_sum(shape: Shape) -> NormedSum:
    """Return an empty sum for each task."""
    m = shape.n_tasks
    return NormedSum(np.zeros((m, shape.n_features)), zero_norms(m), np.zeros(m), np.zeros(1))


def round_sum(shape: Shape) -> RoundSum:
    """Return a zero vector with nothing to add."""
    m = shape.n_tasks
    return RoundSum(
        np.zeros(shape.n_features), np.ones(1), np.zeros(m), np.zeros(m, dtype=np.int64)
    )


# Products


@inlined
def dot_sum(u, p, q, k, x):
    """Return (u + p_k + q_k)·x of a RoundSum, Scaled and GroupSparse vectors."""
    k = np.uint32(k)
    q.product[0] = 0.0
    if q.norms.square[k] != 0.0:
        common, own, sparse = dot_three(u.vector, p.vectors[k], q.vectors[k], x)
        q.product[0] = q.scale[k] * sparse
    else:
        common, own = dot(u.vector, x), dot(p.vectors[k], x)
    return u.scale[0] * common + p.scale[k] * own + q.product[0]


@inlined
def dot_normed(w, k, x):
    """Return the product of `x` and sum k."""
    w.product[0] = 0.0
    if w.norms.square[k] != 0.0:
        w.product[0] = dot(w.vectors[k], x)
    return w.product[0]


# Scaled


@inlined
def add_and_shrink(w, y, step, x):
    """Set the task's w_k to (w_k + a y x) / divisor, where `step` is a and the divisor."""
    k, (a, divisor) = x.task, step
    axpy(a * y / w.scale[k], x, w.vectors[k])
    shrink(w, k, divisor)


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


# GroupSparse


@inlined
def stays_zero(w, k, a, x, threshold):
    """Return whether w_k is zero and would stay zero after `add_and_threshold`."""
    return w.norms.square[k] == 0.0 and abs(a) * math.sqrt(x.square_norm) <= threshold


@inlined
def add_and_threshold(w, y, step, x):
    """Set the task's w_k to max(0, 1 − b / ‖v‖) v, v = w_k + a y x; `step` is a and b.

    This costs O(1) if w_k stays zero.
    """
    k, (a, threshold) = np.uint32(x.task), step
    if not stays_zero(w, k, a * y, x, threshold):
        axpy(a * y / w.scale[k], x, w.vectors[k])
        threshold_sum(w, k, a * y, x, threshold, w.product[0])


@inlined
def threshold_sum(w, k, a, x, threshold, product):
    """Threshold w_k, to which `a` times an example was added; `product` is w_k·x before that."""
    follow_norm(w, k, w.scale[k], a, x, product)
    cut_norm(w, k, threshold)


@inlined
def shorten(w, k, threshold):
    """Set w_k to max(0, 1 − threshold / ‖w_k‖) w_k, unless it is zero."""
    if w.norms.square[k] != 0.0:
        cut_norm(w, k, threshold)


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


@inlined
def follow_norm(w, k, scale, a, x, product):
    """Update the norm of vector k, to which `a` times an example was added."""
    unseen = unseen_square_norm(x)
    keep_norm(w.norms, k, scale, w.vectors[k], a, product, x.square_norm, unseen)


@inlined
def forget(w):
    """Set a vector to zero."""
    for k in range(w.size):
        w[k] = 0.0


# NormedSum


@inlined
def add_normed(w, a, x):
    """Add `a` times an example to its task's sum, and update the norm."""
    k = np.uint32(x.task)
    axpy(a, x, w.vectors[k])
    follow_norm(w, k, 1.0, a, x, w.product[0])


@inlined
def note_norm(w, k):
    """Store the norm of sum k at the end of a round."""
    w.norm[k] = math.sqrt(max(0.0, w.norms.square[k]))


@inlined
def note_norms(w):
    """Store the norms of all sums at the end of a round."""
    for k in range(w.norm.size):
        note_norm(w, k)


# RoundSum


@inlined
def add_later(u, y, x):
    """Schedule y times an example, to be added at the end of the round."""
    u.label[np.uint32(x.task)] = y
    u.example[np.uint32(x.task)] = x.i


@inlined
def close_sum(u, step, rows):
    """Set u to (u + a Σ y x) / divisor over the round's examples; `step` is a and the divisor."""
    a, divisor = step
    add_round(u, a, rows)
    u.scale[0] /= divisor
    if u.scale[0] < SMALLEST_SCALE:
        rescale(u.vector, u.scale[0])
        u.scale[0] = 1.0


@inlined
def add_round(u, a, rows):
    """Add a Σ y x over the round's examples to u."""
    n = 0
    for k in range(u.label.size):
        if u.label[k] != 0.0:
            u.label[n] = a * u.label[k] / u.scale[0]
            u.example[n] = u.example[k]
            n += 1
    axpy_all(u.label, rows, u.example, n, u.vector)
    for k in range(u.label.size):
        u.label[k] = 0.0


# Norms


@inlined
def square_of_sum(a, u):
    """Return a ‖u‖² of a RoundSum, in O(n_features)."""
    return a * u.scale[0] ** 2 * sum_of_squares(u.vector)


@inlined
def square_of_scaled(a, w, k):
    """Return a ‖w_k‖², in O(n_features)."""
    return a * w.scale[k] ** 2 * sum_of_squares(w.vectors[k])


@inlined
def square_of_normed(w, k):
    """Return the squared norm of a vector with a tracked norm, in O(1)."""
    return max(0.0, w.norms.square[k])


@inlined
def penalty_of_sum(weights, u, p, q):
    """Return α/2 ‖u‖² + β/2 Σ‖p_k‖² + γ Σ‖q_k‖, with u, p and q as in `dot_sum`."""
    alpha, beta, gamma = weights
    total = square_of_sum(0.5 * alpha, u)
    for k in range(u.label.size):
        total += square_of_scaled(0.5 * beta, p, k)
        total += gamma * math.sqrt(square_of_normed(q, k))
    return total
