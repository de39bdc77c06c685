"""Powers and p-norms, and the multiplier of a quadratic that is maximised within a ball.

The maximum of 2 τ·b − Σ a_k τ_k² over ‖τ‖₂ ≤ C, with a_k > 0, is τ_k = b_k / (a_k + μ). The
multiplier μ ≥ 0 is 0 if τ is then inside the ball, and otherwise the root of ‖τ‖₂ = C (a secular
equation).
"""

from __future__ import annotations

import math

from omtl.kernel.inlining import inlined


@inlined
def power(x, p):
    """Return x^p; products are much faster than the power function, and round better."""
    if p == 1.0:
        return x
    return x * x if p == 2.0 else x**p


@inlined
def divide_by_norm(v, p):
    """Divide a vector without negative components by its p-norm; zeros stay zeros.

    Its largest component is divided out first: powers cannot overflow, nor all underflow.
    """
    most = 0.0
    for k in range(v.size):
        most = max(most, v[k])
    if most == 0.0:
        return
    total = 0.0
    for k in range(v.size):
        v[k] /= most
        total += power(v[k], p)
    norm = math.sqrt(total) if p == 2.0 else total ** (1.0 / p)
    for k in range(v.size):
        if v[k] > 0.0:
            v[k] /= norm


MOST_HALVINGS = 200
"""Number of bisections after which an interval of floats cannot be halved further."""

NEAR = 1e-8
"""Relative length of a Newton step below which only rounding errors remain."""

ROUNDING = 1e-15
"""Slight overestimate of the relative error of a root found by Newton's method."""


@inlined
def square_of_quotients(b, a, mu):
    """Return ‖τ‖₂² of τ_k = b_k / (a_k + μ)."""
    total = 0.0
    for k in range(b.size):
        total += (b[k] / (a[k] + mu)) ** 2
    return total


@inlined
def least_multiplier(b, a, C):
    """Return the least μ ≥ 0 with ‖τ‖₂ ≤ C: Newton's method on 1 / ‖τ‖₂, with final bisection."""
    if square_of_quotients(b, a, 0.0) <= C * C:
        return 0.0
    square = 0.0
    for k in range(b.size):
        square += b[k] * b[k]
    # ‖τ‖₂ falls from its value at μ = 0 to at most C at μ = ‖b‖₂ / C.
    low, high = 0.0, math.sqrt(square) / C
    mu, length = 0.0, math.inf
    while length > NEAR * mu:
        norm, fall = 0.0, 0.0
        for k in range(b.size):
            inverse = 1.0 / (a[k] + mu)
            part = (b[k] * inverse) ** 2
            norm += part
            fall += part * inverse
        if norm > C * C:
            low = mu
        else:
            high = mu
        if not fall > 0.0:
            break
        next_mu = mu + (math.sqrt(norm) / C - 1.0) * norm / fall
        if not low < next_mu < high:
            break
        mu, length = next_mu, min(0.5 * length, abs(next_mu - mu))
    for side in (1.0 - ROUNDING, 1.0 + ROUNDING):
        edge = side * mu
        if low < edge < high:
            if square_of_quotients(b, a, edge) > C * C:
                low = edge
            else:
                high = edge
    for _ in range(MOST_HALVINGS):
        mu = 0.5 * (low + high)
        if mu <= low or mu >= high:
            break
        if square_of_quotients(b, a, mu) > C * C:
            low = mu
        else:
            high = mu
    return high
