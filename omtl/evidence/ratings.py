"""Queries on the board's cells: ratings, what sharing gains, each learner in words, the order.

Two learners played on the same repeat of a data set fight a battle, and the one with the better
number wins; equal numbers are half a win for each. Averages are never compared, so a data set on
which all are bad has no more weight than another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from omtl.evidence.comparisons import FEWEST, LEVEL, REGION, beside, p_of
from omtl.experiment.specs import DataSetSpec
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS
from omtl.util.seeds import generator

if TYPE_CHECKING:
    from omtl.evidence.board import BoardSpec

SCALE, CENTRE = 400.0, 1000.0
"""The Elo scale: 400 points mean odds of ten to one, and the mean of all entrants is 1000."""

PRIOR = 0.5
"""Initial wins and losses of each entrant against a player of mean strength: without them, a
learner that wins all battles would be infinitely strong."""

STEPS, LONGEST, TOLERANCE = 100, 2.0, 1e-10
"""Newton's method: number of steps, maximum step length, and tolerance."""

RESAMPLES = 1000
"""Of the bootstrap of a rating."""

MARKS = {"cut off": 0.5, "narrow": 0.1}
"""What a grid is marked as with more than a share of its learner's choices at an edge."""

REGRET = "regret"
"""The column of the hinge loss beyond that of the best fixed weights, per hundred examples."""

REGRET_IN_WORDS = (
    "Regret is the hinge loss per hundred examples beyond that of the best fixed weights of each "
    "task, in the median over data sets; a learner whose weights stay zero has a loss of 100."
)

SHARING = ("family", "dataset", "beside", "ratio", "low", "high", "outcome")
"""A row for each family, data set and what the sharing learner stands beside.

`ratio` is the geometric mean over the repeats of its mistakes over the other's, with an interval of
95%; `outcome` is of the region of practical equivalence (`omtl.evidence.comparisons.REGION`).
"""

NAMED, MOST = 4, 0.5
"""Data sets that a line names at most, and the share of the other learners to beat on each."""

FIRST, HALVES = 10, 200
"""Learners that count in how alike halves of the data order them, and how often they are drawn."""


def numbers(found: pd.DataFrame) -> tuple[list[str], dict[str, np.ndarray]]:
    """Return the learners of cells, and their numbers on each data set.

    Returns
    -------
    learners : list of str
    values : dict of str to ndarray of shape (n_learners, n_repeats)
        By data set; NaN where a learner has none. Data sets on which fewer than two have numbers
        are left out.
    """
    learners = list(dict.fromkeys(found["algorithm"]))
    values = {}
    for dataset, rows in found.groupby("dataset", sort=False):
        texts = dict(zip(rows["algorithm"], rows["values"], strict=True))
        given = {name: np.array(text.split(), float) for name, text in texts.items() if text}
        if len(given) > 1:
            n = min(each.size for each in given.values())
            none = np.full(n, np.nan)
            values[str(dataset)] = np.array([given.get(name, none)[:n] for name in learners])
    return learners, values


def won(values: np.ndarray, region: float = 0.0) -> np.ndarray:
    """Return the winner of each battle.

    Parameters
    ----------
    values : ndarray of shape (n_learners, n_repeats)
        Numbers, lower is better, of either sign; NaN if a learner has none.
    region : float
        Numbers within this share of each other are equal.

    Returns
    -------
    ndarray of shape (n_repeats, n_learners, n_learners)
        1 if the row's learner beat the column's, ½ for a tie, 0 if it lost, and NaN without a
        battle.
    """
    worse = values * (1.0 + region) ** np.sign(values)
    wins = worse.T[:, :, None] < values.T[:, None, :]
    found = np.where(wins, 1.0, np.where(wins.swapaxes(1, 2), 0.0, 0.5))
    lacking = np.isnan(values.T)
    none = lacking[:, :, None] | lacking[:, None, :] | np.eye(values.shape[0], dtype=bool)
    return np.where(none, np.nan, found)


def count_wins(battles: Sequence[np.ndarray]) -> np.ndarray:
    """Return each learner's wins over each other, with each data set counting as one battle.

    Parameters
    ----------
    battles : sequence of ndarray of shape (n_repeats, n_learners, n_learners)
        Those of each data set.
    """
    wins = np.zeros(battles[0].shape[1:])
    for each in battles:
        fought = ~np.isnan(each)
        wins += np.where(fought, each, 0.0).sum(axis=0) / np.maximum(fought.sum(axis=0), 1)
    return wins


def elo(wins: np.ndarray) -> np.ndarray:
    """Return the ratings of the Bradley-Terry model, on Elo's scale.

    The probability that i beats j is p_i / (p_i + p_j); Newton's method finds the strengths of
    maximum likelihood.

    Parameters
    ----------
    wins : ndarray of shape (..., n_learners, n_learners)
        Number of the row's learner's wins against the column's; a tie is half a win.

    Returns
    -------
    ndarray of shape (..., n_learners)
    """
    fought = wins + np.swapaxes(wins, -1, -2)
    mine = wins.sum(axis=-1)
    s = np.zeros(mine.shape)
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(s[..., None, :] - s[..., :, None]))
        alone = 1.0 / (1.0 + np.exp(-s))
        slope = mine - (fought * chance).sum(axis=-1) + PRIOR * (1.0 - 2.0 * alone)
        bend = fought * chance * (1.0 - chance)
        own = bend.sum(axis=-1) + 2.0 * PRIOR * alone * (1.0 - alone)
        curvature = own[..., None] * np.eye(s.shape[-1]) - bend
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        s += np.clip(step, -LONGEST, LONGEST)
        if np.max(np.abs(step)) < TOLERANCE:
            break
    points = SCALE / np.log(10.0) * s
    return CENTRE + points - points.mean(axis=-1, keepdims=True)


def resampled(battles: Sequence[np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
    """Return bootstrap ratings: data sets and their repeats are resampled with replacement.

    Parameters
    ----------
    battles : sequence of ndarray of shape (n_repeats, n_learners, n_learners)
        Those of each data set.
    n : int
        Number of resamples.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n, n_learners)
    """
    found = []
    for _ in range(n):
        drawn = rng.integers(len(battles), size=len(battles))
        again = [battles[d][rng.integers(len(battles[d]), size=len(battles[d]))] for d in drawn]
        found.append(count_wins(again))
    return elo(np.array(found))


def ranking(
    found: pd.DataFrame, metric: str, seed: int = 0, more: Sequence[str] = ()
) -> pd.DataFrame:
    """Return one row per learner, with the highest rating first.

    Ratings are relative to the learners in `found`; ``low`` and ``high`` are the ends of the 95%
    bootstrap interval, which fewer than `FEWEST` repeats of all data sets do not have. In the
    shares of battles, ``win``, ``tie`` and ``loss``, numbers within
    `omtl.evidence.comparisons.REGION` of each other are a tie.

    Parameters
    ----------
    found : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    metric : str
        The metric that decides battles.
    seed : int
        Seed of the bootstrap.
    more : sequence of str
        Further columns, of which the mean over data sets is shown, and the median of `REGRET`.
    """
    values = {name: METRICS[metric].sign * one for name, one in numbers(found)[1].items()}
    if not values:
        return pd.DataFrame()
    battles = {name: won(one) for name, one in values.items()}
    again = resampled([*battles.values()], RESAMPLES, generator(seed, of="board"))
    enough = sum(map(len, battles.values())) >= FEWEST
    low, high = np.quantile(again, (0.025, 0.975), axis=0) if enough else (np.nan, np.nan)
    near = [won(one, REGION) for one in values.values()]
    shares = {
        word: count_wins([np.where(np.isnan(b), np.nan, b == score) for b in near]).sum(axis=1)
        for word, score in {"win": 1.0, "tie": 0.5, "loss": 0.0}.items()
    }
    fought = np.maximum(sum(shares.values()), 1e-300)
    rated = {"elo": elo(count_wins([*battles.values()])), "low": low, "high": high}
    rated |= {word: share / fought for word, share in shares.items()}
    synthetic = {name for name in battles if DataSetSpec.named(name).is_synthetic}
    for column, named in (("real", battles.keys() - synthetic), ("synthetic", synthetic)):
        part = [one for name, one in battles.items() if name in named]
        rated[column] = elo(count_wins(part)) if 0 < len(part) < len(battles) else np.nan
    digits = dict.fromkeys(rated, 1) | dict.fromkeys(shares, 4)
    about = found.drop_duplicates("algorithm").set_index("algorithm", drop=False)
    table = about[["algorithm", "label"]].assign(**rated).round(digits)
    table["data_sets"] = np.sum([~np.isnan(one[:, 0]) for one in values.values()], axis=0)
    table["points"] = about["points"]
    over_data = dict.fromkeys(("edge", "ties", *more), "mean") | dict.fromkeys(
        {REGRET} & {*more}, "median"
    )
    table = table.join(found.groupby("algorithm").agg(over_data).round(3))
    marked = [table["edge"] > share for share in MARKS.values()]
    table["grid"] = np.select(marked, [*MARKS], "")
    table = table[table["data_sets"] > 0].rename_axis(None)
    return table.sort_values(["elo", "algorithm"], ascending=[False, True], ignore_index=True)


def beside_median(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """Return each learner's cost beside the median learner's, a geometric mean over data sets."""
    taken = rows.dropna(subset=column).astype({column: float})
    wide = taken.pivot(index="dataset", columns="algorithm", values=column).map(np.log)
    ratios = wide.sub(wide.median(axis=1), axis=0).mean().map(np.exp)
    return {str(name): float(ratio) for name, ratio in ratios.items()}


def sharing(cells: pd.DataFrame, families: Mapping[str, Mapping[str, str]]) -> pd.DataFrame:
    """Return the gain from sharing in each family on each data set.

    Parameters
    ----------
    cells : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    families : mapping
        Names of the ``alone``, ``pooled`` and ``shared`` learners, by family.
    """
    learners, values = numbers(cells)
    frames = {data: pd.DataFrame(each, learners).dropna() for data, each in values.items()}
    of = {data: dict(zip(one.index, one.to_numpy(), strict=True)) for data, one in frames.items()}
    rows = [
        {"family": family, "dataset": dataset, "beside": other}
        | beside(each[members["shared"]], each[members[other]], lower_is_better=True)
        for family, members in families.items()
        for dataset, each in of.items()
        for other in ("alone", "pooled")
        if {members["shared"], members.get(other)} <= each.keys()
    ]
    return pd.DataFrame(rows, columns=SHARING)


def count_sharing(rows: pd.DataFrame) -> pd.DataFrame:
    """Return how often sharing is better, equivalent, undecided and worse, by family."""
    order = ["better", "equivalent", "undecided", "worse"]
    table = pd.crosstab([rows["family"], rows["beside"]], rows["outcome"])
    return table.reindex(columns=order, fill_value=0).reset_index()


def decided(values: np.ndarray) -> np.ndarray:
    """Return which learners are better than which, by paired tests.

    Parameters
    ----------
    values : ndarray of shape (n_learners, n_repeats)
        Numbers of which the lower is the better; NaN where a learner has none.

    Returns
    -------
    ndarray of shape (n_learners, n_learners)
        1 if the row's learner is better than the column's, -1 if it is worse, 0 if the paired t
        test, with Holm's correction over all comparisons of the row's learner, does not decide.
    """
    difference = values[:, None, :] - values[None, :, :]
    mean, p = difference.mean(axis=2), p_of(difference)
    found = np.zeros(mean.shape, dtype=int)
    for i in range(len(values)):
        others = np.flatnonzero(~np.isnan(mean[i]) & (np.arange(len(values)) != i))
        sure = others[holm(p[i, others]) < LEVEL]
        found[i, sure] = -np.sign(mean[i, sure]).astype(int)
    return found


def summary_lines(
    found: pd.DataFrame, metric: str, names: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return three sentences about each learner: where it wins, where it loses, and against which.

    Parameters
    ----------
    found : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    metric : str
    names : mapping
        The display names of data sets.
    """
    learners, values = numbers(found)
    sign, labels = METRICS[metric].sign, found.drop_duplicates("algorithm")["label"].tolist()
    sides = {
        names.get(data, data): pd.DataFrame(decided(sign * each), learners, labels)
        for data, each in values.items()
    }
    on = pd.concat(sides, names=["dataset", "learner"])
    of_learners = {}
    for learner in learners:
        mine = pd.DataFrame(on.xs(learner, level="learner"))
        wins, losses = mine == 1, mine == -1
        of_learners[learner] = [
            _where("Better than most others", wins),
            _where("Worse than most others", losses),
            f"Most often better than {_most_often(wins)}; "
            f"most often worse than {_most_often(losses)}.",
        ]
    return of_learners


def _where(what: str, found: pd.DataFrame) -> str:
    """Return on which data sets, the rows, most others are among those that are found."""
    counts, others = found.sum(axis="columns"), found.shape[1] - 1
    best = counts[counts > MOST * others].sort_values(ascending=False, kind="stable")
    if best.empty:
        return f"{what} on no data set."
    shown = ", ".join(f"{data} ({count} of {others})" for data, count in best[:NAMED].items())
    more = f" and {len(best) - NAMED} more" if len(best) > NAMED else ""
    return f"{what} on {len(best)} of {len(counts)} data sets: {shown}{more}."


def _most_often(found: pd.DataFrame) -> str:
    """Return the two learners, of the columns, that are found on most data sets."""
    counts = found.sum().sort_values(ascending=False, kind="stable")[:2]
    named = [f"{label} (on {n} of {len(found)})" for label, n in counts.items() if n]
    return ", ".join(named) or "none"


def agreement_of_halves(
    values: Sequence[np.ndarray], of: str, first: int, n: int, rng: np.random.Generator
) -> float:
    """Return how alike random halves order the learners that all numbers together put first.

    Parameters
    ----------
    values : sequence of ndarray of shape (n_learners, n_repeats)
        Numbers on each data set, lower is better; NaN if a learner has none.
    of : str
        What is halved: the ``data sets``, or the ``repeats`` on each of them.
    first : int
        How many learners count.
    n : int
        Number of ways in which they are halved.
    rng : numpy.random.Generator

    Returns
    -------
    float
        The mean of Kendall's τ between the ratings on the two halves; NaN if a half is empty or
        there are fewer than two learners.
    """
    battles = [won(each) for each in values]
    least = len(battles) if of == "data sets" else min(map(len, battles))
    if least < 2 or len(values[0]) < 2:
        return np.nan
    best = np.argsort(-elo(count_wins(battles)), kind="stable")[:first]
    wins = []
    for _ in range(n):
        if of == "data sets":
            halves = _halved([*range(len(battles))], rng)
            wins.append([count_wins([battles[d] for d in half]) for half in halves])
        else:
            parts = [_halved(each, rng) for each in battles]
            wins.append([count_wins(half) for half in zip(*parts, strict=True)])
    rated = elo(np.array(wins))[..., best]
    return float(np.mean([kendalltau(*halves).statistic for halves in rated]))


def _halved(some: Any, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return two random halves, the first of which may have one fewer."""
    shuffled = rng.permutation(some)
    return shuffled[: len(some) // 2], shuffled[len(some) // 2 :]


def order_notes(
    found: pd.DataFrame, ranked: pd.DataFrame, config: BoardSpec, seed: int = 0
) -> list[str]:
    """Return how far the order depends on the data sets, and whose learners are on top.

    Parameters
    ----------
    found : DataFrame
        Rows of `omtl.evidence.board.CELLS`.
    ranked : DataFrame
        Their `ranking`.
    config : BoardSpec
        Its `own` are the learners of this project's own making.
    seed : int
        Seed of the halves.
    """
    notes = []
    values = [METRICS[config.metric].sign * one for one in numbers(found)[1].values()]
    agreement = {
        what: agreement_of_halves(values, what, FIRST, HALVES, generator(seed, of="halves"))
        for what in ("data sets", "repeats")
    }
    shown = [f"{tau:.2f} between random halves of the {what}" for what, tau in agreement.items()]
    shown = [text for text in shown if not text.startswith("nan")]
    if len(ranked) > FIRST and shown:
        notes.append(
            f"Kendall's τ of the first {FIRST} learners is on average {', and '.join(shown)}."
        )
    if len(ranked) > FIRST and ranked["real"].notna().all():
        alike = ranked["real"].corr(ranked["synthetic"], method="spearman")
        notes.append(
            f"Ratings on real and on synthetic data have a rank correlation of {alike:.2f}."
        )
    own = ranked[ranked["algorithm"].str.partition("@")[0].isin(config.own)]
    first = own[own.index < FIRST]
    if len(first):
        notes.append(
            f"{len(own)} of the {len(ranked)} learners are this project's own, {len(first)} of "
            f"them among the first {FIRST}: {', '.join(first['label'])}."
        )
    return notes
