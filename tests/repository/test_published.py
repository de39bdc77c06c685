"""The published numbers in ``results/published`` are well formed, and as they were transcribed."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest

from omtl.util.paths import RESULTS

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
