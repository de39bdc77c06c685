"""Tables made from stored records, byte for byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from golden_records import GOLDEN, RECORDS, Records, forms, golden_table
from small_tables import filled_store

from omtl.evidence.comparisons import FAILS
from omtl.evidence.ledger import NOT_RUN
from omtl.experiment.naming import CLOSEST, READINGS, by_reading
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.measures.metrics import METRICS
from omtl.results import claims
from omtl.tables.diagnosis import diagnoses
from omtl.tables.plan import describe, published
from omtl.tables.scoring import scored
from omtl.tables.verdict import (
    CONTAINS,
    EXCLUDES,
    FAR,
    JUDGED,
    MATCH,
    MISSING,
    NEAR,
    OFF,
    OURS,
    STD,
    SUBSTITUTE,
    TIMING,
    PrintedNumber,
    difference,
    judge,
    spreads,
)
from omtl.tables.writing import as_rows, raw_repeats
from omtl.util.paths import RESULTS

TABLES = [
    path
    for path in sorted((RESULTS / "reproduced").glob("*.csv"))
    if not path.stem.endswith((".agreement", ".claims", ".repeats", ".trends"))
]
PLACE = ["dataset", "algorithm", "task", "metric"]
QUANTITIES = ("delta", "published_se", "ours_se", "df", "low", "high", "share")
REPRODUCED = [path for path in TABLES if not path.stem.endswith(f".{NO_HINDSIGHT}")]


def test_records_give_the_golden_table() -> None:
    """csv, Markdown and LaTeX, with missing columns and their reasons."""
    with np.load(RECORDS, allow_pickle=False) as stored:
        records = Records({name: stored[name] for name in stored.files})
    for name, text in forms(records).items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


def checked(path: Path) -> None:
    """Make sure that each row is of a cell, and that its verdict follows from the files alone.

    The repeats beside the table have all digits; a published number is a row's own.
    """
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    table = path.stem.removesuffix(f".{NO_HINDSIGHT}")
    cells = [(r["dataset"], r["algorithm"], r["task"], r["metric"]) for r in published(table)]
    ours = {row.ours for row in describe("table", table).rows if row.ours}
    of_ours = rows[rows["algorithm"].isin(ours)]
    assert set(of_ours["verdict"]) <= {OURS, MISSING}
    assert not of_ours[["published_mean", "published_std", "delta"]].any(axis=None)
    rows = rows.drop(of_ours.index)
    for reading, part in rows.groupby("reading"):
        found = part[["dataset", "algorithm", "task", "metric"]].itertuples(index=False, name=None)
        assert list(found) == cells, reading
        kept = path.with_name(f"{by_reading(path.stem, str(reading))}.repeats.csv")
        repeats = pd.read_csv(kept).set_index(PLACE)["values"]
        for row in part[part["verdict"] != MISSING].to_dict("records"):
            values = str(repeats[tuple(row[name] for name in PLACE)]).split()
            recomputed(row, np.array(values, dtype=float))


def recomputed(row: dict[Any, str], values: np.ndarray) -> None:
    """Make sure that a row's quantities and verdict are those of our numbers and its printed."""
    drawn = int(row["n_draws"]) > 1
    printed = PrintedNumber(
        row["published_mean"],
        row["published_std"],
        row["published_spread"] or STD,
        int(row["published_repeats"]),
        METRICS[row["metric"]].scale,
    )
    std = values.std(ddof=1) if values.size > 1 else 0.0
    found = difference(printed, values.mean(), std, values.size, drawn)
    kind = row["verdict"] if row["verdict"] in (SUBSTITUTE, TIMING) else "value"
    assert judge(found, kind) == row["verdict"]
    assert row["interval"] == (found.interval if kind == "value" else "")
    assert row["n_repeats"] == str(values.size)
    if not row["ours_mean"]:
        return  # it diverged
    told = {"ours_mean": values.mean(), "ours_std": std}
    told |= {name: getattr(found, name) for name in QUANTITIES}
    assert {name: row[name] for name in told} == {name: f"{x:.4f}" for name, x in told.items()}
    if row["spread_ratio"]:
        shuffled = float(row["shuffle_std"]) if drawn else std  # which has all digits
        ratio, p = spreads(printed, shuffled, values.size if not drawn else printed.repeats) or (
            0,
            0,
        )
        assert float(row["spread_ratio"]) == pytest.approx(ratio, rel=1e-2, abs=1e-4)  # four digits
        assert float(row["spread_p"]) == pytest.approx(p, abs=1e-2)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_verdicts_follow_from_the_committed_files(path: Path) -> None:
    """Of every reproduced table."""
    checked(path)


def test_verdicts_follow_from_files_that_are_written(tmp_path: Path) -> None:
    """Of a table that is made here, with draws of synthetic data and columns that are missing."""
    table = golden_table(repeats=4)
    known = table["algorithm"].isin(["PM", "PA", "OGD"]) & (table["dataset"] == "Synthetic")
    cells = scored(table, filled_store(table[known], tmp_path / "store"))
    assert set(cells["verdict"]) & set(JUDGED)
    path = tmp_path / "dom-table1.csv"
    as_rows(cells).to_csv(path, index=False)
    raw_repeats(cells).to_csv(tmp_path / "dom-table1.golden.repeats.csv", index=False)
    checked(path)
    wrong = pd.read_csv(path, dtype=str, keep_default_na=False).replace(
        {"interval": {CONTAINS: EXCLUDES}}
    )
    wrong.to_csv(path, index=False)
    with pytest.raises(AssertionError):
        checked(path)


@pytest.mark.parametrize("path", REPRODUCED, ids=lambda path: path.stem)
def test_every_cell_that_is_surely_off_has_a_diagnosis(path) -> None:
    """In ``experiments/<paper>/diagnoses.yaml``, for the reading in which it is off."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    paper = path.stem.partition("-")[0]
    written = {
        (entry.table, reading, entry.dataset, algorithm)
        for entry in diagnoses(paper)
        for reading in entry.readings
        for algorithm in entry.algorithms
        if entry.text.strip()
    }
    off = rows[(rows["verdict"] == OFF) & (rows["interval"] == EXCLUDES)]
    needed = set(zip(off["table"], off["reading"], off["dataset"], off["algorithm"], strict=True))
    assert needed <= written


def test_every_claim_that_is_true_in_print_and_fails_as_published_says_why() -> None:
    """And no other does; none is left to be run under a standard reading."""
    rows = claims()
    needed = (rows["in_print"] == "true") & (rows[CLOSEST] == FAILS)
    assert needed.any()
    assert set(rows["claim"][rows["why_it_fails"] != ""]) == set(rows["claim"][needed])
    long = rows["decided_by"].isin(["omtrsl-fig2", "omtrsl-fig3"])  # mtLMNN takes hours
    for reading in READINGS:
        assert not (rows[reading][~long] == NOT_RUN).any()


@pytest.mark.parametrize("path", REPRODUCED, ids=lambda path: path.stem)
def test_every_cell_many_standard_errors_away_has_a_diagnosis(path) -> None:
    """Also where it is within 10 % of print, under the reading that comes closest."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = rows[(rows["reading"] == CLOSEST) & rows["verdict"].isin([MATCH, NEAR])]
    delta, ours, theirs = (
        rows[name].astype(float) for name in ("delta", "ours_se", "published_se")
    )
    apart = rows[delta.abs() > FAR * np.hypot(ours, theirs)]
    written = {
        (entry.table, entry.dataset, algorithm, metric)
        for entry in diagnoses(path.stem.partition("-")[0])
        if CLOSEST in entry.readings
        for algorithm in entry.algorithms
        for metric in entry.metrics or rows["metric"].unique()
    }
    places = ("table", "dataset", "algorithm", "metric")
    assert set(zip(*(apart[name] for name in places), strict=True)) <= written
