"""The multi-task perceptron (Cavallanti, Cesa-Bianchi, Gentile, JMLR 2010)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.ops import axpy, dot
from omtl.rules import Event, Shape


class RelatedWeights(NamedTuple):
    """Each task's own vector and the shared one, whose sum predicts for the task."""

    own: np.ndarray
    shared: np.ndarray


class MultiPerceptron(NamedTuple):
    """The multi-task perceptron with a fixed interaction matrix (Multi-P of the ROM paper).

    Where y w^k·x ≤ margin, w^j ← w^j + η y (A⁻¹)_{j,k} x for every task j. A is
    that of their section 3, (A⁻¹)_{j,k} = (b + K δ_jk) / ((1 + b) K) for K tasks, as the DOM paper
    prints it (eq. 10). The part that is the same for all j goes to one shared vector. Written from
    the DOM and ROM papers' accounts and from general knowledge of the original.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    b : float
        Relation of the tasks: 0 for none, ∞ for one common vector.
    eta : float
        Learning rate η > 0; with ``margin = 0`` it changes no prediction.
    margin : float
        Learn where y w^k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    """

    b: float
    eta: float = 1.0
    margin: float = 0.0

    def new_state(self, shape: Shape) -> RelatedWeights:
        """Return zero weights."""
        return RelatedWeights(
            np.zeros((shape.n_tasks, shape.n_features)), np.zeros(shape.n_features)
        )

    def score(self, state: RelatedWeights, rows: Any, event: Event) -> float:
        """Return w^k·x."""
        own = dot(state.own[event.task], rows, event.example)
        return own + dot(state.shared, rows, event.example)

    def update(
        self, state: RelatedWeights, rows: Any, event: Event, y: float, score: float
    ) -> bool:
        """Take a step of all tasks where the margin is not reached."""
        if y * score > self.margin:
            return False
        part = 1.0 / (1.0 + self.b)
        step = self.eta * y
        axpy(step * part, rows, event.example, state.own[event.task])
        axpy(step * (1.0 - part) / state.own.shape[0], rows, event.example, state.shared)
        return True
