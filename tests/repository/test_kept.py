"""What a stranger has, the repository without a store, answers: explain, export, statistics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from omtl.commands import _main
from omtl.compute import engine
from omtl.compute.store import Store
from omtl.evidence.statistics import reproduce_statistics
from omtl.experiment import playing
from omtl.reproduction import export
from omtl.reproduction.explain import explain_cell
from omtl.tables.cells import planned
from omtl.tables.plan import describe, descriptions
from omtl.tables.published_results import published_run, runs_of, stored_or_published
from omtl.tables.request import Request
from omtl.tables.writing import as_rows, with_numbers
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.result_files import rows_in

CELL = "COML on Sentiment"
TABLES = [
    pytest.param(name, marks=[pytest.mark.deep] if name.startswith("rom-") else [])
    for name in sorted(descriptions("table"))
]
"""All tables; those with hundreds of repeats take a minute."""


@pytest.fixture(autouse=True)
def nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a unit is played."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a unit was to be computed")

    monkeypatch.setattr(engine, "run_units", refuse)
    monkeypatch.setattr(playing, "compute", refuse)


@pytest.mark.parametrize("name", TABLES)
def test_kept_results_are_read_as_they_were_scored(name: str, store: Store) -> None:
    """Each run's verdicts and means, cell by cell, in the table's order."""
    for run in runs_of(RESULTS, name):
        selection = run.selection or describe("table", name).selection
        seed, repeats = run.meta["seed"], run.meta["repeats"]
        asked = Request(run.reading, repeats, seed, selection, store=store)
        cells, found = stored_or_published(planned(name, asked), asked)
        assert found is not None
        assert (found.reading, found.selection) == (run.reading, run.selection)
        rows = as_rows(cells)
        assert rows.to_dict("records") == run.rows
        for other in (replace(asked, seed=seed + 1), replace(asked, repeats=repeats + 1)):
            assert published_run(planned(name, other), other) is None


def test_explain_begins_with_the_verdict_and_why(store: Store) -> None:
    """With no store it is that of the kept results; hashes are asked for."""
    rows = rows_in(RESULTS / "reproduced" / "dom-table1.csv")
    rows = [row for row in rows if row["reading"] == "as_published"]
    row = next((row for row in rows if row["verdict"] == "off"), rows[0])
    name = f"{row['algorithm']} on {row['dataset']}"
    told = explain_cell("dom-table1", name, Request(store=store))
    assert list(told)[:2] == ["cell", "verdict"]
    assert told["verdict"] == row["verdict"]
    if row["verdict"] == "off":
        assert list(told)[2] == "why"
        assert len(told["why"]) > 20
    assert told["from"] == "results/reproduced/dom-table1.csv"
    assert told["repeats"] == int(row["n_repeats"])
    assert "units" not in told
    full = explain_cell("dom-table1", name, Request(store=store), full=True)
    assert full["data"]["rows_sha256"] == [row["data_sha256"]]
    assert full["made on"][0]["cpu"]
    assert len(full["units"]) == 50


def test_export_of_kept_results(store: Store, tmp_path: Path) -> None:
    """The same bytes as in git, and in other forms; a figure but for its pdf."""
    done = export.export_files("dom-table1", Request(store=store), tmp_path)
    assert "from results/reproduced/dom-table1.csv" in str(done)
    in_git = (RESULTS / "reproduced" / "dom-table1.md").read_bytes()
    assert (tmp_path / "dom-table1.md").read_bytes() == in_git
    repeats = pd.read_csv(tmp_path / "dom-table1.repeats.csv", dtype={"value": str})
    kept = pd.read_csv(RESULTS / "reproduced" / "dom-table1.repeats.csv", dtype=str)
    assert repeats["value"].tolist() == " ".join(kept["values"]).split()
    rows = pd.read_csv(tmp_path / "dom-table1.csv", dtype=str, keep_default_na=False)
    assert set(rows["reading"]) == {"as_published"}
    of_parquet = pd.read_parquet(tmp_path / "dom-table1.parquet")
    pd.testing.assert_frame_equal(with_numbers(rows), of_parquet)
    assert str(of_parquet["ours_mean"].dtype) == "float64"
    done = export.export_files("dom-fig2", Request(store=store), tmp_path)
    assert "no pdf and png" in str(done)
    assert {path.suffix for path in done.paths} == {".svg", ".csv", ".bib"}
    drawn = (RESULTS / "figures" / "dom-fig2.svg").read_bytes()
    assert (tmp_path / "dom-fig2.svg").read_bytes() == drawn
    points = pd.read_csv(tmp_path / "dom-fig2.csv")  # a row for each, as of what is computed here
    assert {points[name].dtype.kind for name in ("x", "y", "y_std")} <= {"i", "f"}


def test_an_installed_package_exports_the_figures_that_it_brings(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it does the tables: where no results are written, they are those of the package."""
    monkeypatch.setattr("omtl.util.paths.RESULTS", tmp_path / "results")
    done = export.export_files("dom-fig2", Request(store=store), tmp_path / "to")
    assert done.source == "results/figures"
    drawn = (RESULTS / "figures" / "dom-fig2.svg").read_bytes()
    assert (tmp_path / "to" / "dom-fig2.svg").read_bytes() == drawn


def test_kept_numbers_of_many_draws_are_not_those_of_one(store: Store, tmp_path: Path) -> None:
    """They are not exported in their place; without synthetic data it is the same run."""
    with pytest.raises(UserError, match="there are no results for 50 repeats"):
        export.export_files("dom-table1", Request(store=store, one_draw=True), tmp_path)
    asked = Request(store=store, one_draw=True)
    assert published_run(planned("osmtl-table1", asked), asked) is not None


@pytest.mark.parametrize("name", ["dom-table1", "dom-fig2"])
def test_nothing_is_exported_of_nothing(name: str, store: Store, tmp_path: Path) -> None:
    """An empty table or figure is a mistake, and no file."""
    with pytest.raises(
        UserError, match=f"there are no results for 3 repeats.* run `omtl .* {name}`"
    ):
        export.export_files(name, Request(repeats=3, store=store), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_statistics_of_kept_repeats(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are to the byte those in git, which were made from the store."""
    monkeypatch.setattr("omtl.evidence.statistics.folder_for", lambda *_, **__: tmp_path)
    paths = reproduce_statistics("dom-table1", Request("as_published", store=store))
    for path in (path for path in paths if path.suffix == ".csv"):
        in_git = rows_in(RESULTS / "statistics" / path.name)
        assert rows_in(path) == [row for row in in_git if row["reading"] == "as_published"]


def test_statistics_of_what_is_not_kept(store: Store) -> None:
    """A figure's repeats are not in git: it is said at once, and nothing is computed."""
    with pytest.raises(UserError, match="omtl figure dom-fig2"):
        reproduce_statistics("dom-fig2", Request(store=store))


def test_the_commands_need_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty home is enough."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path / "home"))
    assert _main.main(["explain", "dom-table1", CELL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["cell", "verdict"]
    assert "missing" not in lines[1]
    assert len(lines) <= 30
    assert _main.main(["export", "dom-table1", "--to", str(tmp_path / "paper")]) == 0
    assert capsys.readouterr().out.startswith("dom-table1: 49 cells: ")
    assert not (tmp_path / "home" / "store").exists()
