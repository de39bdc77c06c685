"""AKLO in plain NumPy, and what it is compared by."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

SLACK = 1e-9
"""Of comparisons of sums of rounded numbers, relative."""


class Plain(NamedTuple):
    """What a task was: errors, e_t of each past classifier, w_t, and p_t of eq. 2."""

    wrong: np.ndarray
    e: np.ndarray
    own: np.ndarray
    p: np.ndarray

    @property
    def errors(self) -> int:
        """E_{T+1}."""
        return int(self.wrong.sum())

    @property
    def best(self) -> int:
        """The number of w**."""
        return int(np.argmin(self.e.sum(axis=0)))


def plain(
    X: np.ndarray,
    y: np.ndarray,
    past: np.ndarray,
    shares: np.ndarray,
    lam: float,
    *,
    each: bool,
    known: bool = True,
) -> Plain:
    """Play algorithms 1 and 2 with eq. 2 on one task, for any α; `each` clips before the sum."""
    n, T = y.size, past.shape[0]
    w, L = np.zeros(X.shape[1]), np.zeros(T)
    wrong, errors, own, weights = [], [], [], []
    for t in range(1, n + 1):
        start = t if known else 2 ** int(math.log2(t))
        if not known and t == start:
            L = np.zeros(T)
        tuned = shares.sum() if known else shares[:start].sum()
        p = np.exp(-math.sqrt(math.log(T) / (8.0 * tuned)) * (L - L.min()))
        p /= p.sum()
        x, said = X[t - 1], past @ X[t - 1]
        base = p @ np.clip(said, -1, 1) if each else np.clip(p @ said, -1, 1)
        z = (1.0 - shares[t - 1]) * np.clip(w @ x, -1, 1) + shares[t - 1] * base
        wrong.append(not y[t - 1] * z > 0.0)
        errors.append((np.clip(said, -1, 1) - y[t - 1]) ** 2)
        own.append(w)
        weights.append(p)
        L = L + errors[-1]
        eta = 1.0 / (lam * t)
        step = eta * y[t - 1] * x if y[t - 1] * (w @ x) < 1.0 else 0.0
        w = (1.0 - eta * lam) * w + step
    return Plain(np.array(wrong), np.array(errors), np.array(own), np.array(weights))


def hinge(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return ℓ_t(w), or ℓ_t(w_t) where there is a w for each t."""
    return np.maximum(0.0, 1.0 - y * np.sum(X * w, axis=1))
