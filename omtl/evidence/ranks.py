"""Average ranks of a table's algorithms over its data sets, and their critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import scipy  # which loads `scipy.stats` when it is used, as that takes half a second

from omtl.evidence.comparisons import CONFIDENCE, number_text
from omtl.measures.metrics import METRICS, Metric
from omtl.tables.cells import ALL_TASKS
from omtl.tables.verdict import OURS

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
        Friedman's statistic with its p value; NaN for fewer than three algorithms.
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


def friedman(ranks: np.ndarray) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p value.

    Parameters
    ----------
    ranks : ndarray of shape (n_datasets, n_algorithms)
    """
    if ranks.shape[1] < 3 or np.ptp(ranks) == 0.0:
        return np.nan, np.nan
    found = scipy.stats.friedmanchisquare(*ranks.T)
    return float(found.statistic), float(found.pvalue)


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
    difference = critical_difference(n_algorithms, n_datasets)
    return Ranking(metric.name, ranks, theirs, *friedman(ranks.to_numpy()), difference)


def rankings(cells: pd.DataFrame) -> list[Ranking]:
    """Return the rankings of a table by each of its metrics that tells which learner is better."""
    metrics = [metric for metric in cells["metric"].unique() if METRICS[metric].compares]
    return [found for metric in metrics if (found := rank(cells, metric)) is not None]


def rank_rows(table: str, reading: str, found: Sequence[Ranking]) -> pd.DataFrame:
    """Return the rows of rankings, the best algorithm first."""
    rows = []
    for one in found:
        for name, average in one.average.items():
            ranks = "; ".join(f"{data} {rank:g}" for data, rank in one.ranks[name].items())
            rows.append(
                (
                    *(table, reading, one.metric, name, f"{average:.3f}"),
                    f"{one.published[name].mean():.3f}",
                    *map(str, one.ranks.shape),
                    *(
                        number_text(one.friedman),
                        number_text(one.p),
                        f"{one.critical_difference:.3f}",
                    ),
                    ranks,
                )
            )
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
