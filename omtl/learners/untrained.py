"""The similarity of the raw features, which a learner of similarities must beat."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Untrained(NamedTuple):
    """M = I for every task, from which the learners of Hao et al. (2017) start, with no step taken.

    It ranks by xᵀx', which is the cosine where rows have unit norm; or, where the protocol ranks by
    distance, by ‖x − x'‖. No paper of this project has it.

    Cost: none to train, O(n_features) a pair to rank.
    """

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,  # noqa: ARG002
        task: np.ndarray,  # noqa: ARG002
        n_tasks: int,
    ) -> np.ndarray:
        """Return the identity for each task, shape (n_tasks, n_features, n_features).

        Parameters
        ----------
        X : ndarray of shape (n_examples, n_features)
            Only its number of features counts.
        y, task : ndarray of shape (n_examples,)
            Not looked at.
        n_tasks : int
        """
        n_features = X.shape[1]
        return np.broadcast_to(np.eye(n_features), (n_tasks, n_features, n_features))
