"""The executable specification: the papers' update rules in plain NumPy.

They are written from the papers' equations and share no code with `omtl.learners`: a dense vector
for every node and task, the combination ``A @ u`` in every round, explicit Kronecker products. The
learners are compared with them example by example (`omtl.reference.conformance`, and the tests).
A module of this package says by `transcribes` which learners its functions are of.
Your own learner has a transcription too if it has a method ``reference(self, rounds, shape)`` that
yields a `ReferenceStep` for each example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.rules import Shape


class GivenExample(NamedTuple):
    """One example for a transcription: its row, label, task and node."""

    x: np.ndarray
    y: float
    task: int
    node: int


class ReferenceStep(NamedTuple):
    """The action of a transcription on one example.

    Parameters
    ----------
    score : float
        The signed score of the prediction.
    fired : bool
        Whether its update rule applied.
    gap : float
        Distance from a different decision.
    """

    score: float
    fired: bool | np.bool_
    gap: float


Rounds = Sequence[Sequence[GivenExample]]
Steps = Iterator[ReferenceStep]
Transcription = Callable[[Any, Rounds, Shape], Steps]
"""A function of a learner, the rounds and the shape of their stream."""

WRITTEN: dict[type, Transcription] = {}
"""The transcriptions of the modules that are imported so far, by learner."""


def transcribes(learner: type) -> Callable[[Transcription], Transcription]:
    """Return a decorator for the transcription of a learner.

    The function takes the learner, for its hyper-parameters, the rounds and their shape, and yields
    a `ReferenceStep` for each example.
    """

    def keep(transcription: Transcription) -> Transcription:
        WRITTEN[learner] = transcription
        return transcription

    return keep
