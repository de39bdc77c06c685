"""Random numbers in compiled rules, from a seeded state."""

from __future__ import annotations

import numpy as np

from omtl.kernel.inlining import inlined


@inlined
def uniform(state):
    """Return a number in [0, 1), and advance the state (xorshift64, Marsaglia 2003)."""
    x = state.random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state.random[0] = x
    return (x >> np.uint64(11)) * 2.0**-53
