"""Exported data sets in Croissant, and the RO-Crate of exported files."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from omtl.api.exports import export_command
from omtl.api.tables import request_for
from omtl.commands import _main
from omtl.commands._options import given_request
from omtl.datasets import DataSet
from omtl.reproduction import json_ld
from omtl.reproduction.json_ld import croissant

MADE = np.array([[0.0, 2.0, 0.5], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])


@pytest.fixture(params=["dense", "sparse"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Let the landmine data be three examples of ours; return whether they are sparse."""
    is_sparse = request.param == "sparse"
    X = sparse.csr_array(MADE) if is_sparse else MADE
    task = np.array(["a", "b", "a"])
    y = np.array([1.0, -1.0, -1.0])
    cite = "@inproceedings{x2001y,\n  year = {2001}\n}\n"
    data = DataSet("landmine", "Landmine", X, y, task, ("a", "b"), cite, "unstated")
    monkeypatch.setattr(json_ld, "load", lambda name: {"landmine": data}[name])
    return is_sparse


def test_examples_and_their_description_agree(made: bool) -> None:
    files = croissant("landmine")
    assert isinstance(files["parquet"], bytes)
    table = pq.read_table(io.BytesIO(files["parquet"]))
    assert table["task"].to_pylist() == ["a", "b", "a"]
    assert table["y"].to_pylist() == [1, -1, -1]
    if made:
        assert table["indices"].to_pylist() == [[1, 2], [0], []]
        assert table["values"].to_pylist() == [[2.0, 0.5], [1.0], []]
    else:
        assert table["values"].to_pylist() == MADE.tolist()
    described: dict[str, Any] = json.loads(files["croissant.json"])
    assert described["datePublished"] == "2001"
    *raw, ours = described["distribution"]
    assert len(raw) == 1
    assert raw[0]["contentUrl"].startswith("https://")
    assert ours["sha256"] == hashlib.sha256(files["parquet"]).hexdigest()
    (records,) = described["recordSet"]
    assert [field["name"] for field in records["field"]] == table.column_names


def test_real_targets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """They were cut to whole numbers of one byte."""
    y, task = np.array([0.25, -300.5]), np.array(["a", "b"])
    data = DataSet("lenk", "Lenk", MADE[:2], y, task, ("a", "b"), real=True)
    monkeypatch.setattr(json_ld, "load", lambda _: data)
    files = croissant("lenk")
    assert isinstance(files["parquet"], bytes)
    assert pq.read_table(io.BytesIO(files["parquet"]))["y"].to_pylist() == y.tolist()
    (records,) = json.loads(files["croissant.json"])["recordSet"]
    types = {field["name"]: field["dataType"] for field in records["field"]}
    assert types == {"task": "sc:Text", "y": "sc:Float", "values": "sc:Float"}


@pytest.mark.usefixtures("made")
def test_mlcroissant_reads_the_examples(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    for ending, content in croissant("landmine").items():
        kept = content if isinstance(content, bytes) else content.encode()
        (tmp_path / f"landmine.{ending}").write_bytes(kept)
    data = mlcroissant.Dataset(str(tmp_path / "landmine.croissant.json"))
    assert [record["examples/y"] for record in data.records("examples")] == [1, -1, -1]


@pytest.mark.usefixtures("made")
def test_a_crate_has_all_files_with_their_hashes(tmp_path: Path) -> None:
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
        assert by_id[name]["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_crate_has_the_command_that_exports_the_same() -> None:
    """With all options that decide what is exported."""
    more = ["--reading", "as_written", "--repeats", "2", "--seed", "1", "--selection", "prefix"]
    words = ["export", "dom-table1", *more, "--one-draw"]
    options = _main.parse_options(words)
    assert export_command(options.what, request_for(**given_request(options))) == " ".join(
        ["omtl", *words]
    )
