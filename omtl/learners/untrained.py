"""The similarity of the raw features: a baseline for learnt similarities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Untrained(NamedTuple):
    """M = I for every task, from which the learners of Hao et al. (2017) start, with no step taken.

    It ranks by xᵀx', which is the cosine if rows have unit norm; or, if the protocol ranks by
    distance, by ‖x − x'‖. No paper of this project has this baseline.

    Cost: none to train, O(n_features) per pair to rank.
    """

    def metrics(
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
            Only the number of features matters.
        y, task : ndarray of shape (n_examples,)
            Ignored.
        n_tasks : int
        """
        n_features = X.shape[1]
        return np.broadcast_to(np.eye(n_features), (n_tasks, n_features, n_features))
