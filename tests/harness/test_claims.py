"""Claims and statistics: judged on paired repeats, in agreement with scipy's own tests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from described import a_claim, a_table
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from small_tables import a_cell

from omtl.api import everything
from omtl.commands import _main
from omtl.evidence import ledger, statistics
from omtl.evidence.claims import judge_claims, outcome_of
from omtl.evidence.comparisons import (
    BELOW,
    FAILS,
    HOLDS,
    UNDECIDED,
    bootstrap_interval,
    compare_pairs,
    correct_family,
    p_of_ranks,
)
from omtl.evidence.ranks import critical_difference
from omtl.evidence.statistics import comparison_rows
from omtl.experiment.descriptions import Claim
from omtl.measures.correction import holm
from omtl.tables.cells import each_cell
from omtl.tables.request import Request
from omtl.tables.verdict import judged as judged_cells
from omtl.util.errors import UserError, WriteError
from omtl.util.files import write_whole

CLAIM = a_claim({"dataset": "D", "lower": ["A"], "than": ["B"]})


def cells_of(dataset: str = "D", **values: list[float]) -> pd.DataFrame:
    """Return cells with these numbers, by algorithm."""
    return pd.DataFrame([a_cell(name, dataset, values=each) for name, each in values.items()])


def decided(claim: Claim, cells: Any) -> str:
    """Return the outcome of a claim."""
    return outcome_of(judge_claims([claim], cells)["outcome"])


def judged(claim: Claim, cells: Any) -> tuple[str, str]:
    """Return the outcome of a claim's one comparison, and what it says."""
    ((outcome, says),) = judge_claims([claim], cells)[["outcome", "comparison"]].to_numpy().tolist()
    return outcome, says


def outcome(a: list[float], b: list[float]) -> str:
    """Return the outcome of A < B."""
    return decided(CLAIM, cells_of(A=a, B=b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # Paired: the repeats' own spread does not matter.
        ([1.0, 2.0, 9.0, 5.0], [1.1, 2.1, 9.15, 5.1], HOLDS),
        ([1.1, 2.1, 9.15, 5.1], [1.0, 2.0, 9.0, 5.0], FAILS),
        ([1.0, 2.0, 3.0], [1.5, 1.5, 3.0], UNDECIDED),
        ([1.0, 2.0], [1.0, 2.0], UNDECIDED),  # equal numbers decide nothing
        ([1.0], [2.0], UNDECIDED),  # nor does one repeat
        ([1.1, 2.3, 4.0], [1.4, 2.6, 4.3], UNDECIDED),  # nor the same difference in a few
        ([1.0] * 6, [1.3] * 6, HOLDS),
        ([], [1.0, 2.0], UNDECIDED),  # nor a cell that was not run
    ],
)
def test_outcomes(a: list[float], b: list[float], expected: str) -> None:
    """Holds where the interval of the differences is below 0, fails where it is above."""
    assert outcome(a, b) == expected


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 100)), min_size=2, max_size=20))
def test_turning_a_comparison_round_turns_its_outcome(pairs: list[tuple[float, float]]) -> None:
    """A < B holds exactly where B < A fails."""
    a, b = (list(side) for side in zip(*pairs, strict=True))
    turned = {HOLDS: FAILS, FAILS: HOLDS, UNDECIDED: UNDECIDED}
    assert outcome(b, a) == turned[outcome(a, b)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"higher": ["B"], "than": ["A"]}, HOLDS),
        ({"higher": ["A"], "than": ["B"]}, FAILS),
        ({"lower": ["A"], "than": ["B"], "by": 5}, HOLDS),
        ({"lower": ["A"], "than": ["B"], "by": 20}, FAILS),
        ({"higher": ["B"], "than": ["A"], "by": 10}, UNDECIDED),
        ({"ratio": ["B"], "than": ["A"], "at_least": 1.5}, HOLDS),
        ({"ratio": ["B"], "than": ["A"], "at_least": 1.5, "at_most": 1.7}, FAILS),
        ({"ratio": ["B"], "than": ["A"], "at_least": 2.0}, UNDECIDED),
    ],
)
def test_margins_and_ratios(part: dict, expected: str) -> None:
    """A claim may name a margin, a ratio, and either direction."""
    cells = cells_of(A=[10.0, 11.0, 9.0], B=[20.0, 21.0, 19.5])
    assert decided(a_claim({"dataset": "D", **part}), cells) == expected


def test_a_row_over_another_that_was_settled_earlier() -> None:
    """Over the repeats that both have, as rows of a table need not be played equally often."""
    cells = cells_of(A=[1.0, 1.1, 0.9], B=[2.0, 2.1, 1.9, 2.0], C=[4.0, 4.1, 3.9])
    claim = a_claim({"dataset": "D", "lower": ["A / B"], "than": ["B"]})
    found = judge_claims([claim], cells)
    assert found["n_repeats"].tolist() == [3]
    assert found["values"][0].tolist() == [1.0 / 2.0, 1.1 / 2.1, 0.9 / 1.9]
    thrice = judge_claims([a_claim({"dataset": "D", "lower": ["A / B / C"], "than": ["A"]})], cells)
    np.testing.assert_allclose(thrice["values"][0], found["values"][0] / [4.0, 4.1, 3.9])


def test_the_same_line_elsewhere() -> None:
    """A figure's line at another x of the same axes, under ``<line> at <x>``."""
    line = SimpleNamespace(label="A", x=[1.0, 2.0], values=np.array([[5.0, 1.0], [5.5, 1.1]]))
    other = SimpleNamespace(label="B", x=[2.0], values=np.array([[9.0], [9.5]]))
    axes: list[Any] = [
        SimpleNamespace(title="left", lines=[line]),
        SimpleNamespace(title="right", lines=[other]),
    ]
    shown: Any = [SimpleNamespace(label="a", axes=axes, repeats_are_of="one data set", missing=())]
    part = {"panel": "a", "parts": ["left"], "lower": ["A"], "at": [2]}
    found = judged(a_claim({**part, "than": ["A at 1"]}), shown)
    assert found == (HOLDS, "left at 2: A < A at 1")
    assert decided(a_claim({**part, "than": ["B at 2"]}), shown) == UNDECIDED
    for wrong in ({"parts": ["middle"]}, {"at": [3]}, {"than": ["A at 3"]}, {"than": ["A at one"]}):
        with pytest.raises(UserError, match=r"^claim c, panel a: .*(middle|3|one)"):
            decided(a_claim({**part, "than": ["B at 2"], **wrong}), shown)


@pytest.mark.parametrize("fault", [UserError("no such thing"), ValueError("no such thing")])
def test_reproduce_goes_on_where_a_table_fails(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are made, the status is 1, and the summary tells what failed or was too slow."""
    one = judged_cells(pd.DataFrame([a_cell("A", values=[10.0])])).assign(verdict="match")
    made = SimpleNamespace(cells=one, claims=pd.DataFrame({"outcome": [HOLDS]}), is_broken=False)
    ids = {"table": ["rom-table1", "aklo-table2"], "figure": ["rom-fig1"]}
    slow = {"aklo-table2": [{"readings": ["as_written"], "why": "it takes a day"}]}

    def described(_kind: str, name: str) -> Any:
        return a_table(paper="rom", selection="fixed", too_slow=slow.get(name, []))

    def table(name: str, wanted: Any, *_: Any) -> Any:
        if (name, wanted.reading) == ("rom-table1", "as_written"):
            raise fault
        return made

    monkeypatch.setattr(everything, "descriptions", lambda kind: dict.fromkeys(ids[kind]))
    monkeypatch.setattr(everything, "describe", described)
    monkeypatch.setattr(everything, "reproduce_table", table)
    monkeypatch.setattr(everything, "reproduce_figure", lambda *_: made)
    monkeypatch.setattr(ledger, "write_ledgers", lambda: ([], []))
    for place in ("write_hindsight_gap", "write_findings"):
        monkeypatch.setattr(everything, place, lambda *_: [])
    monkeypatch.setattr(statistics, "reproduce_statistics", lambda *_: [])
    assert _main.main(["reproduce", "--jobs", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    [failed] = [line for line in lines if line.startswith("failed: rom-table1, as_written: ")]
    assert failed.endswith("no such thing")
    assert "left out: aklo-table2, as_written: it takes a day" in lines
    told = {line.split()[1]: line for line in lines if line.startswith(" rom ")}
    assert "1: match 1" in told["blind"], "AKLO's table of times was not searched"
    assert "2: match 2" in told["as_published"]
    assert _main.main(["reproduce", "--all", "--jobs", "1"]) == 1
    out = capsys.readouterr().out
    assert "left out" not in out
    assert "1: match 1" in next(line for line in out.splitlines() if " as_written " in line)


def test_reproduce_stops_where_files_cannot_be_written(tmp_path: Path) -> None:
    """As the others could not be written either."""
    (tmp_path / "file").touch()
    with pytest.raises(WriteError):
        everything.Summary(Request()).made("it", write_whole, tmp_path / "file" / "below", "text")


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
    """One repeat and equal numbers decide nothing; one difference everywhere is a test of signs."""
    one = compared(A[:1], B[:1])
    assert (one.p, p_of_ranks(one.away)) == (1.0, 1.0)
    equal = compared(A, A)
    assert (equal.p, p_of_ranks(equal.away), equal.effect) == (1.0, 1.0, 0.0)
    endless = compared(np.append(A, -np.inf), np.append(B, 1.0))
    assert (endless.p, p_of_ranks(endless.away)) == (1.0, 1.0)
    assert np.isnan(bootstrap_interval(A[:4] - B[:4])).all()
    always = compared(np.zeros(6), np.ones(6))
    assert (always.p, always.effect) == (2.0**-5, np.inf)
    assert bootstrap_interval(always.differences) == (-1.0, -1.0)
    never = compared(np.ones(6), np.zeros(6))
    assert (never.p, never.effect) == (2.0**-5, -np.inf)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=3, max_size=12))
def test_p_decides_as_the_interval_does(pairs: list[tuple[int, int]]) -> None:
    """An uncorrected p below the level is an interval without the bound."""
    one, other = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    alone = correct_family(compare_pairs([pair(one, other)]))
    assert alone["corrected"].tolist() == alone["outcome"].tolist()


def test_a_family_is_corrected_as_a_whole() -> None:
    """What two claims share counts once, and what was not run does not count."""
    first, other, lacking = pair(), pair(A, B, below(0.5)), pair(A, NOTHING)
    pairs = compare_pairs([first, {**first, "claim": "two"}, other, lacking])
    rows = comparison_rows("dom", "as_written", pairs)
    assert rows["claim"].tolist() == ["c", "two", "c", "c"]
    p = [compared().p, compared(A, B, below(0.5)).p]
    expected = [f"{value:.4g}" for value in holm(p)]
    assert rows["p_holm"].tolist() == [expected[0], expected[0], expected[1], ""]
    shares = stats.false_discovery_control(p, method="by")
    assert rows["q_by"].tolist()[1:3] == [f"{value:.4g}" for value in shares]
    assert rows["n_repeats"].tolist() == ["6", "6", "6", "0"]
    assert rows["outcome"].tolist()[3] == rows["corrected"].tolist()[3] == UNDECIDED
    assert rows.loc[3, ["mean", "effect", "p_wilcoxon"]].tolist() == [""] * 3


def test_critical_difference_of_demsar() -> None:
    """Demšar (2006), table 5(a): q of 0.05 is 2.569 for 4 and 2.850 for 6 learners."""
    assert critical_difference(4, 14) == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), rel=1e-3)
    assert critical_difference(6, 5) == pytest.approx(2.850 * np.sqrt(6 * 7 / (6 * 5)), rel=1e-3)
