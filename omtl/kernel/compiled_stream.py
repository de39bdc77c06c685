"""The compiled code of one stream: its state in a box, its loop called with flat arguments.

There are two calls: `one` for one example at a time, and `many` for arrays, which checks rows,
computes their norms and learns from them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.kernel.boxes import Box, contents
from omtl.kernel.inlining import OPTIONS, inlined, loop
from omtl.kernel.resumed_loop import Batch, Clock, Manner, follow_inlined
from omtl.kernel.row_checks import rows_at_once, sound
from omtl.kernel.row_norms import (
    dense_square_norm,
    pending,
    same_as_numpy,
    sparse_square_norm,
)
from omtl.util.compile_cache import kept

SOUND, UNSOUND, RUNAWAY = 0, 1, 2
"""Results of learning: success; an invalid row, after which the updates must be undone; scores that
are not finite."""

BLOCK = 2048
"""Number of rows in a block."""

SPARSE_ROWS = 4
"""Number of sparse rows that are checked before learning from them."""


class Stream(NamedTuple):
    """Everything that compiled code needs to continue a stream."""

    learner: Any
    state: Any
    window: Rows
    clock: Clock
    by_task: bool
    holds: bool
    n_features: int
    one: Batch
    score: np.ndarray
    pending: tuple[np.ndarray, np.ndarray, np.ndarray]


class Block(NamedTuple):
    """Memory for a block of examples, of shape (`BLOCK`,): what learning needs besides the rows."""

    y: np.ndarray
    task: np.ndarray
    square_norm: np.ndarray
    score: np.ndarray


def _one_dense(box, x, label, task, node):
    stream = contents(box)
    row = stream.one.rows.X[0]
    if x.size != row.size:
        raise ValueError("a different number of features")
    for k in range(row.size):
        row[k] = x[k]
    return _one(stream, dense_square_norm(row), label, task, node)


def _one_sparse(box, indices, values, label, task, node):
    stream = contents(box)
    rows = stream.one.rows
    n = indices.size
    if n > rows.indices.size or values.size < n:
        raise ValueError("more nonzeros than there is room for")
    for k in range(n):
        rows.indices[k] = indices[k]
        rows.values[k] = values[k]
    rows.indptr[1] = n
    # Zeros are skipped: the same sum, in the order of the others.
    kept = 0
    for k in range(n):
        value = rows.values[k]
        stream.score[1 + kept] = value
        kept += value * value != 0.0
    at, left, sums = stream.pending
    norm = sparse_square_norm(stream.score, 1, 1 + kept, at, left, sums)
    return _one(stream, norm, label, task, node)


@inlined
def _one(stream, square_norm, label, task, node):
    if not square_norm < np.inf:
        raise ValueError("not finite")
    one = stream.one
    one.y[0] = label
    one.task[0] = task
    one.node[0] = node
    one.square_norm[0] = square_norm
    manner = Manner(stream.by_task, stream.holds, label != 0.0, 0, 1, False)
    follow_inlined(
        stream.learner, stream.state, stream.window, one, stream.clock, manner, stream.score
    )
    return stream.score[0]


def _many_dense(box, X, y, task, node, norm, scores, n, at_once, learns, ends):
    batch = Batch(DenseRows(X), y, task, node, norm)
    return _many(contents(box), batch, scores, n, at_once, learns, ends)


def _many_sparse(
    box, indptr, indices, values, y, task, node, norm, scores, n, at_once, learns, ends
):
    batch = Batch(SparseRows(indptr, indices, values), y, task, node, norm)
    return _many(contents(box), batch, scores, n, at_once, learns, ends)


@inlined
def _many(stream, batch, scores, n, at_once, learns, ends):
    total = 0.0
    size = at_once if at_once > 0 else max(n, 1)
    for begin in range(0, max(n, 1), size):
        part = begin, min(begin + size, n)
        if at_once > 0 and not sound(
            batch.rows, part, stream.n_features, batch.square_norm, stream.pending
        ):
            return UNSOUND
        last = ends and part[1] == n
        manner = Manner(stream.by_task, stream.holds, learns, part[0], part[1], last)
        follow_inlined(
            stream.learner, stream.state, stream.window, batch, stream.clock, manner, scores
        )
        for i in range(part[0], part[1]):
            total += scores[i] - scores[i]
    return SOUND if total == 0.0 else RUNAWAY


# For an example or two, releasing Python's lock takes longer than learning.
one_dense = kept(**OPTIONS)(_one_dense)
one_sparse = kept(**OPTIONS)(_one_sparse)
many_dense = loop(_many_dense)
many_sparse = loop(_many_sparse)

VECTOR, MATRIX = types.float64[::1], types.float64[:, ::1]
NUMBERS, INDICES = types.int64[::1], types.int32[::1]
COLUMNS = (VECTOR, NUMBERS, NUMBERS, VECTOR, VECTOR)
FLAGS = (types.int64, types.int64, types.boolean, types.boolean)
EXAMPLE = (types.float64, types.int64, types.int64)


class Engine:
    """The box of one stream, and the compiled functions that continue it.

    It belongs to its arrays: a stream with new arrays gets a new engine.

    Parameters
    ----------
    parts : tuple
        Learner, state, window and clock, as in `omtl.kernel.resumed_loop.follow_slowly`.
    manner : tuple of bool
        `by_task` and `holds` of `Manner`.
    n_features : int
    room : int, optional
        Maximum nonzeros of one sparse example; None for dense rows.

    Attributes
    ----------
    at_once : int
        How many rows of a long array are best checked before learning from them.
    block : Block
    """

    def __init__(
        self,
        parts: tuple[Any, Any, Rows, Clock],
        manner: tuple[bool, bool],
        n_features: int,
        room: int | None = None,
    ) -> None:
        self.room, self.n_features = room, n_features
        rows: Rows = DenseRows(np.zeros((1, n_features)))
        if room is not None:
            rows = SparseRows(np.zeros(2, np.int64), np.zeros(room, np.int32), np.zeros(room))
        task, node = np.zeros((2, 1), np.int64)
        one = Batch(rows, np.zeros(1), task, node, np.zeros(1))
        score = np.zeros(1 + (room or 0))
        self._box = Box(Stream(*parts, *manner, n_features, one, score, pending()))
        self.at_once = SPARSE_ROWS if room is not None else rows_at_once(n_features)
        y, square_norm, scores = np.empty((3, BLOCK))
        self.block = Block(y, np.empty(BLOCK, np.int64), square_norm, scores)

    @cached_property
    def one(self) -> Callable[..., float]:
        """The function for one example, compiled on first use; it returns the score.

        It takes a dense row, or a sparse row's ascending columns and their values; the label, or 0
        to score only; and the indices of task and node.
        """
        if self.room is None:
            return self._box.entry(one_dense, VECTOR, *EXAMPLE)
        return self._box.entry(one_sparse, INDICES, VECTOR, *EXAMPLE)

    @cached_property
    def _many(self) -> Callable[..., int]:
        if self.room is None:
            return self._box.entry(many_dense, MATRIX, *COLUMNS, *FLAGS)
        return self._box.entry(many_sparse, NUMBERS, INDICES, VECTOR, *COLUMNS, *FLAGS)

    def knows_norms(self) -> bool:
        """Whether norms computed here are bit-identical to the harness's."""
        return same_as_numpy(self.n_features if self.room is None else 0, self.room is not None)

    def many(self, batch: Batch, scores: np.ndarray, learns: bool, ends: bool) -> int:
        """Process checked examples; return `SOUND` or `RUNAWAY`.

        Parameters
        ----------
        batch : Batch
            With C-ordered arrays of the types in `COLUMNS`.
        scores : ndarray
            Where the scores are written.
        learns, ends : bool
            As in `Manner`.
        """
        n = batch.y.size
        return self._many(*batch.rows, *batch[1:], scores, n, 0, learns, ends)

    def learn(self, rows: Rows, n: int, at_once: int, ends: bool) -> int:
        """Learn from `n` rows, whose labels and tasks are in the block; check `at_once` at a time.

        Return `SOUND`, `UNSOUND` or `RUNAWAY`.
        """
        y, task, square_norm, scores = self.block
        return self._many(*rows, y, task, task, square_norm, scores, n, at_once, True, ends)
