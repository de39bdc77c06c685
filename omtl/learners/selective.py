"""Perceptrons of related tasks that query labels (Cesa-Bianchi et al., JMLR 2006)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.random_numbers import seeded, uniform
from omtl.kernel.rules import Example, Shape
from omtl.learners.cavallanti import MultiPerceptron, StepSums


class Selected(NamedTuple):
    """The multi-task perceptron's sums, the number of labels queried by task, and a generator."""

    sums: StepSums
    asked: np.ndarray
    random: np.ndarray


class SelectivePerceptron(NamedTuple):
    """The multi-task perceptron with queried labels (Cesa-Bianchi et al. 2006, figure 1, "SEL-P").

    Objective of each step from w', that of `MultiPerceptron`, with few labels:

        min_w ½ ‖w − w'‖²_A − y w_k·x,  ‖w‖²_A = Σ_k ‖w_k‖² + b Σ_k ‖w_k − w̄‖²

    Update of every task j, if the label is queried and y r ≤ 0, with the score r = w_k·x:

        P(query y) = a / (a + |r|)
        w_j ← w_j + (A⁻¹)_{j,k} y x,  (A⁻¹)_{j,k} = (b + K δ_jk) / ((1 + b) K)

    Other examples are not used. b = 0 is a perceptron for each task, b = ∞ one for all. Saha et al.
    (2011, section 5.3) use it as the active form of STL, IPL and CMTL, Murugesan and Carbonell
    (2017) as "independent".

    Cost per example: O(nonzeros).

    Parameters
    ----------
    a : float in (0, inf]
        Sampling parameter a > 0 (their b); ∞ queries all labels.
    b : float in [0, inf]
        Strength of the relation between tasks: 0 for none, ∞ for one common vector.
    at_random : bool
        Whether to query labels with probability ½ instead.

    Estimator
    ---------
    defaults : a = 1.0
    takes : random_state
    cites : cesabianchi2006worst, cavallanti2010linear, saha2011online, murugesan2017active
    """

    a: float
    b: float = 0.0
    at_random: bool = False

    def new_state(self, shape: Shape) -> Selected:
        """Return zero weights."""
        return Selected(
            sums=MultiPerceptron(self.b).new_state(shape),
            asked=np.zeros(shape.n_tasks, dtype=np.int64),
            random=seeded(shape.seed),
        )

    def score(self, state: Selected, x: Example) -> float:
        """Return w^k·x."""
        return MultiPerceptron(self.b, 1.0, 0.0).score(state.sums, x)

    def update(self, state: Selected, x: Example, y: float, score: float) -> bool:
        """Query the label or not; take a step of all tasks if the prediction is wrong."""
        u = uniform(state)
        sure = u >= 0.5 if self.at_random else u * (self.a + abs(score)) > self.a
        if sure:
            return False
        state.asked[x.task] += 1
        return MultiPerceptron(self.b, 1.0, 0.0).update(state.sums, x, y, score)

    def findings(self, state: Selected) -> dict[str, np.ndarray]:
        """Return the number of labels queried for each task."""
        return {"asked": state.asked}
