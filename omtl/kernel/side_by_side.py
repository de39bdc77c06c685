"""Vectors side by side: products of a row with several, and steps of several along it.

For dense rows the vectors lie one after the other. For sparse rows all numbers of a feature lie
together, so that each nonzero reads memory in one place; `omtl.kernel.lanes` processes these
numbers at once. *Slot* s of n vectors has the vectors from s · n on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import in_forms
from omtl.kernel.lanes import axpy_columns, dot_columns
from omtl.kernel.products import dense_axpys, dense_row_dots
from omtl.kernel.rules import Shape


def zero_vectors(n_vectors: int, n_features: int, sparse: bool) -> np.ndarray:
    """Return zero vectors, shape (n_vectors, n_features), that one row multiplies.

    For sparse rows the same feature of all vectors is stored together, so that reading one vector
    caches the others; for dense rows they are one after the other.
    """
    return np.zeros((n_vectors, n_features), order="F" if sparse else "C")


def _dense_dots(W, x, n, slots):
    for s in slots:
        dense_row_dots(W.vectors, x.rows.X[x.i], s * n, s * n + n, W.products)


def _sparse_dots(W, x, n, slots):
    dot_columns(W.vectors.T, x, n, slots, W.products)


def _dense_steps(W, x, n, slots):
    for s in slots:
        dense_axpys(W.steps, x, s * n, s * n + n, W.vectors)


def _sparse_steps(W, x, n, slots):
    axpy_columns(W.vectors.T, x, n, slots, W.steps)


class SideBySide(NamedTuple):
    """Vectors w_k, one per task or more, of shape (n, n_features).

    `products` and `steps`, of shape (n,), are those of the last row.
    """

    vectors: np.ndarray
    products: np.ndarray
    steps: np.ndarray

    @classmethod
    def zeros(cls, n: int, shape: Shape) -> SideBySide:
        """Return `n` zero vectors."""
        vectors = zero_vectors(n, shape.n_features, shape.sparse)
        return cls(vectors, np.zeros(n), np.zeros(n))

    @in_forms(_dense_dots, _sparse_dots)
    def dot_slots(self, x, n, slots):
        """Write the products of `x` with some slots of n vectors."""

    @in_forms(_dense_steps, _sparse_steps)
    def add_slots(self, x, n, slots):
        """Add `x`, scaled by `steps`, to some slots of n vectors."""

    def dot_own(self, x):
        """Return the product of `x` with its task's vector."""
        self.dot_slots(x, 1, (x.task,))
        return self.products[x.task]

    def add_own(self, a, x):
        """Add `a` times `x` to its task's vector."""
        self.steps[x.task] = a
        self.add_slots(x, 1, (x.task,))

    def dot_all(self, x):
        """Write the products of `x` with all vectors."""
        self.dot_slots(x, self.products.size, (0,))

    def add_all(self, x):
        """Add `x`, scaled by `steps`, to all vectors."""
        self.add_slots(x, self.steps.size, (0,))
