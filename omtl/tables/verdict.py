"""The verdict on a cell: how far our number is from the published one, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import scipy  # which loads `scipy.special` when it is used: that takes a quarter of a second

from omtl.measures.metrics import Scale

MATCH, NEAR, OFF = "match", "near", "off"
MISSING, SUBSTITUTE, TIMING = "missing", "substitute", "timing"
JUDGED = (MATCH, NEAR, OFF)
"""Verdicts on compared cells, best to worst."""

VALUE = "value"
"""The kind of a cell that is compared."""

VERDICTS = (*JUDGED, SUBSTITUTE, TIMING, MISSING)
"""Verdicts on cells of the paper."""

OURS = "ours"
"""Verdict on a cell that the paper does not have: there is nothing to compare it with."""

CLOSEST_SHARE, CLOSE = 0.05, 0.10
"""The largest differences of a `match` and of a `near`, as shares of the metric's scale."""

CONTAINS, EXCLUDES = "contains", "excludes"
"""Whether the interval of the difference contains print, so that the two may be the same."""

CONFIDENCE = 0.999
"""Level of the interval of the difference: with about 500 judged cells, about half a cell with a
true difference of 0 then has an interval that excludes print. At 95 % it would be 25."""

STD, STANDARD_ERROR = "std", "standard_error"
"""Meanings of a printed ±: the standard deviation of single runs, or the error of their mean."""


@dataclass(frozen=True)
class PrintedNumber:
    """A published number.

    Parameters
    ----------
    mean, std : str
        As printed; `std` is empty if there is no ±.
    spread : {"std", "standard_error", "unstated"}
        The meaning of the ±; one that the paper does not state is taken as ``std``.
    repeats : int
        Number of runs in the mean.
    scale : callable
        The metric's scale (`omtl.measures.metrics.Metric`).
    """

    mean: str
    std: str
    spread: str
    repeats: int
    scale: Scale = abs

    @property
    def deviation(self) -> float | None:
        """The standard deviation of single runs implied by the ±; None if none is printed."""
        if not self.std:
            return None
        return float(self.std) * (math.sqrt(self.repeats) if self.spread == STANDARD_ERROR else 1.0)

    @property
    def rounding(self) -> float:
        """Standard deviation of the rounding error of the printed mean."""
        return 10.0 ** int(Decimal(self.mean).as_tuple().exponent) / math.sqrt(12.0)


FAR = 5.0
"""Number of standard errors beyond which a difference within 10 % also needs an explanation."""


@dataclass(frozen=True)
class Difference:
    """Our mean minus the published one, with a confidence interval of the true difference.

    Parameters
    ----------
    delta : float
    ours_se, published_se : float
        Standard errors of the two means.
    df : float
        Degrees of freedom of the interval.
    scale : float
        What the difference is a share of: the metric's scale at the published mean.
    """

    delta: float
    ours_se: float
    published_se: float
    df: float
    scale: float

    @property
    def reach(self) -> float:
        """Half the width of the interval."""
        error = math.hypot(self.ours_se, self.published_se)
        return float(scipy.special.stdtrit(self.df, (1.0 + CONFIDENCE) / 2.0)) * error

    @property
    def is_apart(self) -> bool:
        """Whether the two means are more than `FAR` standard errors apart."""
        return abs(self.delta) > FAR * math.hypot(self.ours_se, self.published_se)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.delta - self.reach

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.delta + self.reach

    @property
    def share(self) -> float:
        """The difference as a share of the scale; infinite if only the scale is 0."""
        if self.scale == 0.0:
            return math.copysign(math.inf, self.delta) if self.delta else 0.0
        return self.delta / self.scale

    @property
    def word(self) -> str:
        """The verdict: how far our mean is from the published one."""
        if not math.isfinite(self.delta):
            return OFF
        far = abs(self.share)
        return MATCH if far <= CLOSEST_SHARE else NEAR if far <= CLOSE else OFF

    @property
    def interval(self) -> str:
        """How sure that is: whether the interval contains print."""
        return CONTAINS if abs(self.delta) <= self.reach else EXCLUDES


def difference(
    printed: PrintedNumber, mean: float, std: float, count: int, drawn: bool
) -> Difference:
    """Return the difference between our mean and a published one.

    Parameters
    ----------
    printed : Printed
    mean, std : float
        Mean and standard deviation of our numbers.
    count : int
        Number of repeats, or of draws of synthetic data.
    drawn : bool
        Whether each number has its own draw of the data. The authors' data then count as one more
        draw, so their mean varies like one of our numbers, whatever ± they print.

    Returns
    -------
    Difference
        With Welch's interval; if no ± is printed, we assume that single runs vary as much as ours.
    """
    ours = std**2 / count
    if drawn:
        theirs, df = std**2, count - 1.0
    elif printed.deviation is None:
        theirs, df = std**2 / printed.repeats, count - 1.0  # one deviation, and it is ours
    else:
        theirs = printed.deviation**2 / printed.repeats
        parts = ours**2 / max(count - 1, 1) + theirs**2 / max(printed.repeats - 1, 1)
        df = (ours + theirs) ** 2 / parts if parts else math.inf
    error = math.hypot(math.sqrt(theirs), printed.rounding)
    published = float(printed.mean)
    scale = printed.scale(published)
    return Difference(mean - published, math.sqrt(ours), error, max(df, 1.0), scale)


def spreads(printed: PrintedNumber, std: float, count: int) -> tuple[float, float] | None:
    """Compare our standard deviation with the printed ±.

    Parameters
    ----------
    printed : Printed
    std : float
        Standard deviation of our numbers over shuffles of the same data.
    count : int
        The number of these shuffles.

    Returns
    -------
    tuple of float or None
        The ratio of our standard deviation to the ±, and the two-sided p value of the F test that
        the authors' single runs vary as much as ours, given the assumed meaning of the ±. None if
        one of them is missing or 0.
    """
    theirs = printed.deviation
    if not theirs or not std or count < 2:
        return None
    below = float(scipy.special.fdtr(count - 1, printed.repeats - 1, (std / theirs) ** 2))
    return std / float(printed.std), 2.0 * min(below, 1.0 - below)


def judge(found: Difference | None, kind: str = VALUE) -> str:
    """Return the verdict on a cell.

    Parameters
    ----------
    found : Difference or None
        The difference from the published number; None if either number is missing.
    kind : {"value", "substitute", "timing", "ours"}
        ``substitute`` for stand-in data, ``timing`` for seconds, ``ours`` for a learner that the
        paper does not have.

    Returns
    -------
    str
        ``match`` if our mean is within 5 % of the published one on the metric's scale, ``near`` if
        within 10 %, ``off`` if beyond; ``substitute``, ``timing`` and ``ours`` by kind;
        ``missing`` if we have no number.
    """
    if kind != VALUE:
        return kind
    return MISSING if found is None else found.word
