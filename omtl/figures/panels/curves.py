"""Curves along a stream: errors as the examples or the tasks come, one line per method.

In each repeat a curve is that of the point of the grid that the rule chose. Where rates of errors
are shown, a play that diverged counts as wrong throughout, as in the tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.playing import setting_of
from omtl.experiment.unit import Result
from omtl.figures.panels.axes import Axes, Curve, PlayedLine, line_of
from omtl.measures.metrics import METRICS
from omtl.util.errors import UserError

WRONG = METRICS["error"].worst

POINTS = 100
"""Numbers of examples at which absolute errors are drawn, interpolated between ends of tasks."""


def learning_curves(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the cumulative error rate against the number of examples."""

    def rates(result: Result, point: int) -> np.ndarray:
        return 100.0 * result.arrays["checkpoint_mistakes"][point] / result.arrays["seen"]

    lines = tuple(one.drawn(one.results[0].arrays["seen"], rates, WRONG) for one in played)
    return [Axes("examples", lines)]


def task_curves(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the cumulative error rate of each of the panel's `tasks`, by name, axes by axes.

    Raises
    ------
    UserError
        If the data set has no task of that name.
    """

    def line(one: PlayedLine, k: int) -> Curve:
        seen = one.results[0].arrays["seen_by_task"][:, k]
        moving = np.flatnonzero(np.diff(seen, prepend=0))  # until its examples run out

        def rates(result: Result, point: int) -> np.ndarray:
            return 100.0 * result.arrays["checkpoint_by_task"][point, moving, k] / seen[moving]

        return one.drawn(seen[moving], rates, WRONG)

    names = list(played[0].results[0].facts["task_names"])
    parts = []
    for task in played[0].panel.tasks:
        if task not in names:
            raise UserError(f"task_curves: no task {task!r}; there are {', '.join(names)}")
        lines = tuple(line(one, names.index(task)) for one in played)
        parts.append(Axes("examples of the task", lines, title=task))
    return parts


def lifelong_error(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the mean error rate of the tasks met so far against their number.

    Published final rates are marked, unless the panel is a `stand_in` for data that the paper has.
    """

    def rates(result: Result, point: int) -> np.ndarray:
        ends = task_ends(result)
        wrong = np.diff(result.arrays["checkpoint_mistakes"][point, ends], prepend=0)
        met = np.diff(result.arrays["seen"][ends], prepend=0)
        return np.cumsum(100.0 * wrong / met) / np.arange(1, ends.size + 1)

    lines = tuple(
        one.drawn(1 + np.arange(task_ends(one.results[0]).size), rates, WRONG) for one in played
    )
    return [Axes("tasks met", lines)]


def last_task(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the errors on the last task of a lifelong stream against its examples in one repeat.

    The hyper-parameters are chosen over all repeats; the panel's `repeat` is the one that is shown.
    """
    shown = played[0].panel.repeat % len(played[0].results)
    lines = []
    for one in played:
        result, chosen = one.results[shown], one.chosen[shown]
        first = task_ends(result).size - 1
        wrong = result.arrays["checkpoint_mistakes"][chosen].astype(float)
        errors = wrong[first:] - (wrong[first - 1] if first else 0.0)
        met = np.arange(1, errors.size + 1)
        lines.append(line_of(one.label, met, errors[None], params=(one.named(chosen),)))
    setting = setting_of(played[0].units[shown])
    name = setting.tasks.names[setting.tasks.task[setting.stream.example[-1]]]
    title = f"last task of repeat {shown + 1}: {name}"
    return [Axes("examples of the task", tuple(lines), title=title)]


def task_ends(result: Result) -> np.ndarray:
    """Return at which checkpoints each task of a lifelong stream ends, shape (n_tasks,).

    Raises
    ------
    UserError
        If the result is of a stream of another kind.
    """
    seen, sizes = result.arrays["seen"], result.arrays["examples"]
    ends = np.append(np.arange(sizes.size - 1), seen.size - 1)
    # Which task came when is not stored, but the sizes must be those of the tasks in some order.
    met = np.diff(seen[ends], prepend=0) if ends[-1] >= sizes.size - 1 else np.empty(0)
    if not np.array_equal(np.sort(met), np.sort(sizes)):
        raise UserError(
            "the panel needs tasks that come one after the other; choose the protocol lifelong"
        )
    return ends


def absolute_error(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return the panel's metric, of real targets, as the examples or the tasks come.

    ``absolute_error`` is the mean error of all predictions so far, ``test_absolute_error`` that of
    the tasks so far on their examples held out.
    """

    def so_far(result: Result, point: int) -> tuple[np.ndarray, np.ndarray]:
        seen = result.arrays["seen"]
        x = np.ceil(np.arange(1, POINTS + 1) * seen[-1] / POINTS)
        lost = result.arrays["checkpoint_absolute"][point]
        return x, np.interp(x, np.append(0, seen), np.append(0.0, lost)) / x

    def tested(result: Result, point: int) -> tuple[np.ndarray, np.ndarray]:
        errors = result.arrays["test_absolute"][point, result.arrays["order"]]
        x = np.arange(1, errors.size + 1)
        return x, np.cumsum(errors) / x

    x_label, y_label, curve = {
        "absolute_error": ("examples", "mean absolute error so far", so_far),
        "test_absolute_error": ("tasks", "mean absolute test error", tested),
    }[played[0].panel.metric]
    found = [(one.label, one.over_repeats(curve)) for one in played]
    lines = tuple(line_of(label, curves[0, 0], curves[:, 1]) for label, curves in found)
    return [Axes(x_label, lines, y_label)]
