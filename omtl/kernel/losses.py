"""Losses of a score, and their derivatives."""

from __future__ import annotations

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
