"""The plan of a figure: its description, and the experiments behind its lines."""

from __future__ import annotations

from dataclasses import dataclass

from omtl.experiment.descriptions import FigureDescription
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names
from omtl.experiment.unit import Experiment, Names, Unit
from omtl.figures.panels import PANEL_KINDS, check_kind
from omtl.figures.panels.axes import PlannedLine, PlannedPanel
from omtl.tables.plan import describe, published


@dataclass(frozen=True)
class PlannedFigure:
    """A figure of a paper: its description, and its panels under a reading."""

    description: FigureDescription
    reading: Reading
    panels: tuple[PlannedPanel, ...]

    @property
    def id(self) -> str:
        """The figure's id."""
        return self.description.id

    def units(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return all units that the figure needs, repeat after repeat."""
        experiments = [line.experiment for panel in self.panels for line in panel.lines]
        return [e.unit(seed, repeat) for repeat in range(n_repeats) for e in experiments]


def plan_figure(name: str, reading: Reading) -> PlannedFigure:
    """Return a figure's panels under a reading.

    Raises
    ------
    UserError
        If the figure, a kind of panel or a name in its description is unknown.
    """
    description = describe("figure", name)
    numbers = published(description.published) if description.published else []
    cheaper = description.cheaper.get(reading.name)
    smaller = cheaper.patch if cheaper else {}
    panels = []
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
        lines = tuple(
            PlannedLine(
                line,
                Experiment.compose(
                    Names(line.algorithm, panel.dataset, protocol, line.network or None),
                    read,
                    {**patch, **smaller},
                ),
                column,
            )
            for line in panel.lines
            for protocol in panel.protocols or [description.protocol]
            for column, (read, patch) in columns.items()
        )
        for line in lines:
            said, grid = line.description, line.experiment.algorithm.grid
            named = [name for name in (said.parameter, said.by) if name]
            check_names(f"panel {panel.label}", (f"parameter of {line.label}", named, grid))
        metric = panel.metric or PANEL_KINDS[panel.kind].marked
        marked = {
            (number["algorithm"], number["dataset"]): float(number["mean"])
            for number in numbers
            if number["task"] == "all" and number["metric"] == metric
        }
        panels.append(PlannedPanel(panel, lines, marked))
    return PlannedFigure(description, reading, tuple(panels))
