"""Files in ``results/`` that follow from others are made again, to the byte; no learner is run."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from omtl.api.tables import judge_again
from omtl.compute.store import Store
from omtl.evidence.board import BoardPlan
from omtl.evidence.ledger import papers_with_claims, with_conclusions, write_ledgers
from omtl.evidence.statistics import reproduce_statistics
from omtl.experiment.config import paper_file
from omtl.reproduction.board import DIGITS, from_results
from omtl.reproduction.search_readings import write_page
from omtl.tables.placebo_test import write_placebo_test
from omtl.tables.plan import descriptions
from omtl.tables.proofread import write_findings
from omtl.tables.published_results import runs_of
from omtl.tables.request import Request
from omtl.tables.verdict import MATCH, NEAR
from omtl.util.paths import RESULTS
from omtl.util.result_files import as_csv, read_csv, write_csv

TABLES = [
    pytest.param(name, marks=[pytest.mark.deep] if name.startswith("rom-") else [])
    for name in sorted(descriptions("table"))
]
"""All tables; those with hundreds of repeats take a minute."""

OF_SECONDS = "omtrsl-table1"
"""Its statistics are of seconds, and a table keeps those of an earlier run."""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the results, to which goes what is written."""
    copy = tmp_path / "results"
    shutil.copytree(RESULTS, copy, ignore=shutil.ignore_patterns("partial", "bench"))
    for module in list(sys.modules.values()):
        if module.__name__.startswith("omtl.") and getattr(module, "RESULTS", None) == RESULTS:
            monkeypatch.setattr(module, "RESULTS", copy)
    return copy


def assert_as_in_git(paths: Iterable[Path], results: Path) -> None:
    """Assert that files were written with the bytes that they have in the repository.

    Pictures are left out: their bytes are another's who draws them.
    """
    written = [path for path in paths if path.suffix != ".svg"]
    assert written
    for path in written:
        kept = RESULTS / path.relative_to(results)
        assert path.read_bytes() == kept.read_bytes(), path.name


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_judged_as_it_was(table: str, results: Path) -> None:
    """Rows, agreement, trends, claims and pages; a verdict that was changed is the rule's again."""
    path = results / "reproduced" / f"{table}.csv"
    write_csv(path, read_csv(path).replace({"verdict": {MATCH: NEAR}}))
    assert_as_in_git(judge_again(table), results)


@pytest.mark.parametrize("table", [one for one in TABLES if one.values != (OF_SECONDS,)])
def test_statistics_are_those_of_the_published_repeats(
    table: str, results: Path, store: Store
) -> None:
    """Of each reading that has a file of them."""
    for run in runs_of(results, table):
        if (results / "statistics" / f"{table}.claims.csv").exists() and not run.selection:
            asked = Request(run.reading, store=store)
            assert_as_in_git(reproduce_statistics(table, asked), results)


RECORDS = [
    pytest.param(path.stem, marks=[pytest.mark.deep] if "tablefig" in path.stem else [])
    for path in sorted((RESULTS / "readings").glob("*-table*[0-9].csv"))
]


@pytest.mark.parametrize("table", RECORDS)
def test_a_search_of_readings_has_its_page_and_its_placebos(table: str, results: Path) -> None:
    assert_as_in_git([*write_page(table), write_placebo_test(table)], results)


def test_ledgers_and_findings_are_those_of_the_results(results: Path) -> None:
    """So are the conclusions on the papers' pages."""
    _, ledgers = write_ledgers(results)
    _, findings = write_findings(results)
    assert_as_in_git([*ledgers, *findings], results)
    rows = read_csv(RESULTS / "claims.csv")
    for paper in papers_with_claims():
        page = paper_file(paper, "README.md").read_text(encoding="utf-8")
        assert with_conclusions(page, rows[rows["paper"] == paper]) == page


def test_the_board_is_ranked_as_it_was() -> None:
    """From its cells and the submissions."""
    made = from_results(BoardPlan(), RESULTS)
    kept = RESULTS / "board" / "ranking.csv"
    assert as_csv(made.ranking, DIGITS) == kept.read_text(encoding="utf-8")
