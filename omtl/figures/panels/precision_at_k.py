"""Precision and mean average precision against the number of ranks k (`omtl.measures.ranking`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.figures.panels.axes import Axes, PlannedPanel, Played, line_of

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
        lines = []
        for one in played:
            values = np.array([result.arrays[name][p] for result, p in one.at_chosen])
            ranks = np.arange(1, values.shape[1] + 1)
            lines.append(line_of(one.line.label, ranks, values, params=(one.most_chosen,)))
        ticks = tuple(lines[0].x.tolist())
        parts.append(Axes("k", "%", tuple(lines), ticks=ticks, title=title, error_bars=True))
    return parts
