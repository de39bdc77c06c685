"""The second-order perceptron (Cesa-Bianchi, Conconi, Gentile, SIAM J. Comput. 2005)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.products import axpy, each_feature, sum_of_features
from omtl.kernel.rules import Example, Shape


class Correlations(NamedTuple):
    """Sums of y x and of the squares of x over mistakes, shape (n_tasks or 1, n_features) each."""

    v: np.ndarray
    square: np.ndarray


@sum_of_features
def whitened_dot(f, value, v, square, a):
    """Return Σ_f v_f x_f / (a + square_f + x_f²): ``whitened_dot(x, v, square, a)``."""
    return v[f] * value / (a + square[f] + value * value)


@each_feature
def add_squares(f, value, square):
    """Add the squares of `x` to `square`: ``add_squares(x, square)``."""
    square[f] += value * value


class SecondOrderPerceptron(NamedTuple):
    """The second-order perceptron (Cesa-Bianchi et al. 2005, figure 3.1), with a diagonal matrix.

    Objective, ridge regression on the mistakes s so far, and on the example x with the target 0:

        min_w a ‖w‖² + Σ_s (w·x_s − y_s)² + (w·x)²

    Update after a mistake, where the score of x is w·x with the minimiser w = (aI + S + xxᵀ)⁻¹ v:

        v ← v + y x
        S ← S + xxᵀ

    Only the diagonals of S and xxᵀ are kept, so that the cost is that of a row's nonzeros: the
    score is Σ_f v_f x_f / (a + S_f + x_f²).

    Cost per example: O(nonzeros).

    Parameters
    ----------
    a : float in (0, inf)
        a > 0: the larger, the slower the matrix takes effect.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : a = 1.0
    linear : no
    cites : cesabianchi2005second
    """

    a: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> Correlations:
        """Return empty sums."""
        size = (1 if self.pooled else shape.n_tasks, shape.n_features)
        return Correlations(np.zeros(size), np.zeros(size))

    def score(self, state: Correlations, x: Example) -> float:
        """Return the whitened product."""
        k = 0 if self.pooled else x.task
        return whitened_dot(x, state.v[k], state.square[k], self.a)

    def update(self, state: Correlations, x: Example, y: float, score: float) -> bool:
        """Add the example if it was predicted wrongly."""
        if y * score > 0.0:
            return False
        k = 0 if self.pooled else x.task
        axpy(y, x, state.v[k])
        add_squares(x, state.square[k])
        return True
