"""Distributions over tasks, experts or classifiers, in place: found from losses, normalised."""

from __future__ import annotations

import math

from omtl.kernel.inlining import inlined


@inlined
def exponential_weights(p, losses, rate):
    """Fill in the p_j ∝ exp(−rate · ℓ_j), with the least loss subtracted from all.

    This does not change the quotients, and exp never underflows for all.
    """
    least = losses[0]
    for j in range(1, p.size):
        least = min(least, losses[j])
    total = 0.0
    for j in range(p.size):
        p[j] = math.exp(-rate * (losses[j] - least))
        total += p[j]
    for j in range(p.size):
        p[j] /= total


@inlined
def normalise(p):
    """Divide nonnegative numbers by their sum, unless it is 0."""
    total = 0.0
    for j in range(p.size):
        total += p[j]
    if total > 0.0:
        for j in range(p.size):
            p[j] /= total
