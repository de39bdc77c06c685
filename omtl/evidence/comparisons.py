"""Comparisons of two learners, paired over the repeats that both have.

All that the evidence says of two learners is a row of one table, of `Comparison`: whether a claim
holds, practical equivalence, what `omtl compare` says, what sharing gains on the board. Its
difference, interval, p value, effect size and outcome are computed here alone; the claims,
statistics and the board are views of it. `omtl.evidence.paired_tests` corrects for many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

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


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the interval of a mean (Student's t); infinite for fewer than two values."""
    if values.size < 2:
        return -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        error = values.std(ddof=1) / np.sqrt(values.size)
        half = special.stdtrit(values.size - 1, (1.0 + CONFIDENCE) / 2.0) * error
        return float(values.mean() - half), float(values.mean() + half)


def p_of(differences: np.ndarray) -> np.ndarray:
    """Return the two-sided p value of the t test that means are 0, over the last axis.

    It is 1 for fewer than two repeats, or if a number is not finite.
    """
    n, mean = differences.shape[-1], differences.mean(axis=-1)
    if n < 2:
        return np.ones_like(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = differences.std(axis=-1, ddof=1) / np.sqrt(n)
        p = 2.0 * special.stdtr(n - 1, -np.abs(mean) / error)
    p = np.where(error == 0.0, mean == 0.0, p)  # the same difference in all repeats
    return np.where(np.isfinite(error), p, 1.0)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A statement about two learners, or two points of lines, and its uncertainty.

    Parameters
    ----------
    place : str
        The place of the comparison.
    one, other : str
        The two that are compared.
    numbers : tuple of ndarray of shape (n_repeats,)
        Their numbers in the same repeats; empty if one was not run.
    bounds : tuple of float
        The statement says that the mean of the paired differences, or the ratio, lies between them.
    ratio : bool
        Whether numbers are divided: then differences and their bounds are logarithms, and the mean
        is the geometric mean of the ratios.
    repeats_are_of : str
        If the repeats share one data set, the interval is conditional on it: another sample of the
        same kind may change the mean by more.
    """

    place: str
    one: str
    other: str
    numbers: tuple[np.ndarray, np.ndarray]
    bounds: tuple[float, float] = (-np.inf, 0.0)
    ratio: bool = False
    repeats_are_of: str = ""

    @property
    def relation(self) -> str:
        """The statement as text."""
        least, most = self.bounds
        if self.ratio:
            return f"{self.place}: {self.one} / {self.other} in [{least:g}, {most:g}]"
        sign, by = ("<", -most) if least == -np.inf else (">", least)
        return f"{self.place}: {self.one} {sign} {self.other}" + (f" by {by:g}" if by else "")

    @cached_property
    def differences(self) -> np.ndarray:
        """The paired differences, of logarithms for a ratio; empty if one was not run."""
        one, other = self.numbers
        if not one.size or not other.size:
            return np.empty(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(one / other) if self.ratio else one - other

    @property
    def n_repeats(self) -> int:
        """Number of repeats that both have."""
        return self.differences.size

    @property
    def limits(self) -> np.ndarray:
        """The bounds of the differences."""
        with np.errstate(divide="ignore"):
            return np.log(self.bounds) if self.ratio else np.array(self.bounds)

    def of_numbers(self, difference: float) -> float:
        """Return a difference in the unit of the bounds."""
        return float(np.exp(difference) if self.ratio else difference)

    @property
    def mean(self) -> float:
        """The mean difference, or the geometric mean of the ratios; NaN if one was not run."""
        return self.of_numbers(self.differences.mean()) if self.n_repeats else np.nan

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The interval of the mean; NaN if one was not run."""
        if not self.n_repeats:
            return np.nan, np.nan
        low, high = interval(self.differences)
        return self.of_numbers(low), self.of_numbers(high)

    @property
    def away(self) -> np.ndarray:
        """The differences from the finite bound nearest to their mean; NaN if there is none.

        Crossing that bound would reverse the outcome.
        """
        finite = [bound for bound in self.limits if np.isfinite(bound)]
        mean = float(self.differences.mean())
        return self.differences - min(finite, key=lambda bound: abs(mean - bound), default=np.nan)

    @cached_property
    def p(self) -> float:
        """The two-sided p value of the t test that the mean equals the nearest bound.

        It is below `LEVEL` exactly if the interval decides.
        """
        return float(p_of(self.away))

    @property
    def effect(self) -> float:
        """How far the mean difference lies on the stated side of its bound.

        In standard deviations of the paired differences; negative on the other side. For a bound
        of 0 it is Cohen's d for paired samples, positive as is said.
        """
        mean, (least, most) = float(self.differences.mean()), self.limits
        inside = min(mean - least, most - mean)
        if self.n_repeats < 2 or not np.isfinite(inside):
            return np.nan
        std = float(self.differences.std(ddof=1))
        if std == 0.0:
            return float(np.copysign(np.inf, inside)) if inside else 0.0
        return float(inside / std)

    @property
    def outcome(self) -> str:
        """Whether the statement holds, by the interval alone."""
        (low, high), (least, most) = self.interval, self.bounds
        if least < low and high < most:
            return HOLDS
        return FAILS if high < least or low > most else UNDECIDED

    def decided(self, p: float) -> str:
        """Return the outcome by a p value: undecided unless it is below `LEVEL`."""
        if p >= LEVEL:
            return UNDECIDED
        least, most = self.limits
        return HOLDS if least < self.differences.mean() < most else FAILS

    def row(self) -> dict[str, Any]:
        """Return the comparison as a row of the table, without the repeats."""
        low, high = self.interval
        return {
            **{"comparison": self.relation, "n_repeats": self.n_repeats},
            **{"repeats_are_of": self.repeats_are_of, "mean": self.mean, "low": low, "high": high},
            **{"outcome": self.outcome},
        }


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


def beside(one: np.ndarray, other: np.ndarray, lower_is_better: bool) -> dict[str, Any]:
    """Return the ratio of a learner's numbers to another's, with how it stands beside it."""
    found = Comparison("", "", "", (one, other), (0.0, np.inf), ratio=True)
    low, high = found.interval
    ends = {"ratio": found.mean, "low": low, "high": high, "n_repeats": found.n_repeats}
    return {**ends, "outcome": standing(low, high, lower_is_better)}


def shown(number: float) -> str:
    """Return a number as text; empty if there is none."""
    return "" if np.isnan(number) else f"{number:.4g}"


def as_text(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows as they are written: numbers to four digits, and nothing where there is none."""
    return rows.map(lambda value: shown(value) if isinstance(value, float) else str(value))
