"""Average ranks of a table's algorithms over its data sets, and their critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from omtl.evidence.comparisons import CONFIDENCE, shown
from omtl.measures.metrics import METRICS, Metric
from omtl.tables.scoring import Scored

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
    ranks, published : ndarray of shape (n_datasets, n_algorithms)
        By our means over the repeats, and by the published ones; ties share their mean rank.
    friedman, p : float
        Friedman's statistic with its p value; NaN for fewer than three algorithms.
    critical_difference : float
        Average ranks that differ by less are not distinguishable (Nemenyi's test at `CONFIDENCE`).
    """

    metric: str
    datasets: tuple[str, ...]
    algorithms: tuple[str, ...]
    ranks: np.ndarray
    published: np.ndarray
    friedman: float
    p: float
    critical_difference: float

    @property
    def tells(self) -> bool:
        """Whether the critical difference leaves room for ranks to differ."""
        return self.critical_difference <= WIDEST_SHARE * (len(self.algorithms) - 1)

    @property
    def average(self) -> np.ndarray:
        """Average rank of each algorithm."""
        return self.ranks.mean(axis=0)


def critical_difference(n_algorithms: int, n_datasets: int) -> float:
    """Return Nemenyi's critical difference of average ranks (Demšar 2006, section 3.2.2)."""
    q = stats.studentized_range.ppf(CONFIDENCE, n_algorithms, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_algorithms * (n_algorithms + 1) / (6.0 * n_datasets)))


def friedman(ranks: np.ndarray) -> tuple[float, float]:
    """Return Friedman's statistic, corrected for ties, and its p value.

    Parameters
    ----------
    ranks : ndarray of shape (n_datasets, n_algorithms)
    """
    if ranks.shape[1] < 3 or np.ptp(ranks) == 0.0:
        return np.nan, np.nan
    found = stats.friedmanchisquare(*ranks.T)
    return float(found.statistic), float(found.pvalue)


def rank(scored: Sequence[Scored], metric: str) -> Ranking | None:
    """Rank the paper's algorithms of a table on its data sets, over all tasks, by a metric.

    A data set counts if any algorithm was run on it; an algorithm counts if it was run on all of
    those. None where less than two of either are left.
    """
    run = {
        (s.cell.dataset, s.cell.algorithm): s
        for s in scored
        if s.cell.metric == metric and s.cell.task == "all" and s.values.size and not s.cell.is_ours
    }
    datasets = tuple(dict.fromkeys(data for data, _ in run))
    algorithms = tuple(
        name
        for name in dict.fromkeys(name for _, name in run)
        if all((data, name) in run for data in datasets)
    )
    if len(datasets) < 2 or len(algorithms) < 2:
        return None
    cells = [[run[data, name] for name in algorithms] for data in datasets]
    ours = np.array([[s.values.mean() for s in row] for row in cells])
    published = np.array([[float(s.cell.mean) for s in row] for row in cells])
    return ranking_of(METRICS[metric], datasets, algorithms, ours, published)


def ranking_of(
    metric: Metric,
    datasets: Sequence[str],
    algorithms: Sequence[str],
    means: np.ndarray,
    published: np.ndarray | None = None,
) -> Ranking:
    """Rank algorithms by their means, of shape (n_datasets, n_algorithms), and by published ones.

    Without published means, these ranks are those of ours.
    """
    sign = 1.0 if metric.lower_is_better else -1.0
    ranks = stats.rankdata(sign * means, axis=1)
    theirs = ranks if published is None else stats.rankdata(sign * published, axis=1)
    difference = critical_difference(len(algorithms), len(datasets))
    named = (metric.name, tuple(datasets), tuple(algorithms))
    return Ranking(*named, ranks, theirs, *friedman(ranks), difference)


def rankings(scored: Sequence[Scored]) -> list[Ranking]:
    """Return the rankings of a table by each of its metrics that is not a time."""
    metrics = dict.fromkeys(s.cell.metric for s in scored if not METRICS[s.cell.metric].timing)
    return [found for metric in metrics if (found := rank(scored, metric)) is not None]


def rank_rows(table: str, reading: str, found: Sequence[Ranking]) -> pd.DataFrame:
    """Return the rows of rankings, the best algorithm first."""
    rows = []
    for one in found:
        for i in np.argsort(one.average, kind="stable"):
            ranks = "; ".join(f"{data} {one.ranks[j, i]:g}" for j, data in enumerate(one.datasets))
            rows.append(
                (
                    *(table, reading, one.metric, one.algorithms[i], f"{one.average[i]:.3f}"),
                    f"{one.published[:, i].mean():.3f}",
                    *(str(len(one.datasets)), str(len(one.algorithms))),
                    *(shown(one.friedman), shown(one.p), f"{one.critical_difference:.3f}"),
                    ranks,
                )
            )
    return pd.DataFrame(rows, columns=RANKS)


def cliques(average: np.ndarray, difference: float) -> list[tuple[float, float]]:
    """Return the widest runs of average ranks that cannot be told apart, as (first, last).

    Parameters
    ----------
    average : ndarray of shape (n_algorithms,)
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
