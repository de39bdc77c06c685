"""Claims are judged on paired repeats; `reproduce` goes on where a table fails."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from described import a_claim, a_table
from hypothesis import given
from hypothesis import strategies as st
from small_tables import a_cell

from omtl.api import everything
from omtl.commands import _main
from omtl.compute.independent_jobs import attempt
from omtl.evidence import ledger, statistics
from omtl.evidence.claims import judge_claims, outcome_of
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.descriptions import Claim
from omtl.tables import plan
from omtl.tables.verdict import judged as judged_cells
from omtl.util.errors import UserError

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
        (
            [1.0, 2.0, 9.0, 5.0],
            [1.1, 2.1, 9.15, 5.1],
            HOLDS,
        ),  # paired: the repeats' own spread is no matter
        ([1.1, 2.1, 9.15, 5.1], [1.0, 2.0, 9.0, 5.0], FAILS),
        ([1.0, 2.0, 3.0], [1.5, 1.5, 3.0], UNDECIDED),
        ([1.0, 2.0], [1.0, 2.0], UNDECIDED),  # equal numbers decide nothing
        ([1.0], [2.0], UNDECIDED),  # nor does one repeat
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


def cells(**values: list[float]) -> pd.DataFrame:
    """Return cells of both data sets, by algorithm."""
    return pd.DataFrame(
        [a_cell(name, data, values=each) for data in "DE" for name, each in values.items()]
    )


Make = Callable[..., Any]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Make]:
    """Let there be two tables and a figure that take no time; return what makes them."""
    one = judged_cells(pd.DataFrame([a_cell("A", values=[10.0])])).assign(verdict="match")
    outcomes = pd.DataFrame({"outcome": [HOLDS]})
    made: dict[str, Make] = {
        "table": lambda *_: SimpleNamespace(cells=one, claims=outcomes, is_broken=False),
        "figure": lambda *_: SimpleNamespace(outcomes=[HOLDS], is_broken=False),
    }
    ids = {"table": ["rom-table1", "rom-table2"], "figure": ["rom-fig1"]}
    import_module("omtl.api.tables")  # imported under the fakes, it would keep them
    monkeypatch.setattr(plan, "descriptions", lambda kind: dict.fromkeys(ids[kind]))
    described = a_table(paper="rom", selection="fixed")
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: described)
    monkeypatch.setattr(everything, "reproduce_table", lambda *args: made["table"](*args))
    monkeypatch.setattr(everything, "run_jobs", lambda jobs, _: [*map(attempt, jobs)])
    monkeypatch.setattr(everything, "compute_figure", lambda *_: None)
    monkeypatch.setattr(everything, "reproduce_figure", lambda *args: made["figure"](*args))
    monkeypatch.setattr(statistics, "reproduce_statistics", lambda *_: [])
    monkeypatch.setattr(ledger, "write_ledgers", lambda: ([], []))
    monkeypatch.setattr(everything, "write_hindsight_gap", lambda *_: [])
    monkeypatch.setattr(everything, "write_findings", lambda *_: [])
    return made


@pytest.mark.parametrize("fault", [UserError("no such thing"), ValueError("no such thing")])
def test_reproduce_goes_on_where_a_table_fails(
    fault: Exception, fakes: dict[str, Make], capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are made, the status is 1, and the summary tells why."""
    whole = fakes["table"]

    def table(name: str, wanted: Any, *rest: Any) -> Any:
        if (name, wanted.reading) == ("rom-table1", "as_written"):
            raise fault
        return whole(name, wanted, *rest)

    fakes["table"] = table
    assert _main.main(["reproduce", "--jobs", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("failed: rom-table1, as_written: ")
    assert lines[-1].endswith("no such thing")
    told = {line.split()[1]: line for line in lines if line.startswith("rom ")}
    assert "1: match 1" in told["as_written"]
    assert "1: match 1" in told["blind"], "the blind reading of Table II alone was searched"
    assert "2: match 2" in told["as_published"]


def test_what_is_too_slow_is_left_out(
    fakes: dict[str, Make], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless it is asked for; the summary says what, and why."""
    assert fakes
    slow = {"readings": ["as_written"], "why": "it takes a day"}
    described = a_table(paper="rom", selection="fixed", too_slow=[slow])
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: described)
    assert _main.main(["reproduce", "--jobs", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [f"left out: rom-table{n}, as_written: it takes a day" for n in (1, 2)]
    assert _main.main(["reproduce", "--all", "--jobs", "1"]) == 0
    assert "left out" not in capsys.readouterr().out
