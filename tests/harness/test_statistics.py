"""Statistics agree with hand-computed values and with scipy's own tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from small_tables import a_cell

from omtl.evidence.comparisons import (
    ABOVE,
    BELOW,
    UNDECIDED,
    bootstrap_interval,
    compare_pairs,
    correct_family,
    p_of_ranks,
)
from omtl.evidence.ranks import cliques, critical_difference, rank, rank_rows
from omtl.evidence.statistics import comparison_rows
from omtl.measures.correction import holm
from omtl.tables.cells import each_cell
from omtl.tables.verdict import judged

A = np.array([1.0, 2.5, 3.0, 4.2, 5.1, 5.9])
B = np.array([1.4, 2.6, 3.9, 4.6, 5.2, 6.8])
NOTHING = np.empty(0)


def pair(
    values: np.ndarray = A,
    others: np.ndarray = B,
    bounds: tuple[float, float] = BELOW,
    is_ratio: bool = False,
) -> dict[str, Any]:
    """Return two learners and what is stated of them, by default that the first is below."""
    named = {"claim": "c", "comparison": f"{bounds} {is_ratio}", "repeats_are_of": "fresh draws"}
    return {**named, "values": values, "others": others, "bounds": bounds, "is_ratio": is_ratio}


def compared(*pair_and_statement: Any) -> Any:
    """Return what the repeats of two learners say (`pair`)."""
    return next(each_cell(compare_pairs([pair(*pair_and_statement)])))


def below(by: float) -> tuple[float, float]:
    """Return the bounds of a difference of at least so much."""
    return (-np.inf, -by)


def test_p_is_that_of_the_paired_t_test() -> None:
    """Of no difference, of a margin, and of a ratio through logarithms."""
    assert compared().p == pytest.approx(stats.ttest_rel(A, B).pvalue)
    assert compared(A, B, below(0.5)).p == pytest.approx(stats.ttest_rel(A, B - 0.5).pvalue)
    expected = stats.ttest_1samp(np.log(A / B), np.log(0.5)).pvalue
    assert compared(A, B, (0.5, 2.0), True).p == pytest.approx(expected)
    assert p_of_ranks(compared().away) == pytest.approx(stats.wilcoxon(A, B).pvalue)


def test_no_p_without_repeats_or_spread() -> None:
    """One repeat and equal numbers decide nothing; the same difference everywhere decides all."""
    one = compared(A[:1], B[:1])
    assert (one.p, p_of_ranks(one.away)) == (1.0, 1.0)
    equal = compared(A, A)
    assert (equal.p, p_of_ranks(equal.away), equal.effect) == (1.0, 1.0, 0.0)
    endless = compared(np.append(A, -np.inf), np.append(B, 1.0))
    assert (endless.p, p_of_ranks(endless.away)) == (1.0, 1.0)
    always = compared(np.zeros(6), np.ones(6))
    assert (always.p, always.effect) == (0.0, np.inf)
    assert bootstrap_interval(always.differences) == (-1.0, -1.0)
    never = compared(np.ones(6), np.zeros(6))
    assert (never.p, never.effect) == (0.0, -np.inf)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=12))
def test_p_decides_as_the_interval_does(pairs: list[tuple[int, int]]) -> None:
    """An uncorrected p below the level is an interval without the bound."""
    one, other = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    alone = correct_family(compare_pairs([pair(one, other)]))
    assert alone["corrected"].tolist() == alone["outcome"].tolist()


def test_effect_size_is_cohens_d_of_the_differences() -> None:
    """Positive where the mean is on the claim's side, and of the nearer bound of two."""
    differences = A - B
    d = -differences.mean() / differences.std(ddof=1)
    assert d > 0
    assert compared().effect == pytest.approx(d)
    assert compared(B, A).effect == pytest.approx(-d)
    assert compared(B, A, ABOVE).effect == pytest.approx(d)
    logs = np.log(A / B)
    nearest = min(logs.mean() - np.log(0.5), -logs.mean())
    found = compared(A, B, (0.5, 1.0), True)
    assert found.effect == pytest.approx(nearest / logs.std(ddof=1))


def test_bootstrap_interval() -> None:
    """It holds the mean, is the same for the same seed, and needs enough repeats."""
    differences = A - B
    low, high = bootstrap_interval(differences, 0)
    assert low < differences.mean() < high < 0
    assert (low, high) == bootstrap_interval(differences, 0)
    assert (low, high) != bootstrap_interval(differences, 1)
    assert np.isnan(bootstrap_interval(differences[:4], 0)).all()


def family_of(*pairs: dict[str, Any], seed: int = 0) -> pd.DataFrame:
    """Return the rows of a family of comparisons."""
    return comparison_rows("dom", "as_written", compare_pairs(pairs), seed)


def test_holm_by_hand() -> None:
    """0.01·4, 0.02·3, max(0.06, 0.03·2), 0.5: never falling, at most 1."""
    np.testing.assert_allclose(holm([0.03, 0.01, 0.5, 0.02]), [0.06, 0.04, 0.5, 0.06])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1.0, 1.0])
    assert holm([]).size == 0


def test_a_family_is_corrected_as_a_whole() -> None:
    """What two claims share counts once, and what was not run does not count."""
    first, other, lacking = pair(), pair(A, B, below(0.5)), pair(A, NOTHING)
    rows = family_of(first, {**first, "claim": "two"}, other, lacking)
    assert rows["claim"].tolist() == ["c", "two", "c", "c"]
    p = [compared().p, compared(A, B, below(0.5)).p]
    expected = [f"{value:.4g}" for value in holm(p)]
    assert rows["p_holm"].tolist() == [expected[0], expected[0], expected[1], ""]
    shares = stats.false_discovery_control(p, method="by")
    assert rows["q_by"].tolist()[1:3] == [f"{value:.4g}" for value in shares]
    assert rows["n_repeats"].tolist() == ["6", "6", "6", "0"]
    assert rows["outcome"].tolist()[3] == rows["corrected"].tolist()[3] == UNDECIDED
    assert rows["mean"].tolist()[3] == rows["effect"].tolist()[3] == ""


def grid_of(values: dict[str, list[float | None]], metric: str = "error") -> pd.DataFrame:
    """Return cells by algorithm, one for each data set."""
    cells = [
        a_cell(name, f"D{i}", metric=metric, values=[] if value is None else [value, value])
        for name, numbers in values.items()
        for i, value in enumerate(numbers)
    ]
    return judged(pd.DataFrame(cells))


NUMBERS: dict[str, list[float | None]] = {
    "A": [1.0, 1.0, 2.0, 1.0],
    "B": [2.0, 2.0, 1.0, 2.0],
    "C": [3.0, 2.0, 3.0, 4.0],
    "D": [4.0, 9.0, 5.0, 3.0],
}


def test_ranks_by_hand() -> None:
    """Ties share a rank; the statistic is scipy's; where higher is better ranks turn."""
    one = rank(grid_of(NUMBERS), "error")
    assert one is not None
    assert one.average == {"A": 1.25, "B": 1.875, "C": 3.125, "D": 3.75}
    expected = stats.friedmanchisquare(*NUMBERS.values())
    assert (one.friedman, one.p) == (
        pytest.approx(expected.statistic),
        pytest.approx(expected.pvalue),
    )
    up = rank(grid_of(NUMBERS, "auc"), "auc")
    assert up is not None
    assert up.average == {name: 5.0 - average for name, average in one.average.items()}
    assert rank_rows("t", "r", [one])["algorithm"].tolist() == ["A", "B", "C", "D"]


def test_who_is_ranked() -> None:
    """A data set that nobody was run on does not count, nor a learner that lacks one."""
    lacking = {**NUMBERS, "B": [2.0, None, 1.0, 2.0]}
    one = rank(grid_of(lacking), "error")
    assert one is not None
    assert list(one.ranks) == ["A", "C", "D"]
    assert len(one.ranks) == 4
    empty = {name: [*values[:3], None] for name, values in NUMBERS.items()}
    one = rank(grid_of(empty), "error")
    assert one is not None
    assert list(one.ranks.index) == ["D0", "D1", "D2"]
    assert rank(grid_of({name: values[:1] for name, values in NUMBERS.items()}), "error") is None


def test_critical_difference_of_demsar() -> None:
    """Demšar (2006), table 5(a): q of 0.05 is 2.569 for 4 and 2.850 for 6 learners."""
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), rel=1e-3)
    assert critical_difference(6, 5) == pytest.approx(2.850 * np.sqrt(6 * 7 / (6 * 5)), rel=1e-3)


def test_cliques() -> None:
    """Runs that cannot be told apart, without those inside another."""
    average = [3.0, 1.0, 2.0, 5.0, 5.5]
    assert cliques(average, 1.0) == [(1.0, 2.0), (2.0, 3.0), (5.0, 5.5)]
    assert cliques(average, 2.0) == [(1.0, 3.0), (3.0, 5.0), (5.0, 5.5)]
    assert cliques(average, 0.1) == []
