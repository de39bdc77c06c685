"""The verdict on a cell: how our number compares with the published one."""

from __future__ import annotations

import math

MATCH, NEAR, OFF = "match", "near", "off"
MISSING, SUBSTITUTE, TIMING = "missing", "substitute", "timing"
VERDICTS = (MATCH, NEAR, OFF, SUBSTITUTE, TIMING, MISSING)
"""Of cells that the paper has."""

OURS = "ours"
"""Of a cell that the paper does not have: there is nothing to compare it with."""

NEAR_SHARE = 0.10
"""A number within this share of the published one is near."""

MATCH_STDS = 2.0
"""A number within so many standard deviations of the difference matches."""


def judge(
    published_mean: float | None,
    published_std: float | None,
    ours_mean: float | None,
    ours_std: float = 0.0,
    data_std: float = 0.0,
    kind: str = "value",
) -> str:
    """Return the verdict on a cell.

    Parameters
    ----------
    published_mean, published_std : float
        What the paper prints; a spread that it does not print counts as 0. None for a mean only
        where the kind is ``ours``.
    ours_mean, ours_std : float
        Mean and standard deviation over our repeats; None for a mean that was not computed.
    data_std : float
        Standard deviation of the mean over freshly drawn data; 0 for real data.
    kind : {"value", "substitute", "timing", "ours"}
        ``substitute`` where stand-in data were used, ``timing`` for seconds, ``ours`` for a learner
        that the paper does not have.

    Returns
    -------
    str
        ``match`` if |ours − published| ≤ 2 √(published_std² + ours_std² + data_std²); ``near`` if
        within 10 % of the published number; ``off`` if neither; ``substitute``, ``timing`` and
        ``ours`` by kind; ``missing`` if we have no number.
    """
    if ours_mean is None:
        return MISSING
    if published_mean is None or kind != "value":
        return {"substitute": SUBSTITUTE, "timing": TIMING, "ours": OURS}[kind]
    if not math.isfinite(ours_mean):
        return OFF
    delta = abs(ours_mean - published_mean)
    if delta <= MATCH_STDS * math.sqrt((published_std or 0.0) ** 2 + ours_std**2 + data_std**2):
        return MATCH
    return NEAR if delta <= NEAR_SHARE * abs(published_mean) else OFF
