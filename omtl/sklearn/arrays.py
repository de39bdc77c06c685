"""Arrays used without a copy, and without a pass over them before learning.

A numeric array in C order, or a sparse matrix in canonical form, goes directly to compiled code,
block by block: labels and tasks are looked up, rows checked and their norms computed while they are
in the processor's cache. If something does not pass, the whole call starts again through
scikit-learn's validation, which converts what it can and reports what it cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.data.validation import WIDEST
from omtl.kernel.compiled_stream import BLOCK, SOUND, UNSOUND, Engine
from omtl.kernel.lookups import look_up, mark, narrow, signs

if TYPE_CHECKING:
    from omtl.sklearn.base import MultiTaskClassifier

FLOAT = np.dtype(np.float64)
INT32 = np.dtype(np.int32)
INTEGERS = (INT32, np.dtype(np.int64))
WHOLE = frozenset(map(np.dtype, "bhilqBHILQ"))
LABELS = WHOLE | frozenset(map(np.dtype, "?fd"))
"""Types of tasks, and of labels, that compiled code reads."""

NARROWED = 2**16
"""Number of 64-bit indices converted to 32 bits at a time."""

MOST_NAMES = 4096
"""Integer tasks in a range up to this size are looked up in a table."""

Examples = tuple[Rows, np.ndarray, np.ndarray | None]
"""Rows, labels, and tasks if there are several."""


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


def two_labels(y: Any) -> np.ndarray | None:
    """Return the two integers that occur as labels, else None; without sorting."""
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype not in LABELS or not y.size:
        return None
    low, high = y.min(), y.max()
    if low == high or not (float(low).is_integer() and float(high).is_integer()):
        return None
    return np.array([low, high], dtype=y.dtype)


def plain_labels(y: Any, n: int, classes: np.ndarray) -> bool:
    """Whether labels are an array of numbers, as the classes are."""
    if not isinstance(y, np.ndarray) or y.shape != (n,):
        return False
    return y.dtype in LABELS and classes.dtype in LABELS


def _in_range(first: int, last: int) -> bool:
    """Whether tasks from one to another can be looked up in a table."""
    return last - first < MOST_NAMES and first >= -(2**63) and last < 2**63


def whole_numbers(task: Any) -> tuple[int, ...] | None:
    """Return the tasks that occur in an array of whole numbers of a small range, else None."""
    if not isinstance(task, np.ndarray) or task.ndim != 1 or task.dtype not in WHOLE:
        return None
    if not task.size or not _in_range(first := int(task.min()), int(task.max())):
        return None
    met = np.zeros(MOST_NAMES, dtype=np.bool_)
    mark(task, first, met)
    return tuple(first + place for place in np.flatnonzero(met).tolist())


def table_of(names: tuple[Any, ...]) -> tuple[int, np.ndarray] | None:
    """Return the lowest task and the number of each; None if tasks are not integers."""
    if not all(type(name) is int for name in names):
        return None
    first, last = min(names), max(names)
    if not _in_range(first, last):
        return None
    table = np.full(last - first + 1, -1, dtype=np.int64)
    table[[name - first for name in names]] = np.arange(len(names))
    return first, table


def plain_tasks(task: Any, n: int, table: tuple[int, np.ndarray] | None, n_tasks: int) -> bool:
    """Whether tasks are an array of whole numbers, or not needed."""
    if task is None:
        return n_tasks == 1
    if not isinstance(task, np.ndarray) or task.shape != (n,):
        return False
    return task.dtype in WHOLE and table is not None


def learn(
    estimator: MultiTaskClassifier, rows: Rows, y: np.ndarray, task: np.ndarray | None, ends: bool
) -> int:
    """Learn from plain rows; return `SOUND`, `RUNAWAY`, or `UNSOUND`: nothing was learnt then.

    A single block is checked before learning begins. More are checked and learnt from bit by bit,
    and a copy of the state is kept until the end.
    """
    estimator._make_room(rows)
    engine = estimator._compiled()
    n = y.size
    if n <= BLOCK and (isinstance(rows, DenseRows) or rows.indices.dtype is INT32):
        return _learn_block(estimator, engine, (rows, y, task), n, ends)
    before = [(array, array.copy()) for array in estimator._arrays().values()]
    worst = SOUND
    for begin, end, part in parts_of(rows, n):
        code = UNSOUND
        if part is not None:
            block = part, y[begin:end], None if task is None else task[begin:end]
            code = _learn_block(estimator, engine, block, engine.at_once, ends and end == n)
        if code == UNSOUND:
            for array, kept in before:
                array[...] = kept
            return UNSOUND
        worst = max(worst, code)
    return worst


def _learn_block(
    estimator: MultiTaskClassifier, engine: Engine, block: Examples, at_once: int, ends: bool
) -> int:
    """Learn from a block of examples, checking so many rows at once."""
    rows, y, task = block
    if not signs(y, estimator.classes_, engine.block.y):
        return UNSOUND
    if task is None:
        engine.block.task.fill(0)
    elif estimator._table is None or not look_up(task, *estimator._table, engine.block.task):
        return UNSOUND
    return engine.learn(rows, y.size, at_once, ends)


def parts_of(rows: Rows, n: int) -> Iterator[tuple[int, int, Rows | None]]:
    """Yield blocks of rows with 32-bit indices, with their place; None if they cannot have them."""
    begin, memory = 0, np.empty(NARROWED, dtype=np.int32)
    while begin < n:
        end = min(begin + BLOCK, n)
        part: Rows | None
        if isinstance(rows, DenseRows):
            part = DenseRows(rows.X[begin:end])
        elif rows.indices.dtype is INT32:
            part = rows._replace(indptr=rows.indptr[begin : end + 1])
        else:
            reach = rows.indptr[begin] + NARROWED
            last = int(np.searchsorted(rows.indptr, reach, side="right")) - 1
            end = min(max(last, begin + 1), end)
            part = _narrowed(rows, begin, end, memory)
        yield begin, end, part
        begin = end


def _narrowed(rows: SparseRows, begin: int, end: int, memory: np.ndarray) -> SparseRows | None:
    """Return rows with 32-bit indices, in memory if it is enough; None if they cannot have them."""
    start, stop = rows.indptr[begin], rows.indptr[end]
    if not 0 <= start <= stop <= rows.indices.size:
        return None
    n = stop - start
    indices = memory[:n] if n <= memory.size else np.empty(n, dtype=np.int32)
    if not narrow(rows.indices[start:stop], indices):
        return None
    return SparseRows(rows.indptr[begin : end + 1] - start, indices, rows.values[start:stop])
