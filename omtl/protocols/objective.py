"""The objective of regret: losses plus the regulariser of every round (ROM paper, eq. 1).

It also measures the size of the losses' gradients, which the paper's bounds use. Let g^i be the
gradient of task i's loss in a round, 0 if there is none. Then the gradient in u is Σ g^i, and those
in p^i and q^i are g^i: ‖G_t‖² = ‖Σ g^i‖² + 2 Σ ‖g^i‖². If u counts √m-fold (`omtl.theory.rom`), the
dual norm is ‖Σ g^i‖²/m + 2 Σ ‖g^i‖².
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from omtl.data.examples import Examples
from omtl.data.streams import Stream
from omtl.kernel.loop import run
from omtl.kernel.products import axpy, sum_of_squares
from omtl.kernel.rules import Example, Play, penalty, proximity
from omtl.protocols.setting import Setting, by_learner, counts_of, refuse_dropped

BY_CHECKPOINT = (
    *("checkpoint_mistakes", "checkpoint_loss", "checkpoint_penalty", "checkpoint_proximity"),
    *("checkpoint_shared", "checkpoint_own", "largest_gradient", "largest_weighted"),
)
"""What is recorded at each checkpoint.

Wrong predictions of all tasks; the sum of the hinge losses; sums over the rounds of the learner's
penalty and proximity at the predicting weights, of ‖Σ g^i‖² and of Σ ‖g^i‖²; the largest ‖G_t‖² of
a round, and the same with the part of u divided by m.
"""

MISTAKES, LOSS, PENALTY, PROXIMITY, SHARED, OWN, LARGEST, WEIGHTED = range(8)
"""Positions of these in `Sums`."""


class Sums(NamedTuple):
    """The recorder (`omtl.kernel.loop`) that fills in the measurements.

    Parameters
    ----------
    mistakes : ndarray of shape (n_tasks,), int64
        Wrong predictions, by task.
    by_checkpoint : ndarray of shape (n_checkpoints, 8)
        `sums` at each checkpoint.
    gradient : ndarray of shape (n_features,)
        Σ g^i of the round.
    sums : ndarray of shape (8,)
        The current values of what is recorded at checkpoints, at `MISTAKES` and so on.
    own : ndarray of shape (1,)
        Σ ‖g^i‖² of the round.
    diverged : ndarray of shape (1,), int64
        Number of scores that were not finite.
    """

    mistakes: np.ndarray
    by_checkpoint: np.ndarray
    gradient: np.ndarray
    sums: np.ndarray
    own: np.ndarray
    diverged: np.ndarray

    def begin(self) -> int:
        """Return the number of checkpoints so far."""
        return 0

    def opened(self, passed: int, learner: Any, state: Any) -> int:
        """Add the learner's penalty and proximity at the predicting weights."""
        self.sums[PENALTY] += penalty(learner, state)
        self.sums[PROXIMITY] += proximity(learner, state)
        for j in range(self.gradient.size):
            self.gradient[j] = 0.0
        self.own[0] = 0.0
        return passed

    def scored(
        self,
        passed: int,
        play: Play,  # noqa: ARG002
        x: Example,
        y: float,
        score: float,
    ) -> int:
        """Count a mistake; add up the hinge loss and its gradient."""
        if not np.isfinite(score):
            self.diverged[0] += 1
        if not y * score > 0.0:
            self.sums[MISTAKES] += 1.0
            self.mistakes[x.task] += 1
        if not y * score >= 1.0:
            self.sums[LOSS] += 1.0 - y * score
            self.own[0] += x.square_norm
            axpy(y, x, self.gradient)
        return passed

    def closed(self, passed: int, stream: Any, t: int) -> int:
        """Add the round's gradients; record a checkpoint."""
        sums, own = self.sums, self.own[0]
        shared = sum_of_squares(self.gradient)
        sums[SHARED] += shared
        sums[OWN] += own
        sums[LARGEST] = max(sums[LARGEST], shared + 2.0 * own)
        sums[WEIGHTED] = max(sums[WEIGHTED], shared / self.mistakes.size + 2.0 * own)
        if passed < stream.checkpoint.size and t == stream.checkpoint[passed]:
            for k in range(sums.size):
                self.by_checkpoint[passed, k] = sums[k]
            passed += 1
        return passed


def measure_objective(
    learner: Any, examples: Examples, stream: Stream, shape: Any, compiled: bool = True
) -> dict[str, np.ndarray]:
    """Play a stream from a new state and return the measurements.

    Parameters
    ----------
    learner : NamedTuple
        A learner (`omtl.kernel.rules`).
    examples, stream, shape
        The examples, their order, and what the learner knows about them in advance.
    compiled : bool
        Whether to run in the compiled loop.

    Returns
    -------
    dict of str to ndarray
        ``mistakes`` (n_tasks,), wrong predictions by task; ``diverged``, the number of scores that
        were not finite; and what is recorded `BY_CHECKPOINT`, (n_checkpoints,).
    """
    recorder = Sums(
        mistakes=np.zeros(shape.n_tasks, dtype=np.int64),
        by_checkpoint=np.zeros((stream.checkpoint.size, len(BY_CHECKPOINT))),
        gradient=np.zeros(shape.n_features),
        sums=np.zeros(len(BY_CHECKPOINT)),
        own=np.zeros(1),
        diverged=np.zeros(1, dtype=np.int64),
    )
    run(learner, learner.new_state(shape), examples, stream, recorder, compiled)
    found = dict(zip(BY_CHECKPOINT, recorder.by_checkpoint.T, strict=True))
    found["checkpoint_mistakes"] = found["checkpoint_mistakes"].astype(np.int64)
    return {"mistakes": recorder.mistakes, "diverged": recorder.diverged[0], **found}


NEEDS = ("score", "update")
"""Methods that a learner must have."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Measure the objective of each learner on the stream of a repeat.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``mistakes`` (P, K), what is recorded
        `BY_CHECKPOINT` (P, C), ``diverged`` (P,), ``examples`` (K,), and ``seen`` (C,): the number
        of examples up to each checkpoint.

    Raises
    ------
    UserError
        If a feature was dropped (`omtl.data.preparation.prepared_data`): norms of weights are
        incomplete.
    """
    refuse_dropped(setting.source, "objective")
    examples, stream, shape = setting.played()
    found = [measure_objective(learner, examples, stream, shape) for learner in learners]
    return by_learner(found) | counts_of(shape, stream)
