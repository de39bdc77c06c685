"""Continuing a stream where it stopped: the loop for learners fed piece by piece.

`omtl.kernel.play` plays a whole stream from a new state. Here the state, the current round and the
rows that a learner may still read are kept between calls, so that examples may arrive one by one or
in arrays of any size, bit-identical to playing them all at once.

A round has at most one example of each task. It ends when all tasks have appeared, or when a task
appears again. A learner may store indices of rows until the end of the next round; these rows are
copied into a *window*: two slots per task, which rounds use alternately, and one for a row that is
only scored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.kernel.inlining import by_rows, inlined, loop
from omtl.kernel.rules import Example, close_round, open_round, score, update


class Batch(NamedTuple):
    """Examples in stream order.

    Shapes: `y` (labels, -1 or +1), `task`, `node` and `square_norm` (n_examples,).
    """

    rows: Rows
    y: np.ndarray
    task: np.ndarray
    node: np.ndarray
    square_norm: np.ndarray


class Clock(NamedTuple):
    """The position in a stream.

    Parameters
    ----------
    round : ndarray of shape (1,), int64
        Number of the current round, or of the next one.
    is_open : ndarray of shape (1,), bool
    n_met : ndarray of shape (1,), int64
        Number of tasks that have appeared in the current round.
    last_met : ndarray of shape (n_tasks,), int64
        The last round of each task; -1 for none.
    """

    round: np.ndarray
    is_open: np.ndarray
    n_met: np.ndarray
    last_met: np.ndarray


class Manner(NamedTuple):
    """How to process examples.

    Parameters
    ----------
    by_task : bool
        Whether a round has an example of each task; otherwise every example is a round.
    holds : bool
        Whether the learner reads rows again after their update.
    learns : bool
        Whether to learn. If not, each example is scored as part of the current round, or of the
        next one, which is opened; this does not affect later learning.
    ends : bool
        Whether the round ends after these examples.
    """

    by_task: bool
    holds: bool
    learns: bool
    ends: bool


def new_clock(n_tasks: int) -> Clock:
    """Return the clock of a new stream."""
    return Clock(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        np.full(n_tasks, -1, dtype=np.int64),
    )


def new_sparse_window(n_slots: int, room: int) -> SparseRows:
    """Return empty slots for sparse rows of up to `room` nonzeros.

    A slot is row 2 · slot; odd rows are the gaps between slots.
    """
    begin = np.repeat(np.arange(n_slots + 1, dtype=np.int64) * room, 2)[:-1]
    return SparseRows(begin, np.zeros(n_slots * room, dtype=np.int32), np.zeros(n_slots * room))


def _hold_dense(window, slot, rows, i):
    for k in range(rows.X.shape[1]):
        window.X[slot, k] = rows.X[i, k]
    return slot


def _hold_sparse(window, slot, rows, i):
    to = window.indptr[2 * slot]
    for k in range(rows.indptr[i], rows.indptr[i + 1]):
        window.indices[to] = rows.indices[k]
        window.values[to] = rows.values[k]
        to += 1
    window.indptr[2 * slot + 1] = to
    return 2 * slot


@by_rows(dense=_hold_dense, sparse=_hold_sparse)
def hold(window: Any, slot: int, rows: Any, i: int) -> int:
    """Copy row `i` into a slot of the window; return its index there."""
    if isinstance(window, DenseRows):
        window.X[slot] = rows.X[i]
        return slot
    part = slice(rows.indptr[i], rows.indptr[i + 1])
    begin = window.indptr[2 * slot]
    end = begin + part.stop - part.start
    window.indices[begin:end] = rows.indices[part]
    window.values[begin:end] = rows.values[part]
    window.indptr[2 * slot + 1] = end
    return 2 * slot


def with_room(window: Rows, n_slots: int, room: int) -> Rows:
    """Return a window of more slots, of this capacity in nonzeros if sparse, with the same rows."""
    if isinstance(window, DenseRows):
        more = np.zeros((n_slots - window.X.shape[0], window.X.shape[1]))
        return DenseRows(np.concatenate([window.X, more]))
    larger = new_sparse_window(n_slots, room)
    for slot in range(window.indptr.size // 2):
        hold(larger, slot, window, 2 * slot)
    return larger


@inlined
def _close(learner, state, source, clock):
    close_round(learner, state, source)
    clock.is_open[0] = False
    clock.n_met[0] = 0
    clock.round[0] += 1


def follow_slowly(
    learner: Any,
    state: Any,
    window: Rows,
    batch: Batch,
    clock: Clock,
    manner: Manner,
    scores: np.ndarray,
) -> None:
    """Score examples, and learn from each after it is scored.

    Parameters
    ----------
    learner, state
        A learner (`omtl.kernel.rules`), and its current state.
    window : Rows
        Two slots per task and one more, for rows that the learner holds.
    batch : Batch
    clock : Clock
    manner : Manner
    scores : ndarray of shape (n_examples,)
        Where the scores are written.
    """
    n_tasks = clock.last_met.size
    source = window if manner.holds else batch.rows
    for i in range(batch.task.size):
        k = batch.task[i]
        if manner.learns and clock.is_open[0] and clock.last_met[k] == clock.round[0]:
            _close(learner, state, source, clock)
        if not clock.is_open[0]:
            open_round(learner, state, source)
            clock.is_open[0] = True
        t = clock.round[0]
        row = i
        if manner.holds:
            slot = 2 * k + t % 2 if manner.learns else 2 * n_tasks  # a new task moves no row
            row = hold(window, slot, batch.rows, i)
        x = Example(source, row, k, batch.node[i], batch.square_norm[i], t)
        value = score(learner, state, x)
        scores[i] = value
        if not manner.learns:
            continue
        # An empty row has nothing to learn from, and a norm of 0 to divide by.
        if x.square_norm > 0.0:
            update(learner, state, x, batch.y[i], value)
        clock.last_met[k] = t
        clock.n_met[0] += 1
        if not manner.by_task or clock.n_met[0] == n_tasks:
            _close(learner, state, source, clock)
    if manner.ends and clock.n_met[0] > 0:
        _close(learner, state, source, clock)


follow_inlined = inlined(follow_slowly)
follow_compiled = loop(follow_slowly)
