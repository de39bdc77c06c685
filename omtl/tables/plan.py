"""From a table's description to its cells and their units."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, overload

from omtl.experiment.config import load_option, options
from omtl.experiment.data_sets import is_synthetic
from omtl.experiment.descriptions import (
    FILES,
    FigureDescription,
    Row,
    TableDescription,
    check_questions,
)
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.naming import READINGS
from omtl.experiment.papers import paper_file, paper_files, published_file
from omtl.experiment.readings import NO_READING, Reading, questions
from omtl.experiment.schema import check_names, choose, read_file, typed
from omtl.experiment.specs import SearchSpec, SelectionSpec
from omtl.experiment.unit import Unit
from omtl.measures.metrics import METRICS
from omtl.tables.verdict import OURS, TIMING
from omtl.util.errors import UserError


@dataclass(frozen=True)
class Cell:
    """A published number and the experiment that should give it; or one of a baseline of ours.

    `kind` is ``ours`` for a baseline that the paper lacks: `mean` and `std`, which are as printed,
    are empty then. `own_rules` has the cell's own selection rules, by the name of
    the rule that the table uses. `rivals` are the other experiments where the paper prints
    the best of several. `chooser` is the experiment by whose results the hyper-parameters are
    chosen, where it is not the cell's own. `reading` has the answers that can move the cell's
    column. `search` is the search of a large grid, where it is not played in full.
    `too_slow` says why the cell is not played unless asked for; empty if it is.
    """

    dataset: str
    algorithm: str
    task: str
    metric: str
    mean: str
    std: str
    experiment: Experiment = field(repr=False)
    kind: str = "value"
    own_rules: dict[str, SelectionSpec] = field(default_factory=dict, repr=False)
    rivals: tuple[Experiment, ...] = field(default=(), repr=False)
    chooser: Experiment | None = field(default=None, repr=False)
    reading: Reading = field(default=NO_READING, repr=False)
    search: SearchSpec | None = field(default=None, repr=False)
    too_slow: str = ""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Data set, algorithm, task and metric."""
        return self.dataset, self.algorithm, self.task, self.metric

    @property
    def is_ours(self) -> bool:
        """Whether it belongs to an extra baseline of ours."""
        return self.kind == OURS

    @property
    def is_searched(self) -> bool:
        """Whether its grid is large enough to be searched."""
        return self.search is not None and len(self.experiment.points) >= self.search.from_points

    def rule(self, selection: str) -> SelectionSpec:
        """Return this cell's rule in a table made with the named rule."""
        return self.own_rules.get(selection) or rule_of(selection, self.reading)

    def of_one_draw(self) -> Cell:
        """Return the cell with all its repeats on one draw of synthetic data."""
        return replace(
            self,
            experiment=self.experiment.of_one_draw(),
            rivals=tuple(rival.of_one_draw() for rival in self.rivals),
            chooser=self.chooser and self.chooser.of_one_draw(),
        )

    def each_rival(self) -> list[Cell]:
        """Return the cell once for each experiment that may provide its number."""
        return [
            replace(self, experiment=experiment, rivals=())
            for experiment in (self.experiment, *self.rivals)
        ]


@dataclass(frozen=True)
class Table:
    """A table of a paper: its description, and its cells under a reading."""

    description: TableDescription
    reading: Reading
    cells: list[Cell]

    @property
    def id(self) -> str:
        """The table's id."""
        return self.description.id

    def units(self, seed: int, n_repeats: int) -> list[Unit]:
        """Return all units of the cells, repeat after repeat."""
        choosers = [cell.chooser for cell in self.cells if cell.chooser is not None]
        played = [e for cell in self.cells for e in (cell.experiment, *cell.rivals)]
        units = [
            unit
            for experiment in (*choosers, *played)
            for unit in (
                *experiment.repeats(seed, n_repeats),
                *experiment.shuffles(seed, n_repeats),
            )
        ]
        return sorted(units, key=lambda unit: unit.repeat)


def descriptions(kind: str) -> dict[str, Path]:
    """Return the files that describe tables or figures, by id.

    Parameters
    ----------
    kind : {"table", "figure"}
    """
    prefix = {"table": "table", "figure": "fig"}[kind]
    return {f"{path.parent.name}-{path.stem}": path for path in paper_files(f"{prefix}*.yaml")}


@overload
def describe(kind: Literal["table"], name: str) -> TableDescription: ...
@overload
def describe(kind: Literal["figure"], name: str) -> FigureDescription: ...
@overload
def describe(kind: str, name: str) -> TableDescription | FigureDescription: ...
def describe(kind: str, name: str) -> TableDescription | FigureDescription:
    """Return the description of a table or figure.

    Raises
    ------
    UserError
        If there is none with this id, or a key is wrong.
    """
    known = descriptions(kind)
    path = known[choose(kind, name, list(known))]
    description = read_file(FILES[kind], path)
    if kind == "figure":
        return description
    if description.baselines == "ours" and not any(row.ours for row in description.rows):
        ours = load_option("comparison", "beside_papers")["rows"]
        more = typed(tuple[Row, ...], ours, "comparison beside_papers", "rows")
        description = replace(description, rows=description.rows + more)
    _check_table(description, str(path))
    return description


def labels_of(table: TableDescription) -> list[str]:
    """Return what the rows of a table are called, without the headings of groups."""
    return [row.label for row in table.rows if not row.group]


def _check_table(table: TableDescription, where: str) -> None:
    """Refuse a description that names a metric, row, column or reading which there is not."""
    bold, slow = table.print.bold, table.too_slow
    rows = chain(
        *(table.proposed, table.searched_without, table.same_row, *table.same_row.values()),
        *(*bold.values(), *(cells.rows for cells in slow)),
    )
    columns = chain(table.print.examples, bold, *(cells.columns for cells in slow))
    check_names(
        where,
        ("metric", [table.metric], METRICS),
        ("row", rows, labels_of(table)),
        ("column", columns, [column.published for column in table.columns]),
        ("reading", chain(*(cells.readings for cells in slow)), known_readings()),
    )


def known_readings() -> list[str]:
    """Return the names of the readings: the standard ones, and those of any paper."""
    return list(dict.fromkeys([*READINGS, *(n.rpartition("/")[2] for n in options("reading"))]))


def columns_of(paper: str) -> set[str]:
    """Return the names of the columns of a paper's tables and the data sets of its panels."""
    tables = [describe("table", n) for n in descriptions("table") if n.startswith(f"{paper}-")]
    figures = [describe("figure", n) for n in descriptions("figure") if n.startswith(f"{paper}-")]
    columns = {column.published for table in tables for column in table.columns}
    return columns | {panel.dataset for figure in figures for panel in figure.panels}


@lru_cache
def _refuse_wrong_questions(paper: str) -> None:
    where = str(paper_file(paper, "readings.yaml"))
    check_questions(questions(paper), columns_of(paper), where)


def published(table: str) -> list[dict[str, str]]:
    """Return the published numbers of a table, as printed, in the paper's order."""
    with published_file(table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def places_of_ours(table: str, description: TableDescription) -> list[dict[str, str]]:
    """Return the places of our extra baselines: every column of the table, no printed number."""
    columns = dict.fromkeys((n["dataset"], n["task"], n["metric"]) for n in published(table))
    return [
        {"algorithm": row.ours, "dataset": dataset, "task": task, "metric": metric}
        | {"mean": "", "std": ""}
        for row in description.rows
        if row.ours
        for dataset, task, metric in columns
    ]


def rule_of(name: str, reading: Reading) -> SelectionSpec:
    """Return a selection rule under a reading."""
    return reading(SelectionSpec.named(name))


def plan_table(name: str, reading: Reading, plays: int | None = None) -> Table:
    """Return a table's cells under a reading, in the paper's order, followed by ours.

    Parameters
    ----------
    name : str
        The table's id.
    reading : Reading
    plays : int, optional
        Number of our repeats for each repeat of the paper, on synthetic data each with its own
        draw; 0 for the paper's number of repeats on one draw. By default as in the description, or
        1.

    Raises
    ------
    UserError
        If the table is unknown, or its description and its published numbers do not fit.
    """
    description = describe("table", name)
    if reading.answers:
        _refuse_wrong_questions(reading.paper)
    if plays is not None:
        description = replace(description, plays=plays)
    rows = {row.label: row for row in description.rows if not row.group}
    columns = {column.published: column for column in description.columns}
    chooser = description.chosen_by
    read = {column: reading.for_column(column) for column in columns}

    @cache  # tasks and metrics are of the same experiment
    def compose(algorithm: str, network: str, place: str) -> Experiment:
        column = columns[place]
        names = Names(algorithm, column.dataset, description.protocol, network or None)
        experiment = Experiment.compose(names, read[place], column.patch)
        return experiment.with_plays(description.plays)

    numbers = published(name)
    check_names(
        f"{name}: the published numbers", ("metric", (n["metric"] for n in numbers), METRICS)
    )
    cells = []
    for number in [*numbers, *places_of_ours(name, description)]:
        dataset, label = number["dataset"], number["algorithm"]
        row, column = rows.get(label), columns.get(dataset)
        if row is None or column is None:
            raise UserError(
                f"{name}: the published cell ({label}, {dataset}) matches no row and column of the "
                "table's description"
            )
        where = row.network, dataset
        experiment, *rivals = (compose(algorithm, *where) for algorithm in row.algorithms)
        one_draw = plays == 0 and is_synthetic(experiment.dataset)  # its grids are played in full
        searched = column.search and not one_draw
        kind = TIMING if METRICS[number["metric"]].timing else column.kind
        here = read[dataset]
        slow = (s.why for s in description.too_slow if s.has(reading.name, dataset, label))
        cells.append(
            Cell(
                *(dataset, label, number["task"], number["metric"]),
                *(number["mean"], number["std"], experiment),
                rivals=tuple(rivals),
                chooser=compose(chooser, *where) if chooser and not row.ours else None,
                kind=OURS if row.ours else kind,
                own_rules={name: rule_of(own, here) for name, own in row.selection.items()},
                reading=here,
                search=SearchSpec.named(column.search) if searched else None,
                too_slow=next(slow, ""),
            )
        )
    return Table(description, reading, cells)
