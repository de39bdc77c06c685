"""What is printed fits 80 columns; a long run says how far it is, and a dry run what it needs."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from miniature import small
from rich.console import Console

from omtl.commands._main import main
from omtl.compute import progress
from omtl.compute.engine import Batches
from omtl.compute.progress import DryRunPlan, Progress
from omtl.compute.store import Store
from omtl.tables.cells import planned
from omtl.tables.layout import lay_out, show
from omtl.tables.notes import notes
from omtl.tables.plan import descriptions
from omtl.tables.published_results import stored_or_published
from omtl.tables.request import Request
from omtl.tables.scoring import scored


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


def widest(text: str) -> int:
    """Return the length of the longest line, without blanks at its end."""
    return max(len(line.rstrip()) for line in text.splitlines())


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("table", descriptions("table"))
def test_papers_tables_fit(table: str, store: Store) -> None:
    """In parts where they are wider; every column is in one of them, and no line is blank."""
    request = Request(store=store)
    cells = scored(planned(table, request), store)
    if table == "dom-table1":  # with numbers of ours, the widest
        cells, _ = stored_or_published(planned(table, request), request)
    layout = lay_out(cells, notes(cells))
    text = io.StringIO()
    show(layout, Console(file=text, width=80))
    lines = text.getvalue().splitlines()
    assert widest(text.getvalue()) <= 80
    rows = [line for line in layout.lines if line.cells]
    columns = min(len(layout.heads), len(rows))  # broad tables are turned
    assert sum(line.count("ours ") for line in lines) >= columns
    assert not any(one == two == "" for one, two in pairwise(lines))


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("words", [["list"], ["doctor"], ["list", "algorithms"]])
def test_commands_tables_fit(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(words)
    assert widest(capsys.readouterr().out) <= 80


def test_without_a_terminal_a_line_comes_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each unit, and none of a quiet run; compiling, in the first of a kind, is not
    expected again."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    for quiet in (False, True):
        units = small("pa").repeats(0, 90)
        batches = Batches(units, 1, lambda _: True)
        with Progress(len(units), quiet) as run:
            for number, unit in enumerate(units[:11]):
                took = 2.0 if number else 60.0
                now[0] += took
                batches.note(unit, took)
                run.done(unit.name, batches.seconds_left)
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("omtl")]
    assert lines == [
        "omtl: 1 of 90 units done",
        "omtl: 6 of 90 units done, about 3 minutes left",
        "omtl: 11 of 90 units done, about 3 minutes left",
    ]


def test_a_dry_run_computes_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    """It tells how many units, and how long where something like it was run."""
    monkeypatch.setattr("omtl.compute.store.Store.default", lambda: store)
    monkeypatch.setenv("OMTL_DRY_RUN", "1")  # put back afterwards
    assert main(["table", "dom-table1", "--repeats", "2", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "units, " in shown
    assert "of them to compute" in shown
    cell = ["--cell", "PA on Synthetic", "--repeats", "3", "--dry-run"]
    assert main(["table", "dom-table1", *cell]) == 0
    assert capsys.readouterr().out.startswith("dom-table1: 6 units, ")
    assert DryRunPlan(4, 4, None, 2).summary().endswith("because no similar units are stored yet")
    assert DryRunPlan(4, 2, 60.0, 2).summary() == "4 units, 2 of them to compute: about 60 seconds"
    assert DryRunPlan(4, 0, None, 2).summary() == "4 units, 0 of them to compute"
