"""Battles of learners, repeat by repeat, and the ratings that follow from them.

Two learners played on the same repeat of a data set fight a battle, and the one with the better
number wins; equal numbers are half a win for each. Averages are never compared, so a data set on
which all are bad has no more weight than another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

SCALE, CENTRE = 400.0, 1000.0
"""The Elo scale: 400 points mean odds of ten to one, and the mean of all entrants is 1000."""

PRIOR = 0.5
"""Initial wins and losses of each entrant against a player of mean strength: without them, a
learner that wins all battles would be infinitely strong."""

STEPS, LONGEST, TOLERANCE = 100, 2.0, 1e-10
"""Newton's method: number of steps, maximum step length, and tolerance."""


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


def rate(
    values: Sequence[np.ndarray], region: float, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Return the ratings of learners.

    Parameters
    ----------
    values : sequence of ndarray of shape (n_learners, n_repeats)
        Numbers on each data set, lower is better; NaN if there is none.
    region : float
        Numbers within this share of each other are a tie in the shares (not in the ratings).
    n : int
        Number of bootstrap resamples.
    rng : numpy.random.Generator

    Returns
    -------
    DataFrame
        A row for each learner: its ``elo`` with ``low`` and ``high``, the ends of the 95% bootstrap
        interval, and the shares of battles in ``win``, ``tie`` and ``loss``.
    """
    battles = [won(each) for each in values]
    low, high = np.quantile(resampled(battles, n, rng), (0.025, 0.975), axis=0)
    near = [won(each, region) for each in values]
    shares = {
        word: count_wins([np.where(np.isnan(b), np.nan, b == score) for b in near]).sum(axis=1)
        for word, score in {"win": 1.0, "tie": 0.5, "loss": 0.0}.items()
    }
    fought = np.maximum(sum(shares.values()), 1e-300)
    found = {"elo": elo(count_wins(battles)), "low": low, "high": high}
    return pd.DataFrame(found | {word: share / fought for word, share in shares.items()})


def agreement_of_halves(
    values: Sequence[np.ndarray], first: int, n: int, rng: np.random.Generator
) -> float:
    """Return how alike halves of the data sets order the learners that all of them put first.

    Parameters
    ----------
    values : sequence of ndarray of shape (n_learners, n_repeats)
        As in `rate`.
    first : int
        How many learners count, the best on all data sets.
    n : int
        Number of ways in which the data sets are halved at random.
    rng : numpy.random.Generator

    Returns
    -------
    float
        The mean of Kendall's τ between the ratings on the two halves; NaN if a half is empty or
        there are fewer than two learners.
    """
    if len(values) < 2 or len(values[0]) < 2:
        return np.nan
    battles = [won(each) for each in values]
    best = np.argsort(-elo(count_wins(battles)), kind="stable")[:first]
    found = []
    for _ in range(n):
        order = rng.permutation(len(battles))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        ratings = [elo(count_wins([battles[d] for d in half]))[best] for half in halves]
        found.append(kendalltau(*ratings).statistic)
    return float(np.mean(found))
