"""The cumulative errors of the last task of a lifelong stream, example by example."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result, setting_of
from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of
from omtl.figures.panels.lifelong_error import task_ends


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the errors on the last task against its examples in one repeat, one line per method.

    The hyper-parameters are chosen over all repeats; the panel's `repeat` is the one that is shown.
    """
    shown = panel.description.repeat % len(played[0].results)
    lines = []
    for one in played:
        chosen = one.chosen[shown]
        errors = last_errors(one.results[shown], chosen)
        met = np.arange(1, errors.size + 1)
        lines.append(line_of(one.line.label, met, errors[None], params=(one.named(chosen),)))
    setting = setting_of(played[0].units[shown])
    name = setting.tasks.names[setting.tasks.task[setting.stream.example[-1]]]
    title = f"last task of repeat {shown + 1}: {name}"
    return [Axes("examples of the task", "cumulative errors", tuple(lines), title=title)]


def last_errors(result: Result, point: int) -> np.ndarray:
    """Return the errors on the last task up to each of its examples, shape (n_examples,)."""
    first = int(task_ends(result).size) - 1
    wrong = result.arrays["checkpoint_mistakes"][point].astype(float)
    return wrong[first:] - (wrong[first - 1] if first else 0.0)
