"""Precision and mean average precision against the number of ranks k (`omtl.measures.ranking`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, Line, PlannedPanel, Played

MEASURES = {"AP@k": "precision", "mAP@k": "average_precision"}
"""The arrays behind each measure."""


def axes_of(
    panel: PlannedPanel,  # noqa: ARG001
    played: Sequence[Played],
) -> list[Axes]:
    """Return axes for AP@k and for mAP@k on the test part, one line per method.

    In each repeat it is that of the point that the rule chose.
    """
    parts = []
    for title, name in MEASURES.items():
        lines = tuple(_of_measure(one, name) for one in played)
        ticks = tuple(lines[0].x.tolist())
        parts.append(Axes("k", "%", lines, ticks=ticks, title=title, error_bars=True))
    return parts


def _of_measure(one: Played, name: str) -> Line:
    ranks = 1 + np.arange(one.results[0].arrays[name].shape[1])
    return one.drawn(ranks, lambda result, point: result.arrays[name][point])
