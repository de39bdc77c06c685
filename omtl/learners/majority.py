"""The majority label: what each task has seen most often so far, whatever the features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.rules import Event, Shape


class Surplus(NamedTuple):
    """How many more positive than negative examples a task has had, shape (n_tasks,)."""

    surplus: np.ndarray


class Majority(NamedTuple):
    """The more frequent label of a task up to now; what a learner must beat to have learnt.

    The score is the positive examples of the task less the negative ones, and ½. So a tie, as
    before the first example, is answered with +1: some answer must be given, as a score of 0 is
    wrong whatever the label, and no label is likelier. Tasks never see each other's labels.

    No example is kept or weighed: it takes no steps, and has no support vectors.

    Cost per example: O(1).
    """

    def new_state(self, shape: Shape) -> Surplus:
        """Return that no label was seen."""
        return Surplus(np.zeros(shape.n_tasks))

    def score(self, state: Surplus, rows: Any, event: Event) -> float:  # noqa: ARG002
        """Return the surplus of positive examples of the task, and ½."""
        return state.surplus[event.task] + 0.5

    def update(
        self,
        state: Surplus,
        rows: Any,  # noqa: ARG002
        event: Event,
        y: float,
        score: float,  # noqa: ARG002
    ) -> bool:
        """Count the label."""
        state.surplus[event.task] += y
        return False
