"""How well a matrix of relations between tasks recovers known groups of tasks."""

from __future__ import annotations

import numpy as np
from scipy import linalg

NO_WEIGHT = 1e-12
"""Sum of weights below which a task counts as unrelated to all others."""


def contrast(eta: np.ndarray, group: np.ndarray) -> float:
    """Return how much more weight tasks give to their own group than to other groups.

    The mean weight between two tasks of the same group, minus that between two tasks of different
    groups, in units of the mean weight between two tasks: 0 if the groups make no difference, and
    for two groups of equal size at most about 2, if there is no weight between them. nan if no task
    has any weight for another.

    Parameters
    ----------
    eta : ndarray of shape (n_tasks, n_tasks)
        Non-negative weight of task j in what task k learns; the diagonal is ignored.
    group : ndarray of shape (n_tasks,), int64
        Two groups or more, of two tasks or more.
    """
    apart = ~np.eye(group.size, dtype=bool)
    same = group[:, None] == group[None, :]
    mean = float(eta[apart].mean())
    if mean <= NO_WEIGHT:
        return float("nan")
    return float((eta[same & apart].mean() - eta[~same].mean()) / mean)


def two_clusters(eta: np.ndarray) -> np.ndarray:
    """Return the two clusters of tasks that spectral clustering finds, 0 or 1, shape (n_tasks,).

    Affinity is (η + ηᵀ)/2 without its diagonal; a task's cluster is the sign of its entry in the
    second eigenvector of the normalised Laplacian (Shi, Malik, PAMI 2000; von Luxburg, Statistics
    and Computing 2007, section 4).

    Cost: O(n_tasks³).
    """
    affinity = (eta + eta.T) / 2.0
    np.fill_diagonal(affinity, 0.0)
    degree = affinity.sum(axis=1)
    scale = 1.0 / np.sqrt(np.where(degree > NO_WEIGHT, degree, 1.0))
    laplacian = np.eye(degree.size) - scale[:, None] * affinity * scale
    # The first eigenvector is known, with eigenvalue 0. It is moved to the other end of the
    # spectrum, so that it does not mix with others of that value if the graph is disconnected.
    first = np.sqrt(np.maximum(degree, 0.0))
    first /= np.linalg.norm(first) or 1.0
    _, vectors = linalg.eigh(laplacian + 2.0 * np.outer(first, first))
    return (vectors[:, 0] * scale > 0.0).astype(np.int64)
