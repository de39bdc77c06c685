"""Results in git are the same bytes when they are made again, whatever the clock says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from small_tables import small_table

from omtl.compute.store import Store
from omtl.reproduction import reproduce
from omtl.tables import plan, published_results, writing
from omtl.tables.plan import describe
from omtl.tables.request import Request
from omtl.util.host import host
from omtl.util.result_files import fold, rows_in, unfold

SERIAL = {"name": "serial", "backend": "sequential", "jobs": 1}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let DOM's table be two learners, each with its errors and its seconds; write to a folder."""
    cells = small_table(repeats=2)
    cells = cells[cells["algorithm"].isin(["PM", "PA"])]
    timed = [one.of_one_draw().patched({"protocol.*.timed": 1}) for one in cells["experiment"]]
    errors = cells.assign(experiment=timed)
    both = pd.concat([errors, errors.assign(metric="seconds", kind="timing")]).sort_index(
        kind="stable", ignore_index=True
    )
    description = replace(describe("table", "dom-table1"), repeats=2)
    monkeypatch.setattr(
        reproduce, "planned", lambda _name, request: both.assign(reading=request.reading)
    )
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: description)
    monkeypatch.setattr("omtl.tables.cells.describe", lambda _kind, _name: description)
    results = tmp_path / "results"
    monkeypatch.setattr("omtl.tables.writing.RESULTS", results)
    monkeypatch.setattr(published_results, "results_to_read", lambda: results)
    return results


def made(results: Path, store: Store, times: bool = False) -> dict[str, bytes]:
    """Make the table from nothing; return the files that git keeps."""
    asked = Request(parallel=SERIAL, store=store, times=times)
    reproduce.reproduce_table("dom-table1", asked, Console(quiet=True))
    return {
        path.name: path.read_bytes()
        for path in sorted((results / "reproduced").iterdir())
        if not path.name.endswith(".machine.json")
    }


def test_made_twice_a_table_is_the_same_bytes(here: Path, tmp_path: Path) -> None:
    """With all units played again: times stay as they are, unless theirs are asked for."""
    first = made(here, Store(tmp_path / "one"))
    assert set(first) >= {"dom-table1.csv", "dom-table1.md", "dom-table1.repeats.csv"}
    assert made(here, Store(tmp_path / "two")) == first
    again = made(here, Store(tmp_path / "three"), times=True)
    assert {name for name in first if again[name] != first[name]} >= {"dom-table1.repeats.csv"}
    [run] = published_results.runs_of(here, "dom-table1")
    was = pd.DataFrame(run.rows)
    assert was["metric"].tolist() == ["error", "seconds"] * 2
    assert (was["ours_mean"].astype(float) > 0.0).sum() >= 2


def test_what_depends_on_the_clock_is_kept_apart(here: Path, store: Store) -> None:
    """The file of the machine has it; that of the table has each config once, and the CPU."""
    made(here, store)
    [run] = published_results.runs_of(here, "dom-table1")
    assert set(run.meta) == {
        *("table", "reading", "verdicts", "repeats", "seed", "selection"),
        *("cpu", "configs", "experiments"),
    }
    assert [len(run.meta["configs"][group]) for group in ("algorithm", "dataset")] == [2, 1]
    assert run.experiments["PM on Synthetic"]["algorithm"]["name"] == "pm"
    assert run.machine["host"] == json.loads(json.dumps(host()))
    assert run.machine["computed_by"]["units_computed"] == 4
    assert run.machine["seconds"] > 0.0


def test_rows_of_a_reading_are_replaced_even_by_none(tmp_path: Path) -> None:
    """A table of which no row or column can be tested any more has no trends of an earlier run."""
    path = tmp_path / "t.trends.csv"
    rows = pd.DataFrame({"reading": ["as_written", "as_published"], "name": ["A", "B"]})
    writing.write_rows(path, rows)
    writing.write_rows(path, rows[:0], "as_written")
    assert rows_in(path) == [{"reading": "as_published", "name": "B"}]


def test_rows_are_folded_and_unfolded() -> None:
    """Neighbours alone are one row; what is empty stays empty."""
    rows = [("a", "1", "2"), ("a", "2", ""), ("b", "", "3"), ("a", "9", "9")]
    frame = pd.DataFrame(rows, columns=["label", "x", "y"])
    folded = fold(frame, ("x", "y"))
    assert folded["x"].tolist() == ["1 2", "", "9"]
    assert folded["y"].tolist() == ["2 ", "3", "9"]
    assert unfold(folded.to_dict("records"), ("x", "y")) == frame.to_dict("records")
