"""Judging the results in ``results/`` again, from their repeats: no learner is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from omtl.experiment.descriptions import TableDescription
from omtl.reproduction.reproduce import claims_of_cells
from omtl.tables.cells import planned
from omtl.tables.layout import counts, lay_out
from omtl.tables.notes import notes
from omtl.tables.plan import describe
from omtl.tables.published_results import PublishedRun, runs_of, with_results
from omtl.tables.request import Request
from omtl.tables.writing import as_json, write_table
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS


def judge_again(table: str) -> list[Path]:
    """Write the files of a table's published runs anew, with the verdicts of the rule as it is.

    Our numbers, the configs and what learners told of tasks stay as they were.

    Raises
    ------
    UserError
        If there is no such table.
    """
    of = describe("table", table)
    return [path for run in runs_of(RESULTS, table) for path in _judged_again(run, of)]


def _judged_again(run: PublishedRun, of: TableDescription) -> list[Path]:
    meta = run.meta
    request = Request(run.reading, meta["repeats"], meta["seed"], run.selection or None)
    cells = with_results(planned(run.table, request), run)
    layout = lay_out(cells, notes(cells, [*_told(run, of)]))
    claims = claims_of_cells(cells, request)
    as_it_was = meta | {"verdicts": counts(cells)}
    paths = write_table(cells, layout, claims, run.folder)
    for path in paths:
        if path.name.endswith(".meta.json"):  # the configs as they were run
            write_whole(path, as_json(as_it_was, 3) + "\n")
    return paths


def _told(run: PublishedRun, of: TableDescription) -> Iterator[str]:
    """Yield the notes on what learners found about tasks, which only their units have."""
    for line in run.text("md").splitlines():
        if any(f": {phrase}: " in line for phrase in of.findings.values()):
            yield line.removeprefix("- ")
