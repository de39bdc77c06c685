"""The quantities in the bounds on AKLO's errors: past classifiers' errors, own norms.

This needs learners with a knowledge base (`omtl.learners.lifelong.AKLO`) and a stream whose tasks
come one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import Examples
from omtl.data.streams import Stream
from omtl.kernel.loop import run
from omtl.kernel.rules import Example, Play, Shape
from omtl.learners.lifelong import AKLO, CLIP_EACH
from omtl.protocols.setting import Setting, by_learner, refuse_dropped, starts_of_tasks
from omtl.util.errors import UserError

NEEDS = ("score", "update")


class Accumulation(NamedTuple):
    """The record of one play, by task; it is the loop's recorder (`omtl.kernel.loop`).

    Parameters
    ----------
    mistakes : ndarray of shape (n_tasks,), int64
    longest : ndarray of shape (n_tasks,)
        Largest ‖w_t‖ with which the task's own classifier predicted.
    shares : ndarray of shape (n_tasks, most examples of a task)
        α_t, 0 after the last.
    errors, weighed_errors : ndarray of shape (n_tasks, n_tasks)
        Σ e_t and Σ α_t e_t of each past classifier, in the order of their arrival; e_t is the
        square of the clipped difference (algorithm 2, line 3), whatever errors the learner uses.
    n_past : ndarray of shape (n_tasks,), int64
        Number of past classifiers.
    diverged : ndarray of shape (1,), int64
        Number of scores that were not finite.
    """

    mistakes: np.ndarray
    longest: np.ndarray
    shares: np.ndarray
    errors: np.ndarray
    weighed_errors: np.ndarray
    n_past: np.ndarray
    diverged: np.ndarray

    def begin(self) -> int:
        """Return an unused value."""
        return 0

    def scored(
        self,
        so_far: int,
        play: Play,
        x: Example,
        y: float,
        score: float,
    ) -> int:
        """Record the errors of the own and the past classifiers before they learn."""
        learner, state, k = play.learner, play.state, x.task
        c = state.column[k]
        if not np.isfinite(score):
            self.diverged[0] += 1
        if not y * score > 0.0:
            self.mistakes[k] += 1
        share = learner.alpha(state.seen[c] + 1, state.horizon[k])
        self.shares[k, state.seen[c]] = share
        self.n_past[k] = c
        for j in range(c):
            said = state.said(j, CLIP_EACH)
            self.errors[k, j] += (said - y) ** 2
            self.weighed_errors[k, j] += share * (said - y) ** 2
        square = 0.0
        for f in range(state.total.vectors.shape[1]):
            square += state.total.vectors[c, f] ** 2
        self.longest[k] = max(self.longest[k], state.scale[c] * np.sqrt(square))
        return so_far


def measure_accumulation(
    learner: Any, examples: Examples, stream: Stream, shape: Shape, compiled: bool = True
) -> Accumulation:
    """Play a stream of an example per round from a new state and return what is measured.

    Parameters
    ----------
    learner : AKLO
    examples, stream, shape
        The examples, none of them empty, their order, and what the learner knows in advance.
    compiled : bool
        Whether to run in the compiled loop.

    Raises
    ------
    UserError
        If the learner has no knowledge base.
    """
    if not isinstance(learner, AKLO):
        raise UserError(
            f"protocol accumulation: {type(learner).__name__} has no knowledge base; choose AKLO"
        )
    n = shape.n_tasks
    found = Accumulation(
        mistakes=np.zeros(n, dtype=np.int64),
        longest=np.zeros(n),
        shares=np.zeros((n, max(shape.n_examples))),
        errors=np.zeros((n, n)),
        weighed_errors=np.zeros((n, n)),
        n_past=np.zeros(n, dtype=np.int64),
        diverged=np.zeros(1, dtype=np.int64),
    )
    run(learner, learner.new_state(shape), examples, stream, found, compiled)
    return found


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Measure each learner on the stream of a repeat.

    Returns
    -------
    dict of str to ndarray
        With P learners and K tasks: the arrays of `Accumulation`, (P, …), and ``examples`` and
        ``place`` (K,): the number of a task's examples, and of the tasks before it.

    Raises
    ------
    UserError
        If tasks alternate in the stream, a row is empty, or a feature was dropped
        (`omtl.data.preparation.prepared_data`), so that norms of weights are incomplete.
    """
    refuse_dropped(setting.source, "accumulation")
    if not setting.source.square_norm.all():
        raise UserError("protocol accumulation: the data set has empty rows; leave them out")
    examples, stream, shape = setting.played()
    starts_of_tasks(examples.task[stream.example], "errors of past classifiers are measured")
    records = [
        measure_accumulation(learner, examples, stream, shape)._asdict() for learner in learners
    ]
    arrays = by_learner(records)
    arrays["diverged"] = arrays["diverged"][:, 0]
    arrays["examples"] = np.array(shape.n_examples)
    _, first = np.unique(examples.task[stream.example], return_index=True)
    arrays["place"] = np.argsort(np.argsort(first))
    return arrays
