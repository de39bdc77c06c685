"""Comparisons of two learners, paired over the repeats that both have.

All evidence about two learners is one long frame. A row says who is compared with whom, where, over
how many repeats, by how much they differ, with an interval, a p value, an effect size and an
outcome. `compare_pairs` alone computes these; claims, statistics, practical equivalence, what
``omtl compare`` says and what sharing gains on the board are queries on such frames.

The comparisons of one frame can be corrected for being many (`correct_family`). All that a table
or figure decides under a reading is one family. A claim fails if any one of its comparisons fails,
so the probability of even one wrong decision in the family must be bounded. Holm's correction does
that under any dependence, and comparisons share learners and repeats. For a claim to hold it is
stricter than necessary, because all its comparisons must be certain at once anyway. Benjamini and
Yekutieli's q values, which bound the share of wrong decisions under any dependence, are given as
well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy  # which loads `special` and `stats` when they are used: each takes a while

from omtl.measures.correction import holm
from omtl.util.seeds import generator

HOLDS, FAILS, UNDECIDED = "holds", "fails", "undecided"
"""Outcomes of a statement about two learners."""

BETTER, EQUIVALENT, WORSE = "better", "equivalent", "worse"
"""The decided outcomes of comparing a learner with another one."""

CONFIDENCE = 0.95
"""Level of the interval of a mean difference over shared repeats."""

LEVEL = 1.0 - CONFIDENCE
"""Allowed probability of a wrong decision, in one comparison or in a whole family."""

REGION = 0.05
"""Numbers within this share of each other are practically equivalent."""

RESAMPLES = 9999
"""Number of resamples of a bootstrap interval."""

FEWEST = 5
"""Minimum number of repeats for a bootstrap interval."""

ROUNDING = 1e-9
"""Deviation of differences, as a share of their mean, up to which they are the same number."""

BELOW, ABOVE, ANY_RATIO = (-np.inf, 0.0), (0.0, np.inf), (0.0, np.inf)
"""Bounds of statements: lower, higher, and a ratio of which nothing is stated."""


def interval_of(values: np.ndarray) -> tuple[float, float]:
    """Return the interval of a mean (Student's t); infinite for fewer than two values."""
    if values.size < 2:
        return -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        error = values.std(ddof=1) / np.sqrt(values.size)
        half = scipy.special.stdtrit(values.size - 1, (1.0 + CONFIDENCE) / 2.0) * error
        return float(values.mean() - half), float(values.mean() + half)


def p_of(differences: np.ndarray) -> np.ndarray:
    """Return the two-sided p value of the t test that means are 0, over the last axis.

    It is 1 for fewer than two repeats, or if a number is not finite. If a difference is the same in
    all repeats, which leaves the t test without a scale, it is that of the sign test.
    """
    n, mean = differences.shape[-1], differences.mean(axis=-1)
    if n < 2:
        return np.ones_like(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        std = differences.std(axis=-1, ddof=1)
        p = 2.0 * scipy.special.stdtr(n - 1, -np.abs(mean) / (std / np.sqrt(n)))
    p = np.where(std <= ROUNDING * np.abs(mean), 2.0 ** (1 - n), p)
    return np.where(np.isfinite(std) & (mean != 0.0), p, 1.0)


@np.errstate(divide="ignore", invalid="ignore")
def compare_pair(
    values: np.ndarray,
    others: np.ndarray,
    bounds: tuple[float, float] = BELOW,
    is_ratio: bool = False,
) -> dict[str, Any]:
    """Return what paired repeats say of a statement about two learners.

    Parameters
    ----------
    values, others : ndarray of shape (n_repeats,)
        Numbers of both, the first ones in the same repeats; empty if one was not run.
    bounds : tuple of float
        The statement says that the mean of the paired differences, or the ratio, lies between them.
    is_ratio : bool
        Whether numbers are divided: then differences are logarithms, and the mean is the geometric
        mean of the ratios.

    Returns
    -------
    dict
        ``differences``; ``away``, the differences from the finite limit nearest to their mean,
        crossing which would reverse the outcome; ``n_repeats``; the ``mean`` in the unit of the
        bounds with its interval, ``low`` and ``high``; the two-sided ``p`` of the t test that the
        mean equals the nearest limit, below `LEVEL` exactly if the interval decides; the
        ``outcome`` by the interval; how far ``inside`` its limit, on the stated side, the mean
        lies; and the ``effect``, the same in standard deviations of the differences (for a limit of
        0 Cohen's d for paired samples, positive as stated). Numbers are NaN without repeats.
    """
    n = min(values.size, others.size)
    values, others = values[:n], others[:n]
    differences = np.log(values / others) if is_ratio else values - others
    found: dict[str, Any] = {"differences": differences, "n_repeats": n, "away": differences}
    found |= dict.fromkeys(("mean", "low", "high", "inside", "effect", "p"), np.nan)
    found["outcome"] = UNDECIDED
    if not n:
        return found
    least, most = np.log(bounds) if is_ratio else bounds
    mean = float(differences.mean())
    found["inside"] = inside = min(mean - least, most - mean)
    away = differences - (least if mean - least <= most - mean else most)
    std = float(differences.std(ddof=1)) if n > 1 else np.nan
    if n > 1 and np.isfinite(inside):
        found["effect"] = inside / std if std else np.copysign(np.inf, inside) if inside else 0.0
    ends = mean, *interval_of(differences)
    if (
        std <= ROUNDING * abs(mean)
        and 2.0 ** (1 - n) >= LEVEL
        and (mean or inside not in (0.0, np.inf))
    ):
        ends = mean, -np.inf, np.inf  # too few repeats to call it more than chance
    middle, low, high = map(float, np.exp(ends)) if is_ratio else ends
    if bounds[0] < low and high < bounds[1]:
        found["outcome"] = HOLDS
    elif high < bounds[0] or low > bounds[1]:
        found["outcome"] = FAILS
    return found | {"away": away, "mean": middle, "low": low, "high": high, "p": float(p_of(away))}


def compare_pairs(pairs: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the frame of comparisons: a row for each pair, with what its repeats say.

    Parameters
    ----------
    pairs : iterable of dict
        Each with the arguments of `compare_pair`, and whatever names the comparison.
    """
    asked = ("values", "others", "bounds", "is_ratio")
    rows = [
        {**pair, **compare_pair(**{name: pair[name] for name in asked if name in pair})}
        for pair in pairs
    ]
    return pd.DataFrame(rows)


def correct_family(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Return comparisons with p values corrected for being many, and the outcomes by them.

    The columns ``p_holm``, ``q_by`` and ``corrected`` are added: undecided unless the corrected p
    is below `LEVEL`. A comparison that occurs several times, as in several claims, counts once; one
    that was not run does not count.
    """
    named = (comparisons[name] for name in ("differences", "bounds", "is_ratio"))
    same = [(each.tobytes(), *of) for each, *of in zip(*named, strict=True)]
    run = zip(same, comparisons["p"], comparisons["n_repeats"], strict=True)
    family = {key: p for key, p, n in run if n}
    raw = np.array(list(family.values()))
    shares = scipy.stats.false_discovery_control(raw, method="by") if raw.size else raw
    by_holm, by_share = (dict(zip(family, each, strict=True)) for each in (holm(raw), shares))
    p_holm = np.array([by_holm.get(key, np.nan) for key in same])
    decided = np.where(comparisons["inside"] > 0.0, HOLDS, FAILS)
    return comparisons.assign(
        p_holm=p_holm,
        q_by=[by_share.get(key, np.nan) for key in same],
        corrected=np.where(p_holm < LEVEL, decided, UNDECIDED),
    )


def p_of_ranks(away: np.ndarray) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test that differences are about 0."""
    if away.size < 2 or not np.isfinite(away).all() or not away.any():
        return 1.0
    return float(scipy.stats.wilcoxon(away).pvalue)


def bootstrap_interval(
    differences: np.ndarray, seed: int = 0, comparison: str = ""
) -> tuple[float, float]:
    """Return the bootstrap interval of a mean over the repeats.

    Bias-corrected and accelerated (Efron), of `RESAMPLES` resamples; NaN with fewer than `FEWEST`
    repeats.

    Parameters
    ----------
    differences : ndarray of shape (n_repeats,)
    seed : int
    comparison : str
        The statement: each has resamples of its own.
    """
    if differences.size < FEWEST or not np.isfinite(differences).all():
        return np.nan, np.nan
    if np.ptp(differences) == 0.0:
        return float(differences[0]), float(differences[0])
    low, high = scipy.stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="BCa",
        rng=generator(seed, of="bootstrap", comparison=comparison),
    ).confidence_interval
    return float(low), float(high)


def standing(low: float, high: float, lower_is_better: bool) -> str:
    """Return the outcome of a ratio's interval for the region of practical equivalence.

    `equivalent` if it lies within the region, `better` or `worse` if it lies outside, and
    `undecided` if it crosses a border or there is no interval.
    """
    border = 1.0 + REGION
    if 1.0 / border < low and high < border:
        return EQUIVALENT
    if high < 1.0 / border:
        return BETTER if lower_is_better else WORSE
    if low > border:
        return WORSE if lower_is_better else BETTER
    return UNDECIDED


def beside(values: np.ndarray, others: np.ndarray, lower_is_better: bool) -> dict[str, Any]:
    """Return the ratio of a learner's numbers to another's, with how it stands beside it."""
    found = compare_pair(values, others, ANY_RATIO, is_ratio=True)
    found["outcome"] = standing(found["low"], found["high"], lower_is_better)
    named = ("low", "high", "n_repeats", "outcome")
    return {"ratio": found["mean"]} | {name: found[name] for name in named}
