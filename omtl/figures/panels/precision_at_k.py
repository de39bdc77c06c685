"""Precision and mean average precision against the number of ranks k (`omtl.measures.ranking`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omtl.experiment.selection import select
from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of

MEASURES = {"AP@k": "precision", "mAP@k": "average_precision"}
"""The arrays behind each measure."""


def axes_of(
    panel: PlannedPanel,  # noqa: ARG001
    played: Sequence[Played],
    rule: Mapping[str, Any],
) -> list[Axes]:
    """Return axes for AP@k and for mAP@k on the test part, one line per method.

    In each repeat it is that of the point that the rule chose.
    """
    chosen = [select(one.results, one.line.experiment.points, rule) for one in played]
    parts = []
    for title, name in MEASURES.items():
        lines = []
        for one, points in zip(played, chosen, strict=True):
            values = np.array(
                [result.arrays[name][p] for result, p in zip(one.results, points, strict=True)]
            )
            ranks = np.arange(1, values.shape[1] + 1)
            params = (one.named(int(np.bincount(points).argmax())),)
            lines.append(line_of(one.line.label, ranks, values, params=params))
        ticks = tuple(lines[0].x.tolist())
        parts.append(Axes("k", "%", tuple(lines), ticks=ticks, title=title, error_bars=True))
    return parts
