"""Arrays that are taken as they are: no copy, and no pass over them before they are learnt from.

An array of numbers in C order, or a sparse matrix in canonical form, goes to compiled code at once,
which checks its rows and takes their norms block by block, while they are in the processor's cache.
A row that does not pass sends the whole call back to where it began, and from there through
scikit-learn's validation, which converts what can be converted and names what cannot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.sklearn.engine import RUNAWAY, UNSOUND
from omtl.sklearn.following import Batch

if TYPE_CHECKING:
    from omtl.sklearn.base import MultiTaskClassifier

FLOAT = np.dtype(np.float64)
INT32 = np.dtype(np.int32)

BLOCK_BYTES = 2**19
"""Rows that are checked and then learnt from are about so large: they are still in the cache."""

MOST_NAMES = 4096
"""Tasks that are whole numbers in a range of this size are looked up in a table."""


def plain_rows(X: Any) -> Rows | None:
    """Return rows as compiled code reads them if they are so already, else None.

    The values of the rows, and a sparse matrix's indices, are not looked at here.
    """
    if isinstance(X, np.ndarray):
        plain = X.dtype is FLOAT and X.ndim == 2 and X.flags.c_contiguous and X.size > 0
        return DenseRows(X) if plain else None
    if not sparse.issparse(X) or X.format != "csr" or X.ndim != 2 or not X.shape[0]:
        return None
    values, indices, indptr = X.data, X.indices, X.indptr
    for array, kinds in ((values, (FLOAT,)), (indices, (INT32,)), (indptr, INDPTR)):
        if not isinstance(array, np.ndarray) or array.dtype not in kinds or array.ndim != 1:
            return None
        if not array.flags.c_contiguous:
            return None
    if indptr.size != X.shape[0] + 1 or indices.size != values.size:
        return None
    return SparseRows(indptr.astype(np.int64, copy=False), indices, values)


INDPTR = (INT32, np.dtype(np.int64))


@njit(cache=True)
def _signs(y, negative, positive, out):
    for i in range(out.size):
        label = y[i]
        if label == positive:
            out[i] = 1.0
        elif label == negative:
            out[i] = -1.0
        else:
            return False
    return True


@njit(cache=True)
def _look_up(task, first, table, out):
    for i in range(out.size):
        place = task[i] - first
        if place < 0 or place >= table.size or table[place] < 0:
            return False
        out[i] = table[place]
    return True


def two_labels(y: Any) -> np.ndarray | None:
    """Return the two whole numbers that are the labels, else None; without sorting them."""
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind not in "biuf" or not y.size:
        return None
    low, high = y.min(), y.max()
    if low == high or not (float(low).is_integer() and float(high).is_integer()):
        return None
    found = np.array([low, high], dtype=y.dtype)
    return found if _signs(y, low, high, np.empty(y.size)) else None


def signs_of(y: Any, n: int, classes: np.ndarray) -> np.ndarray | None:
    """Return -1 or +1 for each label of an array of numbers, else None."""
    if not isinstance(y, np.ndarray) or y.shape != (n,) or y.dtype.kind not in "biuf":
        return None
    if classes.dtype.kind not in "biuf":
        return None
    out = np.empty(n)
    return out if _signs(y, classes[0], classes[1], out) else None


def whole_numbers(task: Any) -> tuple[int, ...] | None:
    """Return the tasks that occur in an array of whole numbers of a small range, else None."""
    if not isinstance(task, np.ndarray) or task.ndim != 1 or task.dtype.kind not in "iu":
        return None
    if not task.size or int(task.max()) - (first := int(task.min())) >= MOST_NAMES:
        return None
    return tuple((np.flatnonzero(np.bincount(task - first)) + first).tolist())


def table_of(names: tuple[Any, ...]) -> tuple[int, np.ndarray] | None:
    """Return where tasks begin, and the number of each; None if they are no whole numbers."""
    if not all(type(name) is int for name in names):
        return None
    first = min(names)
    if max(names) - first >= MOST_NAMES:
        return None
    table = np.full(max(names) - first + 1, -1, dtype=np.int64)
    table[[name - first for name in names]] = np.arange(len(names))
    return first, table


def numbers_of(
    task: Any, n: int, table: tuple[int, np.ndarray] | None, n_tasks: int
) -> np.ndarray | None:
    """Return the number of each task of an array of whole numbers, else None."""
    if task is None:
        return np.zeros(n, dtype=np.int64) if n_tasks == 1 else None
    if not isinstance(task, np.ndarray) or task.shape != (n,) or task.dtype.kind not in "iu":
        return None
    out = np.empty(n, dtype=np.int64)
    return out if table is not None and _look_up(task, *table, out) else None


def rows_at_once(rows: Rows, n: int) -> int:
    """Return how many rows are a block."""
    size = rows.X.nbytes if isinstance(rows, DenseRows) else 12 * rows.values.size
    return max(1, n * BLOCK_BYTES // max(size, 1))


def learn(
    estimator: MultiTaskClassifier, rows: Rows, y: np.ndarray, number: np.ndarray, ends: bool
) -> int:
    """Learn from plain rows; return `SOUND`, `RUNAWAY`, or `UNSOUND`: nothing was learnt then."""
    estimator._make_room(rows)
    engine = estimator._compiled()
    n = y.size
    batch = Batch(rows, y, number, number, np.empty(n))
    scores = np.empty(n)
    step = rows_at_once(rows, n)
    if n <= step:
        return engine.many(batch, scores, (0, n), (False, True, ends))
    before = [(array, array.copy()) for array in engine.arrays()]
    worst = 0
    for begin in range(0, n, step):
        end = min(begin + step, n)
        code = engine.many(batch, scores, (begin, end), (False, True, ends and end == n))
        if code == UNSOUND:
            for array, kept in before:
                array[...] = kept
            return UNSOUND
        worst = max(worst, code)
    return worst if worst == RUNAWAY else 0
