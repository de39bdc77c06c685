"""Average ranks of a table's algorithms over its data sets, and their critical difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import scipy  # which loads `scipy.stats` when it is used, as that takes half a second

from omtl.evidence.comparisons import CONFIDENCE
from omtl.figures.pictures import SMALL, render
from omtl.measures.metrics import METRICS, Metric
from omtl.tables.cells import ALL_TASKS, number_text
from omtl.tables.verdict import OURS
from omtl.util.result_files import write_all

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn
    from matplotlib.figure import Figure as Canvas

RANKS = (
    *("table", "reading", "metric", "algorithm"),
    *("average_rank", "published_average_rank"),
    *("n_datasets", "n_algorithms"),
    *("friedman", "friedman_p", "critical_difference", "ranks"),
)
"""Columns of ``results/statistics/<id>.csv``."""

WIDEST_SHARE = 0.8
"""A critical difference above this share of the range of ranks decides almost nothing."""


@dataclass(frozen=True)
class Ranking:
    """Algorithms ranked on several data sets by a metric; 1 is the best.

    Parameters
    ----------
    ranks, published : DataFrame
        A row for each data set and a column for each algorithm: ranks by our means over the
        repeats, and by the published ones; ties share their mean rank.
    friedman, p : float
        Friedman's statistic, corrected for ties, with its p value; NaN for fewer than three
        algorithms.
    critical_difference : float
        Average ranks that differ by less are not distinguishable (Nemenyi's test at `CONFIDENCE`).
    """

    metric: str
    ranks: pd.DataFrame
    published: pd.DataFrame
    friedman: float
    p: float
    critical_difference: float

    @property
    def tells(self) -> bool:
        """Whether the critical difference leaves room for ranks to differ."""
        return self.critical_difference <= WIDEST_SHARE * (self.ranks.shape[1] - 1)

    @cached_property
    def average(self) -> dict[str, float]:
        """Average rank of each algorithm, the best first."""
        average = self.ranks.mean().sort_values(kind="stable")
        return {str(name): float(rank) for name, rank in average.items()}


def critical_difference(n_algorithms: int, n_datasets: int) -> float:
    """Return Nemenyi's critical difference of average ranks (Demšar 2006, section 3.2.2)."""
    q = scipy.stats.studentized_range.ppf(CONFIDENCE, n_algorithms, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_algorithms * (n_algorithms + 1) / (6.0 * n_datasets)))


def rank(cells: pd.DataFrame, metric: str) -> Ranking | None:
    """Rank the paper's algorithms of a table on its data sets, over all tasks, by a metric.

    A data set counts if any algorithm was run on it. None where nothing can be ranked.
    """
    of_paper = (cells["metric"] == metric) & (cells["task"] == ALL_TASKS) & (cells["kind"] != OURS)
    run = cells[of_paper & (cells["n_repeats"] > 0)].astype({"published_mean": float})
    order = run["dataset"].unique(), run["algorithm"].unique()
    ours, published = (
        run.pivot(index="dataset", columns="algorithm", values=of).loc[order]
        for of in ("ours_mean", "published_mean")
    )
    return ranking_of(METRICS[metric], ours, published)


def ranking_of(
    metric: Metric, means: pd.DataFrame, published: pd.DataFrame | None = None
) -> Ranking | None:
    """Rank algorithms, the columns, by their means on data sets, the rows, and by published ones.

    An algorithm counts if it has a mean on all data sets. None where less than two of either are
    left. Without published means, these ranks are those of ours.
    """
    means = means.dropna(axis="columns")
    if min(means.shape) < 2:
        return None
    sign = metric.sign
    ranks = (sign * means).rank(axis="columns")
    theirs = ranks if published is None else (sign * published[ranks.columns]).rank(axis="columns")
    n_datasets, n_algorithms = ranks.shape
    friedman = p = math.nan
    if n_algorithms > 2 and np.ptp(ranks.to_numpy()):
        friedman, p = map(float, scipy.stats.friedmanchisquare(*ranks.to_numpy().T))
    difference = critical_difference(n_algorithms, n_datasets)
    return Ranking(metric.name, ranks, theirs, friedman, p, difference)


def rankings(cells: pd.DataFrame) -> list[Ranking]:
    """Return the rankings of a table by each of its metrics that shows which learner is better."""
    metrics = [metric for metric in cells["metric"].unique() if METRICS[metric].compares]
    return [found for metric in metrics if (found := rank(cells, metric)) is not None]


def rank_rows(table: str, reading: str, found: Sequence[Ranking]) -> pd.DataFrame:
    """Return the rows of rankings, the best algorithm first."""
    rows = [
        {
            "table": table,
            "reading": reading,
            "metric": one.metric,
            "algorithm": name,
            "average_rank": f"{average:.3f}",
            "published_average_rank": f"{one.published[name].mean():.3f}",
            "n_datasets": str(one.ranks.shape[0]),
            "n_algorithms": str(one.ranks.shape[1]),
            "friedman": number_text(one.friedman),
            "friedman_p": number_text(one.p),
            "critical_difference": f"{one.critical_difference:.3f}",
            "ranks": "; ".join(f"{data} {rank:g}" for data, rank in one.ranks[name].items()),
        }
        for one in found
        for name, average in one.average.items()
    ]
    return pd.DataFrame(rows, columns=RANKS)


def cliques(average: Sequence[float], difference: float) -> list[tuple[float, float]]:
    """Return the widest runs of average ranks that cannot be told apart, as (first, last).

    Parameters
    ----------
    average : sequence of float
    difference : float
        The critical difference.
    """
    ordered = np.sort(average)
    runs: list[tuple[float, float]] = []
    for first in ordered:
        last = float(ordered[ordered <= first + difference].max())
        if last > first and (not runs or last > runs[-1][1]):
            runs.append((float(first), last))
    return runs


def draw_rankings(found: Sequence[Ranking], subtitle: str) -> Canvas:
    """Return the critical-difference diagrams of rankings, one below the other."""
    from matplotlib.figure import Figure as Canvas

    heights = [1.3 + 0.16 * len(one.average) for one in found]
    canvas = Canvas(figsize=(6.4, sum(heights)), layout="constrained")
    canvas.supxlabel(subtitle, color="#777777")
    axes = canvas.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for one, on in zip(found, axes, strict=True):
        draw_ranking(one, on)
    return canvas


def draw_ranking(one: Ranking, on: Drawn) -> None:
    """Draw a critical-difference diagram (Demšar 2006, figure 1): the best rank is at the left."""
    n, half = len(one.average), (len(one.average) + 1) // 2
    bars = cliques(list(one.average.values()), one.critical_difference)
    top, depth = 0.35 * (len(bars) + 1), 0.6
    test = "" if math.isnan(one.p) else f"; Friedman p = {one.p:.2g}"
    on.set_title(f"{one.metric}, {len(one.ranks)} data sets{test}", pad=16.0)
    limits = {"xlim": (1.0 - 0.42 * (n - 1), n + 0.42 * (n - 1))}
    limits["ylim"] = (top + depth * half + 0.3, -1.0)
    on.set(**limits, xticks=[], yticks=[])
    on.grid(False)
    on.spines[:].set_visible(False)
    on.plot([1, n], [0, 0], color="black", linewidth=1.0)
    for tick in range(1, n + 1):
        on.plot([tick, tick], [0, -0.12], color="black", linewidth=0.8)
        on.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=SMALL)
    for place, (name, average) in enumerate(one.average.items()):
        left = place < half
        down = top + depth * (place if left else n - 1 - place)
        end, side = (1.0 - 0.03 * n, "right") if left else (n + 0.03 * n, "left")
        on.plot([average, average, end], [0, down, down], color="black", lw=0.7)
        on.text(end, down, f" {name} ({average:.2f}) ", ha=side, va="center", fontsize=8)
    for level, (first, last) in enumerate(bars):
        y = 0.3 * (level + 1)
        on.plot([first - 0.03, last + 0.03], [y, y], color="#d55e00", linewidth=2.6)
    on.plot([1, min(n, 1 + one.critical_difference)], [-0.85, -0.85], color="black", linewidth=1.6)
    told = f"critical difference {one.critical_difference:.2f}"
    on.text(1.0, -0.92, told, ha="left", va="bottom", fontsize=SMALL)


def write_diagrams(
    found: Sequence[Ranking], stem: Path, subtitle: str, forms: Sequence[str] = ("svg",)
) -> list[Path]:
    """Write critical-difference diagrams in some forms; return their paths.

    The same rankings give the same bytes.
    """
    pictures = render(lambda: draw_rankings(found, subtitle), stem.name, forms)
    return write_all(stem.parent, {f"{stem.name}.{form}": p for form, p in pictures.items()})
