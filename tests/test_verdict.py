"""The verdict function at and around its boundaries."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omtl.harness.verdict import MATCH, MATCH_STDS, NEAR, OFF, OURS, VERDICTS, judge

positive = st.floats(0.01, 1e3)
spread = st.floats(0.0, 10.0)


@pytest.mark.parametrize(
    ("published", "published_std", "ours", "ours_std", "data_std", "verdict"),
    [
        (10.0, 0.3, 10.6, 0.0, 0.0, "match"),  # at two published deviations
        (10.0, 0.3, 10.61, 0.0, 0.0, "near"),
        (10.0, 0.0, 10.6, 0.3, 0.0, "match"),  # at two of ours
        (10.0, 0.0, 10.6, 0.0, 0.3, "match"),  # at two of the data's
        (10.0, 0.3, 11.0, 0.4, 0.0, "match"),  # the three add in squares: 2 · 0.5
        (10.0, 0.3, 11.01, 0.4, 0.0, "off"),  # just over ten per cent
        (10.0, None, 11.0, 0.0, 0.0, "near"),  # at ten per cent
        (10.0, None, 9.0, 0.0, 0.0, "near"),
        (10.0, None, 8.99, 0.0, 0.0, "off"),
        (10.0, None, 10.0, 0.0, 0.0, "match"),  # equal numbers need no spread
        (10.0, 0.3, math.inf, 0.0, 0.0, "off"),
        (10.0, 0.3, math.nan, 0.0, 0.0, "off"),
        (10.0, 0.3, None, 0.0, 0.0, "missing"),
    ],
)
def test_boundaries(
    published: float,
    published_std: float | None,
    ours: float | None,
    ours_std: float,
    data_std: float,
    verdict: str,
) -> None:
    """Each boundary belongs to the better verdict."""
    assert judge(published, published_std, ours, ours_std, data_std) == verdict


@given(positive, spread, positive, spread, spread)
def test_verdict_follows_its_definition(
    published: float, published_std: float, ours: float, ours_std: float, data_std: float
) -> None:
    """The verdict is what its three inequalities say."""
    delta = abs(ours - published)
    reach = MATCH_STDS * math.sqrt(published_std**2 + ours_std**2 + data_std**2)
    expected = MATCH if delta <= reach else NEAR if delta <= 0.1 * published else OFF
    assert judge(published, published_std, ours, ours_std, data_std) == expected


@given(positive, spread, positive, spread, st.floats(0.0, 5.0))
def test_more_spread_never_worsens_a_verdict(
    published: float, published_std: float, ours: float, ours_std: float, more: float
) -> None:
    """Verdicts are monotone in the spread."""
    before = judge(published, published_std, ours, ours_std)
    after = judge(published, published_std, ours, ours_std, data_std=more)
    assert VERDICTS.index(after) <= VERDICTS.index(before)


@pytest.mark.parametrize("kind", ["substitute", "timing", "ours"])
def test_kinds_that_are_not_judged_by_value(kind: str) -> None:
    """Stand-in data, seconds and baselines of ours get their own verdicts; what is not computed is
    missing."""
    assert judge(10.0, 1.0, 99.0, kind=kind) == kind
    assert judge(10.0, 1.0, None, kind=kind) == "missing"


def test_nothing_printed_is_nothing_to_compare_with() -> None:
    """A baseline of ours has no published number, and is no match however near."""
    assert judge(None, None, 99.0, kind="ours") == OURS
    assert judge(None, None, None, kind="ours") == "missing"
    assert OURS not in VERDICTS
