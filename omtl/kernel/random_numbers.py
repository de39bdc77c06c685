"""Random numbers in compiled rules, from a seeded state."""

from __future__ import annotations

import numpy as np

from omtl.kernel.inlining import inlined


def seeded(seed: int) -> np.ndarray:
    """Return the initial state of the generator, shape (1,): ``random`` of a learner's state."""
    return np.random.default_rng(seed).integers(1, 2**64, size=1, dtype=np.uint64)


@inlined
def uniform(state):
    """Return a number in [0, 1), and advance the state (xorshift64, Marsaglia 2003)."""
    x = state.random[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state.random[0] = x
    return (x >> np.uint64(11)) * 2.0**-53


@inlined
def drawn(state, p):
    """Return j with probability ``p[j]``, and advance the state."""
    left = uniform(state)
    for j in range(p.size):
        left -= p[j]
        if left < 0.0:
            return j
    return p.size - 1
