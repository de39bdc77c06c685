"""The compiled code of one estimator: its stream in a box, its loop called with flat arguments.

There are three calls: `one_dense` and `one_sparse` for one example at a time, and `many` for
arrays, which checks rows, computes their norms and learns from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core import types

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.kernel.boxes import Box, contents
from omtl.kernel.inlining import OPTIONS, by_rows, inlined, loop
from omtl.kernel.row_checks import rows_at_once, sound_dense, sound_sparse
from omtl.kernel.row_norms import (
    dense_square_norm,
    pending,
    same_as_numpy,
    sparse_square_norm,
)
from omtl.sklearn.following import Batch, Clock, Manner, follow_inlined

COMPILED = True
"""Whether estimators run compiled code; tests of the rules as plain Python set it to False."""

SOUND, UNSOUND, RUNAWAY = 0, 1, 2
"""Results of `many`: success; an invalid row, after which the updates must be undone; scores that
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
    one: Batch
    score: np.ndarray
    at: np.ndarray
    left: np.ndarray
    sums: np.ndarray
    by_task: bool
    holds: bool


class Block(NamedTuple):
    """Memory for a block of examples, of shape (`BLOCK`,): what `many` needs besides the rows."""

    y: np.ndarray
    square_norm: np.ndarray
    score: np.ndarray
    task: np.ndarray


def _one_dense(box, x, label, task, node):
    stream = contents(box)
    one = stream.one
    row = one.rows.X[0]
    if x.size != row.size:
        raise ValueError("a different number of features")
    for k in range(row.size):
        row[k] = x[k]
    one.square_norm[0] = dense_square_norm(row)
    if not one.square_norm[0] < np.inf:
        raise ValueError("not finite")
    one.y[0] = label
    one.task[0] = task
    one.node[0] = node
    manner = Manner(stream.by_task, stream.holds, label != 0.0, 0, 1, False)
    follow_inlined(
        stream.learner, stream.state, stream.window, one, stream.clock, manner, stream.score
    )
    return stream.score[0]


def _one_sparse(box, indices, values, label, task, node):
    stream = contents(box)
    one = stream.one
    n = indices.size
    if n > one.rows.indices.size or values.size < n:
        raise ValueError("more nonzeros than there is room for")
    for k in range(n):
        one.rows.indices[k] = indices[k]
        one.rows.values[k] = values[k]
    one.rows.indptr[1] = n
    # Zeros are skipped: the same sum, in the order of the others.
    kept = 0
    for k in range(n):
        value = one.rows.values[k]
        stream.score[1 + kept] = value
        kept += value * value != 0.0
    norm = sparse_square_norm(stream.score, 1, 1 + kept, stream.at, stream.left, stream.sums)
    if not norm < np.inf:
        raise ValueError("not finite")
    one.square_norm[0] = norm
    one.y[0] = label
    one.task[0] = task
    one.node[0] = node
    manner = Manner(stream.by_task, stream.holds, label != 0.0, 0, 1, False)
    follow_inlined(
        stream.learner, stream.state, stream.window, one, stream.clock, manner, stream.score
    )
    return stream.score[0]


def _sound(stream, rows, begin, end, n_features, square_norm):  # noqa: ARG001
    return sound_dense(rows, (begin, end), square_norm)


def _sound_sparse(stream, rows, begin, end, n_features, square_norm):
    memory = stream.at, stream.left, stream.sums
    return sound_sparse(rows, (begin, end), n_features, square_norm, memory)


@by_rows(dense=_sound, sparse=_sound_sparse)
def sound(stream: Any, rows: Any, begin: int, end: int, n_features: int, square_norm: Any) -> bool:
    """Compute norms of rows; return whether all are valid. Only compiled code calls this."""
    raise NotImplementedError


@inlined
def _many(stream, batch, manner, n_features, step, scores):
    total = 0.0
    size = step if step > 0 else max(manner.end - manner.begin, 1)
    for begin in range(manner.begin, max(manner.end, manner.begin + 1), size):
        end = min(begin + size, manner.end)
        if step > 0 and not sound(stream, batch.rows, begin, end, n_features, batch.square_norm):
            return UNSOUND
        last = manner.ends and end == manner.end
        part = Manner(manner.by_task, manner.holds, manner.learns, begin, end, last)
        follow_inlined(
            stream.learner, stream.state, stream.window, batch, stream.clock, part, scores
        )
        for i in range(begin, end):
            total += scores[i] - scores[i]
    return SOUND if total == 0.0 else RUNAWAY


def _many_dense(box, X, y, task, node, norm, scores, begin, end, step, learns, ends):
    stream = contents(box)
    batch = Batch(DenseRows(X), y, task, node, norm)
    manner = Manner(stream.by_task, stream.holds, learns, begin, end, ends)
    return _many(stream, batch, manner, X.shape[1], step, scores)


def _many_sparse(
    box, indptr, indices, values, d, y, task, node, norm, scores, begin, end, step, learns, ends
):
    stream = contents(box)
    batch = Batch(SparseRows(indptr, indices, values), y, task, node, norm)
    manner = Manner(stream.by_task, stream.holds, learns, begin, end, ends)
    return _many(stream, batch, manner, d, step, scores)


# For an example or two, releasing Python's lock takes longer than learning.
one_dense = njit(cache=True, **OPTIONS)(_one_dense)
one_sparse = njit(cache=True, **OPTIONS)(_one_sparse)
many_dense = loop(_many_dense)
many_sparse = loop(_many_sparse)

VECTOR, MATRIX = types.float64[::1], types.float64[:, ::1]
NUMBERS, INDICES = types.int64[::1], types.int32[::1]
ARRAYS = (VECTOR, NUMBERS, NUMBERS, VECTOR, VECTOR)
FLAGS = (types.int64, types.int64, types.int64, types.boolean, types.boolean)
EXAMPLE = (types.float64, types.int64, types.int64)


def arrays_in(parts: tuple[Any, ...]) -> list[np.ndarray]:
    """Return the arrays of tuples of arrays and of such tuples."""
    found: list[np.ndarray] = []
    for part in parts:
        found += [part] if isinstance(part, np.ndarray) else arrays_in(part)
    return found


class Engine:
    """The box of one stream, and the compiled functions that continue it.

    It belongs to its arrays: a stream with new arrays gets a new engine.

    Parameters
    ----------
    parts : tuple
        Learner, state, window and clock, as in `omtl.sklearn.following.follow_slowly`.
    manner : tuple of bool
        `by_task` and `holds` of `Manner`.
    n_features : int
    room : int, optional
        Maximum nonzeros of one sparse example; None for dense rows.

    Attributes
    ----------
    address : int
        The address of the box.
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
        learner, state, window, clock = parts
        self.room, self.n_features = room, n_features
        rows: Rows = DenseRows(np.zeros((1, n_features)))
        if room is not None:
            rows = SparseRows(np.zeros(2, np.int64), np.zeros(room, np.int32), np.zeros(room))
        whole = np.zeros(1, np.int64)
        one = Batch(rows, np.zeros(1), whole, whole.copy(), np.zeros(1))
        score = np.zeros(1 + (room or 0))
        self._box = Box(Stream(learner, state, window, clock, one, score, *pending(), *manner))
        self.address = self._box.address
        self.at_once = SPARSE_ROWS if room is not None else rows_at_once(n_features)
        y, square_norm, scores = np.empty((3, BLOCK))
        self.block = Block(y, square_norm, scores, np.empty(BLOCK, np.int64))
        self._one: Callable | None = None
        self._many: Callable | None = None
        self._arrays = arrays_in((state, window, clock))

    def one(self) -> Callable:
        """Return the function for one example, compiled on first use.

        It takes the address; a dense row, or a sparse row's ascending columns and their values;
        the label or 0; and the indices of task and node.
        """
        if self._one is None:
            if self.room is None:
                self._one = self._box.entry(one_dense, VECTOR, *EXAMPLE)
            else:
                self._one = self._box.entry(one_sparse, INDICES, VECTOR, *EXAMPLE)
        return self._one

    def arrays(self) -> list[np.ndarray]:
        """Return the arrays that learning changes permanently."""
        return self._arrays

    def knows_norms(self) -> bool:
        """Whether norms computed here are bit-identical to the harness's."""
        return same_as_numpy(self.n_features if self.room is None else 0, self.room is not None)

    def many(
        self, batch: Batch, scores: np.ndarray, part: tuple[int, int, int], flags: tuple[bool, bool]
    ) -> int:
        """Process a part of a batch; return `SOUND`, `UNSOUND` or `RUNAWAY`.

        Parameters
        ----------
        batch : Batch
            With C-ordered arrays of the types in `ARRAYS`.
        scores : ndarray
        part : tuple of int
            The first example, the one before which to stop, and the number of rows to check before
            learning from them; 0 if they are already checked and their norms known.
        flags : tuple of bool
            `learns` and `ends` of `Manner`.
        """
        return self._continue(batch.rows, batch[1:], scores, (*part, *flags))

    def learn(self, rows: Rows, n: int, at_once: int, ends: bool) -> int:
        """Learn from `n` rows, whose labels and tasks are in the block; as `many`."""
        y, norm, scores, task = self.block
        return self._continue(rows, (y, task, task, norm), scores, (0, n, at_once, True, ends))

    def _continue(self, rows: Rows, columns: Any, scores: np.ndarray, flags: Any) -> int:
        if isinstance(rows, DenseRows):
            if self._many is None:
                self._many = self._box.entry(many_dense, MATRIX, *ARRAYS, *FLAGS)
            return self._many(self.address, rows.X, *columns, scores, *flags)
        if self._many is None:
            kinds = (NUMBERS, INDICES, VECTOR, types.int64)
            self._many = self._box.entry(many_sparse, *kinds, *ARRAYS, *FLAGS)
        return self._many(self.address, *rows, self.n_features, *columns, scores, *flags)
