"""Tables made from stored records, byte for byte."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from golden_records import GOLDEN, RECORDS, Records, forms

from omtl.harness.diagnosis import diagnoses
from omtl.harness.plan import describe, descriptions, label_of, published
from omtl.harness.selection import HONEST
from omtl.harness.table import COLUMNS
from omtl.harness.verdict import MISSING, OFF, OURS, SUBSTITUTE, TIMING, judge
from omtl.paths import RESULTS

TABLES = [
    path
    for path in sorted((RESULTS / "reproduced").glob("*.csv"))
    if not path.stem.endswith((".claims", ".repeats"))
]
REPRODUCED = [path for path in TABLES if not path.stem.endswith(f".{HONEST}")]


def test_records_give_the_golden_table() -> None:
    """csv, Markdown and LaTeX, with missing columns and their reasons."""
    with np.load(RECORDS, allow_pickle=False) as stored:
        records = Records({name: stored[name] for name in stored.files})
    for name, text in forms(records).items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_reproduced_tables_hold_together(path) -> None:
    """Every row is of a published cell, and its verdict follows from its numbers where it can; or
    it is of a baseline of ours, without a published number."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert tuple(rows.columns) == COLUMNS
    table = path.stem.removesuffix(f".{HONEST}")
    assert table in descriptions("table")
    cells = [(r["dataset"], r["algorithm"], r["task"], r["metric"]) for r in published(table)]
    ours = {label_of(row) for row in describe("table", table)["rows"] if "ours" in row}
    of_ours = rows[rows["algorithm"].isin(ours)]
    assert set(of_ours["verdict"]) <= {OURS, MISSING}
    assert not of_ours[["published_mean", "published_std", "delta"]].any(axis=None)
    rows = rows.drop(of_ours.index)
    for reading, part in rows.groupby("reading"):
        found = part[["dataset", "algorithm", "task", "metric"]].itertuples(index=False, name=None)
        assert list(found) == cells, reading
    for row in rows[rows["verdict"] != MISSING].to_dict("records"):
        mean, std = float(row["published_mean"]), float(row["published_std"] or 0.0)
        ours, ours_std = float(row["ours_mean"]), float(row["ours_std"])
        assert float(row["delta"]) == pytest.approx(ours - mean, abs=1e-3)
        # Fresh draws of synthetic data can only turn near or off into match.
        stated = row["verdict"]
        if stated not in (SUBSTITUTE, TIMING) and stated != judge(mean, std, ours, ours_std):
            assert stated == "match"
        assert json.loads(row["params"]) is not None


@pytest.mark.parametrize("path", REPRODUCED, ids=lambda path: path.stem)
def test_every_cell_that_is_off_has_a_diagnosis(path) -> None:
    """In ``experiments/<paper>/diagnoses.yaml``, for the reading in which it is off."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    paper = path.stem.partition("-")[0]
    written = {
        (entry["table"], reading, entry["dataset"], algorithm)
        for entry in diagnoses(paper)
        for reading in entry["readings"]
        for algorithm in entry["algorithms"]
        if entry["text"].strip()
    }
    off = rows[rows["verdict"] == OFF]
    needed = set(zip(off["table"], off["reading"], off["dataset"], off["algorithm"], strict=True))
    assert needed <= written
