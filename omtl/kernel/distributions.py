"""Distributions over tasks, experts or classifiers: found from losses or logarithms, normalised."""

from __future__ import annotations

import math

from omtl.kernel.inlining import inlined
from omtl.kernel.losses import hinge


@inlined
def exponentials(p, losses, rate):
    """Fill in p_j = exp(−rate · (ℓ_j − min ℓ)), and return their sum.

    Subtracting the least loss changes no quotient, and exp never underflows for all.
    """
    least = losses[0]
    for j in range(1, p.size):
        least = min(least, losses[j])
    total = 0.0
    for j in range(p.size):
        p[j] = math.exp(-rate * (losses[j] - least))
        total += p[j]
    return total


@inlined
def exponential_weights(p, losses, rate):
    """Fill in the p_j ∝ exp(−rate · ℓ_j)."""
    total = exponentials(p, losses, rate)
    for j in range(p.size):
        p[j] /= total


@inlined
def softmax_of_losses(p, scores, y, share):
    """Fill in the softmax of the negative hinge losses of scores, times a share."""
    for j in range(p.size):
        p[j] = hinge(y, scores[j])
    total = exponentials(p, p, 1.0)
    for j in range(p.size):
        p[j] *= share / total


@inlined
def softmax(logit, p):
    """Set p_j ∝ exp(logit_j), and subtract the largest logit from all, so that none overflows."""
    top = -math.inf
    for j in range(p.size):
        top = max(top, logit[j])
    total = 0.0
    for j in range(p.size):
        logit[j] -= top
        p[j] = math.exp(logit[j])
        total += p[j]
    for j in range(p.size):
        p[j] /= total


@inlined
def normalise(shares, p):
    """Set p_j ∝ shares_j ≥ 0, and return True; if all are 0, keep p, and return False."""
    total = 0.0
    for j in range(p.size):
        total += shares[j]
    if not total > 0.0:
        return False
    for j in range(p.size):
        p[j] = shares[j] / total
    return True
