"""Statistics beside the tables: corrected tests, effect sizes, intervals, average ranks.

All comparisons that a table or figure decides under a reading are one family. A claim fails with
any one of its comparisons, so what must be bounded is the chance of even one wrong decision in the
family: Holm's correction does that whatever the comparisons share, and they share learners and
repeats. Of a claim that holds it asks more than it must: all its comparisons have to be sure at
once anyway. Benjamini and Yekutieli's q values, which bound the share of wrong decisions under any
dependence, are written beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import stats

from omtl.errors import UserError
from omtl.files import write_whole
from omtl.harness.claims import (
    CONFIDENCE,
    FAILS,
    HOLDS,
    UNDECIDED,
    Comparison,
    claims_of,
    judge_claim,
    judge_claim_on_figure,
)
from omtl.harness.figures.numbers import Shown, show_figure
from omtl.harness.figures.plan import plan_figure
from omtl.harness.figures.play import as_chosen
from omtl.harness.naming import by_reading
from omtl.harness.pictures import LOOK, SMALL, render
from omtl.harness.plan import describe, descriptions, plan_table
from omtl.harness.report import write_rows
from omtl.harness.store import Store
from omtl.harness.table import Scored, score_table
from omtl.metrics import METRICS
from omtl.seeds import generator

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Drawn
    from matplotlib.figure import Figure as Canvas

LEVEL = 1.0 - CONFIDENCE
"""Chance of a wrong decision that is allowed: in one comparison, or in a whole family."""

RESAMPLES = 9999
"""Resamples of a bootstrap interval."""

FEWEST = 5
"""A bootstrap interval needs so many repeats."""

COMPARISONS = (
    "paper",
    "claim",
    "reading",
    "comparison",
    "n_repeats",
    "mean",
    "low",
    "high",
    "bootstrap_low",
    "bootstrap_high",
    "effect",
    "p",
    "p_wilcoxon",
    "p_holm",
    "q_by",
    "outcome",
    "corrected",
)
"""Columns of ``results/statistics/<id>.claims.csv``."""

RANKS = (
    "table",
    "reading",
    "metric",
    "algorithm",
    "average_rank",
    "published_average_rank",
    "n_datasets",
    "n_algorithms",
    "friedman",
    "friedman_p",
    "critical_difference",
    "ranks",
)
"""Columns of ``results/statistics/<id>.csv``."""


def nearest_bound(comparison: Comparison) -> float:
    """Return the finite bound nearest to the mean: the one whose crossing would turn the outcome.

    It is NaN where there is none.
    """
    mean = float(comparison.differences.mean())
    finite = [bound for bound in comparison.bounds if np.isfinite(bound)]
    return min(finite, key=lambda bound: abs(mean - bound), default=np.nan)


def p_value(comparison: Comparison) -> float:
    """Return the two-sided p of Student's t test that the mean difference is the nearest bound.

    It is below `LEVEL` exactly where the interval of the comparison decides it.
    """
    away = comparison.differences - nearest_bound(comparison)
    if away.size < 2 or not np.isfinite(away).all():
        return 1.0
    error = stats.sem(away)
    if error == 0.0:  # the same difference in all repeats
        return 0.0 if away[0] else 1.0
    return float(2.0 * stats.t.sf(abs(away.mean()) / error, away.size - 1))


def p_signed_rank(comparison: Comparison) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test about the nearest bound."""
    away = comparison.differences - nearest_bound(comparison)
    if away.size < 2 or not np.isfinite(away).all() or not away.any():
        return 1.0
    return float(stats.wilcoxon(away).pvalue)


def effect_size(comparison: Comparison) -> float:
    """Return how far the mean difference is on the claim's side of its bound.

    In standard deviations of the paired differences; negative on the other side. For a bound of 0
    it is Cohen's d for paired samples, positive as claimed.
    """
    mean, (least, most) = float(comparison.differences.mean()), comparison.bounds
    inside = min(mean - least, most - mean)
    if comparison.differences.size < 2 or not np.isfinite(inside):
        return np.nan
    std = float(comparison.differences.std(ddof=1))
    if std == 0.0:
        return float(np.copysign(np.inf, inside)) if inside else 0.0
    return inside / std


def bootstrap_interval(comparison: Comparison, seed: int) -> tuple[float, float]:
    """Return the bootstrap interval of the mean difference, or ratio, over the repeats.

    Bias-corrected and accelerated (Efron), of `RESAMPLES` resamples; NaN with fewer than `FEWEST`
    repeats.
    """
    differences = comparison.differences
    if differences.size < FEWEST or not np.isfinite(differences).all():
        return np.nan, np.nan
    if np.ptp(differences) == 0.0:
        low = high = float(differences[0])
    else:
        low, high = stats.bootstrap(
            (differences,),
            np.mean,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="BCa",
            rng=generator(seed, of="bootstrap", comparison=comparison.relation),
        ).confidence_interval
    return (float(np.exp(low)), float(np.exp(high))) if comparison.ratio else (low, high)


def holm(p: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return p values corrected by Holm's method, in the order given.

    Parameters
    ----------
    p : array_like of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        Rejecting those that are at most α wrongly rejects any with a chance of at most α.
    """
    given = np.asarray(p, dtype=float)
    order = np.argsort(given, kind="stable")
    steps = (given.size - np.arange(given.size)) * given[order]
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def decided(comparison: Comparison, p: float) -> str:
    """Return a comparison's outcome by a p value: undecided unless it is below `LEVEL`."""
    if p >= LEVEL:
        return UNDECIDED
    least, most = comparison.bounds
    return HOLDS if least < comparison.differences.mean() < most else FAILS


def shown(number: float) -> str:
    """Return a number as text; nothing where there is none."""
    return "" if np.isnan(number) else f"{number:.4g}"


def judged(
    paper: str, kind: str, name: str, numbers: Sequence[Scored] | Sequence[Shown]
) -> list[tuple[str, Comparison]]:
    """Return all comparisons that a table or figure decides, each with its claim's id."""
    judge: Any = {"table": judge_claim, "figure": judge_claim_on_figure}[kind]
    return [
        (claim["id"], comparison)
        for claim in claims_of(paper)
        if claim.get(kind) == name
        for comparison in judge(claim, numbers)
    ]


def as_family(
    paper: str, reading: str, comparisons: Sequence[tuple[str, Comparison]], seed: int = 0
) -> pd.DataFrame:
    """Return the rows of a family of comparisons, those that were run corrected for being many.

    What several claims compare alike counts once.

    Parameters
    ----------
    paper, reading : str
    comparisons : sequence of (str, Comparison)
        Each with its claim's id.
    seed : int
        Of the bootstrap's resamples.
    """
    family = {_same(one): p_value(one) for _, one in comparisons if one.differences.size}
    raw = np.array(list(family.values()))
    shares = stats.false_discovery_control(raw, method="by") if raw.size else raw
    corrected = dict(zip(family, zip(raw, holm(raw), shares, strict=True), strict=True))
    rows = []
    for claim, one in comparisons:
        n = one.differences.size
        numbers: tuple[float, ...] = (np.nan,) * 10
        outcome = UNDECIDED
        if n:
            p, strict, share = corrected[_same(one)]
            mean = float(one.differences.mean())
            outcome = decided(one, strict)
            numbers = (
                float(np.exp(mean)) if one.ratio else mean,
                *(one.low, one.high),
                *bootstrap_interval(one, seed),
                *(effect_size(one), p, p_signed_rank(one), strict, share),
            )
        named = (paper, claim, reading, one.relation, str(n))
        rows.append((*named, *map(shown, numbers), one.outcome, outcome))
    return pd.DataFrame(rows, columns=COMPARISONS)


def _same(comparison: Comparison) -> tuple[bytes, tuple[float, float]]:
    """Return what two comparisons share if they are one and the same."""
    return comparison.differences.tobytes(), comparison.bounds


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
        Average ranks that differ by less cannot be told apart (Nemenyi's test at `LEVEL`).
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
    sign = 1.0 if METRICS[metric].lower_is_better else -1.0
    ours, published = (
        stats.rankdata(
            [[sign * number(run[data, name]) for name in algorithms] for data in datasets], axis=1
        )
        for number in (lambda s: s.mean, lambda s: float(s.cell.mean))
    )
    return Ranking(
        *(metric, datasets, algorithms, ours, published, *friedman(ours)),
        critical_difference(len(algorithms), len(datasets)),
    )


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


def draw(found: Sequence[Ranking], subtitle: str) -> Canvas:
    """Return the critical-difference diagrams of rankings, one below the other."""
    from matplotlib.figure import Figure as Canvas

    heights = [1.3 + 0.16 * len(one.algorithms) for one in found]
    canvas = Canvas(figsize=(6.4, sum(heights)), layout="constrained")
    canvas.supxlabel(subtitle, fontsize=SMALL, color="#777777")
    axes = canvas.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for one, on in zip(found, axes, strict=True):
        draw_ranking(one, on)
    return canvas


def draw_ranking(one: Ranking, on: Drawn) -> None:
    """Draw a critical-difference diagram (Demšar 2006, figure 1): the best rank is at the left."""
    n = len(one.algorithms)
    order, half = np.argsort(one.average, kind="stable"), (n + 1) // 2
    bars = cliques(one.average, one.critical_difference)
    top, depth = 0.35 * (len(bars) + 1), 0.6
    on.set_title(
        f"{one.metric}, {len(one.datasets)} data sets; Friedman p = {one.p:.2g}",
        fontsize=LOOK["axes.labelsize"],
        pad=16.0,
    )
    on.set(xlim=(1.0 - 0.42 * (n - 1), n + 0.42 * (n - 1)), yticks=[])
    on.set_ylim(top + depth * half + 0.3, -1.0)
    on.grid(False)
    for side in on.spines.values():
        side.set_visible(False)
    on.set_xticks([])
    on.plot([1, n], [0, 0], color="black", linewidth=1.0)
    for tick in range(1, n + 1):
        on.plot([tick, tick], [0, -0.12], color="black", linewidth=0.8)
        on.text(tick, -0.2, str(tick), ha="center", va="bottom", fontsize=SMALL)
    for place, i in enumerate(order):
        left = place < half
        down = top + depth * (place if left else n - 1 - place)
        end = 1.0 - 0.03 * n if left else n + 0.03 * n
        on.plot([one.average[i], one.average[i], end], [0, down, down], color="black", lw=0.7)
        on.text(
            end,
            down,
            f" {one.algorithms[i]} ({one.average[i]:.2f}) ",
            ha="right" if left else "left",
            va="center",
            fontsize=LOOK["xtick.labelsize"],
        )
    for level, (first, last) in enumerate(bars):
        y = 0.3 * (level + 1)
        on.plot([first - 0.03, last + 0.03], [y, y], color="#d55e00", linewidth=2.6)
    on.plot([1, min(n, 1 + one.critical_difference)], [-0.85, -0.85], color="black", linewidth=1.6)
    on.text(
        *(1.0, -0.92, f"critical difference {one.critical_difference:.2f}"),
        ha="left",
        va="bottom",
        fontsize=SMALL,
    )


def write_diagrams(found: Sequence[Ranking], stem: Path, subtitle: str) -> list[Path]:
    """Write critical-difference diagrams as svg and png; return their paths.

    The same rankings give the same bytes.
    """
    paths = []
    for form, content in render(lambda: draw(found, subtitle), stem.name).items():
        paths.append(stem.with_name(f"{stem.name}.{form}"))
        write_whole(paths[-1], content)
    return paths


def make_statistics(
    name: str,
    reading: Mapping[str, Any],
    *,
    store: Store,
    parallel: dict[str, Any],
    seed: int = 0,
    n_repeats: int | None = None,
    selection: str | None = None,
    folder: Path,
) -> list[Path]:
    """Write the statistics of a table or figure, from the store; return the paths.

    Its ``claims.csv`` has the comparisons of its claims; a table with several data sets also has a
    csv of average ranks and their diagrams.

    Parameters
    ----------
    name : str
        The table's or figure's id.
    reading : mapping
        A reading's config.
    store, parallel
        Where finished units are; how those are computed by which a figure's parameters are chosen.
    seed : int
    n_repeats, selection : optional
        As the description says by default.
    folder : Path
        Where the files go.

    Raises
    ------
    UserError
        If a name is unknown, or nothing of it is stored.
    """
    kind = "figure" if name in descriptions("figure") else "table"
    description = describe(kind, name)
    paper = description["paper"]
    n_repeats = n_repeats or description["repeats"]
    selection = selection or description["selection"]
    ranked: list[Ranking] = []
    numbers: Sequence[Scored] | Sequence[Shown]
    if kind == "table":
        table = plan_table(name, reading)
        numbers = score_table(table, store, seed, n_repeats, selection=selection)
        ranked = rankings(numbers)
        anything = any(s.values.size for s in numbers)
    else:
        figure = plan_figure(name, reading)
        figure = as_chosen(figure, store, parallel, seed, n_repeats, selection)
        numbers = show_figure(figure, store, seed, n_repeats, selection=selection)
        anything = any(panel.parts for panel in numbers)
    if not anything:
        raise UserError(
            f"{name}: nothing is stored for {n_repeats} repeats of reading {reading['name']}; "
            f"run `make reproduce-{kind} {kind.upper()}={name}` first"
        )
    rows = as_family(paper, reading["name"], judged(paper, kind, name, numbers), seed)
    paths = []
    if len(rows):
        paths.append(folder / f"{name}.claims.csv")
        write_rows(paths[-1], rows)
    if ranked:
        paths.append(folder / f"{name}.csv")
        write_rows(paths[-1], rank_rows(name, reading["name"], ranked))
        stem = by_reading(name, reading["name"])
        subtitle = f"{name}, reading {reading['name']}, selection {selection}, repeats {n_repeats}"
        paths += write_diagrams(ranked, folder / stem, subtitle)
    return paths
