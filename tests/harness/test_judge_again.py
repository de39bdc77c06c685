"""Judging published results again: the same files, without a learner."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from omtl.reproduction import reproduce
from omtl.tables.verdict import MATCH, NEAR
from omtl.util.paths import RESULTS
from omtl.util.result_files import read_csv, write_csv


@pytest.mark.parametrize("table", ["aklo-table1", "osmtl-table1", "rom-table2"])
def test_published_results_are_judged_as_they_were(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file has the same bytes, and a verdict that was changed is as the rule says again."""
    folder = tmp_path / "reproduced"
    folder.mkdir()
    for path in (RESULTS / "reproduced").glob(f"{table}.*"):
        shutil.copy(path, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    rows = read_csv(folder / f"{table}.csv")
    write_csv(folder / f"{table}.csv", rows.replace({"verdict": {MATCH: NEAR}}))
    monkeypatch.setattr(reproduce, "RESULTS", tmp_path)
    reproduce.judge_again(table)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
