"""The exponential of a symmetric matrix, up to a factor, in compiled code without allocation."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.inlining import chosen, inlined
from omtl.kernel.lanes import dot_lanes
from omtl.kernel.products import BLOCK

TERMS = tuple(1.0 / math.factorial(k) for k in range(13))
"""Coefficients of the exponential's series; more are not needed below `SMALL`."""

SMALL = 0.3
"""Matrix norm below which the series reaches rounding errors after 12 powers."""

GREAT = 100.0
"""If an eigenvalue exceeds this and twice all others, only its vector counts in the result."""

DOUBLINGS = 6
"""Number of squarings after which only that vector counts in a power of such a matrix."""

PURE = 1e-9
"""Share of the other vectors in the trace before the last squaring, which squares it."""

FAINT = 1e-8
"""The other vectors are not neglected if a task's squared share in the vector is smaller."""


def multiply(left: np.ndarray, right: np.ndarray, product: np.ndarray, each: np.ndarray) -> None:
    """Write the product of two square matrices, with zero-padded rows, to a third."""
    product[:] = left[:, : each.size] @ right


def _multiply_by_row(left, right, product, each):
    n = each.size
    for i in range(n):
        for k in range(0, product.shape[1], BLOCK):
            dot_lanes(BLOCK, right, each, left[i], 0, n, k, (0,), product[i])


chosen(multiply, lambda *_: _multiply_by_row)


@inlined
def trace_of(a):
    """Return the sum of the diagonal."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i, i]
    return total


@inlined
def put(a, factor, source):
    """Set a matrix to `factor` times another."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[i, k] = factor * source[i, k]


@inlined
def square(a, doublings, memory, each):
    """Square a matrix this often, with trace 1; stop and return True once it is a projection.

    It projects onto one eigenvector, in which every task has its share: in each column the others
    are below a rounding error.
    """
    put(a, 1.0 / trace_of(a), a)
    for _ in range(doublings):
        multiply(a, a, memory, each)
        purity = trace_of(memory)
        put(a, 1.0 / purity, memory)
        least = 1.0
        for i in range(each.size):
            least = min(least, a[i, i])
        if 1.0 - purity < PURE and least > FAINT:
            return True
    return False


@inlined
def add_terms(total, first, powers):
    """Add three terms of the series, starting at `first`, without their power of the cube."""
    one, two = powers[0], powers[1]
    for i in range(total.shape[0]):
        for k in range(total.shape[1]):
            total[i, k] += TERMS[first + 1] * one[i, k] + TERMS[first + 2] * two[i, k]
        total[i, i] += TERMS[first]


@inlined
def sum_series(a, powers, memory, each):
    """Write the exponential of a small matrix, the first of three powers, to `a`.

    Summing in powers of the cube (Paterson and Stockmeyer) takes five products instead of eleven.
    """
    for p in range(2):
        multiply(powers[0], powers[p], powers[p + 1], each)
    put(a, TERMS[12], powers[2])
    add_terms(a, 9, powers)
    for first in (6, 3, 0):
        multiply(a, powers[2], memory, each)
        put(a, 1.0, memory)
        add_terms(a, first, powers)


@inlined
def find_exponential(learnt, a, each, memories):
    """Write exp(`learnt`) to `a`, scaled so that its trace is the number of rows.

    If one eigenvalue is far above the others, the exponential projects onto its eigenvector, and so
    does a power of `learnt`. Otherwise it is a power of the exponential of a small matrix.

    Parameters
    ----------
    learnt, a : ndarray of shape (m, width)
        The symmetric matrix and the result. Rows are padded with zeros to a fast length: `width` is
        a multiple of `omtl.kernel.products.BLOCK`.
    each : ndarray of shape (m,), int32
        The numbers from 0 to m - 1.
    memories : ndarray of shape (4, m, width)
        Work space.
    """
    powers, memory = memories[:3], memories[3]
    m = each.size
    mean = trace_of(learnt) / m
    squares = 0.0
    for i in range(m):
        for k in range(m):
            squares += learnt[i, k] * learnt[i, k]
    done = False
    if squares > GREAT * m * mean:
        put(a, 1.0, learnt)
        done = square(a, DOUBLINGS, memory, each)
    if not done:
        norm = math.sqrt(max(0.0, squares - m * mean * mean))
        doublings = max(0, math.frexp(norm / SMALL)[1])
        put(powers[0], math.ldexp(1.0, -doublings), learnt)
        for i in range(m):
            powers[0, i, i] -= math.ldexp(mean, -doublings)
        sum_series(a, powers, memory, each)
        square(a, doublings, memory, each)
    put(a, float(m), a)
