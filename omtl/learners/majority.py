"""The majority label: each task's most frequent label so far, whatever the features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.rules import Example, Shape


class Surplus(NamedTuple):
    """Number of positive minus negative examples of each task, shape (n_tasks,)."""

    surplus: np.ndarray


class Majority(NamedTuple):
    """The more frequent label of a task so far; a learner must beat it to have learnt anything.

    Objective, the fewest mistakes of one answer c for all examples of a task:

        min_c Σ_t 1[y_t ≠ c],  c = −1 or +1

    Update of the task's count, and the score of its next example, which looks at no feature:

        n_k ← n_k + y
        score = n_k + ½

    So a tie, as before the first example, predicts +1: a score of 0 would be a mistake whatever the
    label, and neither label is more likely. Tasks never see each other's labels.

    The learner takes no steps, so it has no support vectors. It is a baseline of no paper.

    Cost per example: O(1).

    Estimator
    ---------
    linear : no
    """

    def new_state(self, shape: Shape) -> Surplus:
        """Return a state without labels."""
        return Surplus(np.zeros(shape.n_tasks))

    def score(self, state: Surplus, x: Example) -> float:
        """Return the surplus of the task's positive examples, plus ½."""
        return state.surplus[x.task] + 0.5

    def update(self, state: Surplus, x: Example, y: float, score: float) -> bool:  # noqa: ARG002
        """Count the label."""
        state.surplus[x.task] += y
        return False
