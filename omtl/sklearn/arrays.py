"""Arrays used without a copy, and without a pass over them before learning.

A numeric array in C order, or a sparse matrix in canonical form, goes directly to compiled code,
which checks its rows and computes their norms block by block, while they are in the processor's
cache. If a row does not pass, the whole call starts again through scikit-learn's validation, which
converts what it can and reports what it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.data.validation import WIDEST
from omtl.sklearn.engine import SOUND, UNSOUND
from omtl.sklearn.following import Batch

if TYPE_CHECKING:
    from omtl.sklearn.base import MultiTaskClassifier

FLOAT = np.dtype(np.float64)
INT32 = np.dtype(np.int32)
INTEGERS = (INT32, np.dtype(np.int64))

FEW = 1024
"""Up to this many rows are all checked before learning begins. More rows are checked and learnt
from in parts, while they are in the processor's cache, and a copy of the state is kept until the
end."""

STEP = 16
"""Number of rows in such a part."""

NARROWED = 2**16
"""Number of 64-bit indices converted to 32 bits at a time."""

MOST_NAMES = 4096
"""Integer tasks in a range up to this size are looked up in a table."""


def plain_rows(X: Any) -> Rows | None:
    """Return rows for compiled code if they need no conversion, else None.

    The values of the rows, and a sparse matrix's indices, are not checked here.
    """
    if isinstance(X, np.ndarray):
        plain = X.dtype is FLOAT and X.ndim == 2 and X.flags.c_contiguous and X.size > 0
        return DenseRows(X) if plain else None
    if not sparse.issparse(X) or X.format != "csr" or X.ndim != 2 or not X.shape[0]:
        return None
    if X.shape[1] > WIDEST:
        return None
    values, indices, indptr = X.data, X.indices, X.indptr
    for array, kinds in ((values, (FLOAT,)), (indices, INTEGERS), (indptr, INTEGERS)):
        if not isinstance(array, np.ndarray) or array.dtype not in kinds or array.ndim != 1:
            return None
        if not array.flags.c_contiguous:
            return None
    if indptr.size != X.shape[0] + 1 or indices.size != values.size:
        return None
    return SparseRows(indptr.astype(np.int64, copy=False), indices, values)


@njit(cache=True)
def _signs(y, negative, positive, out):
    strange = False
    for i in range(out.size):
        strange |= (y[i] != positive) & (y[i] != negative)
        out[i] = 1.0 if y[i] == positive else -1.0
    return not strange


@njit(cache=True)
def _narrow(indices, out):
    for k in range(out.size):
        if indices[k] < 0 or indices[k] >= WIDEST:
            return False
        out[k] = indices[k]
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
    """Return the two integers that occur as labels, else None; without sorting."""
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind not in "biuf" or not y.size:
        return None
    low, high = y.min(), y.max()
    if low == high or not (float(low).is_integer() and float(high).is_integer()):
        return None
    return np.array([low, high], dtype=y.dtype)


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
    """Return the lowest task and the number of each; None if tasks are not integers."""
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


def learn(
    estimator: MultiTaskClassifier, rows: Rows, y: np.ndarray, number: np.ndarray, ends: bool
) -> int:
    """Learn from plain rows; return `SOUND`, `RUNAWAY`, or `UNSOUND`: nothing was learnt then."""
    estimator._make_room(rows)
    engine = estimator._compiled()
    n = y.size
    at_once = n if n <= FEW else STEP
    narrow = isinstance(rows, DenseRows) or rows.indices.dtype is INT32
    whole = n <= FEW and narrow
    before = [] if whole else [(array, array.copy()) for array in engine.arrays()]
    worst = SOUND
    for begin, end, part in parts_of(rows, n):
        code = UNSOUND
        if part is not None:
            here, size = number[begin:end], end - begin
            batch = Batch(part, y[begin:end], here, here, np.empty(size))
            flags = (True, ends and end == n)
            code = engine.many(batch, np.empty(size), (0, size, at_once), flags)
        if code == UNSOUND:
            for array, kept in before:
                array[...] = kept
            return UNSOUND
        worst = max(worst, code)
    return worst


def parts_of(rows: Rows, n: int) -> Iterator[tuple[int, int, Rows | None]]:
    """Yield rows with 32-bit indices, part by part where they have others; None if they cannot."""
    if isinstance(rows, DenseRows) or rows.indices.dtype is INT32:
        yield 0, n, rows
        return
    begin = 0
    while begin < n:
        start = rows.indptr[begin]
        end = int(np.searchsorted(rows.indptr, start + NARROWED, side="right")) - 1
        end = min(max(end, begin + 1), n)
        stop = rows.indptr[end]
        narrow = np.empty(max(stop - start, 0), dtype=np.int32)
        fits = 0 <= start <= stop <= rows.indices.size and _narrow(rows.indices[start:stop], narrow)
        indptr = rows.indptr[begin : end + 1] - start
        yield begin, end, SparseRows(indptr, narrow, rows.values[start:stop]) if fits else None
        begin = end
