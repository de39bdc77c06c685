"""Computing a figure's missing units, and first those of a table that chooses its parameters."""

from __future__ import annotations

from dataclasses import replace

from omtl.compute import engine
from omtl.figures.panels.axes import PlannedLine, PlannedPanel
from omtl.figures.plan import PlannedFigure
from omtl.tables.cells import each_cell, planned
from omtl.tables.play import play_cells
from omtl.tables.request import Request
from omtl.tables.scoring import played


def as_chosen(figure: PlannedFigure, request: Request, computed: bool = False) -> PlannedFigure:
    """Return a figure whose learners have the hyper-parameters that a table chooses for them.

    The table is that of the description's ``chosen_in``; its cells that belong to the lines are
    computed where the store lacks them, if they are to be `computed`, of one draw of synthetic data
    as the figure is. A line keeps its own where its cell is not run, as all do where no table is
    named.
    """
    if not figure.description.chosen_in:
        return figure
    places = {
        (panel.description.published, line.description.published)
        for panel in figure.panels
        for line in panel.lines
    }
    repeats, rule = request.n_repeats(figure.description), request.rule(figure.description)
    asked = replace(request, repeats=repeats, selection=rule)
    cells = planned(figure.description.chosen_in, asked, figure.reading, plays=0)
    cells = cells[
        [place in places for place in zip(cells["dataset"], cells["algorithm"], strict=True)]
    ]
    if computed:
        play_cells(cells, asked)
    chosen = {
        (cell.dataset, cell.algorithm): cell
        for cell in each_cell(played(cells, asked.store))
        if cell.values.size
    }

    def narrowed(panel: PlannedPanel, line: PlannedLine) -> PlannedLine:
        place = panel.description.published, line.description.published
        if place not in chosen:
            return line
        experiment = chosen[place].experiment
        point = experiment.points.index(chosen[place].params)
        same = replace(experiment, protocol=line.experiment.protocol).only([point])
        return replace(line, experiment=same)

    panels = tuple(
        replace(panel, lines=tuple(narrowed(panel, line) for line in panel.lines))
        for panel in figure.panels
    )
    return replace(figure, panels=panels)


def play_figure(figure: PlannedFigure, request: Request) -> tuple[PlannedFigure, engine.Outcome]:
    """Compute the units that a figure lacks; return it as its table chooses, and their outcome."""
    figure = as_chosen(figure, request, computed=True)
    units = figure.units(request.seed, request.n_repeats(figure.description))
    return figure, engine.run_units(units, request.store, request.parallel)
