"""The perceptron with a learning step: one weight vector per task, or one for all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape


class Weights(NamedTuple):
    """One weight vector per task, or a single one for all tasks."""

    w: np.ndarray


def task_weights(shape: Shape, pooled: bool) -> Weights:
    """Return zero weights: shape (n_tasks, n_features), or (1, n_features) if pooled."""
    return Weights(np.zeros((1 if pooled else shape.n_tasks, shape.n_features)))


class Perceptron(NamedTuple):
    """PM of the DOM paper (section 4.1): the perceptron with a learning rate.

    Objective, the margin losses:

        min_w Σ_t max(0, margin − y_t w·x_t)

    Update, if y w·x ≤ margin:

        w ← w + η y x

    The paper calls it the original perceptron (Rosenblatt 1958) "by adding a learning step to
    adjust its adaptation to data". With ``margin = 0`` it learns from mistakes only, and η, which
    then merely scales w, changes no prediction; with ``margin = 1`` it is online gradient descent
    on the hinge loss. The state holds w/η, a sum of rows and their negatives: it is exact if
    features are integers, so rounding never decides the sign of a zero score.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    margin : float
        Learn if y w·x is at most this.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : eta = 1.0
    cites : rosenblatt1958perceptron, zhang2018distributed
    """

    eta: float
    margin: float = 0.0
    pooled: bool = False

    def new_state(self, shape: Shape) -> Weights:
        """Return zero weights."""
        return task_weights(shape, self.pooled)

    def score(self, state: Weights, x: Example) -> float:
        """Return w·x."""
        return self.eta * dot(state.w[0 if self.pooled else x.task], x)

    def update(self, state: Weights, x: Example, y: float, score: float) -> bool:
        """Add η y x if the margin is not reached."""
        if y * score > self.margin:
            return False
        w = state.w[0 if self.pooled else x.task]
        axpy(y, x, w)
        return True
