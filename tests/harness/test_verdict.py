"""The verdict: its rule at and around its boundaries, and what must hold of any such rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from omtl.tables.verdict import (
    CONTAINS,
    EXCLUDES,
    JUDGED,
    MATCH,
    MATCH_WITHIN,
    MISSING,
    NEAR,
    NEAR_WITHIN,
    OFF,
    OURS,
    STANDARD_ERROR,
    STD,
    VALUE,
    VERDICTS,
    differences,
    shares_of_scale,
    spread_tests,
    std_of,
    verdict_words,
)


def frame(
    mean: str = "10.00", ours: float = 10.0, std: float = 0.0, count: int = 10, **more: Any
) -> pd.DataFrame:
    """Return a cell with a published number and ours."""
    cell = {
        **{"published_mean": mean, "published_std": "0", "published_spread": STD},
        **{"published_repeats": 10, "metric": "error", "kind": VALUE},
        **{"ours_mean": ours, "ours_std": std, "n_repeats": count},
    }
    return pd.DataFrame([cell | more])


def found(cells: pd.DataFrame, drawn: bool = False) -> Any:
    """Return the only cell's difference from print and verdict."""
    return differences(cells, np.array([drawn])).iloc[0]


means = st.floats(-20.0, 20.0)
cases = st.fixed_dictionaries(
    {
        "ours": means,
        "std": st.floats(0.0, 5.0),
        "count": st.integers(2, 50),
        "published_std": st.sampled_from(["", "0.00", "0.50", "3.00"]),
        "published_spread": st.sampled_from([STD, STANDARD_ERROR]),
    }
)


@pytest.mark.parametrize("drawn", [False, True])
def test_a_cell_of_one_repeat_has_a_difference_but_no_interval(drawn: bool) -> None:
    """One number has no deviation, so nothing says that it is not chance."""
    one = found(frame(ours=10.4, std=std_of(np.array([10.4])), count=1), drawn)
    assert one.share == pytest.approx(0.04)
    assert one.interval == CONTAINS
    assert not one.is_apart
    assert one[["ours_se", "low", "high"]].isna().all()


def test_a_printed_zero_has_no_share() -> None:
    """A difference from it is infinitely many of it, and within 10% only if there is none."""
    share = shares_of_scale(np.array([-1.0, 0.0, 1.0]), np.zeros(3))
    assert share.tolist() == [-math.inf, 0.0, math.inf]
    assert verdict_words(share).tolist() == [OFF, MATCH, OFF]


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
    many = 10**8
    sure = {"published_std": "0", "published_repeats": many, "count": many}
    unsure = error * math.sqrt(many)
    for side in (delta, -delta):
        mine = frame("10.0000000000", 10.0 + side, unsure, **sure)
        theirs = frame("10.0000000000", 10.0 + side, **sure | {"published_std": f"{unsure:.12f}"})
        for cells in (mine, theirs):
            assert tuple(found(cells)[["verdict", "interval"]]) == (word, interval)


@given(cases, cases)
def test_a_nearer_cell_never_has_a_worse_colour(one: dict, other: dict) -> None:
    """Whatever the errors: colours rank cells as their distances from print do."""
    both = [found(frame(**each)) for each in (one, other)]
    nearer, farther = sorted(both, key=lambda each: abs(each.share))
    assert JUDGED.index(nearer.verdict) <= JUDGED.index(farther.verdict)
    most = {MATCH: MATCH_WITHIN, NEAR: NEAR_WITHIN, OFF: math.inf}
    assert abs(nearer.share) <= most[nearer.verdict]


@given(cases, st.floats(1.0, 10.0))
def test_noise_changes_the_second_mark_alone(one: dict, more: float) -> None:
    """More noise of ours, on drawn data: the colour stays, and print is not excluded anew."""
    quiet, noisy = (
        found(frame(**one | {"std": std}), drawn=True)
        for std in (one["std"], more * one["std"] + 0.1)
    )
    assert noisy.verdict == quiet.verdict
    if quiet.interval == CONTAINS:
        assert noisy.interval == CONTAINS


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
    assert found(frame(printed, ours, 0.1, metric=metric)).share == pytest.approx(share)


def test_errors_of_shuffles() -> None:
    """Of shuffles of the same data: both means have their standard error (Welch)."""
    one = found(frame("10.00", 10.3, 0.5, 20, published_std="0.60"))
    welch = stats.ttest_ind_from_stats(10.3, 0.5, 20, 10.0, 0.6, 10, equal_var=False)
    t = one.delta / math.hypot(one.ours_se, one.published_se)
    assert t == pytest.approx(welch.statistic, rel=1e-3)  # but for the rounding
    assert 2 * stats.t.sf(t, one.df) == pytest.approx(welch.pvalue, rel=1e-2)
    assert one.published_se == pytest.approx(math.sqrt(0.6**2 / 10 + 0.01**2 / 12))
    more = {"published_std": "0.19", "published_spread": STANDARD_ERROR}
    error = found(frame("10.00", 10.3, 0.5, 20, **more))
    assert error.published_se == pytest.approx(0.19, abs=1e-3)
    assert found(frame("10.00", 10.3, 0.5, 2, published_std="0.00")).df == pytest.approx(1.0)


def test_errors_of_draws() -> None:
    """The authors' data are one more draw: the interval predicts the mean of a single one."""
    for std in ("0.01", "3.00", ""):  # their ± is over shuffles of their draw alone
        one = found(frame("10.00", 11.0, 1.5, 25, published_std=std), drawn=True)
        assert one.df == 24
        assert one.ours_se == pytest.approx(0.3)
        assert one.published_se == pytest.approx(1.5, abs=1e-4)
        wanted = stats.t.ppf(0.9995, 24) * 1.5 * math.sqrt(1 + 1 / 25)
        assert one.high - one.delta == pytest.approx(wanted, rel=1e-4)  # but for the rounding


def test_a_spread_that_is_not_printed_is_taken_to_be_ours() -> None:
    """Single runs of the authors are then taken to deviate as ours do."""
    for repeats, error in ((4, 0.25), (1, 0.5)):
        more = {"published_std": "", "published_repeats": repeats}
        one = found(frame("10.00", 10.0, 0.5, 16, **more))
        assert one.ours_se == pytest.approx(0.125)
        assert one.published_se == pytest.approx(error, rel=1e-3)
        assert one.df == 15  # the one deviation is that of our 16 numbers


@pytest.mark.parametrize(
    ("ours", "count", "verdict"), [(10.04, 10, MATCH), (10.95, 10, NEAR), (10.04, 1, MATCH)]
)
def test_numbers_without_any_spread_are_compared_by_their_digits(
    ours: float, count: int, verdict: str
) -> None:
    """Two runs that never vary match if the printed number is ours, rounded."""
    assert found(frame("10.0", ours, 0.0, count, published_std="0.00")).verdict == verdict


@pytest.mark.parametrize("kind", ["substitute", "timing", OURS])
def test_kinds_that_are_not_judged_by_value(kind: str) -> None:
    """Stand-in data, seconds and baselines of ours get their own verdicts, and no second mark."""
    one = found(frame(kind=kind))
    assert (one.verdict, one.interval) == (kind, "")
    assert math.isnan(one.delta) == (kind == OURS)
    assert OURS not in VERDICTS


@pytest.mark.parametrize("kind", [VALUE, "timing", OURS])
def test_what_was_not_run_is_missing(kind: str) -> None:
    """It has no difference, and is not apart."""
    one = found(frame(kind=kind, ours=math.nan, count=0))
    assert (one.verdict, one.interval, one.is_apart) == (MISSING, "", False)
    assert one[["delta", "low", "high", "share"]].isna().all()


@pytest.mark.parametrize(
    ("printed", "spread", "repeats", "std", "wanted"),
    [
        ("0.50", STD, 10, 0.5, (1.0, 1.0)),
        ("0.50", STD, 10, 1.5, (3.0, 2 * stats.f.sf(9.0, 9, 9))),
        ("0.50", STANDARD_ERROR, 9, 1.5, (3.0, 1.0)),
        ("", STD, 10, 0.5, (math.nan, math.nan)),
        ("0.50", STD, 10, 0.0, (math.nan, math.nan)),
    ],
)
def test_spreads_by_hand(
    printed: str, spread: str, repeats: int, std: float, wanted: tuple[float, float]
) -> None:
    """The F test compares deviations of single runs, whichever of the two the ± is."""
    more = {"published_std": printed, "published_spread": spread, "published_repeats": repeats}
    cells = frame(**more)
    tested = spread_tests(cells, pd.Series([std]), pd.Series([repeats]))
    assert tuple(tested.iloc[0]) == pytest.approx(wanted, nan_ok=True)
