"""The ledger of claims, the audit of theorems, and the summary of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest
from described import a_claim, a_table
from small_tables import a_cell

from omtl.commands import _main
from omtl.evidence import ledger
from omtl.evidence.claims import claims_of, judge_claim, outcome_of
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.evidence.ledger import (
    CHANGED,
    COLUMNS,
    NOT_RUN,
    claims_ledger,
    conclusions,
    papers_with_claims,
    predicate,
    theory_audit,
    with_conclusions,
)
from omtl.evidence.statistics import comparison_rows
from omtl.evidence.summary import Summary
from omtl.experiment.descriptions import Claim
from omtl.experiment.papers import paper_file
from omtl.reproduction import reproduce, reproduce_all
from omtl.tables import plan
from omtl.tables.scoring import judged as judged_cells
from omtl.tables.writing import write_rows
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.result_files import read_csv

CLAIM = a_claim(
    {"dataset": "D", "lower": ["A"], "than": ["B", "C"]},
    {"dataset": "E", "lower": ["A"], "than": ["B", "C"]},
    {"dataset": "E", "ratio": ["A"], "than": ["B"], "at_least": 0.5, "at_most": 0.9},
    id="a-below",
    place="section 1",
    says="A is\nbelow the others.",
    table="dom-table1",
)


def cells(**values: list[float]) -> pd.DataFrame:
    """Return cells of both data sets, by algorithm."""
    return pd.DataFrame(
        [a_cell(name, data, values=each) for data in "DE" for name, each in values.items()]
    )


def told(reading: str, numbers: pd.DataFrame, results: Path, *, tested: bool, claim: Claim) -> None:
    """Write the outcome of a claim, as a reproduced table does, and its tests."""
    parts = judge_claim(claim, numbers)
    row = ("dom", claim.id, "", "", reading, outcome_of(parts["outcome"]))
    names = ("paper", "claim", "place", "says", "reading", "outcome")
    write_rows(results / "reproduced/dom-table1.claims.csv", pd.DataFrame([row], columns=names))
    if tested:
        path = results / "statistics/dom-table1.claims.csv"
        write_rows(path, comparison_rows("dom", reading, parts))


@pytest.fixture
def one_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one paper with one claim."""
    monkeypatch.setattr(ledger, "papers_with_claims", lambda: ["dom"])
    monkeypatch.setattr(ledger, "claims_of", lambda _paper: [CLAIM])


GOOD = {
    "A": [1.0, 2.0, 3.0, 4.0, 5.0],
    "B": [1.5, 3.0, 4.4, 5.6, 7.1],
    "C": [2.0, 3.1, 4.2, 5.0, 6],
}


@pytest.mark.usefixtures("one_claim")
def test_ledger(tmp_path: Path) -> None:
    """Each reading has its outcome, the corrected one, the counts and the least effect."""
    bad = {**GOOD, "C": [0.5, 1.0, 2.2, 3.1, 4.3]}
    told("as_written", cells(**GOOD), tmp_path, tested=True, claim=CLAIM)
    told("as_published", cells(**bad), tmp_path, tested=True, claim=CLAIM)
    rows = claims_ledger(tmp_path)
    assert tuple(rows.columns) == COLUMNS
    (row,) = rows.to_dict("records")
    assert row["sentence"] == "A is below the others."
    assert row["predicate"] == (
        "error A below each of B, C: on D, E; error A over B at least 0.5 and at most 0.9: on E"
    )
    assert (row["as_written"], row["as_written_corrected"]) == (HOLDS, HOLDS)
    assert row["as_written_comparisons"] == "holds 5"
    assert (row["as_published"], row["as_published_corrected"]) == (FAILS, FAILS)
    assert row["as_published_comparisons"] == "fails 2, holds 3"
    assert row["as_published_least_effect"].startswith("-")
    assert row["as_published_least_effect"].endswith("(D: A < C)")
    assert claims_ledger(tmp_path).to_csv() == rows.to_csv()


@pytest.mark.usefixtures("one_claim")
def test_what_the_ledger_does_not_know(tmp_path: Path) -> None:
    """Nothing run, tests that are lacking or of other numbers, and claims that changed."""
    row = claims_ledger(tmp_path).iloc[0]
    assert (row["as_written"], row["as_published_corrected"]) == (NOT_RUN, NOT_RUN)
    told("as_written", cells(A=[], B=[], C=[]), tmp_path, tested=True, claim=CLAIM)
    assert claims_ledger(tmp_path).iloc[0]["as_written"] == NOT_RUN
    told("as_written", cells(**GOOD), tmp_path, tested=False, claim=CLAIM)
    row = claims_ledger(tmp_path).iloc[0]
    assert (row["as_written"], row["as_written_corrected"]) == (HOLDS, "")
    part = cells(**{**GOOD, "C": []})
    told("as_written", part, tmp_path, tested=True, claim=CLAIM)
    row = claims_ledger(tmp_path).iloc[0]
    assert (row["as_written"], row["as_written_corrected"]) == (UNDECIDED, UNDECIDED)
    assert row["as_written_comparisons"] == "holds 3, not run 2"
    other = replace(CLAIM, all=CLAIM.all[:1])
    told("as_written", cells(**GOOD), tmp_path, tested=True, claim=other)
    row = claims_ledger(tmp_path).iloc[0]
    assert (row["as_written"], row["as_written_comparisons"]) == (NOT_RUN, CHANGED)


def test_every_claim_is_in_the_ledger() -> None:
    """In words, with its place, decided by a table or figure; whatever was run."""
    rows = claims_ledger(RESULTS)
    assert len(rows) == sum(len(claims_of(paper)) for paper in papers_with_claims()) > 40
    assert (
        set(rows["paper"]) == set(papers_with_claims()) >= {"rom", "osmtl", "dom", "aklo", "omtrsl"}
    )
    for column in ("place", "sentence", "decided_by", "predicate"):
        assert (rows[column] != "").all()
    outcomes = {HOLDS, FAILS, UNDECIDED, NOT_RUN}
    assert set(rows["as_written"]) | set(rows["as_published"]) <= outcomes


@pytest.mark.parametrize("paper", papers_with_claims())
def test_pages_begin_with_the_conclusions_that_survive(paper: str) -> None:
    """Those of the ledger; `audit claims` writes them."""
    rows = read_csv(RESULTS / "claims.csv")
    page = paper_file(paper, "README.md").read_text(encoding="utf-8")
    assert with_conclusions(page, rows[rows["paper"] == paper]) == page


def test_conclusions_name_stand_in_data() -> None:
    """Where a claim is decided on them: AKLO has no shoes."""
    rows = read_csv(RESULTS / "claims.csv")
    assert "Shoes" in set(rows.loc[rows["paper"] == "aklo", "stand_ins"])
    assert "stand-in: Shoes" in conclusions(rows[rows["paper"] == "aklo"])


def test_predicates_of_figures() -> None:
    """They name the panel, its parts and the points."""
    part = {"panel": "a", "parts": ["x"], "higher": ["A"], "than": ["B"], "by": 5, "at": [1, 2]}
    assert predicate(a_claim(part, figure="f")) == "A above B by 5: on panel a, x at 1, 2"


def test_theory_audit(tmp_path: Path) -> None:
    """A row a bound, at the last horizon, with the horizons where it is broken."""
    names = (
        "figure",
        "panel",
        "part",
        "reading",
        "kind",
        "label",
        "x_label",
        "x",
        "y",
        "y_std",
        "n_repeats",
    )
    at = ("dom-figtheorem4", "a", "ring", "as_published")
    lines = {
        ("run", "regret"): (4.0, 6.0),
        ("run", "other"): (99.0, 99.0),
        ("theory", "bound"): (3.0, 12.0),
        ("theory", "examples"): (10.0, 20.0),
    }
    rows = [
        (*at, *line, "rounds T", str(x), str(y), "", "5")
        for line, values in lines.items()
        for x, y in zip((10, 20), values, strict=True)
    ]
    rows.append((*at, "note", "C = 1", "", "", "", "", ""))
    write_rows(tmp_path / "figures/dom-figtheorem4.csv", pd.DataFrame(rows, columns=names))
    (row,) = theory_audit(tmp_path).to_dict("records")
    assert (row["dataset"], row["theorem"], row["measure"]) == ("Synthetic", "bound", "regret")
    assert (row["at"], row["measured"], row["bound"]) == ("rounds T = 20", "6", "12")
    assert (row["tightness"], row["tightest"], row["trivial"]) == ("0.5", "1.333", "20")
    assert (row["points_above"], row["points"], row["n_repeats"]) == ("1", "2", "5")
    assert (row["warning"], row["notes"]) == ("", "C = 1")
    assert theory_audit(tmp_path / "nowhere").empty


def test_summary_is_a_line_for_each_paper_and_reading() -> None:
    """With what failed below."""
    summary = Summary()
    summary.of("rom", "as_published").verdicts.update(["match", "off", "match"])
    summary.of("rom", "as_read").verdicts.update(["near"])
    summary.of("rom", "as_written").claims.update([HOLDS, FAILS, HOLDS])
    summary.of("dom", "as_published").figures = 2
    summary.failures.append("rom-table2, as_written: no such thing")
    lines = str(summary).splitlines()
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["dom", "as_published"],
        ["rom", "as_written"],
        ["rom", "as_read"],
        ["rom", "as_published"],
    ]
    assert "0 of 2 drawn" in lines[1]
    assert "3: holds 2, fails 1" in lines[2]
    assert "3: match 2, off 1" in lines[4]
    assert lines[5] == "failed: rom-table2, as_written: no such thing"


Make = Callable[..., Any]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Make]:
    """Let there be two tables and a figure that take no time; return what makes them."""
    one = judged_cells(pd.DataFrame([a_cell("A", values=[10.0])])).assign(verdict="match")
    outcomes = pd.DataFrame({"outcome": [HOLDS]})
    made: dict[str, Make] = {
        "table": lambda *_: SimpleNamespace(cells=one, claims=outcomes, broken=False),
        "figure": lambda *_: SimpleNamespace(claims=outcomes, paths=[], broken=False),
    }
    ids = {"table": ["rom-table1", "rom-table2"], "figure": ["rom-fig1"]}
    monkeypatch.setattr(plan, "descriptions", lambda kind: dict.fromkeys(ids[kind]))
    described = a_table(paper="rom", selection="fixed")
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: described)
    monkeypatch.setattr(reproduce, "reproduce_table", lambda *args: made["table"](*args))
    monkeypatch.setattr(reproduce, "compute_figure", lambda *_: None)
    monkeypatch.setattr(reproduce, "reproduce_figure", lambda *args: made["figure"](*args))
    monkeypatch.setattr(reproduce, "reproduce_statistics", lambda *_: [])
    monkeypatch.setattr(ledger, "write_ledgers", lambda: ([], []))
    monkeypatch.setattr(reproduce_all, "write_hindsight_gap", lambda *_: [])
    monkeypatch.setattr(reproduce_all, "write_findings", lambda *_: [])
    return made


def test_reproduce_sums_up(fakes: dict[str, Make], capsys: pytest.CaptureFixture[str]) -> None:
    """Cells, claims and figures of all, by paper and reading."""
    assert fakes
    assert _main.main(["reproduce", "--jobs", "1"]) == 0
    written, read, published = capsys.readouterr().out.splitlines()[-3:]
    assert {line.split("  ")[0] for line in (written, read, published)} == {"rom"}
    assert "2: match 2" in read
    assert "2: match 2" in written
    for line in (written, read, published):
        assert "3: holds 3" in line
        assert "1 of 1 drawn" in line


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
    assert "1: match 1" in lines[-4]
    assert "2: match 2" in lines[-2]


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


def test_tables_of_times_are_made_by_their_own_rule_alone(
    fakes: dict[str, Make], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The honest rule is for tables that compare a paper's own algorithms with others."""
    own = {"rom-table1": {"proposed": ["ROM-PGD"]}, "rom-table2": {}, "rom-fig1": {}}
    shared = {"paper": "rom", "selection": "oracle"}
    monkeypatch.setattr(plan, "describe", lambda _kind, name: a_table(**shared, **own[name]))
    whole, honest = fakes["table"], set()

    def table(name: str, wanted: Any, *_: Any) -> Any:
        if wanted.selection == "prefix":
            honest.add(name)
        return whole()

    fakes["table"] = table
    assert _main.main(["reproduce", "--jobs", "1"]) == 0
    assert honest == {"rom-table1"}


def test_units_that_fail_are_a_failure(
    fakes: dict[str, Make], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a figure as of a table, alone and among all."""
    broken = SimpleNamespace(claims=pd.DataFrame({"outcome": []}), paths=[], broken=True)
    fakes["figure"] = lambda *_: broken
    assert _main.main(["reproduce", "--jobs", "1"]) == 1
    alone = Mock(is_broken=True, **{"write.return_value": []})
    monkeypatch.setattr("omtl.api.figures.figure", lambda *_, **__: alone)
    assert _main.main(["figure", "dom-fig2"]) == 1
    alone.is_broken = False
    assert _main.main(["figure", "dom-fig2"]) == 0
