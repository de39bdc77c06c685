"""Perceptrons of related tasks that ask for labels (Cesa-Bianchi et al., JMLR 2006)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.kernel import rules
from omtl.kernel.random_numbers import uniform
from omtl.kernel.rules import Event, Shape
from omtl.learners.cavallanti import MultiPerceptron


class Selected(NamedTuple):
    """The multi-task perceptron's sums, the labels asked for by task, and a generator."""

    own: np.ndarray
    shared: np.ndarray
    asked: np.ndarray
    random: np.ndarray


class SelectivePerceptron(NamedTuple):
    """The multi-task perceptron, with labels that are asked for (their figure 1, "SEL-P").

    A label is asked for with probability a / (a + |r|), r = w^k·x, and is learnt from where
    y r ≤ 0; other examples teach nothing. The weights are those of `MultiPerceptron`: b = 0 is a
    perceptron for each task, b = ∞ one for all. Saha et al. (2011, section 5.3) have it as the
    active form of STL, IPL and CMTL, Murugesan and Carbonell (2017) as "independent".

    Cost per example: O(nonzeros).

    Parameters
    ----------
    a : float
        Sampling parameter a > 0 (their b); ∞ asks for all labels.
    b : float
        Relation of the tasks: 0 for none, ∞ for one common vector.
    at_random : bool
        Whether labels are asked for with probability ½ instead.
    """

    a: float
    b: float = 0.0
    at_random: bool = False

    def new_state(self, shape: Shape) -> Selected:
        """Return zero weights."""
        rng = np.random.default_rng(shape.seed)
        return Selected(
            own=np.zeros((shape.n_tasks, shape.n_features)),
            shared=np.zeros(shape.n_features),
            asked=np.zeros(shape.n_tasks, dtype=np.int64),
            random=rng.integers(1, 2**64, size=1, dtype=np.uint64),
        )

    def score(self, state: Selected, rows: Any, event: Event) -> float:
        """Return w^k·x."""
        return rules.score(MultiPerceptron(self.b, 1.0, 0.0), state, rows, event)

    def update(self, state: Selected, rows: Any, event: Event, y: float, score: float) -> bool:
        """Ask for the label or not; take a step of all tasks where it is wrong."""
        u = uniform(state)
        sure = u >= 0.5 if self.at_random else u * (self.a + abs(score)) > self.a
        if sure:
            return False
        state.asked[event.task] += 1
        one = MultiPerceptron(self.b, 1.0, 0.0)
        return rules.update(one, state, rows, event, y, score)

    def findings(self, state: Selected) -> dict[str, np.ndarray]:
        """Return how many labels of each task were asked for."""
        return {"asked": state.asked}
