"""A figure's numbers: its lines planned and played, its panels measured, and the rows of its csv.

Panels are measured from the store and the data alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from data_fetchers.fetch import DataMissing
from omtl.compute.engine import Outcome, run_units, why_lacking
from omtl.experiment.descriptions import FigureDescription, Panel, describe, published
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names, refuse_twice
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Experiment, Unit
from omtl.figures.panels import PANEL_KINDS, axes_of, check_kind, check_shown
from omtl.figures.panels.axes import DIGITS, Axes, HeatMap, PlannedLine, PlayedLine
from omtl.protocols.record_schema import measured_arrays
from omtl.tables.cells import ALL_TASKS, each_cell, place_of, planned
from omtl.tables.request import Request
from omtl.tables.scoring import play_cells, played
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
class MeasuredFigure:
    """A figure of a paper as a request asks for it, with its numbers in the store.

    Parameters
    ----------
    description : FigureDescription
    reading : Reading
    request : Request
    lines : tuple of PlannedLine
        The lines of its panels.
    outcome : Outcome
        What became of the units that were computed for it.
    """

    description: FigureDescription
    reading: Reading
    request: Request
    lines: tuple[PlannedLine, ...]
    outcome: Outcome = field(default_factory=Outcome)

    @property
    def id(self) -> str:
        """The figure's id."""
        return self.description.id

    @property
    def selection(self) -> str:
        """The name of the rule by which hyper-parameters were chosen."""
        return self.request.rule(self.description)

    @property
    def n_repeats(self) -> int:
        """The number of repeats."""
        return self.request.n_repeats(self.description)

    @property
    def units(self) -> list[Unit]:
        """All units that the figure needs, repeat after repeat."""
        seed, experiments = self.request.seed, [line.experiment for line in self.lines]
        return [e.unit(seed, repeat) for repeat in range(self.n_repeats) for e in experiments]

    @cached_property
    def panels(self) -> list[ShownPanel]:
        """All panels with their numbers, from the store and the data alone."""
        return [show_panel(self, panel) for panel in self.description.panels]

    @property
    def rows(self) -> pd.DataFrame:
        """The rows of its csv: every number that is drawn, as text.

        The column `kind` tells apart lines of runs (``run``) from formulas (``theory``), weights of
        a heat map (``weight``; the label is the row, x the column, from 1), vertical lines
        (``reference``), published values (``published``), ``note`` and ``missing``; the text of the
        last two is the label.
        """
        common = {"figure": self.id, "reading": self.reading.name, "selection": self.selection}
        found = []
        for panel in self.panels:
            place = common | {"panel": panel.label}
            for part in panel.parts:
                notes = ({"kind": "note", "label": note} for note in part.notes)
                found += [place | {"part": part.title} | row for row in (*_points(part), *notes)]
            found += [place | {"kind": "missing", "label": why} for why in panel.missing]
        texts = [{name: _as_text(row.get(name)) for name in COLUMNS} for row in found]
        return pd.DataFrame(texts, columns=COLUMNS)


def plan_figure(name: str, request: Request) -> MeasuredFigure:
    """Return a figure with its lines.

    Raises
    ------
    UserError
        If the figure, its reading or rule, a kind of panel or a name in its description is unknown.
    """
    description = describe("figure", name)
    request.check(description)
    reading = Reading.of(description.paper, request.reading)
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
                    *(line.algorithm, panel.dataset, protocol, line.network),
                    *({**patch, **smaller}, read.patch),
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
            protocol = line.experiment.protocol
            if arrays := measured_arrays(protocol.module, protocol.settings):
                check_shown(panel, protocol.name, arrays)
        planned_lines += lines
    return MeasuredFigure(description, reading, request, tuple(planned_lines))


def as_chosen(figure: MeasuredFigure, computed: bool = False) -> MeasuredFigure:
    """Return a figure whose learners have the hyper-parameters that a table chooses for them.

    The table is that of the description's ``chosen_in``; its cells that belong to the lines are
    computed where the store lacks them, if they are to be `computed`, of one draw of synthetic data
    as the figure is. A line keeps its own where its cell is not run, as all do where no table is
    named.
    """
    if not figure.description.chosen_in:
        return figure
    places = [line.place for line in figure.lines]
    asked = replace(figure.request, repeats=figure.n_repeats, selection=figure.selection)
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


def play_figure(figure: MeasuredFigure) -> MeasuredFigure:
    """Compute the units that a figure lacks; return it as its table chooses, and their outcome."""
    figure = as_chosen(figure, computed=True)
    request = figure.request
    return replace(figure, outcome=run_units(figure.units, request.store, request.parallel))


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


def show_panel(figure: MeasuredFigure, panel: Panel) -> ShownPanel:
    """Return a panel with its numbers, from the store and the data alone."""
    request, rule = figure.request, figure.reading(SelectionSpec.named(figure.selection))
    lines = [line for line in figure.lines if line.panel is panel]
    there: list[PlayedLine] = []
    lacking: dict[str, list[str]] = {}
    for line in lines:
        units = line.experiment.repeats(request.seed, figure.n_repeats)
        results = request.store.stored(units)
        if len(results) == figure.n_repeats:
            protocol = line.experiment.protocol.name
            check_shown(panel, protocol, results[0].arrays)
            there.append(PlayedLine(**vars(line), units=units, results=results, rule=rule))
            continue
        why = why_lacking(units, len(results), figure.outcome.failed)
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
