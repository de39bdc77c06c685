"""Files in results/: made again to the byte, in agreement with each other, and as transcribed."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from golden_files import GOLDEN, assert_as_golden

from omtl.api.tables import judge_again
from omtl.compute.store import CachedStore, Store
from omtl.evidence import ledger
from omtl.evidence.board import BoardPlan
from omtl.evidence.comparisons import FAILS
from omtl.evidence.ledger import NOT_RUN, with_conclusions, write_ledgers
from omtl.evidence.ratings import count_sharing, sharing, summary_lines
from omtl.evidence.statistics import reproduce_statistics
from omtl.experiment.config import paper_file, paper_files
from omtl.experiment.descriptions import describe, descriptions, diagnoses
from omtl.experiment.readings import CLOSEST, READINGS, Reading
from omtl.experiment.unit import Result, Unit
from omtl.reproduction.board import DIGITS, from_results
from omtl.reproduction.search_readings import write_page
from omtl.results import claims
from omtl.tables.cells import as_rows, planned
from omtl.tables.layout import captioned_latex, lay_out, layout_markdown
from omtl.tables.notes import notes
from omtl.tables.placebo_test import write_placebo_test
from omtl.tables.proofread import write_findings
from omtl.tables.published_results import runs_of
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.tables.verdict import EXCLUDES, MATCH, NEAR, OFF
from omtl.util.paths import RESULTS
from omtl.util.result_files import as_csv, read_csv, write_csv

TABLES = [
    pytest.param(name, marks=[pytest.mark.deep] if re.search("rom-|tablefig", name) else [])
    for name in sorted(descriptions("table"))
]
"""All tables; those of hundreds of repeats or of a figure's numbers take a minute."""

OF_SECONDS = "omtrsl-table1"
"""Its statistics are of seconds, and a table keeps those of an earlier run."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a copy of the results, to which goes what is written: the bytes that it had."""
    copy = tmp_path_factory.mktemp("copy") / "results"
    shutil.copytree(RESULTS, copy, ignore=shutil.ignore_patterns("partial", "bench"))
    with pytest.MonkeyPatch.context() as patch:
        for module in list(sys.modules.values()):
            if module.__name__.startswith("omtl.") and getattr(module, "RESULTS", None) == RESULTS:
                patch.setattr(module, "RESULTS", copy)
        yield copy


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
    papers = [path.parent.name for path in paper_files("claims.yaml")]
    pages = {paper: paper_file(paper, "README.md").read_text() for paper in papers}
    copies = {paper: results.parent / f"{paper}.md" for paper in pages}
    for paper, copy in copies.items():
        copy.write_text(with_conclusions(pages[paper], read_csv(RESULTS / "claims.csv")[:0]))
    monkeypatch.setattr(ledger, "paper_file", lambda paper, _: copies[paper])
    told, written = write_ledgers()
    claims = read_csv(RESULTS / "claims.csv")
    n_untested = int((claims["as_read_corrected"] == "").sum())
    assert f"not tested {n_untested}" in next(one for one in told if "as read corrected" in one)
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
    gains = sharing(made.frame, config.families)
    lines = summary_lines(made.frame, config.metric, {"spam": "Spam"})
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
CHECKED = GOLDEN / "published.sha256"
"""Hashes of the files that were compared with the papers, number by number; `sha256sum -c`."""


def test_the_numbers_are_those_compared_with_the_papers() -> None:
    """Whoever changes one compares the file with the paper again, and then updates its hash."""
    checked = [line.split() for line in CHECKED.read_text(encoding="utf-8").splitlines()]
    found = [[hashlib.sha256(path.read_bytes()).hexdigest(), path.name] for path in PUBLISHED]
    assert found == checked


N_TASKS, N_EXAMPLES = 4, 1000


class MadeUp(CachedStore):
    """A store with a result of each unit on the random walk, drawn by the unit's name.

    Mistakes are near the best of the published numbers, a share for each learner.
    """

    def results_of(self, units: Collection[Unit]) -> dict[str, Result]:
        """Return the results of those units that have one."""
        return {unit.key: made_up(unit) for unit in units if unit.dataset.name == "random_walk"}


def made_up(unit: Unit) -> Result:
    names = unit.algorithm.name, unit.network.name if unit.network else ""
    learner, repeat = (crc32(repr(of).encode()) for of in (names, (names, unit.repeat, unit.draw)))
    share = np.random.default_rng(learner).uniform(0.055, 0.07)
    shape = (len(unit.algorithm.points), N_TASKS)
    arrays = {
        "mistakes": np.random.default_rng(repeat).binomial(N_EXAMPLES, share, shape),
        "diverged": np.zeros(shape[0], dtype=int),
        "examples": np.full(N_TASKS, N_EXAMPLES),
    }
    return Result(arrays, {"data_sha256": "golden", "seconds": 1.0})


def test_results_give_the_golden_table(store: Store) -> None:
    """CSV, Markdown and LaTeX; but for the random walk, columns are missing, with reasons."""
    of_table = planned("dom-table1", Request(repeats=3), Reading(name="golden", paper=None))
    cells = scored(of_table, MadeUp(store))
    layout = lay_out(cells, notes(cells))
    assert_as_golden(as_csv(as_rows(cells)), "table.csv", exactly=True)
    assert_as_golden(layout_markdown(layout), "table.md", exactly=True)
    assert_as_golden(captioned_latex(layout), "table.tex", exactly=True)


@pytest.mark.parametrize("table", descriptions("table"))
def test_every_cell_that_is_surely_off_has_a_diagnosis(table: str) -> None:
    """In ``experiments/<paper>/diagnoses.yaml``, for the standard reading in which it is off."""
    rows = read_csv(RESULTS / "reproduced" / f"{table}.csv")
    written = {
        (entry.table, reading, entry.dataset, algorithm)
        for entry in diagnoses(table.partition("-")[0])
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
