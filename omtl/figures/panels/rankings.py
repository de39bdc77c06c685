"""Precision and mean average precision of rankings (`omtl.measures.ranking`), one line per method.

In each repeat they are those of the point of the grid that the rule chose, on the test part; 0 if
it diverged, as in the tables.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omtl.experiment.unit import Result
from omtl.figures.panels.axes import Axes, Curve, PlayedLine, line_of
from omtl.util.errors import UserError

MEASURES = {"AP@k": "precision", "mAP@k": "average_precision"}
"""The arrays behind each measure."""


def precision_at_k(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return axes for AP@k and for mAP@k against the number of ranks k."""

    def line(one: PlayedLine, name: str) -> Curve:
        ranks = 1 + np.arange(one.results[0].arrays[name].shape[1])
        return one.drawn(ranks, lambda result, point: result.arrays[name][point], worst=0.0)

    parts = []
    for title, name in MEASURES.items():
        lines = tuple(line(one, name) for one in played)
        ticks = tuple(lines[0].x.tolist())
        parts.append(Axes("k", lines, ticks=ticks, title=title, error_bars=True))
    return parts


def query_ratio(played: Sequence[PlayedLine]) -> list[Axes]:
    """Return axes for AP@k and mAP@k, at the panel's `rank` k, against the panel's `ratios`.

    A line that says ``varies: queries`` goes through all points of its grid, which query from few
    labels to most: in each repeat straight from one to the next, so that repeats can be compared at
    the same ratio. Ratios that a repeat does not reach are left out. Other methods see all labels,
    and are level lines.

    Raises
    ------
    UserError
        If a line varies in its queries, and its learner reports none or reaches no ratio.
    """
    rank = played[0].panel.rank
    ratios = np.array(played[0].panel.ratios, dtype=np.float64)

    def line(one: PlayedLine, name: str) -> Curve:
        if one.description.varies == "queries":
            if "queries" not in one.results[0].arrays:
                raise UserError(f"query_ratio: {one.label} reports no queries; set no varies")
            values = np.array(
                [through(r, r.arrays[name][:, rank - 1], ratios) for r in one.results]
            )
            reached = np.all(np.isfinite(values), axis=0)
            if not reached.any():
                raise UserError(f"query_ratio: {one.label} reaches no ratio; name others")
            return line_of(one.label, ratios[reached], values[:, reached])
        return one.drawn(
            ratios, lambda r, p: np.full(ratios.size, r.arrays[name][p, rank - 1]), worst=0.0
        )

    parts = []
    for title, name in MEASURES.items():
        lines = tuple(line(one, name) for one in played)
        at_rank = title.replace("k", str(rank))
        parts.append(Axes("share of labels queried", lines, title=at_rank, error_bars=True))
    return parts


def through(result: Result, values: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Return values at ratios between those of a result's points; nan beyond them."""
    asked = result.arrays["queries"].sum(axis=1) / result.arrays["examples"].sum()
    order = np.argsort(asked, kind="stable")
    return np.interp(ratios, asked[order], values[order], left=np.nan, right=np.nan)
