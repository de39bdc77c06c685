"""Whether a whole row or column of a table lies above or below the printed numbers.

A row whose cells all match can still lie below the printed numbers in nearly every cell, which no
verdict on a single cell shows. The printed ± is compared too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from omtl.measures.correction import holm
from omtl.tables.scoring import Scored
from omtl.tables.verdict import JUDGED

ABOVE, BELOW, LEVEL = "above", "below", "level"
"""Where the cells of a row or column lie: above or below the printed numbers, or undecided."""

LEVEL_OF_TEST = 0.05

FEWEST = 3
"""Minimum number of judged cells for testing a row or column."""

COLUMNS = (
    "table",
    "reading",
    "selection",
    "part",
    "name",
    "metric",
    "cells",
    "above",
    "below",
    "mean_share",
    "low",
    "high",
    "p_sign",
    "p_t",
    "p_holm",
    "verdict",
    "spread_ratio",
    "spreads_differ",
)
"""Columns of ``results/reproduced/<id>.trends.csv``.

`part` is ``row`` (an algorithm) or ``column`` (a data set, with its task). `above` and `below`
count its judged cells whose mean is above and below the printed one; `mean_share` is the mean of
their differences as shares of the printed numbers, with its interval by Student's t, and `p_t` the
test that it is 0, corrected over all rows and columns of the table in `p_holm`; `p_sign` is the
sign test. `spread_ratio` is the median of our deviation over the printed ±, and `spreads_differ`
counts the cells whose deviations differ by an F test at 1 %.
"""

F_LEVEL = 0.01


@dataclass(frozen=True)
class Trend:
    """A row or column with the differences of its judged cells as shares of the printed numbers.

    `ratios` and `p_spreads` belong to cells with a printed ±: the ratio of our standard deviation
    to it, and the p value of the F test.
    """

    part: str
    name: str
    metric: str
    shares: np.ndarray
    ratios: np.ndarray
    p_spreads: np.ndarray
    p_holm: float = np.nan

    @property
    def above(self) -> int:
        """Number of cells above the printed number."""
        return int(np.sum(self.shares > 0.0))

    @property
    def below(self) -> int:
        """Number of cells below the printed number."""
        return int(np.sum(self.shares < 0.0))

    @property
    def mean(self) -> float:
        """Mean of the shares."""
        return float(self.shares.mean())

    @property
    def p(self) -> float:
        """p value of the t test that the mean share is 0."""
        spread = stats.sem(self.shares)
        if spread == 0.0:
            return float(self.mean == 0.0)
        return float(2.0 * stats.t.sf(abs(self.mean) / spread, self.shares.size - 1))

    @property
    def p_sign(self) -> float:
        """p value of the sign test."""
        n = self.above + self.below
        return float(stats.binomtest(self.above, n).pvalue) if n else 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """Confidence interval of the mean share."""
        quantile = stats.t.ppf(1.0 - LEVEL_OF_TEST / 2.0, self.shares.size - 1)
        half = float(quantile * stats.sem(self.shares))
        return self.mean - half, self.mean + half

    @property
    def verdict(self) -> str:
        """Where the cells lie."""
        if not self.p_holm <= LEVEL_OF_TEST:
            return LEVEL
        return ABOVE if self.mean > 0.0 else BELOW

    def __str__(self) -> str:
        """Return the trend as a sentence."""
        where = {ABOVE: self.above, BELOW: self.below}.get(self.verdict, 0)
        return (
            f"{self.name} lies {self.verdict} print: {where} of {self.shares.size} cells, "
            f"{100 * self.mean:+.1f} % on average (p = {self.p_holm:.2g})"
        )


def _is_judged(s: Scored) -> bool:
    if s.verdict not in JUDGED or s.difference is None or s.diverged:
        return False
    return math.isfinite(s.difference.share)


def trends(scored: Sequence[Scored]) -> list[Trend]:
    """Return the tests of all rows and columns of a table with enough judged cells."""
    parts: dict[tuple[str, str, str], list[Scored]] = {}
    for s in filter(_is_judged, scored):
        column = s.cell.dataset if s.cell.task == "all" else f"{s.cell.dataset}, {s.cell.task}"
        parts.setdefault(("row", s.cell.algorithm, s.cell.metric), []).append(s)
        parts.setdefault(("column", column, s.cell.metric), []).append(s)
    found = []
    for (part, name, metric), cells in parts.items():
        if len(cells) < FEWEST:
            continue
        shares = np.array([s.difference.share for s in cells if s.difference])
        spreads = np.array([s.spread for s in cells if s.spread]).reshape(-1, 2)
        found.append(Trend(part, name, metric, shares, spreads[:, 0], spreads[:, 1]))
    corrected = holm([trend.p for trend in found])
    found = [replace(t, p_holm=p) for t, p in zip(found, corrected, strict=True)]
    return sorted(found, key=lambda trend: trend.part != "row")


def sentences(scored: Sequence[Scored]) -> list[str]:
    """Return what rows and columns tell, a sentence for each that lies off print, and the ±'s."""
    found = trends(scored)
    sentences = [f"{trend.part} {trend}" for trend in found if trend.verdict != LEVEL]
    spreads = np.array([s.spread for s in filter(_is_judged, scored) if s.spread])
    if len(spreads):
        ratios, p = spreads.T
        sentences.append(
            "our deviation over shuffles of the same data is, in the median, "
            f"{np.median(ratios):.2f} times the printed ±; in {np.sum(p < F_LEVEL)} of {p.size} "
            f"cells it is not what the ± stands for (F test at {100 * F_LEVEL:g} %)"
        )
    return sentences


def frame(table: str, reading: str, selection: str, scored: Sequence[Scored]) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.trends.csv``, as text."""

    def row(t: Trend) -> tuple[Any, ...]:
        low, high = t.ends
        p = (f"{value:.4g}" for value in (t.p_sign, t.p, t.p_holm))
        ratio = f"{np.median(t.ratios):.4f}" if t.ratios.size else ""
        differ = str(np.sum(t.p_spreads < F_LEVEL)) if t.ratios.size else ""
        return (
            *(table, reading, selection, t.part, t.name, t.metric),
            *(str(t.shares.size), str(t.above), str(t.below)),
            *(f"{value:.4f}" for value in (t.mean, low, high)),
            *(*p, t.verdict, ratio, differ),
        )

    return pd.DataFrame([row(trend) for trend in trends(scored)], columns=COLUMNS)
