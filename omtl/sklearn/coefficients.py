"""The weights of an estimator whose score is w·x: its scores of unit vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from omtl.sklearn.base import MultiTaskClassifier

PROBED_AT_ONCE = 256
"""Number of unit vectors scored in one call."""


def coefficients(estimator: MultiTaskClassifier) -> np.ndarray:
    """Return the weights of each task, or of each node if nodes and tasks differ.

    A learner may store its weights in parts, behind scales, or not at all; its score of a unit
    vector is the weight in any case.

    Cost: O(n_tasks · n_features) for a stream of sparse rows, n_features times that for dense
    rows.

    Parameters
    ----------
    estimator : MultiTaskClassifier
        An estimator that has begun, with `entry.linear`.

    Returns
    -------
    ndarray of shape (n_tasks, n_features)
    """
    d = estimator.n_features_in_
    found = np.empty((len(estimator.tasks_), d))
    for begin in range(0, d, PROBED_AT_ONCE):
        end = min(begin + PROBED_AT_ONCE, d)
        unit = sparse.csr_array(
            (np.ones(end - begin), (np.arange(end - begin), np.arange(begin, end))),
            shape=(end - begin, d),
        )
        X = unit if estimator._shape.sparse else unit.toarray()
        for k, name in enumerate(estimator.tasks_):
            found[k, begin:end] = estimator.decision_function(X, [name] * (end - begin))
    return found
