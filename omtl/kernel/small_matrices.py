"""Small matrices in place: eigenvalues, inverses, roots, the exponential, shrunk values."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import compiled_as, inlined
from omtl.kernel.lanes import dot_block
from omtl.kernel.products import rescale, sum_of_squares

SWEEPS = 30
"""Maximum number of sweeps; convergence is quadratic, after 6 to 10 for up to 50 rows."""

NEGLIGIBLE = 1e-32
"""A matrix counts as diagonal if off-diagonal squares are below this share of all squares."""

SINGULAR = 1e-12
"""If the least eigenvalue is below this share of the largest, there is no inverse."""


@inlined
def diagonalise(a, vectors):
    """Diagonalise a symmetric matrix in place; `vectors` gets its eigenvectors as columns."""
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            vectors[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        beside, all_squares = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                all_squares += a[i, j] * a[i, j]
                beside += a[i, j] * a[i, j] if i != j else 0.0
        if not beside > NEGLIGIBLE * all_squares:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                if a[p, q] != 0.0:
                    rotate(a, vectors, p, q)


@inlined
def rotate(a, vectors, p, q):
    """Rotate a plane so that a[p, q] becomes 0."""
    theta = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(a.shape[0]):
        left, right = a[k, p], a[k, q]
        a[k, p], a[k, q] = c * left - s * right, s * left + c * right
        left, right = vectors[k, p], vectors[k, q]
        vectors[k, p], vectors[k, q] = c * left - s * right, s * left + c * right
    for k in range(a.shape[0]):
        left, right = a[p, k], a[q, k]
        a[p, k], a[q, k] = c * left - s * right, s * left + c * right
    a[p, q] = a[q, p] = 0.0


@inlined
def inverse_power(a, root, out, vectors):
    """Write A⁻¹, or A^(−1/2) if `root`, to `out`; `a` is overwritten.

    Returns the trace of A^(1/2), or 0 with `out` unchanged if A is not positive definite.
    """
    n = a.shape[0]
    diagonalise(a, vectors)
    least, largest, trace = a[0, 0], a[0, 0], 0.0
    for k in range(n):
        least, largest = min(least, a[k, k]), max(largest, a[k, k])
    if not (least > SINGULAR * largest and largest < math.inf):
        return 0.0
    for k in range(n):
        trace += math.sqrt(a[k, k])
        a[0, k] = 1.0 / (math.sqrt(a[k, k]) if root else a[k, k])
    compose(vectors, a[0], out)
    return trace


@inlined
def compose(vectors, values, out):
    """Write the symmetric matrix of these eigenvectors, as columns, and eigenvalues to `out`."""
    n = out.shape[0]  # rows may be padded
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += vectors[i, k] * values[k] * vectors[j, k]
            out[i, j] = total


class LowRank(NamedTuple):
    """A matrix whose singular values are shrunk, and work space.

    Parameters
    ----------
    matrix : ndarray of shape (m, n)
    gram, vectors : ndarray of shape (m, m)
    column : ndarray of shape (m,)
    """

    matrix: np.ndarray
    gram: np.ndarray
    vectors: np.ndarray
    column: np.ndarray


def low_rank(m: int, n: int) -> LowRank:
    """Return a matrix of zeros, m by n."""
    return LowRank(np.zeros((m, n)), np.zeros((m, m)), np.zeros((m, m)), np.zeros(m))


@inlined
def shrink_singular_values(U, by):
    """Reduce the singular values of a LowRank matrix by this amount, to at least 0.

    Cost: O(m² n), from the eigenvalues of the matrix times its transpose.
    """
    A, gram, Q, column = U.matrix, U.gram, U.vectors, U.column
    m, n = A.shape
    for i in range(m):
        for j in range(i, m):
            total = 0.0
            for f in range(n):
                total += A[i, f] * A[j, f]
            gram[i, j] = gram[j, i] = total
    diagonalise(gram, Q)
    for k in range(m):
        sigma = math.sqrt(max(0.0, gram[k, k]))
        column[k] = shrunk_share(sigma, by)
    compose(Q, column, gram)
    for f in range(n):
        for i in range(m):
            column[i] = A[i, f]
        for i in range(m):
            total = 0.0
            for j in range(m):
                total += gram[i, j] * column[j]
            A[i, f] = total


@inlined
def shrink_rows(A, by):
    """Reduce the norms of a matrix's rows by this amount, to at least 0."""
    for k in range(A.shape[0]):
        norm = math.sqrt(sum_of_squares(A[k]))
        rescale(A[k], shrunk_share(norm, by))


@inlined
def shrunk_share(size, by):
    """Return (1 − by / size)₊, what is left of a size that is reduced by an amount."""
    return 1.0 - by / size if size > by else 0.0


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


def _multiply_by_row(left, right, product, each):
    n = each.size
    for i in range(n):
        dot_block((right, each, left[i], product[i]), (0, n, product.shape[1]), (0,))


@compiled_as(_multiply_by_row)
def multiply(left: np.ndarray, right: np.ndarray, product: np.ndarray, each: np.ndarray) -> None:
    """Write the product of two square matrices, with zero-padded rows, to a third."""
    product[:] = left[:, : each.size] @ right


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
