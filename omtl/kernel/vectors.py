"""Weight vectors that are scaled, shortened, projected or summed at the cost of a row's nonzeros.

All are dense arrays behind a scale: a vector that is divided in every round is multiplied out only
when its scale is about to underflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.deferred import kept
from omtl.kernel.inlining import forms, inlined
from omtl.kernel.products import axpy, dot, forget, rescale, sum_of_features, sum_of_squares
from omtl.kernel.rules import Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, whose squared norm is then still finite."""

ROUNDING = 1e-15
"""Bound on the relative error that one step adds to a squared norm."""

WORST_ERROR = 1e-11
"""A squared norm is recomputed if its relative error may exceed this."""


class Bank(NamedTuple):
    """Vectors w_k = ``scale[k]`` · ``vectors[k]``, of which squared norms may be tracked.

    Squared norms are updated from the products with the added rows, in O(1) per step. Where
    cancellation may have lost digits, they are recomputed.

    Parameters
    ----------
    vectors : ndarray of shape (n, n_features)
    scale, product : ndarray of shape (n,)
        `product` has w_k·x of the example last scored by w_k.
    square, unseen, error : ndarray of shape (n,), or (0,) if norms are not tracked
        ‖w_k‖²; its part in features that the rows no longer have (each occurs in one example only,
        so it never cancels); a bound on its error.
    """

    vectors: np.ndarray
    scale: np.ndarray
    product: np.ndarray
    square: np.ndarray
    unseen: np.ndarray
    error: np.ndarray

    @classmethod
    def of(cls, vectors: np.ndarray, normed: bool = False) -> Bank:
        """Return zero vectors, with or without norms."""
        n = len(vectors)
        return cls(vectors, np.ones(n), np.zeros(n), *np.zeros((3, n if normed else 0)))

    @classmethod
    def zeros(cls, n: int, shape: Shape, normed: bool = False) -> Bank:
        """Return `n` zero vectors."""
        return cls.of(np.zeros((n, shape.n_features)), normed)


@inlined
def scaled_dot(w, k, x):
    """Return w_k·x, and keep it for a step along the same row."""
    k = np.uint32(k)
    product = w.scale[k] * dot(w.vectors[k], x)
    w.product[k] = product
    return product


@inlined
def dot_unless_zero(w, k, x):
    """Return w_k·x, and keep it: in O(1) if the norm of w_k is 0."""
    k = np.uint32(k)
    product = 0.0
    if w.square[k] != 0.0:
        product = w.scale[k] * dot(w.vectors[k], x)
    w.product[k] = product
    return product


@inlined
def scaled_add(w, k, a, x):
    """Add `a` times an example to w_k, whose norm is not followed."""
    k = np.uint32(k)
    axpy(a / w.scale[k], x, w.vectors[k])


@inlined
def add_and_shorten(w, k, a, x, by):
    """Add `a` times an example to w_k, and shorten it: in O(1) if it is zero and stays zero."""
    k = np.uint32(k)
    if not stays_zero(w, k, a, x, by):
        scaled_add(w, k, a, x)
        follow_norm(w, k, a, x)
        cut_norm(w, k, by)


@inlined
def add_round(w, steps, a, rows):
    """Add `a` times the steps of a round to w_0, and forget them."""
    for k in range(steps.weight.size):
        y, x = kept(steps, k, rows)
        if y != 0.0:
            scaled_add(w, 0, a * y, x)
    forget(steps.weight)


@inlined
def divide(w, k, divisor):
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
    """Return whether w_k is zero and would be shortened to zero after a step."""
    return w.square[k] == 0.0 and abs(a) * math.sqrt(x.square_norm) <= threshold


@inlined
def shorten(w, k, by):
    """Reduce the norm of w_k, to at least 0."""
    if w.square[k] != 0.0:
        cut_norm(w, k, by)


@inlined
def cut_norm(w, k, threshold):
    """Set w_k to max(0, 1 − threshold / ‖w_k‖) w_k."""
    norm = math.sqrt(max(0.0, w.square[k]))
    if norm <= threshold:
        forget(w.vectors[k])
        w.scale[k] = 1.0
        w.square[k] = w.unseen[k] = w.error[k] = 0.0
        return
    left = 1.0 - threshold / norm
    w.scale[k] *= left
    w.square[k] *= left * left
    w.unseen[k] *= left * left
    w.error[k] *= left * left
    if w.scale[k] < SMALLEST_SCALE:
        multiply_out(w, k)


@inlined
def follow_norm(w, k, a, x):
    """Update the norm of w_k, to which `a` times the example that it last scored was added."""
    cross, fresh = 2.0 * a * w.product[k], a * a * x.square_norm
    w.unseen[k] += a * a * unseen_square_norm(x)
    w.error[k] += ROUNDING * (w.square[k] + abs(cross) + fresh)
    w.square[k] += cross + fresh
    if w.error[k] > WORST_ERROR * w.square[k]:
        w.square[k] = w.scale[k] * w.scale[k] * sum_of_squares(w.vectors[k]) + w.unseen[k]
        w.error[k] = ROUNDING * w.square[k]


@sum_of_features
def row_square(f, value):  # noqa: ARG001
    """Return the sum of the squares of an example's features: ``row_square(x)``."""
    return value * value


def _dense_unseen(x):  # noqa: ARG001
    return 0.0


def _sparse_unseen(x):
    rest = x.square_norm - row_square(x)
    return rest if rest > WORST_ERROR * x.square_norm else 0.0


unseen_square_norm = forms(_dense_unseen, _sparse_unseen)
"""Return the part of a row's squared norm in features that the rows do not have."""


@inlined
def square_norm(w, k):
    """Return ‖w_k‖², in O(1) if the norm is tracked, and otherwise in O(n_features)."""
    if w.square.size > 0:
        return max(0.0, w.square[k])
    return w.scale[k] ** 2 * sum_of_squares(w.vectors[k])


@inlined
def projected_step(w, k, step, x):
    """Subtract `step` times the example last scored from w_k, and project it onto the unit ball."""
    if step != 0.0:
        square = step * step * x.square_norm - 2.0 * step * w.product[k] + w.square[k]
        scaled_add(w, k, -step, x)
        project(w, k, max(0.0, square))


@inlined
def project(w, k, square):
    """Project w_k, whose squared norm has become `square`, onto the unit ball."""
    w.square[k] = square
    if square > 1.0:
        divide(w, k, math.sqrt(square))
        w.square[k] = 1.0
