"""The executable specification: the papers' update rules in plain NumPy.

They are written from the papers' equations and share no code with `omtl.learners`: a dense vector
for every node and task, the combination ``A @ u`` in every round, explicit Kronecker products. The
learners are compared with them example by example (`omtl.reference.conformance`, and the tests). A
learner of one's own has one too if its class has an attribute ``reference``: a function of the
rounds, the numbers of tasks and of features, and the hyper-parameters by name, that yields a `Step`
for each example.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np


class Given(NamedTuple):
    """One example as a transcription meets it: its row, label, task and node."""

    x: np.ndarray
    y: float
    task: int
    node: int


class Step(NamedTuple):
    """What a transcription did on one example.

    Parameters
    ----------
    score : float
        The signed score it predicted with.
    fired : bool
        Whether its update rule applied.
    gap : float
        How far it was from deciding otherwise.
    """

    score: float
    fired: bool | np.bool_
    gap: float


Rounds = Sequence[Sequence[Given]]
Steps = Iterator[Step]
