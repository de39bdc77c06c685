"""Test, then train, with a base that has the task's own last classifier too (AKLO paper).

The base of a task has the classifiers of the tasks before it. A program that first learns all
tasks, as ITOL does, and then takes the classifiers *up to* a task as its base has one more: the one
with which the task itself ends, which has learnt from every label that is still to be predicted.
This would be an error. The protocol exists to read printed numbers, not to measure learners.

Each AKLO learner plays the stream twice. The first play leaves the classifiers with which the tasks
end. In the second, each task but the first, which has no base, begins anew, and its base has the
classifiers of the tasks before it and its own. All other learners play once, as in
`omtl.protocols.cumulative`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from omtl.data.preparation import PreparedData
from omtl.data.rows import Examples, square_norms
from omtl.data.streams import Stream
from omtl.kernel.loop import run
from omtl.kernel.play import Trace, new_trace
from omtl.kernel.rules import Shape
from omtl.learners.lifelong import AKLO, Knowledge
from omtl.protocols import cumulative
from omtl.protocols.setting import Setting, by_learner, counts_of, starts_of_tasks
from omtl.util.errors import UserError

NEEDS = cumulative.NEEDS

REFUSED = ("timed", "by_task")
"""Options of `omtl.protocols.cumulative` that have no meaning here."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the stream of a repeat.

    Returns
    -------
    dict of str to ndarray
        As of `omtl.protocols.cumulative.play_grid`.

    Raises
    ------
    UserError
        If tasks alternate in the stream, or the protocol has one of the options `REFUSED`.
    """
    learners = list(learners)
    if not all(isinstance(learner, AKLO) for learner in learners):
        return cumulative.play_grid(learners, setting)
    for name in REFUSED:
        if setting.protocol.get(name):
            raise UserError(f"protocol.{name}: not possible with a rehearsed base; leave it out")
    setting = replace(setting, source=whole(setting.source))
    examples, stream, shape = setting.played()
    zero = cumulative.zero_score(setting)
    played = [rehearse(learner, examples, stream, shape, zero) for learner in learners]
    return by_learner(played) | counts_of(shape, stream)


def whole(source: PreparedData) -> PreparedData:
    """Return a data set with the lengths of the features that were dropped.

    They count when an example is met again (`omtl.data.preparation.prepared_data`). As no other
    example has them, one more feature per example, with the length of what was dropped, gives all
    products.
    """
    if not source.is_reduced:
        return source
    tasks = source.tasks
    dropped = np.sqrt(np.maximum(source.square_norm - square_norms(tasks.X), 0.0))
    X = sparse.csr_array(sparse.hstack([tasks.X, sparse.diags_array(dropped)]))
    X.eliminate_zeros()
    X.sort_indices()
    return replace(source, tasks=replace(tasks, X=X), is_reduced=False)


def rehearse(
    learner: AKLO, examples: Examples, stream: Stream, shape: Shape, zero: float = 0.0
) -> dict[str, np.ndarray]:
    """Play a stream twice, and return what is recorded of the plays that count.

    Updates are the same in both plays, and scores that were not finite are of both.

    The tasks are replayed from the last to the first, each with a base of the columns up to its
    own: the next column, in which its own classifier begins anew, is then needed no more.

    Parameters
    ----------
    learner : AKLO
    examples, stream, shape
        The examples, their order, one task after the other, and what the learner knows of them.
    zero : float
        The value that replaces a score of 0.

    Raises
    ------
    UserError
        If the tasks alternate.
    """
    task = examples.task[stream.example]
    begins = starts_of_tasks(task, "a base is rehearsed")
    state = learner.new_state(
        shape._replace(n_tasks=shape.n_tasks + 1, n_examples=(*shape.n_examples, 0))
    )
    trace = _played(learner, state, examples, stream, zero)
    updates, diverged = trace.updates[:-1], trace.diverged[0]
    wrong = np.diff(trace.checkpoint_mistakes, prepend=0)
    lost = np.diff(trace.checkpoint_loss, prepend=0.0)
    bounds = [*begins.tolist(), task.size]
    for c in range(begins.size - 1, 0, -1):
        events = slice(bounds[c], bounds[c + 1])
        _begin_anew(state, c + 1, task[events.start])
        part = stream._replace(example=stream.example[events], node=stream.node[events])
        trace = _played(learner, state, examples, part, zero)
        wrong[events] = np.diff(trace.checkpoint_mistakes, prepend=0)
        lost[events] = np.diff(trace.checkpoint_loss, prepend=0.0)
        diverged += trace.diverged[0]
    ends = stream.start[stream.checkpoint] - 1
    return {
        "mistakes": np.bincount(task[wrong.astype(bool)], minlength=shape.n_tasks),
        "updates": updates,
        "checkpoint_mistakes": np.cumsum(wrong)[ends],
        "checkpoint_loss": np.cumsum(lost)[ends],
        "diverged": diverged,
    }


def _played(
    learner: AKLO, state: Knowledge, examples: Examples, stream: Stream, zero: float
) -> Trace:
    """Play the events of a stream, one per round, and record each."""
    n = stream.example.size
    every = stream._replace(start=np.arange(n + 1), checkpoint=np.arange(1, n + 1))
    trace = new_trace(state.column.size, n)
    run(learner, state, examples, every, trace, True, zero)
    return trace


def _begin_anew(state: Knowledge, column: int, k: int) -> None:
    """Make a task new, with the first columns as its base and an empty one for itself."""
    for array in (state.total.vectors, state.scale, state.seen, state.losses, state.alpha_sum):
        array[column] = 0
    state.n_begun[0] = column
    state.column[k] = -1
