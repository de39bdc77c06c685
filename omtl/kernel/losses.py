"""Losses of a score, and their derivatives."""

from __future__ import annotations

import math

import numpy as np

from omtl.kernel.inlining import inlined

HINGE, ABSOLUTE, SQUARE = range(3)
"""max(0, 1 − y z), |z − y| and (z − y)² / 2, for a score z."""


@inlined
def hinge(y, z):
    """Return the hinge loss."""
    return max(0.0, 1.0 - y * z)


@inlined
def slope(which, y, z):
    """Return a subgradient in the score; −1 for an absolute loss of 0."""
    if which == HINGE:
        return -y if y * z < 1.0 else 0.0
    if which == ABSOLUTE:
        return 1.0 if z > y else -1.0
    return z - y


@inlined
def softmax_of_losses(out, scores, y, share):
    """Fill in the softmax of the negative hinge losses of scores, times a share.

    The least loss is subtracted from all, which does not change the quotient, so that exp never
    underflows for all.
    """
    least = np.inf
    for j in range(scores.size):
        least = min(least, hinge(y, scores[j]))
    total = 0.0
    for j in range(scores.size):
        out[j] = math.exp(least - hinge(y, scores[j]))
        total += out[j]
    for j in range(scores.size):
        out[j] *= share / total
