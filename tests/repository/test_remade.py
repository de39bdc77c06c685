"""Files in results/: made again to the byte, in agreement with each other, and as transcribed."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pandas as pd
import pytest
from golden_files import assert_as_golden
from golden_records import GOLDEN, forms

from omtl.api.tables import judge_again
from omtl.compute.store import Store
from omtl.evidence import ledger
from omtl.evidence.board import BoardPlan
from omtl.evidence.comparisons import FAILS
from omtl.evidence.ledger import NOT_RUN, papers_with_claims, with_conclusions, write_ledgers
from omtl.evidence.ratings import count_sharing, sharing, summary_lines
from omtl.evidence.statistics import reproduce_statistics
from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import describe, descriptions, diagnoses
from omtl.experiment.readings import CLOSEST, READINGS
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.reproduction.board import DIGITS, from_results
from omtl.reproduction.search_readings import write_page
from omtl.results import claims
from omtl.tables.placebo_test import write_placebo_test
from omtl.tables.proofread import write_findings
from omtl.tables.published_results import runs_of
from omtl.tables.request import Request
from omtl.tables.verdict import EXCLUDES, MATCH, NEAR, OFF
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
    """Assert that files were written with the bytes that they have in the repository."""
    written = list(paths)
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


SEARCHED = [
    pytest.param(path.stem, marks=[pytest.mark.deep] if "tablefig" in path.stem else [])
    for path in sorted((RESULTS / "readings").glob("*-table*[0-9].csv"))
]


@pytest.mark.parametrize("table", SEARCHED)
def test_a_search_of_readings_has_its_page_and_its_placebos(table: str, results: Path) -> None:
    assert_as_in_git([*write_page(table), write_placebo_test(table)], results)


def test_ledgers_and_findings_are_those_of_the_results(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So are the conclusions on the papers' pages."""
    pages = {paper: paper_file(paper, "README.md").read_text() for paper in papers_with_claims()}
    copies = {paper: results.parent / f"{paper}.md" for paper in pages}
    for paper, copy in copies.items():
        copy.write_text(with_conclusions(pages[paper], read_csv(RESULTS / "claims.csv")[:0]))
    monkeypatch.setattr(ledger, "paper_file", lambda paper, _: copies[paper])
    _, written = write_ledgers()
    _, findings = write_findings(results)
    assert_as_in_git([path for path in written if path not in copies.values()], results)
    assert_as_in_git(findings, results)
    assert {paper: copy.read_text() for paper, copy in copies.items()} == pages


@pytest.mark.parametrize("board", ["default", "rare"])
def test_a_board_is_ranked_as_it_was(board: str) -> None:
    """From its cells and the submissions; with its notes, what sharing gains, whom each beats."""
    made = from_results(BoardPlan(board), RESULTS)
    config, kept = made.plan.config, RESULTS / made.plan.folder / "ranking.csv"
    assert as_csv(made.ranking, DIGITS) == kept.read_text(encoding="utf-8")
    gains = sharing(made.frame, config["families"])
    lines = summary_lines(made.frame, config["metric"], {"spam": "Spam"})
    said = [*made.notes, *chain(*lines.values()), as_csv(count_sharing(gains)), as_csv(gains, 6)]
    assert_as_golden("\n".join(said), f"boards/{board}.txt")


PLACE = ["metric", "dataset", "task", "reading"]
MARGINS = pd.read_csv(RESULTS / "hindsight.csv", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("table", sorted(MARGINS["table"].unique()))
def test_margins_are_of_the_means_in_the_tables(table: str) -> None:
    """Under the table's own rule and, where that table is committed too, without hindsight."""
    combined = {one for labels in describe("table", table).same_row.values() for one in labels}
    compared = 0
    for prefix in ("", "no_hindsight_"):
        for rule, ruled in MARGINS[MARGINS["table"] == table].groupby(f"{prefix}selection"):
            path = RESULTS / "reproduced" / f"{table}{f'.{rule}' if prefix else ''}.csv"
            ours = pd.read_csv(path, dtype=str) if path.is_file() else None
            for role in ("own", "alternative") if ours is not None else ():
                rows = ruled.assign(algorithm=ruled[prefix + role])
                both = rows.merge(ours, "left", on=[*PLACE, "algorithm"])
                known = both["ours_mean"].notna()
                assert (both["ours_mean"] == both[f"{prefix}{role}_mean"])[known].all()
                assert set(both["algorithm"][~known]) <= combined
                compared += known.sum()
    assert compared


PUBLISHED = sorted((RESULTS / "published").glob("*.csv"))
CHECKED = Path(__file__).parents[1] / "golden" / "published.sha256"
"""Hashes of the files that were compared with the papers, number by number; `sha256sum -c`."""


def test_the_numbers_are_those_compared_with_the_papers() -> None:
    """Whoever changes one compares the file with the paper again, and then updates its hash."""
    checked = [line.split() for line in CHECKED.read_text(encoding="utf-8").splitlines()]
    found = [[hashlib.sha256(path.read_bytes()).hexdigest(), path.name] for path in PUBLISHED]
    assert found == checked


TABLE_FILES = [
    path
    for path in sorted((RESULTS / "reproduced").glob("*.csv"))
    if not path.stem.endswith((".agreement", ".claims", ".repeats", ".trends"))
]
REPRODUCED = [path for path in TABLE_FILES if not path.stem.endswith(f".{NO_HINDSIGHT}")]


def test_results_give_the_golden_table() -> None:
    """csv, Markdown and LaTeX, with missing columns and their reasons."""
    for name, text in forms().items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("path", REPRODUCED, ids=lambda path: path.stem)
def test_every_cell_that_is_surely_off_has_a_diagnosis(path) -> None:
    """In ``experiments/<paper>/diagnoses.yaml``, for the standard reading in which it is off."""
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
    off = off[off["reading"].isin([*READINGS])]  # what the blind reading lacks needs no reason
    needed = set(zip(off["table"], off["reading"], off["dataset"], off["algorithm"], strict=True))
    assert needed <= written


def test_every_claim_that_is_true_in_print_and_fails_as_published_says_why() -> None:
    """And no other does; none is left to be run under a standard reading."""
    rows = claims()
    needed = (rows["in_print"] == "true") & (rows[CLOSEST] == FAILS)
    assert needed.any()
    assert set(rows["claim"][rows["why_it_fails"] != ""]) == set(rows["claim"][needed])
    assert not (rows[[*READINGS]] == NOT_RUN).any(axis=None)
