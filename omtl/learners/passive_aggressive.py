"""Passive-aggressive learning (Crammer et al., JMLR 2006): a weight vector per task, or one."""

from __future__ import annotations

from typing import NamedTuple

from omtl.kernel.products import axpy, dot
from omtl.kernel.rules import Example, Shape, rules_of
from omtl.learners.perceptron import Weights, task_weights


class PassiveAggressive(NamedTuple):
    """PA and PA-I (Crammer et al. 2006, section 3): the smallest step that corrects the example.

    Objective of each step from w', with the hinge loss ℓ(w) = max(0, 1 − y w·x):

        min_w ½ ‖w − w'‖² + C ℓ(w)

    Update:

        w ← w + τ y x,  τ = min(C, ℓ(w) / ‖x‖²)

    With ``C = inf`` it is PA, the hard form; with a finite C it is PA-I. With ``margin = 0`` it
    learns from mistakes only, as the perceptron does.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    C : float in (0, inf]
        Aggressiveness C > 0.
    pooled : bool
        One weight vector for all tasks instead of one per task.
    margin : float
        Learn if ℓ > 0 and y w·x is at most this.

    Estimator
    ---------
    defaults : C = 1.0
    cites : crammer2006online
    """

    C: float = float("inf")
    pooled: bool = False
    margin: float = 1.0

    def new_state(self, shape: Shape) -> Weights:
        """Return zero weights."""
        return task_weights(shape, self.pooled)

    def score(self, state: Weights, x: Example) -> float:
        """Return w·x."""
        return dot(state.w[0 if self.pooled else x.task], x)

    def update(self, state: Weights, x: Example, y: float, score: float) -> bool:
        """Take the smallest step that reaches margin 1, at most C."""
        loss = 1.0 - y * score
        if loss <= 0.0 or y * score > self.margin:
            return False
        w = state.w[0 if self.pooled else x.task]
        axpy(y * min(self.C, loss / x.square_norm), x, w)
        return True


@rules_of(PassiveAggressive)
class PassiveAggressiveII(NamedTuple):
    """PA-II (Crammer et al. 2006, section 3): passive-aggressive steps with a squared slack.

    Objective of each step from w', with the hinge loss ℓ(w) = max(0, 1 − y w·x):

        min_w ½ ‖w − w'‖² + C ℓ(w)²

    Update:

        w ← w + τ y x,  τ = ℓ(w) / (‖x‖² + 1 / (2 C))

    The slack is squared, so no step is cut off; the smaller C, the shorter each step.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    C : float in (0, inf)
        Aggressiveness C > 0.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : C = 1.0
    cites : crammer2006online
    """

    C: float
    pooled: bool = False

    def update(self, state: Weights, x: Example, y: float, score: float) -> bool:
        """Take a step towards margin 1."""
        loss = 1.0 - y * score
        if loss <= 0.0:
            return False
        w = state.w[0 if self.pooled else x.task]
        axpy(y * loss / (x.square_norm + 0.5 / self.C), x, w)
        return True
