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
from omtl.util.errors import UserError, check_known

NEEDS = ("score", "update", "with_loss")
"""Methods that a learner must have; ``with_loss(loss)`` returns the same learner with a loss from
`omtl.kernel.losses`."""

REAL = True
"""The data have real targets (`omtl.data.streams.RealTasks`)."""

LOSSES = {"absolute": ABSOLUTE, "square": SQUARE}


class Errors(NamedTuple):
    """The record of one play; it is the loop's recorder (`omtl.kernel.loop`).

    Parameters
    ----------
    absolute, square : ndarray of shape (n_tasks,)
        Sums of |z − y| and of (z − y)² of the scores z, by task.
    checkpoint_absolute : ndarray of shape (n_checkpoints,)
        Sums of |z − y| of all tasks up to each checkpoint.
    diverged : ndarray of shape (1,), int64
        Number of scores that were not finite.
    held_out : ndarray of shape (n_held_out,), int64
        Examples held out, task by task.
    first : ndarray of shape (n_tasks + 1,), int64
        Those of task k are from ``first[k]`` to ``first[k + 1] - 1``.
    square_norm, sums : ndarray of shape (n_held_out,)
        Their squared norms, and the sums of their scores.
    """

    absolute: np.ndarray
    square: np.ndarray
    checkpoint_absolute: np.ndarray
    diverged: np.ndarray
    held_out: np.ndarray
    first: np.ndarray
    square_norm: np.ndarray
    sums: np.ndarray

    def begin(self) -> tuple[float, int]:
        """Return zero errors and checkpoints."""
        return 0.0, 0

    def scored(
        self,
        so_far: tuple[float, int],
        play: Play,
        x: Example,
        y: float,
        value: float,
    ) -> tuple[float, int]:
        """Add the errors, and the scores of the task's held-out examples."""
        lost, passed = so_far
        learner, state = play.learner, play.state
        if not np.isfinite(value):
            self.diverged[0] += 1
        k, error = x.task, abs(value - y)
        self.absolute[k] += error
        self.square[k] += error * error
        for n in range(self.first[k], self.first[k + 1]):
            other = Example(x.rows, self.held_out[n], k, x.node, self.square_norm[n], x.round)
            self.sums[n] += score(learner, state, other)
        # What a learner stores from scoring must belong to the example itself.
        score(learner, state, x)
        return lost + error, passed

    def closed(self, so_far: tuple[float, int], stream: Any, t: int) -> tuple[float, int]:
        """Record a checkpoint."""
        lost, passed = so_far
        if passed < stream.checkpoint.size and t == stream.checkpoint[passed]:
            self.checkpoint_absolute[passed] = lost
            passed += 1
        return lost, passed


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


def measure_errors(learner: Any, part: HeldOutPart, compiled: bool = True) -> Errors:
    """Play a stream from a new state and return the measurements.

    Parameters
    ----------
    learner
        A learner (`omtl.kernel.rules`).
    part : Part
        The training and the held-out examples.
    compiled : bool
        Whether to run in the compiled loop.
    """
    K, order = part.shape.n_tasks, np.argsort(part.task, kind="stable")
    held_out = part.held_out[order]
    found = Errors(
        absolute=np.zeros(K),
        square=np.zeros(K),
        checkpoint_absolute=np.zeros(part.stream.checkpoint.size),
        diverged=np.zeros(1, dtype=np.int64),
        held_out=held_out,
        first=np.searchsorted(part.task[order], np.arange(K + 1)),
        square_norm=part.examples.square_norm[held_out],
        sums=np.zeros(held_out.size),
    )
    run(learner, learner.new_state(part.shape), part.examples, part.stream, found, compiled)
    return found


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on the examples of a repeat that are not held out.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``absolute`` and ``square`` (P, K),
        ``checkpoint_absolute`` (P, C), ``test_absolute`` (P, K): the mean error on the examples
        held out; ``order`` (K,): the tasks in stream order; ``examples`` (K,), ``seen`` (C,): the
        number of examples up to each checkpoint; and ``diverged`` (P,).

    Raises
    ------
    UserError
        If the protocol does not fit the data, or its loss is not known.
    """
    protocol = setting.protocol
    check_known("protocol.loss", protocol["loss"], LOSSES)
    part = regression_part(setting)
    found = [
        measure_errors(learner.with_loss(LOSSES[protocol["loss"]]), part) for learner in learners
    ]
    totals = counts_of(part.shape, part.stream)
    y, counts = part.examples.y[found[0].held_out], totals["examples"]
    tested = np.diff(found[0].first)
    of = np.repeat(np.arange(counts.size), tested)
    off = [np.bincount(of, np.abs(one.sums / counts[of] - y)) / tested for one in found]
    tasks_met = part.examples.task[part.stream.example]
    kept = ("absolute", "square", "checkpoint_absolute")
    records = [{name: getattr(one, name) for name in kept} for one in found]
    return by_learner(records) | {
        "test_absolute": np.stack(off),
        "diverged": np.array([one.diverged[0] for one in found]),
        "order": tasks_met[np.sort(np.unique(tasks_met, return_index=True)[1])],
        **totals,
    }
