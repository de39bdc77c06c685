"""Statistics agree with hand-computed values and with scipy's own tests."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from described import a_claim
from hypothesis import given
from hypothesis import strategies as st
from miniature import AS_WRITTEN, SERIAL
from scipy import stats
from small_tables import TINY, Small, a_cell

from omtl.compute.store import Store
from omtl.evidence import claims, statistics
from omtl.evidence.comparisons import (
    ABOVE,
    BELOW,
    FAILS,
    HOLDS,
    UNDECIDED,
    bootstrap_interval,
    compare_pairs,
    decide_by_p,
    p_of_ranks,
    standing,
)
from omtl.evidence.rank_diagrams import write_diagrams
from omtl.evidence.ranks import Ranking, cliques, critical_difference, rank, rank_rows, rankings
from omtl.evidence.statistics import comparison_rows, equivalence_rows, make_statistics
from omtl.figures import plan
from omtl.figures.numbers import show_figure
from omtl.measures.correction import holm
from omtl.reproduction.figure_runs import measured_figure
from omtl.tables.cells import each_cell
from omtl.tables.request import Request
from omtl.tables.scoring import judged
from omtl.util.errors import UserError

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
    comparison = compared(one, other)
    assert decide_by_p(comparison, comparison.p) == comparison.outcome


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


def test_ranks_of_two_repeats_are_compared() -> None:
    """Both signs alike in one of two cases; a single repeat says nothing."""
    assert p_of_ranks((A - B)[:2]) == pytest.approx(0.5)
    assert p_of_ranks((A - B)[:1]) == 1.0


def family_of(*pairs: dict[str, Any], seed: int = 0) -> pd.DataFrame:
    """Return the rows of a family of comparisons."""
    return comparison_rows("dom", "as_written", compare_pairs(pairs), seed)


def test_a_ratio_is_written_in_its_own_unit() -> None:
    """Its bootstrap interval as well as its mean."""
    (row,) = family_of(pair(A, B, (0.0, 1.0), True)).to_dict("records")
    mean = np.exp(np.log(A / B).mean())
    assert float(row["mean"]) == pytest.approx(mean, rel=1e-3)
    assert float(row["bootstrap_low"]) < mean < float(row["bootstrap_high"]) < 1.0


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


def test_correction_can_take_an_outcome_back() -> None:
    """One comparison among many needs more than one alone."""
    weak = pair(A, A + np.array([0.2, 0.5, -0.1, 0.4, 0.3, 0.1]))
    noise = [pair(A, A[::-1] + i) for i in range(5)]
    assert family_of(weak)["corrected"].tolist() == [HOLDS]
    among = family_of(weak, *noise)
    assert (among["outcome"][0], among["corrected"][0]) == (HOLDS, UNDECIDED)
    assert family_of(pair(B + 9, A))["corrected"].tolist() == [FAILS]


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


def test_no_learner_is_better_by_a_correlation_or_a_time() -> None:
    """There are no ranks by them, and no practical equivalence."""
    for metric in ("correlation", "seconds"):
        numbers = grid_of(NUMBERS, metric)
        assert rankings(numbers) == []
        assert equivalence_rows(numbers, ["A"]).empty


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


def test_diagrams_have_the_same_bytes(tmp_path: Path) -> None:
    """Drawn twice, with each learner's name."""
    one = rank(grid_of(NUMBERS), "error")
    assert isinstance(one, Ranking)
    first = [p.read_bytes() for p in write_diagrams([one], tmp_path / "t", "told")]
    assert first == [p.read_bytes() for p in write_diagrams([one], tmp_path / "t", "told")]
    other = replace(one, critical_difference=0.1)
    assert first[0] != write_diagrams([other], tmp_path / "t", "told")[0].read_bytes()


def test_two_algorithms_have_no_test_of_friedman(tmp_path: Path) -> None:
    """Nor does their diagram name one."""
    for names, is_told in (("AB", False), ("ABC", True)):
        (one,) = rankings(grid_of({name: NUMBERS[name] for name in names}))
        (path,) = write_diagrams([one], tmp_path / names, "")
        drawn = path.read_text(encoding="utf-8")
        assert ("Friedman" in drawn, "nan" in drawn) == (is_told, False)


def test_statistics_of_a_table(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row a comparison, and average ranks; nothing stored is the user's to know."""
    reading = AS_WRITTEN
    asked = Request(store=store)
    with pytest.raises(UserError, match="run `omtl table dom-table1` with the same options"):
        make_statistics("dom-table1", reading, Request(repeats=2, store=store), tmp_path)
    numbers = grid_of(NUMBERS)
    part = {"dataset": "D0", "lower": ["A", "B"], "than": ["C"]}
    claim = a_claim(part, table="dom-table1")
    monkeypatch.setattr(statistics, "stored_or_published", lambda *_, **__: (numbers, None))
    monkeypatch.setattr(claims, "claims_of", lambda _paper: [claim])
    paths = make_statistics("dom-table1", reading, asked, tmp_path)
    assert [path.name for path in paths] == [
        "dom-table1.claims.csv",
        "dom-table1.csv",
        "dom-table1.as_written.svg",
    ]
    # With so many ranks within the critical difference there is nothing to draw.
    (ranked,) = statistics.rankings(numbers)
    monkeypatch.setattr(
        statistics, "rankings", lambda _: [replace(ranked, critical_difference=2.5)]
    )
    again = make_statistics("dom-table1", reading, asked, tmp_path / "again")
    assert [path.name for path in again] == ["dom-table1.claims.csv", "dom-table1.csv"]
    with paths[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(r["comparison"], r["corrected"]) for r in rows] == [
        ("D0: A < C", HOLDS),
        ("D0: B < C", HOLDS),
    ]
    found = claims.claim_outcomes("dom", "dom-table1", "as_written", numbers)
    assert found["outcome"].tolist() == [HOLDS]
    # A claim that is withdrawn leaves no rows of its own, and takes none of another reading.
    make_statistics("dom-table1", replace(reading, name="as_read"), asked, tmp_path)
    monkeypatch.setattr(claims, "claims_of", lambda _paper: [])
    make_statistics("dom-table1", reading, asked, tmp_path)
    with paths[0].open(encoding="utf-8", newline="") as file:
        assert {row["reading"] for row in csv.DictReader(file)} == {"as_read"}


def test_statistics_of_a_figure(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparisons of its lines, from the numbers that are drawn."""
    for module in (plan, statistics):
        monkeypatch.setattr(module, "describe", lambda _kind, _name: TINY)
    monkeypatch.setattr(plan, "Experiment", Small)
    monkeypatch.setattr(statistics, "descriptions", lambda _kind: {"tiny": tmp_path})
    part = {"panel": "a", "lower": ["DOM-I"], "than": ["PM"], "at": [180]}
    claim = a_claim(part, figure="tiny")
    monkeypatch.setattr(claims, "claims_of", lambda _paper: [claim])
    reading = AS_WRITTEN
    asked = Request(repeats=3, parallel=SERIAL, store=store)
    with pytest.raises(UserError, match="omtl figure tiny"):
        make_statistics("tiny", reading, asked, tmp_path)
    *_, of_claims = measured_figure(plan.plan_figure("tiny", reading), asked).write(tmp_path)
    with of_claims.open(encoding="utf-8", newline="") as file:
        assert [row["claim"] for row in csv.DictReader(file)] == ["c"]
    (path,) = make_statistics("tiny", reading, asked, tmp_path)
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    panel = show_figure(plan.plan_figure("tiny", reading), asked)[0]
    lines = {line.label: line for part in panel.axes for line in part.lines}
    last = {name: line.values[:, -1] for name, line in lines.items()}
    difference = (last["DOM-I"] - last["PM"]).mean()
    assert float(row["mean"]) == pytest.approx(difference, rel=1e-3)
    # A claim that is withdrawn leaves no row.
    monkeypatch.setattr(claims, "claims_of", lambda _paper: [])
    measured_figure(plan.plan_figure("tiny", reading), asked).write(tmp_path)
    with of_claims.open(encoding="utf-8", newline="") as file:
        assert not list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("interval", "lower_is_better", "expected"),
    [
        ((0.96, 1.04), True, "equivalent"),
        ((0.94, 1.01), True, "undecided"),
        ((0.80, 0.95), True, "better"),
        ((0.80, 0.95), False, "worse"),
        ((1.06, 1.20), True, "worse"),
        ((1.06, 1.20), False, "better"),
        ((0.90, 1.10), True, "undecided"),
        ((-np.inf, np.inf), True, "undecided"),
    ],
)
def test_region_of_practical_equivalence(
    interval: tuple[float, float], lower_is_better: bool, expected: str
) -> None:
    """Decided only by an interval that is wholly within or wholly without."""
    assert standing(*interval, lower_is_better) == expected


def test_equivalence_of_own_and_others() -> None:
    """The paper's own beside each other algorithm of its place, by ratios of the repeats."""
    numbers = grid_of(NUMBERS)
    rows = equivalence_rows(numbers, ["A"])
    places = set(numbers["dataset"])
    assert set(zip(rows["dataset"], rows["algorithm"], rows["other"], strict=True)) == {
        (place, "A", other) for place in places for other in "BCD"
    }
    mine, other = (
        numbers["values"][(numbers["dataset"] == "D0") & (numbers["algorithm"] == name)].iloc[0]
        for name in "AB"
    )
    row = rows[(rows["dataset"] == "D0") & (rows["other"] == "B")].iloc[0]
    expected = np.exp(np.log(mine / other).mean())
    assert float(row["ratio"]) == pytest.approx(expected, rel=1e-3)
    assert (row["repeats_are_of"], row["n_repeats"]) == ("one data set", str(mine.size))
