"""Heat maps of the learnt relations between tasks, and how well they show groups."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from sklearn.metrics import adjusted_rand_score

from omtl.figures.panels.axes import HeatMap, PlayedLine, line_of
from omtl.util.errors import UserError


def relationship(one: PlayedLine) -> HeatMap:
    """Return a heat map of a method's η, the mean over the repeats.

    In each repeat it is that of the point of the grid that the rule chose. The panel's ``groups``
    say how many tasks, in their order, belong to each group; for how well the groups are seen,
    `contrast` and, for two groups, the adjusted Rand index of those that spectral clustering finds,
    are noted with their means and deviations over the repeats.

    Raises
    ------
    UserError
        If the groups do not add up to the tasks, there is only one task, or the method tells of no
        relations.
    """
    groups = dict(one.panel.groups)
    if any("found_eta" not in result.arrays for result in one.results):
        raise UserError(f"relationship: {one.label} reports no relations between tasks (found_eta)")
    eta = one.over_repeats(lambda result, point: result.arrays["found_eta"][point])
    n_tasks = eta.shape[1]
    if sum(groups.values()) != n_tasks:
        raise UserError(
            f"relationship: groups of {sum(groups.values())} tasks, but there are {n_tasks}"
        )
    if n_tasks == 1:
        raise UserError("relationship: one task has no relations; choose data of two or more")
    group = np.repeat(np.arange(len(groups)), list(groups.values()))
    seen = {"contrast": np.array([contrast(each, group) for each in eta])}
    if len(groups) == 2:
        seen["adjusted Rand index"] = np.array(
            [adjusted_rand_score(group, two_clusters(each)) for each in eta]
        )
    seen_in_mean = float(adjusted_rand_score(group, two_clusters(eta.mean(axis=0))))
    numbers, params = 1 + np.arange(n_tasks), (one.most_chosen,)
    return HeatMap(
        "learnt from task",
        tuple(line_of(f"task {k}", numbers, eta[:, k - 1], params=params) for k in numbers),
        "task",
        title=one.label,
        unit="mean weight η",
        groups=groups,
        notes=(
            "; ".join(f"{name} {mean_and_deviation(values)}" for name, values in seen.items()),
            f"adjusted Rand index of the mean η {seen_in_mean:.2f}",
        ),
    )


def mean_and_deviation(values: np.ndarray) -> str:
    """Return mean and deviation of the values that are numbers, as text."""
    there = values[np.isfinite(values)]
    if there.size == 0:
        return "undefined"
    std = there.std(ddof=1) if there.size > 1 else 0.0
    text = f"{there.mean():.2f}±{std:.2f}"
    return text if there.size == values.size else f"{text} ({there.size} of {values.size} repeats)"


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
