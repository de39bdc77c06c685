"""Heat maps of the learnt relations between tasks, and how well they show groups."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from omtl.experiment.descriptions import Panel
from omtl.figures.panels.axes import HeatMap, PlayedLine, mean_and_std, rounded
from omtl.measures.clusters import contrast, two_clusters
from omtl.util.errors import UserError


def relationship(one: PlayedLine, panel: Panel) -> HeatMap:
    """Return a heat map of a method's η, the mean over the repeats.

    In each repeat it is that of the point of the grid that the rule chose. The panel's ``groups``
    say how many tasks, in their order, belong to each group; for how well the groups are seen,
    `omtl.measures.clusters.contrast` and, for two groups, the adjusted Rand index of those that
    spectral clustering finds, are noted with their means and deviations over the repeats.

    Raises
    ------
    UserError
        If the groups do not add up to the tasks, there is only one task, or the method tells of no
        relations.
    """
    groups = dict(panel.groups)
    label = one.label
    if any("found_eta" not in result.arrays for result in one.results):
        raise UserError(f"relationship: {label} reports no relations between tasks (found_eta)")
    eta = one.over_repeats(lambda result, point: result.arrays["found_eta"][point])
    n_repeats, n_tasks = eta.shape[:2]
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
    mean, std = mean_and_std(eta)
    seen_in_mean = float(adjusted_rand_score(group, two_clusters(mean)))
    return HeatMap(
        title=label,
        x_label="learnt from task",
        y_label="task",
        unit="mean weight η",
        mean=rounded(mean).reshape(n_tasks, n_tasks),
        std=rounded(std).reshape(n_tasks, n_tasks),
        groups=groups,
        n_repeats=n_repeats,
        params=one.most_chosen,
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
