"""Paired tests of the claims' comparisons, with correction, effect sizes and intervals.

All comparisons that a table or figure decides under a reading are one family. A claim fails if any
one of its comparisons fails, so the probability of even one wrong decision in the family must be
bounded. Holm's correction does that under any dependence, and comparisons share learners and
repeats. For a claim to hold it is stricter than necessary, because all its comparisons must be
certain at once anyway. Benjamini and Yekutieli's q values, which bound the share of wrong decisions
under any dependence, are given as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import scipy  # which loads `scipy.stats` when it is used, as that takes half a second

from omtl.evidence.comparisons import CONFIDENCE, UNDECIDED, Comparison, as_text
from omtl.measures.correction import holm
from omtl.util.seeds import generator

RESAMPLES = 9999
"""Number of resamples of a bootstrap interval."""

FEWEST = 5
"""Minimum number of repeats for a bootstrap interval."""

COMPARISONS = (
    *("paper", "claim", "reading", "comparison"),
    *("n_repeats", "repeats_are_of", "mean", "low", "high"),
    *("bootstrap_low", "bootstrap_high"),
    *("effect", "p", "p_wilcoxon", "p_holm", "q_by"),
    *("outcome", "corrected"),
)
"""Columns of ``results/statistics/<id>.claims.csv``.

Intervals and p values of repeats of one data set (`repeats_are_of`) are conditional on it.
"""


def p_signed_rank(comparison: Comparison) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test about the nearest bound."""
    away = comparison.away
    if away.size < 2 or not np.isfinite(away).all() or not away.any():
        return 1.0
    return float(scipy.stats.wilcoxon(away).pvalue)


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
        low, high = scipy.stats.bootstrap(
            (differences,),
            np.mean,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="BCa",
            rng=generator(seed, of="bootstrap", comparison=comparison.relation),
        ).confidence_interval
    return comparison.of_numbers(low), comparison.of_numbers(high)


def as_family(
    paper: str, reading: str, comparisons: Mapping[str, Sequence[Comparison]], seed: int = 0
) -> pd.DataFrame:
    """Return the rows of a family of comparisons, those that were run corrected for being many.

    A comparison shared by several claims counts once.

    Parameters
    ----------
    paper, reading : str
    comparisons : mapping of str to sequence of Comparison
        By the claim's id.
    seed : int
        Of the bootstrap's resamples.
    """
    each = [(claim, one) for claim, several in comparisons.items() for one in several]
    family = {_same(one): one.p for _, one in each if one.n_repeats}
    raw = np.array(list(family.values()))
    shares = scipy.stats.false_discovery_control(raw, method="by") if raw.size else raw
    corrected = dict(zip(family, zip(holm(raw), shares, strict=True), strict=True))
    rows = []
    for claim, one in each:
        row = {"paper": paper, "claim": claim, "reading": reading, **one.row()}
        row["corrected"] = UNDECIDED
        if one.n_repeats:
            row["bootstrap_low"], row["bootstrap_high"] = bootstrap_interval(one, seed)
            row |= {"effect": one.effect, "p": one.p, "p_wilcoxon": p_signed_rank(one)}
            row["p_holm"], row["q_by"] = corrected[_same(one)]
            row["corrected"] = one.decided(row["p_holm"])
        rows.append(row)
    return as_text(pd.DataFrame(rows, columns=COMPARISONS))


def _same(comparison: Comparison) -> tuple[bytes, tuple[float, ...]]:
    """Return the identity of a comparison, equal for equal comparisons."""
    return comparison.differences.tobytes(), tuple(comparison.limits)
