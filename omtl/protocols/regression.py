"""Learn real targets, task after task, and sum the errors (the parameter-free paper, section 8).

A share of each task's examples is held out. They are predicted with the average of the vectors that
predicted the task's other examples, each before its update. Because scores are linear, this is the
average of the scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from omtl.data.streams import in_given_order
from omtl.kernel.loop import run
from omtl.kernel.losses import ABSOLUTE, SQUARE
from omtl.kernel.rules import Example, Play, score
from omtl.protocols.heldout import HeldOutPart, part_of
from omtl.protocols.setting import Setting, by_learner, counts_of
from omtl.util.errors import UserError, choose

NEEDS = ("score", "update", "with_loss")
"""Methods that a learner must have; ``with_loss(loss)`` returns the same learner with a loss from
`omtl.kernel.losses`."""

REAL = True
"""The data have real targets (`omtl.data.streams.RealTasks`)."""

LOSSES = {"absolute": ABSOLUTE, "square": SQUARE}


class ErrorRecorder(NamedTuple):
    """The record of one play; it is the loop's recorder (`omtl.kernel.loop`).

    Parameters
    ----------
    errors : ndarray of shape (n_events,)
        z − y of the score z of each example, in stream order.
    held_out : ndarray of shape (n_held_out,), int64
        Examples held out, task by task.
    first : ndarray of shape (n_tasks + 1,), int64
        Those of task k are from ``first[k]`` to ``first[k + 1] - 1``.
    square_norm, sums : ndarray of shape (n_held_out,)
        Their squared norms, and the sums of their scores.
    """

    errors: np.ndarray
    held_out: np.ndarray
    first: np.ndarray
    square_norm: np.ndarray
    sums: np.ndarray

    def begin(self) -> int:
        """Return the number of events so far."""
        return 0

    def scored(self, event: int, play: Play, x: Example, y: float, value: float) -> int:
        """Record the error, and add the scores of the task's held-out examples."""
        learner, state, k = play.learner, play.state, x.task
        self.errors[event] = value - y
        for n in range(self.first[k], self.first[k + 1]):
            other = Example(x.rows, self.held_out[n], k, x.node, self.square_norm[n], x.round)
            self.sums[n] += score(learner, state, other)
        # What a learner stores from scoring must belong to the example itself.
        score(learner, state, x)
        return event + 1


def regression_part(setting: Setting) -> HeldOutPart:
    """Return the training examples, task after task, and the held-out ones.

    Raises
    ------
    UserError
        If the share leaves a task without training or test examples.
    """
    share, rng, tasks = setting.protocol["test_share"], setting.rng("split"), setting.tasks
    learnt, held_out = [], []
    for name, own in zip(tasks.names, in_given_order(tasks), strict=True):
        order = rng.permutation(own)
        n_test = int(np.ceil(share * order.size - 1e-9))
        if not 0 < n_test < order.size:
            raise UserError(
                f"protocol.test_share={share} leaves {order.size - n_test} of the {order.size} "
                f"examples of task {name!r} to learn from; choose another share"
            )
        held_out.append(order[:n_test])
        learnt.append(order[n_test:])
    return part_of(setting, 0, np.concatenate(learnt), np.concatenate(held_out))


def measure_errors(learner: Any, part: HeldOutPart, compiled: bool = True) -> dict[str, np.ndarray]:
    """Play a stream from a new state and return the measurements.

    Parameters
    ----------
    learner
        A learner (`omtl.kernel.rules`).
    part : HeldOutPart
        The training and the held-out examples.
    compiled : bool
        Whether to run in the compiled loop.

    Returns
    -------
    dict of str to ndarray
        As of `play_grid`, of one learner.
    """
    K, order = part.shape.n_tasks, np.argsort(part.task, kind="stable")
    held_out, task = part.held_out[order], part.examples.task[part.stream.example]
    found = ErrorRecorder(
        errors=np.zeros(task.size),
        held_out=held_out,
        first=np.searchsorted(part.task[order], np.arange(K + 1)),
        square_norm=part.examples.square_norm[held_out],
        sums=np.zeros(held_out.size),
    )
    run(learner, learner.new_state(part.shape), part.examples, part.stream, found, compiled)
    errors, tested = np.abs(found.errors), np.bincount(part.task, minlength=K)
    means = found.sums / np.repeat(np.array(part.shape.n_examples), tested)
    off = np.abs(means - part.examples.y[held_out])
    return {
        "absolute": np.bincount(task, errors, K),
        "square": np.bincount(task, errors * errors, K),
        "checkpoint_absolute": np.cumsum(errors)[part.stream.start[part.stream.checkpoint] - 1],
        "test_absolute": np.bincount(part.task[order], off, K) / tested,
        "diverged": np.count_nonzero(~np.isfinite(errors)),
    }


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the examples of a repeat that are not held out.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``absolute`` and ``square`` (P, K), sums of
        |z − y| and of (z − y)² of the scores z; ``checkpoint_absolute`` (P, C): sums of |z − y| of
        all tasks; ``test_absolute`` (P, K): the mean error on the examples held out; ``order``
        (K,): the tasks in stream order; ``examples`` (K,), ``seen`` (C,): the number of examples up
        to each checkpoint; and ``diverged`` (P,): the number of scores that were not finite.

    Raises
    ------
    UserError
        If the protocol does not fit the data, or its loss is not known.
    """
    protocol = setting.protocol
    choose("protocol.loss", protocol["loss"], LOSSES)
    part, loss = regression_part(setting), LOSSES[protocol["loss"]]
    found = [measure_errors(learner.with_loss(loss), part) for learner in learners]
    tasks_met = part.examples.task[part.stream.example]
    order = tasks_met[np.sort(np.unique(tasks_met, return_index=True)[1])]
    return by_learner(found) | {"order": order} | counts_of(part.shape, part.stream)
