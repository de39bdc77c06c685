"""The multi-task perceptron (Cavallanti, Cesa-Bianchi, Gentile, JMLR 2010)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape


class StepSums(NamedTuple):
    """StepSums of label times row over the updates: for each task, and over all tasks."""

    own: np.ndarray
    shared: np.ndarray


class MultiPerceptron(NamedTuple):
    """The multi-task perceptron with a fixed interaction matrix (Multi-P of the ROM paper).

    Objective of each step from w', in a norm that draws the K tasks to their mean w̄:

        min_w ½ ‖w − w'‖²_A − η y w_k·x,  ‖w‖²_A = Σ_k ‖w_k‖² + b Σ_k ‖w_k − w̄‖²

    Update, if y w_k·x ≤ margin, of every task j:

        w_j ← w_j + η (A⁻¹)_{j,k} y x,  (A⁻¹)_{j,k} = (b + K δ_jk) / ((1 + b) K)

    A is as in section 3 of Cavallanti et al. (2010), and as the DOM paper prints it (eq. 10); with
    b = K it is the matrix that Saha et al. (2011, section 2) print. So w_k = η (K s_k + b s) / ((1
    + b) K), where s_k sums y x over the steps of task k and s over all steps. With integer features
    and b these sums are exact, so rounding never decides the sign of a zero score.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    b : float in [0, inf]
        Strength of the relation between tasks: 0 for none, ∞ for one common vector.
    eta : float in (0, inf)
        Learning rate η > 0; with ``margin = 0`` it changes no prediction.
    margin : float
        Learn if y w_k·x is at most this: 0 for mistakes only, 1 for the hinge loss.

    Estimator
    ---------
    defaults : b = 1.0
    cites : cavallanti2010linear
    """

    b: float
    eta: float = 1.0
    margin: float = 0.0

    def new_state(self, shape: Shape) -> StepSums:
        """Return zero weights."""
        return StepSums(np.zeros((shape.n_tasks, shape.n_features)), np.zeros(shape.n_features))

    def score(self, state: StepSums, x: Example) -> float:
        """Return w^k·x."""
        n_tasks = state.own.shape[0]
        shared = dot(state.shared, x)
        if math.isinf(self.b):
            return self.eta * (shared / n_tasks)
        both = n_tasks * dot(state.own[x.task], x) + self.b * shared
        return self.eta * (both / ((1.0 + self.b) * n_tasks))

    def update(self, state: StepSums, x: Example, y: float, score: float) -> bool:
        """Take a step of all tasks if the margin is not reached."""
        if y * score > self.margin:
            return False
        axpy(y, x, state.own[x.task])
        axpy(y, x, state.shared)
        return True
