"""The verdict: its rule at and around its boundaries, and what must hold of any such rule."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from omtl.measures.metrics import METRICS
from omtl.tables.verdict import (
    CLOSE,
    CLOSEST_SHARE,
    CONTAINS,
    EXCLUDES,
    JUDGED,
    MATCH,
    NEAR,
    OFF,
    OURS,
    STANDARD_ERROR,
    STD,
    VERDICTS,
    Difference,
    PrintedNumber,
    difference,
    judge,
    spreads,
)

SURE = Difference(0.0, 0.0, 0.0, math.inf, 10.0)
"""No difference from 10, without any error."""

differences = st.builds(
    Difference,
    delta=st.floats(-20.0, 20.0),
    ours_se=st.floats(0.0, 2.0),
    published_se=st.floats(0.0, 2.0),
    df=st.floats(1.0, 100.0),
    scale=st.floats(1.0, 50.0),
)


def test_a_printed_zero_has_no_share() -> None:
    """A difference from it is infinitely many of it, and within 10 % only if there is none."""
    zero = replace(SURE, scale=0.0)
    assert [replace(zero, delta=d).share for d in (-1.0, 0.0, 1.0)] == [-math.inf, 0.0, math.inf]
    assert [replace(zero, delta=d).word for d in (0.0, 1.0)] == [MATCH, OFF]


@pytest.mark.parametrize(
    ("delta", "error", "word", "interval"),
    [
        (0.0, 0.0, MATCH, CONTAINS),
        (0.0, 9.0, MATCH, CONTAINS),
        (0.5, 0.0, MATCH, EXCLUDES),  # at five per cent
        (0.5, 0.152, MATCH, CONTAINS),  # 3.29 standard errors reach 0.5001
        (0.5, 0.151, MATCH, EXCLUDES),  # 0.497
        (0.51, 0.0, NEAR, EXCLUDES),
        (1.0, 0.0, NEAR, EXCLUDES),  # at ten per cent
        (1.01, 0.0, OFF, EXCLUDES),
        (1.01, 0.307, OFF, CONTAINS),  # 1.0102
        (1.01, 0.306, OFF, EXCLUDES),  # 1.007
        (math.inf, 1.0, OFF, EXCLUDES),
        (math.nan, 1.0, OFF, EXCLUDES),
    ],
)
def test_boundaries(delta: float, error: float, word: str, interval: str) -> None:
    """Each boundary belongs to the better mark, on either side and from either error."""
    for found in (replace(SURE, ours_se=error), replace(SURE, published_se=error)):
        for one in (replace(found, delta=delta), replace(found, delta=-delta)):
            assert (judge(one), one.interval) == (word, interval)


@given(differences, differences)
def test_a_nearer_cell_never_has_a_worse_colour(one: Difference, other: Difference) -> None:
    """Whatever the errors: colours rank cells as their distances from print do."""
    nearer, farther = sorted((one, other), key=lambda found: abs(found.share))
    assert JUDGED.index(judge(nearer)) <= JUDGED.index(judge(farther))
    most = {MATCH: CLOSEST_SHARE, NEAR: CLOSE, OFF: math.inf}
    assert abs(one.share) <= most[judge(one)]


@given(differences, st.floats(1.0, 10.0))
def test_noise_changes_the_second_mark_alone(found: Difference, more: float) -> None:
    """A noisier comparison has the same colour, and never excludes print where another does not."""
    noisier = replace(found, ours_se=more * found.ours_se + 0.1)
    assert judge(noisier) == judge(found)
    if found.interval == CONTAINS:
        assert noisier.interval == CONTAINS


@pytest.mark.parametrize(
    ("metric", "printed", "ours", "share"),
    [
        ("error", "20.0", 22.0, 0.1),
        ("nsv", "500", 450.0, -0.1),
        ("auc", "0.90", 0.91, 0.1),  # of the 0.10 that it lacks of 1
        ("accuracy", "75.0", 70.0, -0.2),  # an error of 25 that becomes 30
        ("right", "0.75", 0.70, -0.2),
        ("correlation", "0.05", -0.05, -0.1),
        ("ap@10", "80.0", 72.0, -0.1),
    ],
)
def test_each_metric_has_its_scale(metric: str, printed: str, ours: float, share: float) -> None:
    """A difference is a share of the number, of what it lacks of a perfect one, or of 1."""
    number = PrintedNumber(printed, "", STD, 10, METRICS[metric].scale)
    found = difference(number, ours, 0.1, 10, drawn=False)
    assert found.share == pytest.approx(share)


def test_errors_of_shuffles() -> None:
    """Of shuffles of the same data: both means have their standard error (Welch)."""
    printed = PrintedNumber("10.00", "0.60", STD, 10)
    found = difference(printed, 10.3, 0.5, 20, drawn=False)
    welch = stats.ttest_ind_from_stats(10.3, 0.5, 20, 10.0, 0.6, 10, equal_var=False)
    interval = (found.delta / math.hypot(found.ours_se, found.published_se), found.df)
    assert interval[0] == pytest.approx(welch.statistic, rel=1e-3)  # but for the rounding
    assert 2 * stats.t.sf(*interval) == pytest.approx(welch.pvalue, rel=1e-2)
    assert found.published_se == pytest.approx(math.sqrt(0.6**2 / 10 + 0.01**2 / 12))
    error = replace(printed, std="0.19", spread=STANDARD_ERROR)
    assert difference(error, 10.3, 0.5, 20, drawn=False).published_se == pytest.approx(
        0.19, abs=1e-3
    )


def test_errors_of_draws() -> None:
    """The authors' data are one more draw: the interval predicts the mean of a single one."""
    for std in ("0.01", "3.00", ""):  # their ± is over shuffles of their draw alone
        found = difference(PrintedNumber("10.00", std, STD, 10), 11.0, 1.5, 25, drawn=True)
        assert found.df == 24
        assert found.ours_se == pytest.approx(0.3)
        assert found.published_se == pytest.approx(1.5, abs=1e-4)
        wanted = stats.t.ppf(0.9995, 24) * 1.5 * math.sqrt(1 + 1 / 25)
        assert found.reach == pytest.approx(wanted, rel=1e-4)  # but for the rounding


def test_a_spread_that_is_not_printed_is_taken_to_be_ours() -> None:
    """Single runs of the authors are then taken to deviate as ours do."""
    found = difference(PrintedNumber("10.00", "", STD, 4), 10.0, 0.5, 16, drawn=False)
    assert found.ours_se == pytest.approx(0.125)
    assert found.published_se == pytest.approx(0.25, rel=1e-3)
    assert found.df == 15  # the one deviation is that of our 16 numbers
    assert difference(PrintedNumber("10.00", "", STD, 1), 10.0, 0.5, 16, drawn=False).df == 15


def test_numbers_without_any_spread_are_compared_by_their_digits() -> None:
    """Two runs that never vary match if the printed number is ours, rounded."""
    printed = PrintedNumber("10.0", "0.00", STD, 10)
    assert judge(difference(printed, 10.04, 0.0, 10, drawn=False)) == MATCH
    assert judge(difference(printed, 10.95, 0.0, 10, drawn=False)) == NEAR
    assert judge(difference(printed, 10.04, 0.0, 1, drawn=False)) == MATCH


@pytest.mark.parametrize("kind", ["substitute", "timing", "ours"])
def test_kinds_that_are_not_judged_by_value(kind: str) -> None:
    """Stand-in data, seconds and baselines of ours get their own verdicts."""
    assert judge(SURE, kind) == kind


def test_nothing_to_compare_is_missing() -> None:
    """What was not run has no difference."""
    assert judge(None) == "missing"
    assert judge(None, "ours") == OURS
    assert OURS not in VERDICTS
    assert judge(SURE) == MATCH
    assert judge(replace(SURE, delta=9.0)) == OFF


@given(differences)
def test_the_interval_lies_about_the_difference(found: Difference) -> None:
    """As far below as above it."""
    assert found.low <= found.delta <= found.high
    assert found.high - found.delta == pytest.approx(found.delta - found.low)
    assert found.high - found.low == pytest.approx(2.0 * found.reach)


def test_spreads_by_hand() -> None:
    """The F test compares deviations of single runs, whichever of the two the ± is."""
    printed = PrintedNumber("10.0", "0.50", STD, 10)
    assert spreads(printed, 0.5, 10) == pytest.approx((1.0, 1.0))
    ratio, p = spreads(printed, 1.5, 10) or (0.0, 0.0)
    assert ratio == pytest.approx(3.0)
    assert p == pytest.approx(2 * stats.f.sf(9.0, 9, 9))
    error = PrintedNumber("10.0", "0.50", STANDARD_ERROR, 9)
    assert spreads(error, 1.5, 9) == pytest.approx((3.0, 1.0))
    assert spreads(PrintedNumber("10.0", "", STD, 10), 0.5, 10) is None
    assert spreads(printed, 0.0, 10) is None
