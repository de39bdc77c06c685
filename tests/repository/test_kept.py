"""What a stranger has, the repository without a store, answers: explain, export, statistics."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from omtl.api import exports
from omtl.api.explanations import explain_cell
from omtl.commands import _main
from omtl.compute import engine
from omtl.compute.store import Store
from omtl.datasets import DataSet
from omtl.experiment import playing
from omtl.reproduction import json_ld
from omtl.reproduction.json_ld import croissant
from omtl.tables.cells import as_rows, planned, with_numbers
from omtl.tables.layout import lay_out
from omtl.tables.published_results import (
    published_run,
    runs_of,
    stored_or_published,
    with_results,
)
from omtl.tables.request import Request
from omtl.tables.verdict import OFF, OURS
from omtl.util.paths import RESULTS
from omtl.util.result_files import rows_in


@pytest.fixture(autouse=True)
def nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where a unit is played."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a unit was to be computed")

    monkeypatch.setattr(engine, "run_units", refuse)
    monkeypatch.setattr(playing, "compute", refuse)


@pytest.mark.parametrize("table", ["dom-table1", "rom-table2"])
def test_kept_results_are_read_as_they_were_scored(table: str, store: Store) -> None:
    """Each run's verdicts and means, cell by cell, in the table's order; of no other request."""
    for run in runs_of(RESULTS, table):
        seed, repeats = run.meta["seed"], run.meta["repeats"]
        asked = Request(run.reading, repeats, seed, run.selection or None, store=store)
        cells, found = stored_or_published(planned(run.table, asked), asked)
        assert found is not None
        assert (found.reading, found.selection) == (run.reading, run.selection)
        assert as_rows(cells).to_dict("records") == run.rows.to_dict("records")
        assert not any(cells["alternatives"])  # where print has the best of several, it is known
        for other in (replace(asked, seed=seed + 1), replace(asked, repeats=repeats + 1)):
            assert published_run(planned(run.table, other), other) is None


def test_a_table_in_blocks_has_one_for_each_data_set() -> None:
    run = runs_of(RESULTS, "rom-table1")[0]
    cells = with_results(planned(run.table, run.request), run)
    layout, own = lay_out(cells, []), "Ours (not in the paper)"
    blocks = [line.label for line in layout.lines if line.is_group and line.label != own]
    assert blocks == cells["dataset"].unique().tolist()


def test_divergence_in_published_repeats_is_counted() -> None:
    """A cell without a mean has the worst error in the repeats in which it diverged, and is off."""
    run = runs_of(RESULTS, "dom-table1")[0]
    lost = replace(run, rows=run.rows.assign(ours_mean=""))
    vars(lost)["repeats"] = run.repeats.assign(values=f"100.0{' 0.0' * 7}")  # 12.5, near PM's
    assert with_results(planned(run.table, run.request), run)["diverged"].eq(0).all()
    found = with_results(planned(run.table, run.request), lost)
    assert found["diverged"].eq(1).all()
    assert {*found["verdict"]} == {OFF, OURS}


def test_explain_begins_with_the_verdict_and_why(store: Store) -> None:
    """With no store it is that of the kept results; hashes are asked for."""
    rows = rows_in(RESULTS / "reproduced" / "dom-table1.csv")
    mine = {"reading": "as_published", "verdict": "off"}.items()
    row = next(row for row in rows if mine <= row.items())
    name = f"{row['algorithm']} on {row['dataset']}"
    told = explain_cell("dom-table1", name, Request(store=store))
    assert list(told)[:3] == ["cell", "verdict", "why"]
    assert told["verdict"] == "off"
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
    said, _ = exports.export_files("dom-table1", Request(store=store), tmp_path)
    assert "from results/reproduced/dom-table1.csv" in said
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
    said, paths = exports.export_files("dom-fig2", Request(store=store), tmp_path)
    assert "no pdf and png" in said
    assert {path.suffix for path in paths} == {".svg", ".csv", ".bib"}
    drawn = (RESULTS / "figures" / "dom-fig2.svg").read_bytes()
    assert (tmp_path / "dom-fig2.svg").read_bytes() == drawn
    points = pd.read_csv(tmp_path / "dom-fig2.csv")  # a row for each, as of what is computed here
    assert {points[name].dtype.kind for name in ("x", "y", "y_std")} <= {"i", "f"}


def test_without_synthetic_data_numbers_of_one_draw_are_the_kept_ones(store: Store) -> None:
    asked = Request(store=store, one_draw=True)
    assert published_run(planned("osmtl-table1", asked), asked) is not None


MADE = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


LABELS = [1.0, -1.0, -1.0]


def give_landmines(monkeypatch: pytest.MonkeyPatch, X: Any, y: list[float], real: bool) -> None:
    """Let the landmine data be three examples of ours."""
    task, cite = np.array(["a", "b", "a"]), "@inproceedings{x2001y,\n  year = {2001}\n}\n"
    data = DataSet("landmine", "Landmine", X, np.array(y), task, ("a", "b"), cite, "unstated", real)
    monkeypatch.setattr(json_ld, "load", lambda name: {"landmine": data}[name])


@pytest.mark.parametrize(
    ("X", "y", "real", "columns"),
    [
        (MADE, LABELS, False, {"values": MADE.tolist()}),
        (
            sparse.csr_array(MADE),
            LABELS,
            False,
            {"indices": [[1, 2], [0], []], "values": [[2.0, 0.5], [1.0], []]},
        ),
        (MADE, [0.25, -300.5, 1.0], True, {"values": MADE.tolist()}),
    ],
)
def test_examples_and_their_description_agree(
    X: Any, y: list[float], real: bool, columns: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dense and sparse rows; real targets are kept, which whole numbers of one byte would cut."""
    give_landmines(monkeypatch, X, y, real)
    files = croissant("landmine")
    assert isinstance(files["parquet"], bytes)
    table = pq.read_table(io.BytesIO(files["parquet"]))
    assert table.to_pydict() == {"task": ["a", "b", "a"], "y": y, **columns}
    described: dict[str, Any] = json.loads(files["croissant.json"])
    assert described["datePublished"] == "2001"
    raw, ours = described["distribution"]
    assert raw["contentUrl"].startswith("https://")
    assert ours["sha256"] == hashlib.sha256(files["parquet"]).hexdigest()
    (records,) = described["recordSet"]
    types = {field["name"]: field["dataType"] for field in records["field"]}
    assert [*types] == table.column_names
    assert (types["y"], types["values"]) == ("sc:Float" if real else "sc:Integer", "sc:Float")


def test_a_crate_has_all_files_with_their_hashes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_landmines(monkeypatch, MADE, LABELS, real=False)
    words = ["export", "landmine", "dom-table1", "--to", str(tmp_path), "--ro-crate"]
    assert _main.main(words) == 0
    crate = json.loads((tmp_path / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    there = {path.name for path in tmp_path.iterdir()} - {"ro-crate-metadata.json"}
    by_id = {entity["@id"]: entity for entity in crate["@graph"]}
    assert by_id["#export"]["name"] == "omtl export landmine dom-table1 --reading as_published"
    assert {part["@id"] for part in by_id["./"]["hasPart"]} == there
    assert by_id["./"]["name"] == "Results of omtl: landmine, dom-table1"
    assert by_id[by_id["./"]["author"]["@id"]]["name"] == "The omtl authors"
    assert by_id[by_id["./"]["license"]["@id"]]["name"] == "MIT License"
    assert str(tmp_path) not in json.dumps(crate)
    assert {"landmine.croissant.json", "landmine.parquet", "dom-table1.csv"} <= there
    for name in there:
        content = (tmp_path / name).read_bytes()
        file = {"@id": name, "@type": "File", "name": name, "contentSize": str(len(content))}
        file["sha256"] = hashlib.sha256(content).hexdigest()
        assert by_id[name] == by_id[name] | file
    assert by_id["dom-table1.csv"]["encodingFormat"] == "text/csv"
