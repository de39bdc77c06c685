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

from omtl.data.rows import Examples
from omtl.data.streams import Stream
from omtl.kernel.loop import run
from omtl.kernel.products import axpy, sum_of_squares
from omtl.kernel.rules import Example, Play, penalty, proximity
from omtl.protocols.setting import Setting, by_learner, counts_of, refuse_dropped

PENALTY, PROXIMITY, SHARED, OWN = range(4)
"""What is recorded of each round.

The learner's penalty and proximity at the predicting weights, ‖Σ g^i‖², and Σ ‖g^i‖².
"""


class ObjectiveRecorder(NamedTuple):
    """The recorder (`omtl.kernel.loop`) of the scores, and of the terms of each round.

    Parameters
    ----------
    scores : ndarray of shape (n_events,)
        The scores, in stream order.
    terms : ndarray of shape (n_rounds, 4)
        The terms of the rounds, at `PENALTY` and so on.
    gradient : ndarray of shape (n_features,)
        Σ g^i of the round.
    """

    scores: np.ndarray
    terms: np.ndarray
    gradient: np.ndarray

    def begin(self) -> tuple[int, int]:
        """Return the number of events and of rounds so far."""
        return 0, 0

    def opened(self, so_far: tuple[int, int], learner: Any, state: Any) -> tuple[int, int]:
        """Record the learner's penalty and proximity at the predicting weights."""
        terms = self.terms[so_far[1]]
        terms[PENALTY] = penalty(learner, state)
        terms[PROXIMITY] = proximity(learner, state)
        for j in range(self.gradient.size):
            self.gradient[j] = 0.0
        return so_far

    def scored(
        self,
        so_far: tuple[int, int],
        play: Play,  # noqa: ARG002
        x: Example,
        y: float,
        score: float,
    ) -> tuple[int, int]:
        """Record the score, and add up the gradients of the losses."""
        event, t = so_far
        self.scores[event] = score
        if not y * score >= 1.0:
            self.terms[t, OWN] += x.square_norm
            axpy(y, x, self.gradient)
        return event + 1, t

    def closed(self, so_far: tuple[int, int], stream: Any, t: int) -> tuple[int, int]:  # noqa: ARG002
        """Record the sum of the round's gradients."""
        self.terms[t - 1, SHARED] = sum_of_squares(self.gradient)
        return so_far[0], t


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
        As of `play_grid`, of one learner.
    """
    n_rounds, task = stream.start.size - 1, examples.task[stream.example]
    recorder = ObjectiveRecorder(
        np.zeros(task.size), np.zeros((n_rounds, 4)), np.zeros(shape.n_features)
    )
    run(learner, learner.new_state(shape), examples, stream, recorder, compiled)
    signed = examples.y[stream.example] * recorder.scores
    wrong, lost = ~(signed > 0.0), np.where(signed >= 1.0, 0.0, 1.0 - signed)
    last, rounds = stream.start[stream.checkpoint] - 1, stream.checkpoint - 1
    sums, (_, _, shared, own) = np.cumsum(recorder.terms, axis=0)[rounds], recorder.terms.T

    def largest(sizes: np.ndarray) -> np.ndarray:
        return np.fmax.accumulate(np.fmax(sizes, 0.0))[rounds]

    return {
        "mistakes": np.bincount(task[wrong], minlength=shape.n_tasks),
        "diverged": np.count_nonzero(~np.isfinite(recorder.scores)),
        "checkpoint_mistakes": np.cumsum(wrong)[last],
        "checkpoint_loss": np.cumsum(lost)[last],
        "checkpoint_penalty": sums[:, PENALTY],
        "checkpoint_proximity": sums[:, PROXIMITY],
        "checkpoint_shared": sums[:, SHARED],
        "checkpoint_own": sums[:, OWN],
        "largest_gradient": largest(shared + 2.0 * own),
        "largest_weighted": largest(shared / shape.n_tasks + 2.0 * own),
    }


NEEDS = ("score", "update")
"""Methods that a learner must have."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Measure the objective of each learner on the stream of a repeat.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks and C checkpoints: ``mistakes`` (P, K), wrong predictions;
        ``diverged`` (P,), the number of scores that were not finite; ``examples`` (K,), and
        ``seen`` (C,): the number of examples up to each checkpoint. The others have the shape
        (P, C): ``checkpoint_mistakes`` of all tasks; ``checkpoint_loss``, the sum of the hinge
        losses; ``checkpoint_penalty``, ``checkpoint_proximity``, ``checkpoint_shared`` and
        ``checkpoint_own``, sums over the rounds of the learner's penalty and proximity at the
        predicting weights, of ‖Σ g^i‖² and of Σ ‖g^i‖²; ``largest_gradient``, the largest ‖G_t‖²
        of a round, and ``largest_weighted``, the same with the part of u divided by m.

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
