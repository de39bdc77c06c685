"""Absolute errors on real targets, task after task: of predictions so far, or of tests of tasks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result
from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of

POINTS = 100
"""Numbers of examples at which errors are drawn, interpolated between the ends of tasks."""


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the panel's metric as the examples or the tasks come, a line a method.

    ``absolute_error`` is the mean error of all predictions so far, ``test_absolute_error`` that of
    the tasks so far on their examples held out.
    """
    x_label, y_label, curve = CURVES[panel.description.metric]
    found = [(one.line.label, one.over_repeats(curve)) for one in played]
    lines = tuple(line_of(label, curves[0, 0], curves[:, 1]) for label, curves in found)
    return [Axes(x_label, y_label, lines, marks=panel.marks(played))]


def _so_far(result: Result, point: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of examples, and the mean error of so many predictions."""
    seen = result.arrays["seen"]
    x = np.ceil(np.arange(1, POINTS + 1) * seen[-1] / POINTS)
    lost = result.arrays["checkpoint_absolute"][point]
    return x, np.interp(x, np.append(0, seen), np.append(0.0, lost)) / x


def _tested(result: Result, point: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of tasks, and the mean test error of so many tasks, in their order."""
    errors = result.arrays["test_absolute"][point, result.arrays["order"]]
    x = np.arange(1, errors.size + 1)
    return x, np.cumsum(errors) / x


CURVES = {
    "absolute_error": ("examples", "mean absolute error so far", _so_far),
    "test_absolute_error": ("tasks", "mean absolute test error", _tested),
}
