"""Synthetic data for all contenders, and streams of it."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from scipy import sparse

from omtl.data.triplets import Triplets

NOISE = 0.1
"""Share of labels that are turned round, so that learning never ends."""

Rows: TypeAlias = np.ndarray | sparse.csr_array


def noisy_labels(score: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the signs of the scores, some of them turned round."""
    signs = np.where(score > 0.0, 1.0, -1.0)
    return np.where(random.random(score.size) < NOISE, -signs, signs)


def dense_data(n: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal examples of about unit length, and noisy labels of a linear teacher."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, n_features)) / np.sqrt(n_features)
    return X, noisy_labels(X @ random.standard_normal(n_features), random)


def sparse_data(n: int, nonzeros: int, n_features: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Return examples with as many nonzeros each, spread evenly, and labels as in `dense_data`."""
    random = np.random.default_rng(0)
    width = n_features // nonzeros
    indices = np.arange(nonzeros) * width + random.integers(width, size=(n, nonzeros))
    values = random.standard_normal(n * nonzeros) / np.sqrt(nonzeros)
    X = sparse.csr_array(
        (values, indices.ravel(), np.arange(n + 1) * nonzeros), shape=(n, n_features)
    )
    return X, noisy_labels(X @ random.standard_normal(n_features), random)


def triplets(n: int, n_rows: int, n_tasks: int) -> Triplets:
    """Return triplets of any rows, with labels that nothing can predict."""
    random = np.random.default_rng(0)
    query, first, second = random.integers(n_rows, size=(3, n))
    y = np.where(random.random(n) < 0.5, -1.0, 1.0)
    return Triplets(query, first, second, y, random.integers(n_tasks, size=n))
