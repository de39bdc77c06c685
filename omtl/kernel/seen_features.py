"""The features seen so far; all other entries of a vector are zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.kernel.inlining import by_rows


class SeenFeatures(NamedTuple):
    """The features seen in examples so far: over all tasks, or by task.

    Parameters
    ----------
    features : ndarray of shape (n_slots, n_features), int32
        In order of appearance.
    n : ndarray of shape (n_slots,), int64
        Number of features seen.
    known : ndarray of shape (n_slots, n_features), bool
        Whether a feature has been seen.
    """

    features: np.ndarray
    n: np.ndarray
    known: np.ndarray


def _all_are_known(seen, rows, slot, i):
    pass


def _add_nonzeros(seen, rows, slot, i):
    for e in range(rows.indptr[i], rows.indptr[i + 1]):
        j = np.uint32(rows.indices[e])
        if not seen.known[slot, j]:
            seen.known[slot, j] = True
            seen.features[slot, seen.n[slot]] = j
            seen.n[slot] += 1


@by_rows(dense=_all_are_known, sparse=_add_nonzeros)
def add_features(seen: SeenFeatures, rows: Rows, slot: int, i: int) -> None:
    """Record the features of `x`; for dense rows all are known from the start."""
    if isinstance(rows, SparseRows):
        for j in rows.indices[rows.indptr[i] : rows.indptr[i + 1]]:
            if not seen.known[slot, j]:
                seen.known[slot, j] = True
                seen.features[slot, seen.n[slot]] = j
                seen.n[slot] += 1


def none_seen(rows: Rows, n_slots: int, n_features: int) -> SeenFeatures:
    """Return the features known before the first example: none, or all if the rows are dense."""
    dense = isinstance(rows, DenseRows)
    return SeenFeatures(
        features=np.tile(np.arange(n_features, dtype=np.int32), (n_slots, 1)),
        n=np.full(n_slots, n_features if dense else 0),
        known=np.full((n_slots, n_features), dense),
    )


def rows_by_task(
    rows: Rows, of_task: np.ndarray, n_tasks: int, n_features: int
) -> tuple[Rows, int]:
    """Return rows with features numbered within their tasks, and the largest count of these.

    A vector of one task then has no weights for features that only other tasks have.
    """
    if isinstance(rows, DenseRows):
        return rows, n_features
    task = np.repeat(of_task, np.diff(rows.indptr))
    indices = np.empty_like(rows.indices)
    most = 1
    for k in range(n_tasks):
        mine = task == k
        features, indices[mine] = np.unique(rows.indices[mine], return_inverse=True)
        most = max(most, features.size)
    return SparseRows(rows.indptr, indices, rows.values), most
