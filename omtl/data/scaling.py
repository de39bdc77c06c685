"""Scaling features by the examples seen so far: of an example, nothing later is known.

Each example is scaled by statistics of the earlier ones and of itself, all tasks together, as it
arrives and before its label is known. Passing examples one by one or in arrays gives identical
bits.
"""

from __future__ import annotations

import numpy as np

from omtl.util.errors import choose


class StandardScale:
    """Scale to (x − mean) / standard deviation; 0 while a feature has had one value only.

    Sums are of differences from the first example, so that large constants do not cancel digits.
    """

    n_seen = 0
    first: np.ndarray
    total: np.ndarray
    squares: np.ndarray

    def follow(self, X: np.ndarray) -> np.ndarray:
        """Return rows scaled one after the other, and remember them."""
        if not len(X):
            return X.copy()
        if not self.n_seen:
            self.first = X[0].copy()
            self.total, self.squares = np.zeros((2, X.shape[1]))
        away = X - self.first
        total = np.cumsum(np.vstack([self.total, away]), axis=0)[1:]
        squares = np.cumsum(np.vstack([self.squares, away * away]), axis=0)[1:]
        n = self.n_seen + np.arange(1.0, len(X) + 1.0)
        self.n_seen += len(X)
        self.total, self.squares = total[-1].copy(), squares[-1].copy()
        return _standardised(away, n[:, None], total, squares)

    def next_one(self, X: np.ndarray) -> np.ndarray:
        """Return rows, each scaled as if it came next; none is remembered."""
        if not self.n_seen:
            return np.zeros_like(X)
        away = X - self.first
        sums = self.total + away, self.squares + away * away
        return _standardised(away, self.n_seen + 1.0, *sums)


def _standardised(
    away: np.ndarray, n: np.ndarray | float, total: np.ndarray, squares: np.ndarray
) -> np.ndarray:
    mean = total / n
    deviation = np.sqrt(np.maximum(squares / n - mean * mean, 0.0))
    return np.divide(away - mean, deviation, out=np.zeros_like(away), where=deviation > 0.0)


class MinMaxScale:
    """Scale to (x − least) / (greatest − least), from 0 to 1; 0 while these are equal."""

    least: np.ndarray | None = None
    greatest: np.ndarray | None = None

    def follow(self, X: np.ndarray) -> np.ndarray:
        """Return rows scaled one after the other, and remember them."""
        if not len(X):
            return X.copy()
        low = X if self.least is None else np.vstack([self.least, X])
        high = X if self.greatest is None else np.vstack([self.greatest, X])
        low = np.minimum.accumulate(low)[-len(X) :]
        high = np.maximum.accumulate(high)[-len(X) :]
        self.least, self.greatest = low[-1].copy(), high[-1].copy()
        return _between(X, low, high)

    def next_one(self, X: np.ndarray) -> np.ndarray:
        """Return rows, each scaled as if it came next; none is remembered."""
        if self.least is None or self.greatest is None:
            return np.zeros_like(X)
        return _between(X, np.minimum(self.least, X), np.maximum(self.greatest, X))


def _between(X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return np.divide(X - low, high - low, out=np.zeros_like(X), where=high > low)


RunningScale = StandardScale | MinMaxScale
"""Statistics of the examples seen so far, by feature."""

SCALES: dict[str, type[RunningScale]] = {"standard": StandardScale, "minmax": MinMaxScale}
"""The kinds of scaling by name."""


def new_scale(kind: str) -> RunningScale:
    """Return the statistics of no example; raise UserError if the kind is unknown."""
    choose("kind", kind, SCALES)
    return SCALES[kind]()
