"""Vectors in the unit ball, projected onto it after each step at the cost of a row's nonzeros."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Shape
from omtl.kernel.vectors import shrink


class InBall(NamedTuple):
    """Vectors w_k = ``scale[k]`` · ``vectors[k]`` with ‖w_k‖ ≤ 1.

    ``square[k]`` is ‖w_k‖², and ``product[k]`` is w_k·x of the last example scored by it.
    """

    vectors: np.ndarray
    scale: np.ndarray
    square: np.ndarray
    product: np.ndarray


def in_ball(shape: Shape) -> InBall:
    """Return a zero vector for each task."""
    n = shape.n_tasks
    return InBall(np.zeros((n, shape.n_features)), np.ones(n), np.zeros(n), np.zeros(n))


@inlined
def dot_in_ball(w, k, x):
    """Return w_k·x, and keep it for a step along the same row."""
    w.product[k] = w.scale[k] * dot(w.vectors[k], x)
    return w.product[k]


@inlined
def dot_and_square(w, k, g):
    """Return w_k·g and ‖g‖² of a dense vector, in one pass."""
    v, product, square = w.vectors[k], 0.0, 0.0
    for j in range(g.size):
        product += v[j] * g[j]
        square += g[j] * g[j]
    return w.scale[k] * product, square


@inlined
def projected_step(w, k, step, x):
    """Subtract `step` times the example last scored from w_k, and project."""
    if step != 0.0:
        square = step * step * x.square_norm - 2.0 * step * w.product[k] + w.square[k]
        axpy(-step / w.scale[k], x, w.vectors[k])
        project(w, k, max(0.0, square))


@inlined
def subtract_dense(w, k, step, g):
    """Subtract `step` times a dense vector from w_k, without projecting."""
    v, factor = w.vectors[k], step / w.scale[k]
    for j in range(g.size):
        v[j] -= factor * g[j]


@inlined
def project(w, k, square):
    """Project w_k, whose squared norm has become `square`, onto the unit ball."""
    w.square[k] = square
    if square > 1.0:
        shrink(w, k, math.sqrt(square))
        w.square[k] = 1.0
