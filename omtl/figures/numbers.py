"""A figure's numbers: its lines planned and played, its panels measured, and the rows of its csv.

Panels are measured from the store and the data alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from data_fetchers.fetch import DataMissing
from omtl.compute.engine import Failure, Outcome, run_units, why_lacking
from omtl.experiment.descriptions import FigureDescription, Panel, describe, published
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names, refuse_twice
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Experiment, Names, Unit
from omtl.figures.panels import PANEL_KINDS, axes_of, check_kind, check_measured
from omtl.figures.panels.axes import DIGITS, Axes, HeatMap, PlannedLine, PlayedLine
from omtl.tables.cells import ALL_TASKS, each_cell, place_of, planned
from omtl.tables.play import play_cells
from omtl.tables.request import Request
from omtl.tables.scoring import played
from omtl.util.result_files import rows_in, unfold

COLUMNS = (
    *("figure", "panel", "part", "reading", "selection"),
    *("kind", "label", "x_label", "x", "y", "y_std", "n_repeats", "params"),
)
"""Columns of a figure's csv."""

FOLDED = ("x", "y", "y_std")
"""Columns of which a row of the kept csv has those of a whole line."""


def drawn_rows(*paths: Path) -> pd.DataFrame:
    """Return the rows of a figure's kept csv files, one per point; none where there is no file."""
    rows = [row for path in paths for row in unfold(rows_in(path), FOLDED)]
    return pd.DataFrame(rows, columns=COLUMNS)


@dataclass(frozen=True)
class PlannedFigure:
    """A figure of a paper: its description, and the lines of its panels under a reading."""

    description: FigureDescription
    reading: Reading
    lines: tuple[PlannedLine, ...]

    @property
    def id(self) -> str:
        """The figure's id."""
        return self.description.id

    def units(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return all units that the figure needs, repeat after repeat."""
        experiments = [line.experiment for line in self.lines]
        return [e.unit(seed, repeat) for repeat in range(n_repeats) for e in experiments]


def plan_figure(name: str, reading: Reading) -> PlannedFigure:
    """Return a figure's lines under a reading.

    Raises
    ------
    UserError
        If the figure, a kind of panel or a name in its description is unknown.
    """
    description = describe("figure", name)
    numbers = published(description.published) if description.published else []
    printed = {place_of(number): float(number["mean"]) for number in numbers}
    cheaper = description.cheaper.get(reading.name)
    smaller = cheaper.patch if cheaper else {}
    planned_lines: list[PlannedLine] = []
    for panel in description.panels:
        check_kind(panel)
        columns = {"": (reading.for_dataset(panel.dataset), panel.patch)}
        if panel.across:
            table = describe("table", description.published)
            columns = {
                column.published: (reading.for_column(column.published), column.patch)
                for column in table.columns
                if column.dataset == panel.dataset
            }
        metric = panel.metric or PANEL_KINDS[panel.kind].marked
        lines = [
            PlannedLine(
                panel,
                line,
                Experiment.compose(
                    Names(line.algorithm, panel.dataset, protocol, line.network or None),
                    read,
                    {**patch, **smaller},
                ),
                column,
                printed.get((column or panel.published, line.published, ALL_TASKS, metric)),
            )
            for line in panel.lines
            for protocol in panel.protocols or [description.protocol]
            for column, (read, patch) in columns.items()
        ]
        if len(panel.protocols) < 2 and not panel.across:
            named = [f"{line.label} {line.description.title}".strip() for line in lines]
            refuse_twice(f"panel {panel.label}, label of a line", named)
        for line in lines:
            said, grid = line.description, line.experiment.algorithm.grid
            named = [name for name in (said.parameter, said.by) if name]
            check_names(f"panel {panel.label}", (f"parameter of {line.label}", named, grid))
        planned_lines += lines
    return PlannedFigure(description, reading, tuple(planned_lines))


def as_chosen(figure: PlannedFigure, request: Request, computed: bool = False) -> PlannedFigure:
    """Return a figure whose learners have the hyper-parameters that a table chooses for them.

    The table is that of the description's ``chosen_in``; its cells that belong to the lines are
    computed where the store lacks them, if they are to be `computed`, of one draw of synthetic data
    as the figure is. A line keeps its own where its cell is not run, as all do where no table is
    named.
    """
    if not figure.description.chosen_in:
        return figure
    places = [line.place for line in figure.lines]
    repeats, rule = request.n_repeats(figure.description), request.rule(figure.description)
    asked = replace(request, repeats=repeats, selection=rule)
    cells = planned(figure.description.chosen_in, asked, figure.reading, plays=0)
    cells = cells[cells.set_index(["algorithm", "dataset"]).index.isin(places)]
    if computed:
        play_cells(cells, asked)
    chosen = {
        (cell.algorithm, cell.dataset): cell
        for cell in each_cell(played(cells, asked.store))
        if cell.values.size
    }

    def narrowed(line: PlannedLine) -> PlannedLine:
        if line.place not in chosen:
            return line
        experiment = chosen[line.place].experiment
        point = experiment.points.index(chosen[line.place].params)
        same = replace(experiment, protocol=line.experiment.protocol).only([point])
        return replace(line, experiment=same)

    return replace(figure, lines=tuple(map(narrowed, figure.lines)))


def play_figure(figure: PlannedFigure, request: Request) -> tuple[PlannedFigure, Outcome]:
    """Compute the units that a figure lacks; return it as its table chooses, and their outcome."""
    figure = as_chosen(figure, request, computed=True)
    units = figure.units(request.seed, request.n_repeats(figure.description))
    return figure, run_units(units, request.store, request.parallel)


@dataclass(frozen=True)
class ShownPanel:
    """A panel as it is drawn.

    Parameters
    ----------
    parts : tuple of Axes
        Its axes, which share y; none where all its data are missing.
    missing : tuple of str
        What is missing, and why.
    repeats_are_of : str
        One data set or fresh draws (`omtl.experiment.unit.Experiment.repeats_are_of`).
    """

    label: str
    title: str
    parts: tuple[Axes, ...]
    missing: tuple[str, ...] = ()
    repeats_are_of: str = ""

    @property
    def axes(self) -> list[Axes]:
        """Those of the parts whose lines are drawn as such."""
        return [part for part in self.parts if not isinstance(part, HeatMap)]


def show_panel(
    figure: PlannedFigure, panel: Panel, request: Request, failed: Mapping[str, Failure]
) -> ShownPanel:
    """Return a panel with its numbers, from the store and the data alone."""
    n_repeats = request.n_repeats(figure.description)
    rule = figure.reading(SelectionSpec.named(request.rule(figure.description)))
    lines = [line for line in figure.lines if line.panel is panel]
    there: list[PlayedLine] = []
    lacking: dict[str, list[str]] = {}
    for line in lines:
        units = line.experiment.repeats(request.seed, n_repeats)
        results = request.store.stored(units)
        if len(results) == n_repeats:
            protocol = line.experiment.protocol.name
            check_measured(panel, protocol, results[0].arrays)
            there.append(PlayedLine(**vars(line), units=units, results=results, rule=rule))
            continue
        why = why_lacking(units, len(results), failed)
        lacking.setdefault(why, []).append(line.label)
    note = request.store.note_on([unit for line in there for unit in line.units])
    pulled = [note] if note else []
    missing = [f"{', '.join(dict.fromkeys(labels))}: {why}" for why, labels in lacking.items()]
    parts: list[Axes] = []
    if there:
        try:
            parts = [replace(p, notes=(*p.notes, *pulled)) for p in axes_of(there)]
        except DataMissing as fault:  # the units are stored, but a formula needs the data
            missing.append(str(fault))
    return ShownPanel(
        panel.label,
        panel.title,
        tuple(parts),
        tuple(missing),
        lines[0].experiment.repeats_are_of if lines else "",
    )


def show_figure(
    figure: PlannedFigure, request: Request, failed: Mapping[str, Failure] | None = None
) -> list[ShownPanel]:
    """Return all panels of a figure with their numbers, from the store and the data alone.

    Parameters
    ----------
    figure : Figure
    request : Request
        Which repeats, by which rule.
    failed : dict, optional
        Why units failed, by key.
    """
    return [show_panel(figure, panel, request, failed or {}) for panel in figure.description.panels]


def figure_rows(figure: PlannedFigure, shown: Sequence[ShownPanel], selection: str) -> pd.DataFrame:
    """Return the rows of a figure's csv: every number that is drawn, as text.

    The column `kind` tells apart lines of runs (``run``) from formulas (``theory``), weights of a
    heat map (``weight``; the label is the row, x the column, from 1), vertical lines
    (``reference``), published values (``published``), ``note`` and ``missing``; the text of the
    last two is the label.
    """

    common = {"figure": figure.id, "reading": figure.reading.name, "selection": selection}
    found = []
    for panel in shown:
        place = common | {"panel": panel.label}
        for part in panel.parts:
            notes = ({"kind": "note", "label": note} for note in part.notes)
            found += [place | {"part": part.title} | row for row in (*_points(part), *notes)]
        found += [place | {"kind": "missing", "label": why} for why in panel.missing]
    texts = [{name: _as_text(row.get(name)) for name in COLUMNS} for row in found]
    return pd.DataFrame(texts, columns=COLUMNS)


def _points(part: Axes) -> Iterator[dict[str, Any]]:
    for line in part.lines:
        kind = "weight" if isinstance(part, HeatMap) else "theory" if line.is_theory else "run"
        about = {"kind": kind, "label": line.label, "n_repeats": line.n_repeats}
        params = line.params * (line.x.size if len(line.params) == 1 else 1)
        for x, y, std, point in zip(line.x, line.mean, line.std, params, strict=True):
            numbers = {"x_label": part.x_label, "x": x, "y": y, "y_std": std}
            yield about | numbers | {"params": point}
    for kind, marks in (("reference", part.references), ("published", part.marks)):
        for mark in marks:
            yield {"kind": kind, "x_label": part.x_label, **mark._asdict()}


def _as_text(value: Any) -> str:
    """Return a value as it is written; empty where there is none."""
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    return "" if value is None else str(value)
