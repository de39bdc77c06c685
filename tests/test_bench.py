"""The benchmark runs, writes its files, and compares equal algorithms; no time is judged."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = [
    "benchmark",
    "contender",
    "examples",
    "seconds_per_example_median",
    "ratio_to_ours_median",
    "ratio_min",
    "ratio_max",
    "mistakes",
    "mistakes_of_ours",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a quick run has written to."""
    target = tmp_path_factory.mktemp("bench")
    run = subprocess.run(
        [sys.executable, "scripts/bench.py", "--quick", "--folder", str(target)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return target


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[dict[str, str]]:
    """Return the lines of the table by column."""
    with (folder / "kernels.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        found = list(reader)
    assert reader.fieldnames == COLUMNS
    return found


def test_writes_both_files_and_nothing_else(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == ["kernels.csv", "kernels.md"]


def test_page_has_a_line_for_each_contender(folder: Path, lines: list[dict[str, str]]) -> None:
    page = (folder / "kernels.md").read_text(encoding="utf-8").splitlines()
    assert "numba" in page[0]
    assert sum(line.startswith("| ") for line in page) == len(lines) + 2


def test_equal_algorithms_made_equal_mistakes(lines: list[dict[str, str]]) -> None:
    compared = [line for line in lines if line["mistakes"] and line["mistakes_of_ours"]]
    elsewhere = {"NumPy", "river", "scikit-learn", "plain loop", "bare loop"}
    assert elsewhere <= {line["contender"] for line in compared}
    for line in compared:
        apart = abs(int(line["mistakes"]) - int(line["mistakes_of_ours"]))
        assert apart <= 1, line  # the first prediction is a tie, which each library breaks itself


def test_times_are_positive(lines: list[dict[str, str]]) -> None:
    assert all(float(line["seconds_per_example_median"]) > 0.0 for line in lines)
