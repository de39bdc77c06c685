"""Test, then train: the loop that plays an online learner, example by example.

A *recorder* decides what to record of a play: a NamedTuple of arrays whose methods are chosen by
its type, like a learner's rules. They pass on a running value, a number or a tuple of numbers:

``begin(self)``
    return the initial value, before the first round;
``opened(self, so_far, learner, state)``
    at the start of a round;
``scored(self, so_far, play, x, y, score)``
    when an example has its score, before the learner sees its label;
``learnt(self, so_far, x, stepped)``
    after the learner has taken a step or not;
``closed(self, so_far, stream, t)``
    at the end of round `t`.

Each except `begin` returns the new value; `opened`, `learnt` and `closed` are optional.

A stream may also arrive piece by piece (`omtl.kernel.one_example`). Then the state, the current
round and the rows that a learner may still read are kept between calls, so that examples may arrive
one by one or in arrays of any size, bit-identical to playing them all at once. A round has at most
one example of each task. It ends when all tasks have appeared, or when a task appears again. A
learner may store indices of rows until the end of the next round; these rows are copied into a
*window*: two slots per task, which rounds use alternately, and one for a row that is only scored.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.kernel.inlining import forms, inlined, loop, method
from omtl.kernel.rules import (
    Example,
    Play,
    Shape,
    close_round,
    is_compiled,
    open_round,
    score,
    update,
)


def _go_on(self, so_far, *rest):  # noqa: ARG001
    return so_far


opened = method("opened", _go_on)
learnt = method("learnt", _go_on)
closed = method("closed", _go_on)


def run_slowly(
    learner: Any, state: Any, examples: Any, stream: Any, recorder: Any, zero: float
) -> None:
    """Play a stream, and record it. A score of 0 counts as `zero`."""
    rows = examples.rows
    playing = Play(learner, state)
    so_far = recorder.begin()
    for t in range(stream.start.size - 1):
        open_round(learner, state, rows)
        so_far = opened(recorder, so_far, learner, state)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            y = examples.y[i]
            x = Example(rows, i, examples.task[i], stream.node[e], examples.square_norm[i], t)
            value = score(learner, state, x)
            if value == 0.0:
                value = zero
            so_far = recorder.scored(so_far, playing, x, y, value)
            # An empty row has nothing to learn from, and a norm of 0 to divide by.
            stepped = x.square_norm > 0.0 and update(learner, state, x, y, value)
            so_far = learnt(recorder, so_far, x, stepped)
        close_round(learner, state, rows)
        so_far = closed(recorder, so_far, stream, t + 1)


run_compiled = loop(run_slowly)


def run(
    learner: Any,
    state: Any,
    examples: Any,
    stream: Any,
    recorder: Any,
    compiled: bool = True,
    zero: float = 0.0,
) -> None:
    """Play a stream, compiled if requested and possible.

    Parameters
    ----------
    learner : NamedTuple
        A learner (`omtl.kernel.rules`); one that is not a tuple is played as plain Python.
    state
        Its state, which is modified.
    examples, stream
        The examples (`omtl.data.rows.Examples`), and their order.
    recorder : NamedTuple
        Records the play.
    compiled : bool
    zero : float
        The value that replaces a score of exactly 0, for the learner and the recorder.
    """
    play = run_compiled if compiled and is_compiled(learner) else run_slowly
    play(learner, state, examples, stream, recorder, zero)


# Streams that arrive piece by piece


class Batch(NamedTuple):
    """Examples in stream order.

    Shapes: `y` (labels, -1 or +1), `task`, `node` and `square_norm` (n_examples,); the norms of
    dense rows are computed as these are read, and `square_norm` is empty.
    """

    rows: Rows
    y: np.ndarray
    task: np.ndarray
    node: np.ndarray
    square_norm: np.ndarray


def no_examples(rows: Rows) -> Batch:
    """Return a batch of none of these rows."""
    numbers, places = np.zeros(0), np.zeros(0, dtype=np.int64)
    return Batch(rows, numbers, places, places, numbers)


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


class Feed(NamedTuple):
    """A stream that arrives piece by piece.

    Parameters
    ----------
    learner, state
        A learner (`omtl.kernel.rules`), and its current state.
    window : Rows
        Two slots per task and one more, for rows that the learner holds.
    clock : Clock
    by_task : bool
        Whether a round has an example of each task; otherwise every example is a round.
    holds : bool
        Whether the learner reads rows again after their update.
    """

    learner: Any
    state: Any
    window: Rows
    clock: Clock
    by_task: bool
    holds: bool


def new_clock(n_tasks: int) -> Clock:
    """Return the clock of a new stream."""
    return Clock(
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.bool_),
        np.zeros(1, dtype=np.int64),
        np.full(n_tasks, -1, dtype=np.int64),
    )


def new_sparse_window(n_slots: int, room: int) -> Rows:
    """Return empty slots for sparse rows of up to `room` nonzeros.

    A slot is row 2 · slot; odd rows are the gaps between slots.
    """
    begin = np.repeat(np.arange(n_slots + 1, dtype=np.int64) * room, 2)[:-1]
    return SparseRows(begin, np.zeros(n_slots * room, dtype=np.int32), np.zeros(n_slots * room))


def new_feed(learner: Any, state: Any, shape: Shape, by_task: bool) -> Feed:
    """Return a stream before its first example, with a window without room for sparse rows.

    Parameters
    ----------
    learner, state, by_task
        As in `Feed`.
    shape : Shape
        What the learner knows of the stream.
    """
    holds = hasattr(learner, "close_round")
    n_slots = 2 * shape.n_tasks + 1 if holds else 0
    if shape.sparse:
        window = new_sparse_window(n_slots, 0)
    else:
        window = DenseRows(np.zeros((n_slots, shape.n_features)))
    return Feed(learner, state, window, new_clock(shape.n_tasks), by_task, holds)


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


hold = forms(_hold_dense, _hold_sparse)
"""Copy row `i` into a slot of the window; return its index: ``hold(window, slot, rows, i)``."""


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
def square_norm_of(x):
    """Return the squared norm of a dense vector, in the order of sums of NumPy's ``einsum``."""
    even = odd = 0.0
    n = len(x)
    whole = n - n % 8
    for start in range(0, whole, 8):
        for k in (6, 4, 2, 0):
            even += x[start + k] * x[start + k]
            odd += x[start + k + 1] * x[start + k + 1]
    for k in range(whole, n - 1, 2):
        even += x[k] * x[k]
        odd += x[k + 1] * x[k + 1]
    if n % 2:
        even += x[n - 1] * x[n - 1]
    return even + odd


def _dense_norm(rows, i, square_norm):  # noqa: ARG001
    return square_norm_of(rows.X[i])


def _sparse_norm(rows, i, square_norm):  # noqa: ARG001
    return square_norm[i]


norm_of_row = forms(_dense_norm, _sparse_norm)
"""Return the squared norm of a row, which is known if it is sparse: ``(rows, i, square_norm)``."""


@inlined
def end_round(feed, source):
    """End the current round of a stream."""
    close_round(feed.learner, feed.state, source)
    feed.clock.is_open[0] = False
    feed.clock.n_met[0] = 0
    feed.clock.round[0] += 1


@inlined
def follow_example(feed, rows, i, y, k, node, square_norm, learns):
    """Score an example, which is row `i`, and learn from it; return its score."""
    learner, state, clock = feed.learner, feed.state, feed.clock
    n_tasks, source, row = clock.last_met.size, feed.window if feed.holds else rows, i
    if not square_norm < np.inf or k >= n_tasks:
        raise ValueError("a row that is not finite, or a task that is not known")
    if learns and clock.is_open[0] and clock.last_met[k] == clock.round[0]:
        end_round(feed, source)
    if not clock.is_open[0]:
        open_round(learner, state, source)
        clock.is_open[0] = True
    t = clock.round[0]
    if feed.holds:
        slot = 2 * k + t % 2 if learns else 2 * n_tasks  # a new task moves no row
        row = hold(feed.window, slot, rows, i)
    x = Example(source, row, k, node, square_norm, t)
    value = score(learner, state, x)
    if learns:
        if square_norm > 0.0:
            update(learner, state, x, y, value)
        clock.last_met[k] = t
        clock.n_met[0] += 1
        if not feed.by_task or clock.n_met[0] == n_tasks:
            end_round(feed, source)
    return value
