"""Tables end to end: compute missing units, compare, show, write; or judge published ones again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from omtl.compute.engine import Outcome
from omtl.compute.own_process import peak_mib
from omtl.evidence.claims import claim_outcomes, in_sentences
from omtl.evidence.comparisons import UNDECIDED
from omtl.experiment.descriptions import Description, TableDescription, by_reading
from omtl.tables.cells import description_of, each_cell, first_cell, only, planned
from omtl.tables.layout import Layout, counts, lay_out, show
from omtl.tables.notes import notes
from omtl.tables.plan import describe
from omtl.tables.play import play_cells, record
from omtl.tables.published_results import (
    MACHINE,
    PublishedRun,
    as_json,
    folder_for,
    runs_of,
    stem_of,
    with_published_times,
    with_results,
    write_rows,
    write_table,
)
from omtl.tables.request import AUTO, Request
from omtl.tables.scoring import play_until_settled, scored
from omtl.util.files import write_whole
from omtl.util.host import host
from omtl.util.paths import RESULTS
from omtl.util.screen import plural


@dataclass(frozen=True)
class Reproduction:
    """A reproduced table or figure: its claims and files, and the cells of a table.

    `broken` says whether units failed for another reason than missing data.
    """

    claims: pd.DataFrame
    paths: list[Path]
    broken: bool
    cells: pd.DataFrame | None = None


@dataclass(frozen=True)
class TableRun:
    """A table that was played and judged.

    Parameters
    ----------
    request : Request
    planned : DataFrame
        Its cells before they were played.
    cells, claims : DataFrame
        The judged cells, and the outcomes of the claims that they decide.
    outcome : Outcome
        The units that were computed, and those that failed.
    seconds : float
        How long it took.
    """

    request: Request
    planned: pd.DataFrame
    cells: pd.DataFrame
    claims: pd.DataFrame
    outcome: Outcome
    seconds: float

    @property
    def description(self) -> TableDescription:
        """The table's description."""
        return description_of(self.cells)

    @cached_property
    def layout(self) -> Layout:
        """The table in its paper's layout, with all notes."""
        return lay_out(self.cells, notes(self.cells))

    def said_of_claims(self) -> list[str]:
        """Return what came of each claim, a sentence each."""
        n_repeats = self.request.n_repeats(self.description)
        return [
            *in_sentences(self.claims),
            *filter(None, [_few_repeats(self.claims, n_repeats, self.description)]),
        ]

    def write(self) -> list[Path]:
        """Write the table's files; return the paths.

        Times in ``results/`` stay unless the request replaces them.
        """
        request, cells, layout, claims = self.request, self.cells, self.layout, self.claims
        is_published = request.is_published(self.description)
        if is_published and not request.times:
            cells = with_published_times(cells, request)
            if cells is not self.cells:
                layout, claims = lay_out(cells, notes(cells)), claims_of_cells(cells)
        folder = folder_for(is_published)
        paths = write_table(cells, layout, claims, folder)
        last_run = {
            "units_computed": self.outcome.computed,
            "units_reused": self.outcome.reused,
            "seconds": round(self.seconds, 3),
            "peak_mib": peak_mib(),
            "parallel": dict(request.parallel),
        }
        write_machine(cells, folder, self.outcome.seconds, last_run)
        if self.planned["search"].notna().any():
            paths.append(folder_for(is_published, "search") / f"{stem_of(cells)}.points.csv")
            write_rows(paths[-1], record(self.planned, request.store), request.reading)
        return paths


def write_machine(
    cells: pd.DataFrame, folder: Path, took: Mapping[str, float], last_run: Mapping[str, Any]
) -> Path:
    """Write a table's duration, machine and commit to a file that git ignores; return its path.

    They differ between runs. The file says by which run most of the table's units were computed:
    the last one, or the one that it said before, if that computed the very same units. So a run
    from the store erases nothing, and records about units of earlier code are dropped.

    Parameters
    ----------
    cells : DataFrame
    folder : Path
    took : mapping of str to float
        Duration of each unit in seconds, by key, whichever run computed it.
    last_run : mapping
        Facts about the last run.
    """
    path = folder / f"{by_reading(stem_of(cells), first_cell(cells).reading)}.{MACHINE}"
    units = hashlib.sha256("".join(sorted(took)).encode()).hexdigest()
    runs = [last_run] if last_run["units_computed"] else []
    with suppress(FileNotFoundError, ValueError):
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier.get("units_sha256") == units and earlier["computed_by"]:
            runs.append(earlier["computed_by"])
    facts = {
        "units": len(took),
        "seconds": round(sum(took.values()), 3),
        "seconds_of": {
            f"{cell.algorithm} on {cell.dataset}": round(cell.seconds, 3)
            for cell in each_cell(cells)
        },
        "units_sha256": units,
        "last_run": last_run,
        "host": host(),
        "computed_by": max(runs, key=lambda run: run["units_computed"], default=None),
    }
    write_whole(path, as_json(facts, 2) + "\n")
    return path


def claims_of_cells(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the outcomes of the claims that a table's cells decide."""
    of = description_of(cells)
    return claim_outcomes(of.paper, of.id, first_cell(cells).reading, cells)


def play_table(name: str, request: Request, cell: str | None = None) -> TableRun:
    """Play the units that a table lacks, and judge its cells.

    Parameters
    ----------
    name : str
    request : Request
    cell : str, optional
        The name of the only cell to play (`omtl.tables.cells.cell_names_in`).

    Raises
    ------
    UserError
        On an unknown table, cell, reading or rule.
    """
    started = time.perf_counter()
    cells = planned(name, request)
    asked = cells if cell is None else only(cells, cell)
    if request.repeats == AUTO:
        judged, outcome = play_until_settled(asked, request)
    else:
        outcome = play_cells(asked, request)
        judged = scored(asked, request.store, outcome.failed)
    claims = claims_of_cells(judged).iloc[: None if cell is None else 0]
    return TableRun(request, asked, judged, claims, outcome, time.perf_counter() - started)


def reproduce_table(name: str, request: Request, console: Console) -> Reproduction:
    """Reproduce a table, print it beside the published one, and write its files.

    Raises
    ------
    UserError
        On an unknown table, reading or rule.
    """
    done = play_table(name, request)
    show(done.layout, console)
    for sentence in done.said_of_claims():
        console.print(sentence, soft_wrap=True, markup=False, highlight=False)
    return Reproduction(done.claims, done.write(), done.outcome.is_broken, done.cells)


def _few_repeats(claims: pd.DataFrame, n_repeats: int, description: Description) -> str:
    """Return a sentence where fewer repeats than the paper's may be why claims are undecided."""
    undecided = int((claims["outcome"] == UNDECIDED).sum()) if len(claims) else 0
    if not undecided or n_repeats >= description.repeats:
        return ""
    are = "claim is" if undecided == 1 else "claims are"
    return (
        f"{undecided} {are} undecided with {plural(n_repeats, 'repeat')}: "
        f"the paper has {description.repeats}, and more may decide"
    )


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
    request = Request(run.reading, run.meta["repeats"], run.meta["seed"], run.selection or None)
    cells = with_results(planned(run.table, request), run)
    findings = [  # which only the units have
        line.removeprefix("- ")
        for line in run.text("md").splitlines()
        if any(f": {phrase}: " in line for phrase in of.findings.values())
    ]
    layout = lay_out(cells, notes(cells, findings))
    as_it_was = run.meta | {"verdicts": counts(cells)}
    return write_table(cells, layout, claims_of_cells(cells), run.folder, as_it_was)
