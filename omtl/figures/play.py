"""Computing a figure's missing units, and first those of a table that chooses its parameters."""

from __future__ import annotations

from dataclasses import replace

from omtl.compute import engine
from omtl.figures.panels.axes import PlannedLine, PlannedPanel
from omtl.figures.plan import Figure
from omtl.tables.plan import plan_table
from omtl.tables.play import play
from omtl.tables.request import Request
from omtl.tables.scoring import score_table


def as_chosen(figure: Figure, request: Request, computed: bool = False) -> Figure:
    """Return a figure whose learners have the hyper-parameters that a table chooses for them.

    The table is that of the description's ``chosen_in``; its cells that belong to the lines are
    computed where the store lacks them, if they are to be `computed`, of one draw of synthetic data
    as the figure is. A line keeps its own where its cell is not run, as all do where no table is
    named.
    """
    if not figure.description.chosen_in:
        return figure
    table = plan_table(figure.description.chosen_in, figure.reading, plays=0)
    places = {
        (panel.description.published, line.description.published)
        for panel in figure.panels
        for line in panel.lines
    }
    table = replace(
        table, cells=[cell for cell in table.cells if (cell.dataset, cell.algorithm) in places]
    )
    asked = replace(
        request,
        repeats=request.n_repeats(figure.description),
        selection=request.rule(figure.description),
    )
    if computed:
        play(table, asked)
    scored = score_table(table, asked)
    chosen = {(s.cell.dataset, s.cell.algorithm): s for s in scored if s.values.size}

    def narrowed(panel: PlannedPanel, line: PlannedLine) -> PlannedLine:
        place = panel.description.published, line.description.published
        if place not in chosen:
            return line
        experiment = chosen[place].cell.experiment
        point = experiment.points.index(chosen[place].params)
        same = replace(experiment, protocol=line.experiment.protocol).only([point])
        return replace(line, experiment=same)

    panels = tuple(
        replace(panel, lines=tuple(narrowed(panel, line) for line in panel.lines))
        for panel in figure.panels
    )
    return replace(figure, panels=panels)


def play_figure(figure: Figure, request: Request) -> tuple[Figure, engine.Outcome]:
    """Compute the units that a figure lacks; return it as its table chooses, and their outcome."""
    figure = as_chosen(figure, request, computed=True)
    units = figure.units(request.seed, request.n_repeats(figure.description))
    return figure, engine.run(units, request.store, request.parallel)
