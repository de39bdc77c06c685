"""A learner of one's own: plain NumPy, and played as plain Python."""

from dataclasses import dataclass

import numpy as np

from omtl.ops import axpy, dot


@dataclass(frozen=True)
class MyLearner:
    """Gradient descent on the hinge loss, with what all tasks share and what is a task's own.

    The weights of task k are v + w_k; a step of size η moves w_k, and v by the share μ of it. It is
    made up for this example.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    eta : float
        Learning rate η > 0.
    mu : float
        How much of a step all tasks take, from 0 (each learns alone) to 1.
    """

    eta: float
    mu: float = 0.5

    def new_state(self, shape):
        """Return zero weights: a row a task, and a last one that all share."""
        return np.zeros((shape.n_tasks + 1, shape.n_features))

    def score(self, state, x):
        """Return (v + w_k)·x."""
        return dot(state[x.task], x) + dot(state[-1], x)

    def update(self, state, x, y, score):
        """Step towards the label where the margin is below 1."""
        if y * score >= 1.0:
            return False
        axpy(self.eta * y, x, state[x.task])
        axpy(self.eta * self.mu * y, x, state[-1])
        return True
