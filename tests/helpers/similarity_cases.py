"""Small random problems of the similarity learners."""

from __future__ import annotations

import numpy as np
from profiles import thorough

from omtl.data.triplets import BLOCK, Triplets

THOROUGH = thorough(40)


def a_problem(seed: int, n_tasks: int, d: int) -> tuple[np.ndarray, Triplets, np.ndarray]:
    """Return rows, some empty, triplets of them in two blocks, and draws."""
    rng = np.random.default_rng(seed)
    n, many = 30, BLOCK + 40
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    X[0] = 0.0
    triplets = Triplets(
        *(rng.integers(n, size=many) for _ in range(3)),
        rng.choice([-1.0, 1.0], size=many),
        rng.integers(n_tasks, size=many),
    )
    return X, triplets, rng.random(many)
