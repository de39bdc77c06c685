"""Playing a stream: the predictions, the mistakes and the updates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import Examples
from omtl.data.streams import Stream
from omtl.kernel.loop import run
from omtl.kernel.rules import Example, Learner, Play, Shape

TINY = float(np.finfo(np.float64).tiny)
"""A score that carries only a sign."""

ZERO_SCORES = {"mistake": 0.0, "positive": TINY, "negative": -TINY}
"""The prediction for a score of exactly 0: neither label (a mistake), or one of them."""


class Trace(NamedTuple):
    """The record of one play; it is the loop's recorder (`omtl.kernel.loop`).

    A score of 0 is a mistake, because sign(0) is neither label, unless the loop counts it as one
    (`ZERO_SCORES`). A score of NaN is a mistake, and its loss is NaN too.

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

    def begin(self) -> tuple[int, float, int]:
        """Return zero mistakes, loss and checkpoints."""
        return 0, 0.0, 0

    def scored(
        self,
        so_far: Any,
        play: Play,  # noqa: ARG002
        x: Example,
        y: float,
        score: float,
    ) -> tuple[int, float, int]:
        """Count a mistake, and add up the hinge loss."""
        wrong, lost, passed = so_far
        if not np.isfinite(score):
            self.diverged[0] += 1
        if not y * score > 0.0:
            wrong += 1
            self.mistakes[x.task] += 1
        if not y * score >= 1.0:
            lost += 1.0 - y * score
        return wrong, lost, passed

    def learnt(self, so_far: Any, x: Example, stepped: bool) -> tuple[int, float, int]:
        """Count a step."""
        if stepped:
            self.updates[x.task] += 1
        return so_far

    def closed(self, so_far: Any, stream: Any, t: int) -> tuple[int, float, int]:
        """Record a checkpoint."""
        wrong, lost, passed = so_far
        if passed < stream.checkpoint.size and t == stream.checkpoint[passed]:
            self.checkpoint_mistakes[passed] = wrong
            for k in range(self.mistakes.size):
                self.checkpoint_by_task[passed, k] = self.mistakes[k]
            self.checkpoint_loss[passed] = lost
            passed += 1
        return wrong, lost, passed


def new_trace(n_tasks: int, n_checkpoints: int, *points: int) -> Trace:
    """Return an empty trace, of several points if their number is the last axis of its arrays."""
    return Trace(
        mistakes=np.zeros((n_tasks, *points), dtype=np.int64),
        updates=np.zeros((n_tasks, *points), dtype=np.int64),
        checkpoint_mistakes=np.zeros((n_checkpoints, *points), dtype=np.int64),
        checkpoint_by_task=np.zeros((n_checkpoints, n_tasks, *points), dtype=np.int64),
        checkpoint_loss=np.zeros((n_checkpoints, *points)),
        diverged=np.zeros((1, *points), dtype=np.int64),
    )


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
        A learner (`omtl.kernel.rules`).
    examples, stream, shape
        The examples, their order, and what the learner knows about them in advance.
    compiled : bool
        Whether to run in the compiled loop; the plain one gives the same trace, but slowly.
    in_common : NamedTuple, optional
        The result of the learner's `in_common`, if other learners play the same stream.
    zero : float
        The value that replaces a score of 0 (`ZERO_SCORES`).

    Returns
    -------
    tuple of (Trace, state)
        The trace, and the learner's state after the last round.
    """
    trace = new_trace(shape.n_tasks, stream.checkpoint.size)
    given = () if in_common is None else (in_common,)
    state = learner.new_state(shape, *given)
    run(learner, state, examples, stream, trace, compiled, zero)
    return trace, state
