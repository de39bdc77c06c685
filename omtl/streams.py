"""Labelled examples of many tasks, and the orders in which a learner meets them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Tasks:
    """Labelled examples of many tasks, in no particular order.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features), float64
        One example a row.
    y : ndarray of shape (n_examples,), float64
        Labels, -1 or +1.
    task : ndarray of shape (n_examples,), int64
        The task of each example, from 0 to ``len(names) - 1``.
    names : tuple of str
        The tasks' names, in the order of their numbers.
    """

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    task: np.ndarray
    names: tuple[str, ...]

    @cached_property
    def sha256(self) -> str:
        """Hash of all that a learner is fed: rows, labels, tasks."""
        digest = hashlib.sha256(repr((self.X.shape, self.names)).encode())
        parts = (
            (self.X.indptr, self.X.indices, self.X.data)
            if isinstance(self.X, sparse.csr_array)
            else (self.X,)
        )
        for array in (*parts, self.y, self.task):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
