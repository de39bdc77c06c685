"""Reproducing a table end to end: compute missing units, compare, show, write."""

from __future__ import annotations

import time
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
from omtl.evidence.statistics import make_statistics
from omtl.experiment.descriptions import Description, TableDescription
from omtl.experiment.naming import by_reading, by_rule
from omtl.experiment.readings import Reading
from omtl.figures.drawing import draw
from omtl.figures.numbers import FOLDED, ShownPanel, figure_rows, show_figure
from omtl.figures.pictures import render
from omtl.figures.plan import PlannedFigure, plan_figure
from omtl.figures.play import play_figure
from omtl.reproduction.explain import only
from omtl.tables import plan
from omtl.tables.cells import description_of, planned
from omtl.tables.layout import Layout, lay_out, plural
from omtl.tables.notes import notes
from omtl.tables.play import play_cells, record
from omtl.tables.published_results import with_published_times
from omtl.tables.render import show
from omtl.tables.request import AUTO, Request
from omtl.tables.scoring import scored
from omtl.tables.settled import play_until_settled
from omtl.tables.writing import folder_for, stem_of, write_machine, write_rows, write_table
from omtl.util.result_files import as_csv, fold, write_all


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
                layout, claims = lay_out(cells, notes(cells)), claims_of_cells(cells, request)
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


def claims_of_cells(cells: pd.DataFrame, request: Request) -> pd.DataFrame:
    """Return the outcomes of the claims that a table's cells decide."""
    of = description_of(cells)
    return claim_outcomes(of.paper, of.id, request.reading, cells)


def play_table(name: str, request: Request, cell: str | None = None) -> TableRun:
    """Play the units that a table lacks, and judge its cells.

    Parameters
    ----------
    name : str
    request : Request
    cell : str, optional
        The name of the only cell to play (`omtl.reproduction.explain.cell_names_in`).

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
    claims = claims_of_cells(judged, request).iloc[: None if cell is None else 0]
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


def _described(kind: str, name: str, request: Request) -> tuple[Description, Reading]:
    """Return the description of a table or figure, and the reading that is asked for."""
    description = plan.describe(kind, name)
    request.check(description)
    return description, Reading.of(description.paper, request.reading)


def compute_figure(name: str, request: Request) -> None:
    """Compute the units that a figure lacks.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    _, reading = _described("figure", name, request)
    play_figure(plan_figure(name, reading), request)


def reproduce_figure(name: str, request: Request) -> Reproduction:
    """Reproduce a figure and write its files.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    done = play_paper_figure(name, request)
    return Reproduction(done.claims, done.write(), done.outcome.is_broken)


@dataclass(frozen=True)
class FigureRun:
    """A figure that was played and measured.

    Parameters
    ----------
    request : Request
    figure : Figure
    panels : list of ShownPanel
        The panels with their numbers.
    claims : DataFrame
        The outcomes of the claims that it decides.
    outcome : Outcome
        The units that were computed, and those that failed.
    """

    request: Request
    figure: PlannedFigure
    panels: list[ShownPanel]
    claims: pd.DataFrame
    outcome: Outcome

    @property
    def selection(self) -> str:
        """The name of the selection rule."""
        return self.request.rule(self.figure.description)

    @property
    def subtitle(self) -> str:
        """The reading, the selection rule, the repeats and the seed."""
        return (
            f"reading {self.figure.reading.name}, selection {self.selection}, "
            f"repeats {self.request.n_repeats(self.figure.description)}, seed {self.request.seed}"
        )

    def draw(self) -> Any:
        """Return it drawn, as a figure of matplotlib."""
        return draw(self.figure.description, self.panels, self.subtitle)

    def write(self, folder: Path | None = None) -> list[Path]:
        """Write the figure's svg, csv and claims; return the paths.

        The same numbers give the same bytes.
        """
        figure, description = self.figure, self.figure.description
        folder = folder or folder_for(self.request.is_full(description), "figures")
        contents: dict[str, str | bytes] = {
            **render(self.draw, figure.id),
            "csv": as_csv(fold(figure_rows(figure, self.panels, self.selection), FOLDED)),
        }
        named = by_rule(figure.id, self.selection, description.selection)
        stem = by_reading(named, figure.reading.name)
        paths = write_all(folder, {f"{stem}.{form}": each for form, each in contents.items()})
        of_claims = folder / f"{figure.id}.claims.csv"
        if len(self.claims) or of_claims.exists():  # rows of an earlier run go
            write_rows(of_claims, self.claims, figure.reading.name)
            paths.append(of_claims)
        return paths


def play_paper_figure(name: str, request: Request) -> FigureRun:
    """Play the units that a figure lacks, and measure its panels.

    Unavailable data are no error: their panels say so.

    Raises
    ------
    UserError
        On an unknown figure, reading or rule.
    """
    _, reading = _described("figure", name, request)
    return measured_figure(name, reading, request)


def measured_figure(name: str, reading: Reading, request: Request) -> FigureRun:
    """Play the units that a figure lacks under a reading, and measure its panels."""
    figure, outcome = play_figure(plan_figure(name, reading), request)
    panels = show_figure(figure, request, outcome.failed)
    claims = claim_outcomes(figure.description.paper, figure.id, reading.name, panels)
    return FigureRun(request, figure, panels, claims, outcome)


def reproduce_statistics(name: str, request: Request) -> list[Path]:
    """Write the statistics of a table or figure; return the paths. Nothing is computed.

    Raises
    ------
    UserError
        On an unknown table, figure, reading or rule, or where there are no numbers of it.
    """
    kind = "figure" if name in plan.descriptions("figure") else "table"
    description, reading = _described(kind, name, request)
    folder = folder_for(request.is_full(description), "statistics", apart=True)
    return make_statistics(name, reading, request, folder)
