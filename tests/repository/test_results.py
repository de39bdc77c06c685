"""The files of results agree with each other, and with other code; prints are as transcribed."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pandas as pd
import pytest

from omtl.tables.plan import describe
from omtl.util.paths import RESULTS

PLACE = ["metric", "dataset", "task", "algorithm"]
MARGINS = pd.read_csv(RESULTS / "hindsight.csv", dtype=str, keep_default_na=False)


def rows_of(name: str) -> pd.DataFrame:
    """Return the rows of a committed file of a table, as text."""
    return pd.read_csv(RESULTS / "reproduced" / name, dtype=str, keep_default_na=False)


def means(stem: str) -> dict[tuple[str, ...], str]:
    """Return our means of a table, as printed, by their place and reading."""
    rows = rows_of(f"{stem}.csv")
    places = rows[[*PLACE, "reading"]].itertuples(index=False, name=None)
    return dict(zip(places, rows["ours_mean"], strict=True))


@pytest.mark.parametrize("table", sorted(MARGINS["table"].unique()))
def test_margins_are_of_the_means_in_the_tables(table: str) -> None:
    """Under the table's own rule and, where that table is committed too, without hindsight."""
    rows = MARGINS[MARGINS["table"] == table]
    combined = describe("table", table).same_row
    compared = 0
    for prefix in ("", "honest_"):
        for rule, ruled in rows.groupby(f"{prefix}selection"):
            stem = f"{table}.{rule}" if prefix else table
            if not (RESULTS / "reproduced" / f"{stem}.csv").is_file():
                continue
            ours = means(stem)
            for role in ("own", "rival"):
                for row in ruled.to_dict("records"):
                    learner = row[prefix + role]
                    place = (*(row[name] for name in PLACE[:3]), learner, row["reading"])
                    if place not in ours:
                        assert any(learner in labels for labels in combined.values()), place
                        continue
                    assert ours[place] == row[f"{prefix}{role}_mean"], place
                    compared += 1
    assert compared


PUBLISHED = sorted((RESULTS / "published").glob("*.csv"))
CHECKED = Path(__file__).parents[1] / "golden" / "published.sha256"
"""Hashes of the files that were compared with the papers, number by number; `sha256sum -c`."""

COLUMNS = ["table", "dataset", "algorithm", "task", "metric", "mean", "std"]


def test_the_numbers_are_those_compared_with_the_papers() -> None:
    """Whoever changes one compares the file with the paper again, and then updates its hash."""
    checked = [line.split() for line in CHECKED.read_text(encoding="utf-8").splitlines()]
    found = [[hashlib.sha256(path.read_bytes()).hexdigest(), path.name] for path in PUBLISHED]
    assert found == checked


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_each_cell_is_printed_once_with_numbers(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    assert "\r" not in text and "\n\n" not in text and text.endswith("\n")
    header, *rows = csv.reader(text.splitlines())
    assert header == COLUMNS
    assert {row[0] for row in rows} == {path.stem}
    assert len({tuple(row[:5]) for row in rows}) == len(rows) > 0
    for *_, mean, std in rows:
        float(mean)
        assert not std or float(std) > 0.0
