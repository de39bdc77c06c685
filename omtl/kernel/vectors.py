"""Weight vectors that are scaled, shortened, projected or summed at the cost of a row's nonzeros.

All are dense arrays behind a scale: a vector that is divided in every round is multiplied out only
when its scale is about to underflow.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import forms
from omtl.kernel.products import axpy, dot, rescale, sum_of_features, sum_of_squares
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

    def dot(self, k, x):
        """Return w_k·x, and keep it for a step along the same row."""
        k = np.uint32(k)
        product = self.scale[k] * dot(self.vectors[k], x)
        self.product[k] = product
        return product

    def dot_unless_zero(self, k, x):
        """Return w_k·x, and keep it: in O(1) if the norm of w_k is 0."""
        k = np.uint32(k)
        product = 0.0
        if self.square[k] != 0.0:
            product = self.scale[k] * dot(self.vectors[k], x)
        self.product[k] = product
        return product

    def add(self, k, a, x):
        """Add `a` times an example to w_k; a tracked norm is left to `follow_norm`."""
        k = np.uint32(k)
        axpy(a / self.scale[k], x, self.vectors[k])

    def add_and_shorten(self, k, a, x, by):
        """Add `a` times the example that w_k last scored, and shorten w_k (`cut_norm`).

        In O(1) if w_k is zero and stays zero.
        """
        if not self.stays_zero(k, a, x, by):
            self.add(k, a, x)
            self.follow_norm(k, a, x)
            self.cut_norm(k, by)

    def add_round(self, steps, a, rows):
        """Add `a` times each step of a round, its weight times its example, to w_0; forget them."""
        for k in range(steps.weight.size):
            y, x = steps.take(k, rows)
            if y != 0.0:
                self.add(0, a * y, x)

    def divide(self, k, divisor):
        """Divide w_k."""
        k = np.uint32(k)
        self.scale[k] /= divisor
        if self.scale[k] < SMALLEST_SCALE:
            self.multiply_out(k)

    def multiply_out(self, k):
        """Multiply the scale of w_k into its vector."""
        rescale(self.vectors[k], self.scale[k])
        self.scale[k] = 1.0

    def stays_zero(self, k, a, x, threshold):
        """Return whether w_k is zero and would be shortened to zero after a step."""
        return self.square[k] == 0.0 and abs(a) * math.sqrt(x.square_norm) <= threshold

    def shorten(self, k, by):
        """Reduce the tracked norm of w_k by this much, to at least 0 (`cut_norm`)."""
        if self.square[k] != 0.0:
            self.cut_norm(k, by)

    def cut_norm(self, k, threshold):
        """Set w_k to max(0, 1 − threshold / ‖w_k‖) w_k."""
        k = np.uint32(k)
        norm = math.sqrt(max(0.0, self.square[k]))
        if norm <= threshold:
            self.vectors[k][:] = 0.0
            self.scale[k] = 1.0
            self.square[k] = self.unseen[k] = self.error[k] = 0.0
            return
        left = 1.0 - threshold / norm
        self.scale[k] *= left
        self.square[k] *= left * left
        self.unseen[k] *= left * left
        self.error[k] *= left * left
        if self.scale[k] < SMALLEST_SCALE:
            self.multiply_out(k)

    def follow_norm(self, k, a, x):
        """Update the norm of w_k, to which `a` times the example that it last scored was added."""
        cross, fresh = 2.0 * a * self.product[k], a * a * x.square_norm
        self.unseen[k] += a * a * unseen_square_norm(x)
        self.error[k] += ROUNDING * (self.square[k] + abs(cross) + fresh)
        self.square[k] += cross + fresh
        if self.error[k] > WORST_ERROR * self.square[k]:
            met = self.scale[k] * self.scale[k] * sum_of_squares(self.vectors[k])
            self.square[k] = met + self.unseen[k]
            self.error[k] = ROUNDING * self.square[k]

    def square_norm(self, k):
        """Return ‖w_k‖², in O(1) if the norm is tracked, and otherwise in O(n_features)."""
        if self.square.size > 0:
            return max(0.0, self.square[k])
        return self.scale[k] ** 2 * sum_of_squares(self.vectors[k])

    def projected_step(self, k, step, x):
        """Subtract `step` times the example last scored, and project w_k onto the unit ball."""
        if step != 0.0:
            square = step * step * x.square_norm - 2.0 * step * self.product[k] + self.square[k]
            self.add(k, -step, x)
            self.project(k, max(0.0, square))

    def project(self, k, square):
        """Project w_k, whose squared norm has become `square`, onto the unit ball."""
        self.square[k] = square
        if square > 1.0:
            self.divide(k, math.sqrt(square))
            self.square[k] = 1.0


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
