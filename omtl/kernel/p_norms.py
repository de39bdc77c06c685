"""Powers and p-norms, with products instead of the power function where possible."""

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
