"""Memory layout of many vectors that are read together."""

from __future__ import annotations

import numpy as np


def zero_vectors(n_vectors: int, n_features: int, sparse: bool) -> np.ndarray:
    """Return zero vectors, shape (n_vectors, n_features), for `omtl.kernel.many_vectors`.

    For sparse rows the same feature of all vectors is stored together, so that reading one vector
    caches the others; for dense rows they are one after the other.
    """
    return np.zeros((n_vectors, n_features), order="F" if sparse else "C")
