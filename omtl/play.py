"""Playing a stream: test, then train, example by example, in one compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from omtl.ops import BORROWED, Rows, rows_of, square_norms
from omtl.rules import (
    Event,
    Learner,
    Shape,
    close_round,
    is_compiled,
    open_round,
    score,
    update,
)
from omtl.streams import Stream, Tasks

TINY = float(np.finfo(np.float64).tiny)
"""A score that is nothing but a sign."""

ZERO_SCORES = {"mistake": 0.0, "positive": TINY, "negative": -TINY}
"""What a score of exactly 0 predicts: neither label, which is a mistake, or one of them."""


class Examples(NamedTuple):
    """Labelled rows in the form that compiled code reads."""

    rows: Rows
    y: np.ndarray
    task: np.ndarray
    square_norm: np.ndarray


class Trace(NamedTuple):
    """What one play leaves.

    Parameters
    ----------
    mistakes, updates : ndarray of shape (n_tasks,), int64
        Wrong predictions, and examples that changed the weights, by task.
    checkpoint_mistakes : ndarray of shape (n_checkpoints,), int64
        Wrong predictions of all tasks up to each checkpoint.
    checkpoint_by_task : ndarray of shape (n_checkpoints, n_tasks), int64
        The same by task.
    checkpoint_loss : ndarray of shape (n_checkpoints,), float64
        Cumulative hinge loss up to each checkpoint.
    diverged : ndarray of shape (1,), int64
        Number of scores that were not finite.
    """

    mistakes: np.ndarray
    updates: np.ndarray
    checkpoint_mistakes: np.ndarray
    checkpoint_by_task: np.ndarray
    checkpoint_loss: np.ndarray
    diverged: np.ndarray


def examples_of(tasks: Tasks) -> Examples:
    """Return the tasks' examples in the form that compiled code reads."""
    return Examples(rows_of(tasks.X), tasks.y, tasks.task, square_norms(tasks.X))


def new_trace(n_tasks: int, n_checkpoints: int) -> Trace:
    """Return an empty trace."""
    return Trace(
        mistakes=np.zeros(n_tasks, dtype=np.int64),
        updates=np.zeros(n_tasks, dtype=np.int64),
        checkpoint_mistakes=np.zeros(n_checkpoints, dtype=np.int64),
        checkpoint_by_task=np.zeros((n_checkpoints, n_tasks), dtype=np.int64),
        checkpoint_loss=np.zeros(n_checkpoints),
        diverged=np.zeros(1, dtype=np.int64),
    )


def play_slowly(
    learner: Any, state: Any, examples: Examples, stream: Stream, trace: Trace, zero: float
) -> None:
    """Play a stream and fill in the trace.

    A score of 0 counts as `zero` (one of `ZERO_SCORES`), for the learner too. A score that is not a
    number is a mistake, and its loss is no number either.
    """
    wrong = 0
    lost = 0.0
    passed = 0
    for t in range(stream.start.size - 1):
        open_round(learner, state, examples.rows)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            k = examples.task[i]
            y = examples.y[i]
            event = Event(t, i, k, stream.node[e], examples.square_norm[i])
            value = score(learner, state, examples.rows, event)
            if value == 0.0:
                value = zero
            if not np.isfinite(value):
                trace.diverged[0] += 1
            if not y * value > 0.0:
                wrong += 1
                trace.mistakes[k] += 1
            if not y * value >= 1.0:
                lost += 1.0 - y * value
            # A row without features teaches nothing, and would divide by its norm.
            if event.square_norm > 0.0 and update(learner, state, examples.rows, event, y, value):
                trace.updates[k] += 1
        close_round(learner, state, examples.rows)
        if passed < stream.checkpoint.size and t + 1 == stream.checkpoint[passed]:
            trace.checkpoint_mistakes[passed] = wrong
            for k in range(trace.mistakes.size):
                trace.checkpoint_by_task[passed, k] = trace.mistakes[k]
            trace.checkpoint_loss[passed] = lost
            passed += 1


play_compiled = njit(cache=True, nogil=True, **BORROWED)(play_slowly)


def play(
    learner: Learner,
    examples: Examples,
    stream: Stream,
    shape: Shape,
    compiled: bool = True,
    in_common: Any = None,
    zero: float = 0.0,
) -> tuple[Trace, Any]:
    """Play a stream from a new state.

    Parameters
    ----------
    learner : NamedTuple
        A learner (`omtl.rules`).
    examples, stream, shape
        The examples, the order they come in, and what the learner is told of them.
    compiled : bool
        Whether to run in the compiled loop; the plain one gives the same trace, slowly.
    in_common : NamedTuple, optional
        What the learner's `in_common` returned, where other learners play the same stream.
    zero : float
        What a score of 0 counts as (`ZERO_SCORES`).

    Returns
    -------
    tuple of (Trace, state)
        The trace, and the learner's state after the last round.
    """
    trace = new_trace(shape.n_tasks, stream.checkpoint.size)
    given = () if in_common is None else (in_common,)
    state = learner.new_state(shape, *given)
    loop = play_compiled if compiled and is_compiled(learner) else play_slowly
    loop(learner, state, examples, stream, trace, zero)
    return trace, state
