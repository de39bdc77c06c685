"""Learning curves: the cumulative error rate against the number of examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result
from omtl.figures.panels.axes import Axes, PlannedPanel, Played
from omtl.measures.metrics import METRICS


def axes_of(panel: PlannedPanel, played: Sequence[Played]) -> list[Axes]:
    """Return the cumulative error rate against the number of examples, one line per method.

    In each repeat it is that of the point that the rule chose; a play that diverged counts as wrong
    throughout, as in the tables.
    """
    lines = tuple(one.drawn(one.results[0].arrays["seen"], error_rates) for one in played)
    marks = panel.marks(played)
    return [Axes("examples", "cumulative error rate (%)", lines, marks=marks)]


def error_rates(result: Result, point: int) -> np.ndarray:
    """Return the error rate (%) up to each checkpoint."""
    seen = result.arrays["seen"]
    if result.arrays["diverged"][point] > 0:
        return np.full(seen.shape, METRICS["error"].worst)
    return 100.0 * result.arrays["checkpoint_mistakes"][point] / seen
