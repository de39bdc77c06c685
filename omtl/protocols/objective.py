"""What regret is measured of: losses plus the regulariser of every round (ROM paper, eq. 1).

Also the size of the losses' gradients, which the paper's bounds read. With g^i the gradient of
task i's loss in a round, 0 where there is none, the gradient by u is Σ g^i, and those by p^i and by
q^i are g^i: ‖G_t‖² = ‖Σ g^i‖² + 2 Σ ‖g^i‖². Where u counts √m-fold (`omtl.theory.rom`), its dual is
‖Σ g^i‖²/m + 2 Σ ‖g^i‖².
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from omtl.errors import UserError
from omtl.ops import BORROWED, axpy, square_norms
from omtl.play import Examples
from omtl.preparation import in_order
from omtl.protocols.setting import Setting
from omtl.rules import (
    Event,
    close_round,
    is_compiled,
    open_round,
    penalty,
    proximity,
    score,
    update,
)
from omtl.streams import Stream


class Objective(NamedTuple):
    """What one play leaves, all of it but the first and the last up to each checkpoint.

    Parameters
    ----------
    mistakes : ndarray of shape (n_tasks,), int64
        Wrong predictions, by task.
    checkpoint_mistakes : ndarray of shape (n_checkpoints,), int64
        Wrong predictions of all tasks.
    checkpoint_loss : ndarray of shape (n_checkpoints,)
        Sum of the hinge losses.
    checkpoint_penalty, checkpoint_proximity : ndarray of shape (n_checkpoints,)
        Sums over the rounds of what the learner tells of the weights that it predicts with.
    checkpoint_shared, checkpoint_own : ndarray of shape (n_checkpoints,)
        Sums over the rounds of ‖Σ g^i‖² and of Σ ‖g^i‖².
    largest_gradient, largest_weighted : ndarray of shape (n_checkpoints,)
        Largest ‖G_t‖² of a round, and where the part of u is divided by m.
    diverged : ndarray of shape (1,), int64
        Number of scores that were not finite.
    """

    mistakes: np.ndarray
    checkpoint_mistakes: np.ndarray
    checkpoint_loss: np.ndarray
    checkpoint_penalty: np.ndarray
    checkpoint_proximity: np.ndarray
    checkpoint_shared: np.ndarray
    checkpoint_own: np.ndarray
    largest_gradient: np.ndarray
    largest_weighted: np.ndarray
    diverged: np.ndarray


BY_POINT = tuple(name for name in Objective._fields if name != "diverged")


def new_objective(n_tasks: int, n_checkpoints: int) -> Objective:
    """Return what is measured before the first round."""
    sums = {name: np.zeros(n_checkpoints) for name in BY_POINT}
    counts = {
        "mistakes": np.zeros(n_tasks, dtype=np.int64),
        "checkpoint_mistakes": np.zeros(n_checkpoints, dtype=np.int64),
        "diverged": np.zeros(1, dtype=np.int64),
    }
    return Objective(**(sums | counts))


def measure_slowly(
    learner: Any,
    state: Any,
    examples: Examples,
    stream: Stream,
    gradient: np.ndarray,
    found: Objective,
) -> None:
    """Play a stream and fill in what is measured; `gradient` is memory for Σ g^i."""
    wrong = 0
    lost = penalties = proximities = shared = own = 0.0
    largest = weighted = 0.0
    passed = 0
    for t in range(stream.start.size - 1):
        open_round(learner, state, examples.rows)
        penalties += penalty(learner, state)
        proximities += proximity(learner, state)
        for j in range(gradient.size):
            gradient[j] = 0.0
        own_now = 0.0
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            k = examples.task[i]
            y = examples.y[i]
            event = Event(t, i, k, stream.node[e], examples.square_norm[i])
            value = score(learner, state, examples.rows, event)
            if not np.isfinite(value):
                found.diverged[0] += 1
            if not y * value > 0.0:
                wrong += 1
                found.mistakes[k] += 1
            if not y * value >= 1.0:
                lost += 1.0 - y * value
                own_now += event.square_norm
                axpy(y, examples.rows, i, gradient)
            if event.square_norm > 0.0:
                update(learner, state, examples.rows, event, y, value)
        close_round(learner, state, examples.rows)
        shared_now = 0.0
        for j in range(gradient.size):
            shared_now += gradient[j] * gradient[j]
        shared += shared_now
        own += own_now
        largest = max(largest, shared_now + 2.0 * own_now)
        weighted = max(weighted, shared_now / found.mistakes.size + 2.0 * own_now)
        if passed < stream.checkpoint.size and t + 1 == stream.checkpoint[passed]:
            found.checkpoint_mistakes[passed] = wrong
            found.checkpoint_loss[passed] = lost
            found.checkpoint_penalty[passed] = penalties
            found.checkpoint_proximity[passed] = proximities
            found.checkpoint_shared[passed] = shared
            found.checkpoint_own[passed] = own
            found.largest_gradient[passed] = largest
            found.largest_weighted[passed] = weighted
            passed += 1


measure_compiled = njit(cache=True, nogil=True, **BORROWED)(measure_slowly)


def measure(
    learner: Any, examples: Examples, stream: Stream, shape: Any, compiled: bool = True
) -> Objective:
    """Play a stream from a new state and return what is measured.

    Parameters
    ----------
    learner : NamedTuple
        A learner (`omtl.rules`).
    examples, stream, shape
        The examples, the order they come in, and what the learner is told of them.
    compiled : bool
        Whether to run in the compiled loop.
    """
    found = new_objective(shape.n_tasks, stream.checkpoint.size)
    loop = measure_compiled if compiled and is_compiled(learner) else measure_slowly
    state = learner.new_state(shape)
    loop(learner, state, examples, stream, np.zeros(shape.n_features), found)
    return found


NEEDS = ("score", "update")
"""What a learner must have to be played."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Measure the objective of each learner on the stream of a repeat.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``mistakes`` (P, K), the other arrays of
        `Objective` (P, C), ``diverged`` (P,), ``examples`` (K,), and ``seen`` (C,): the number of
        examples up to each checkpoint.

    Raises
    ------
    UserError
        If a feature was dropped (`omtl.preparation.fed`), so that norms of weights are not whole.
    """
    source = setting.source
    if not np.allclose(square_norms(source.tasks.X), source.square_norm, rtol=1e-9, atol=0.0):
        raise UserError(
            "protocol objective: the data set has features of one example alone, which are not "
            "fed; it needs a data set without such features, as norms of the weights miss them"
        )
    stream = setting.stream
    examples, ordered = in_order(source, stream)
    shape = setting.shape(examples, ordered)
    found = [measure(learner, examples, ordered, shape) for learner in learners]
    arrays = {name: np.stack([getattr(one, name) for one in found]) for name in BY_POINT}
    arrays["diverged"] = np.array([one.diverged[0] for one in found])
    arrays["examples"] = np.array(shape.n_examples)
    arrays["seen"] = stream.start[stream.checkpoint]
    return arrays
