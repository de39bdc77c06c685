"""Plain NumPy transcriptions of the papers' update rules, which the learners are compared with.

They are written from the papers' equations and share no code with `omtl.learners`: a dense vector
for every node and task, the combination ``A @ u`` in every round, explicit Kronecker products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np


class Given(NamedTuple):
    """One example as an oracle meets it: its row, label, task and node."""

    x: np.ndarray
    y: float
    task: int
    node: int


class Step(NamedTuple):
    """What an oracle did on one example.

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
    fired: bool
    gap: float


Rounds = Sequence[Sequence[Given]]
Steps = Iterator[Step]
