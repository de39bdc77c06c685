"""The verdict on cells: how far our numbers are from the published ones, and how sure that is.

``docs/contributing.md`` lists what else to change with the boundaries.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy  # which loads `scipy.special` when it is used: that takes a quarter of a second

from omtl.measures.metrics import METRICS

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

MATCH_WITHIN, NEAR_WITHIN = 0.05, 0.10
"""The largest differences of a `match` and of a `near`, as shares of the metric's scale."""

CONTAINS, EXCLUDES = "contains", "excludes"
"""Whether the interval of the difference contains print, so that the two may be the same."""

CONFIDENCE = 0.999
"""Level of the interval of the difference: with about 500 judged cells, about half a cell with a
true difference of 0 then has an interval that excludes print. At 95% it would be 25."""

FAR = 5.0
"""Number of standard errors beyond which a difference within 10% also needs an explanation."""

STD, STANDARD_ERROR = "std", "standard_error"
"""Meanings of a printed ±: the standard deviation of single runs, or the error of their mean. One
that the paper does not state is taken as the former."""

QUANTITIES = ("delta", "published_se", "ours_se", "df", "low", "high", "share")
"""The columns with the quantities of a verdict (`differences`)."""


def unit_of(number: str) -> float:
    """Return one unit of the last printed digit."""
    return 10.0 ** -len(number.partition(".")[2])


def std_of(values: np.ndarray) -> float:
    """Return the standard deviation of single numbers; NaN for fewer than two."""
    return float(values.std(ddof=1)) if values.size > 1 else np.nan


def shares_of_scale(delta: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return differences as shares of their scales; infinite if only the scale is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((scale == 0.0) & (delta == 0.0), 0.0, delta / scale)


def verdict_words(share: np.ndarray) -> np.ndarray:
    """Return how far such shares are from print: `off` also for a mean that is not a number."""
    far = np.abs(share)
    return np.select([far <= MATCH_WITHIN, far <= NEAR_WITHIN], [MATCH, NEAR], OFF)


def judged(cells: pd.DataFrame) -> pd.DataFrame:
    """Add the verdicts to cells with our numbers.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.scoring.played`.

    Returns
    -------
    DataFrame
        With ``ours_mean`` and ``ours_std`` over ``n_repeats`` repeats, which are of ``n_draws``
        draws of the data; the difference from print and the verdict (`differences`); our deviation
        over shuffles of one draw, ``shuffle_std``, and its test (`spread_tests`). What does not
        exist is NaN. A cell that diverged has no number, so it is `off`, whatever its mean.
    """
    drawn = np.array([one.drawn for one in cells["experiment"]], dtype=bool)
    count = cells["values"].map(len)
    cells = cells.assign(
        ours_mean=[values.mean() if values.size else np.nan for values in cells["values"]],
        ours_std=cells["values"].map(std_of),
        n_repeats=count,
        n_draws=np.where(drawn, count, np.minimum(count, 1)),
        shuffle_std=cells["shuffles"].map(std_of),
    )
    spreads = spread_tests(cells, cells["shuffle_std"], cells["shuffles"].map(len))
    found = differences(cells, drawn)
    is_lost = (cells["diverged"] > 0) & found["verdict"].isin(JUDGED)
    found["verdict"] = found["verdict"].mask(is_lost, OFF)
    return cells.assign(**found, **spreads)


def printed_deviation(cells: pd.DataFrame) -> pd.Series:
    """Return the standard deviation of single runs that each ± implies; NaN if none is printed."""
    of_mean = cells["published_spread"] == STANDARD_ERROR
    runs = np.where(of_mean, np.sqrt(cells["published_repeats"].astype(float)), 1.0)
    return pd.to_numeric(cells["published_std"], errors="coerce") * runs


def differences(cells: pd.DataFrame, drawn: np.ndarray) -> pd.DataFrame:
    """Return our means minus the published ones, and the verdicts.

    Parameters
    ----------
    cells : DataFrame
        With the published numbers, and ours: ``ours_mean`` and ``ours_std`` of ``n_repeats``.
    drawn : ndarray of bool
        Whether each number of a cell has its own draw of the data. The authors' data then count as
        one more draw, so their mean varies like one of our numbers, whatever ± they print.

    Returns
    -------
    DataFrame
        With Welch's interval from ``low`` to ``high`` of the difference ``delta``, of `CONFIDENCE`;
        if no ± is printed, we assume that single runs vary as much as ours. The interval has the
        standard errors ``published_se`` and ``ours_se`` and ``df`` degrees of freedom. ``share`` is
        the difference as a share of the ``scale``, the metric's at the published mean, and
        ``is_apart`` whether the means are more than `FAR` standard errors apart. The ``verdict`` is
        ``match`` if our mean is within 5% of the published one, ``near`` within 10%, ``off``
        beyond; ``substitute`` for stand-in data, ``timing`` for seconds and ``ours`` by the kind of
        cell; ``missing`` without a number of ours. ``interval`` says of a compared cell whether the
        interval contains print, as that of a single repeat, which has no ends, always does.
    """
    printed = pd.to_numeric(cells["published_mean"], errors="coerce").to_numpy(dtype=float)
    runs, count = cells["published_repeats"].to_numpy(float), cells["n_repeats"].to_numpy()
    deviation, std = printed_deviation(cells).to_numpy(), cells["ours_std"].to_numpy()
    units = np.array([unit_of(mean) for mean in cells["published_mean"]])
    is_printed = ~np.isnan(deviation)
    scale = np.array(
        [METRICS[m].scale(mean) for m, mean in zip(cells["metric"], printed, strict=True)]
    )
    compared = (count > 0) & (cells["kind"] != OURS).to_numpy()
    with np.errstate(divide="ignore", invalid="ignore"):
        ours = std**2 / count
        theirs = np.where(is_printed, deviation, std) ** 2 / runs
        theirs = np.where(drawn, std**2, theirs)
        parts = ours**2 / np.maximum(count - 1, 1) + theirs**2 / np.maximum(runs - 1, 1)
        welch = np.where(parts == 0.0, np.inf, (ours + theirs) ** 2 / parts)
        df = np.maximum(np.where(drawn | ~is_printed, count - 1.0, welch), 1.0)
        delta, ours_se = cells["ours_mean"].to_numpy() - printed, np.sqrt(ours)
        published_se = np.hypot(np.sqrt(theirs), units / np.sqrt(12.0))  # of the rounding, too
        error = np.hypot(ours_se, published_se)
        reach = scipy.special.stdtrit(df, (1.0 + CONFIDENCE) / 2.0) * error
    share, away = shares_of_scale(delta, scale), np.abs(delta)
    far = verdict_words(share)
    found = [delta, published_se, ours_se, df, delta - reach, delta + reach, share]
    is_value = (cells["kind"] == VALUE).to_numpy()
    return pd.DataFrame(
        {
            **{
                name: np.where(compared, one, np.nan)
                for name, one in zip(QUANTITIES, found, strict=True)
            },
            "scale": scale,
            "is_apart": compared & (away > FAR * error),
            "verdict": np.select([count == 0, ~is_value], [MISSING, cells["kind"]], far),
            "interval": np.select(
                [~(compared & is_value), (count == 1) | (away <= reach)], ["", CONTAINS], EXCLUDES
            ),
        },
        index=cells.index,
    )


def spread_tests(cells: pd.DataFrame, std: pd.Series, count: pd.Series) -> pd.DataFrame:
    """Compare standard deviations of ours with the printed ±'s.

    Parameters
    ----------
    cells : DataFrame
        With the published numbers.
    std, count : Series
        Standard deviations of our numbers over shuffles of the same data, and how many these are.

    Returns
    -------
    DataFrame
        Its ratio to the ±, ``spread_ratio``, and ``spread_p``, the two-sided p of the F test that
        the authors' single runs vary as much as ours, given the assumed meaning of the ±; NaN if
        one of them is missing or 0.
    """
    theirs = printed_deviation(cells).replace(0.0, np.nan)
    ours = std.where((std > 0.0) & (count > 1))
    below = scipy.special.fdtr(count - 1, cells["published_repeats"] - 1, (ours / theirs) ** 2)
    return pd.DataFrame(
        {
            "spread_ratio": ours / pd.to_numeric(cells["published_std"], errors="coerce"),
            "spread_p": 2.0 * np.minimum(below, 1.0 - below),
        },
        index=cells.index,
    )
