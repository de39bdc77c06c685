"""Correction of p values for multiple comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return p values corrected by Holm's method, in the order given.

    Parameters
    ----------
    p : array_like of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        Rejecting values of at most α makes any false rejection with probability at most α.
    """
    given = np.asarray(p, dtype=float)
    order = np.argsort(given, kind="stable")
    steps = (given.size - np.arange(given.size)) * given[order]
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected
