"""Paired tests of the claims' comparisons, with correction, effect sizes and intervals.

All comparisons that a table or figure decides under a reading are one family. A claim fails with
any one of its comparisons, so what must be bounded is the chance of even one wrong decision in the
family: Holm's correction does that whatever the comparisons share, and they share learners and
repeats. Of a claim that holds it asks more than it must: all its comparisons have to be sure at
once anyway. Benjamini and Yekutieli's q values, which bound the share of wrong decisions under any
dependence, are written beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from omtl.evidence.claims import (
    CONFIDENCE,
    FAILS,
    HOLDS,
    UNDECIDED,
    Comparison,
    claims_of,
    judge_claim,
    judge_claim_on_figure,
)
from omtl.figures.numbers import Shown
from omtl.measures.correction import holm
from omtl.tables.scoring import Scored
from omtl.util.seeds import generator

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
    "repeats_are_of",
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
"""Columns of ``results/statistics/<id>.claims.csv``.

Intervals and p values of repeats of one data set (`repeats_are_of`) are conditional on it.
"""


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
        named = (paper, claim, reading, one.relation, str(n), one.repeats_are_of)
        rows.append((*named, *map(shown, numbers), one.outcome, outcome))
    return pd.DataFrame(rows, columns=COMPARISONS)


def _same(comparison: Comparison) -> tuple[bytes, tuple[float, float]]:
    """Return what two comparisons share if they are one and the same."""
    return comparison.differences.tobytes(), comparison.bounds
