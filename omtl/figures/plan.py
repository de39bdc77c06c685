"""The plan of a figure: its description, the experiments behind its lines, and computing them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from omtl.compute import engine
from omtl.experiment.descriptions import FigureDescription
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names, refuse_twice
from omtl.experiment.unit import Experiment, Names, Unit
from omtl.figures.panels import PANEL_KINDS, check_kind
from omtl.figures.panels.axes import PlannedLine
from omtl.tables.cells import ALL_TASKS, each_cell, place_of, planned
from omtl.tables.plan import describe, published
from omtl.tables.play import play_cells
from omtl.tables.request import Request
from omtl.tables.scoring import played


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


def play_figure(figure: PlannedFigure, request: Request) -> tuple[PlannedFigure, engine.Outcome]:
    """Compute the units that a figure lacks; return it as its table chooses, and their outcome."""
    figure = as_chosen(figure, request, computed=True)
    units = figure.units(request.seed, request.n_repeats(figure.description))
    return figure, engine.run_units(units, request.store, request.parallel)
