"""The learning curves of single tasks: the cumulative error rate of each, axes beside axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of
from omtl.util.errors import UserError


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return axes for each of the panel's `tasks` (by name), one line per method.

    Raises
    ------
    UserError
        If the data set has no task of that name.
    """
    names = list(played[0].results[0].facts["task_names"])
    parts = []
    for task in panel.description.tasks:
        if task not in names:
            raise UserError(f"task_curves: no task {task!r}; there are {', '.join(names)}")
        k = names.index(task)
        lines = []
        for one in played:
            seen = one.results[0].arrays["seen_by_task"][:, k]
            curves = [
                100.0 * r.arrays["checkpoint_by_task"][p, :, k] / np.maximum(seen, 1)
                for r, p in one.at_chosen
            ]
            # A task that has run out of examples stays where it is.
            moving = np.flatnonzero(np.diff(seen, prepend=0))
            lines.append(
                line_of(
                    one.line.label,
                    seen[moving],
                    np.array(curves)[:, moving],
                    params=(one.most_chosen,),
                )
            )
        parts.append(
            Axes("examples of the task", "cumulative error rate (%)", tuple(lines), title=task)
        )
    return parts
