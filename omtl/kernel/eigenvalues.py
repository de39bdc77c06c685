"""Eigenvalues of small symmetric matrices, for compiled code that may not allocate (Jacobi)."""

from __future__ import annotations

import math

from omtl.kernel.inlining import inlined

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
    """Write A⁻¹, or A^(−1/2) if `root`, to `out`; `a` is diagonalised.

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
        a[k, k] = 1.0 / (math.sqrt(a[k, k]) if root else a[k, k])
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(n):
                total += vectors[i, k] * a[k, k] * vectors[j, k]
            out[i, j] = total
    return trace
