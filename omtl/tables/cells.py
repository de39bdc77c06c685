"""A table as one frame: a row is a cell, and each stage adds columns.

`planned` gives the cells with their experiments, `omtl.tables.scoring.played` our numbers,
`omtl.tables.scoring.judged` the verdicts, and `omtl.tables.writing.as_rows` the rows of the CSV.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.descriptions import Column, Row, TableDescription
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names
from omtl.experiment.specs import SearchSpec
from omtl.measures.metrics import METRICS
from omtl.tables.plan import describe, published, refuse_wrong_questions, rule_of
from omtl.tables.request import Request
from omtl.tables.verdict import OURS, TIMING
from omtl.util.errors import UserError

PLACE = ["dataset", "algorithm", "task", "metric"]
"""The columns that name a cell within its table."""

Place = tuple[str, str, str, str]
"""Their values for a cell."""

ALL_TASKS = "all"
"""The task of a cell that is about all tasks."""


def place_of(row: Mapping[str, str]) -> Place:
    """Return the place of a row of a reproduced or published table."""
    return row["dataset"], row["algorithm"], row["task"], row["metric"]


def planned(
    name: str,
    request: Request,
    reading: Reading | None = None,
    plays: int | None = None,
) -> pd.DataFrame:
    """Return the cells of a table, the paper's in its order and then our baselines'.

    Parameters
    ----------
    name : str
        The table's id.
    request : Request
        The reading, the repeats, the seed and the selection rule.
    reading : Reading, optional
        A reading instead of the requested one.
    plays : int, optional
        Number of our repeats for each repeat of the paper, on synthetic data each with its own
        draw; 0 for the paper's number of repeats on one draw. By default as requested, or else as
        in the description.

    Returns
    -------
    DataFrame
        One row per cell: the columns `PLACE`; ``table``, ``reading``, ``selection``, ``seed`` and
        ``asked_repeats``, which all cells share; ``published_mean`` and ``published_std`` as
        printed (empty for our baselines), with their ``published_spread`` and
        ``published_repeats``; the ``kind`` of cell; the ``experiment`` that should give the number,
        its ``alternatives`` where the paper prints the best of several, and the experiment that it
        is ``tuned_by`` where another one chooses the hyper-parameters; the ``rule`` that chooses;
        the ``answers`` that can move the cell's column; the ``search`` of a large grid; and why
        the cell is ``too_slow`` to be played by default.

    Raises
    ------
    UserError
        If the table, the reading or the rule is unknown, or the table's description and its
        published numbers do not fit.
    """
    of = describe("table", name)
    if reading is None:
        request.check(of)
        reading = Reading.of(of.paper, request.reading)
    if plays is None:
        plays = 0 if request.one_draw else of.plays
    if reading.answers:
        refuse_wrong_questions(reading.paper)
    plan = _Plan(of, reading, plays, request.rule(of), request.search)
    numbers = published(name)
    where = f"{name}: the published numbers"
    check_names(where, ("metric", (number["metric"] for number in numbers), METRICS))
    cells = [plan.cell(number) for number in [*numbers, *_places_of_ours(of, numbers)]]
    return pd.DataFrame(cells).assign(
        table=name,
        reading=reading.name,
        selection=plan.selection,
        seed=request.seed,
        asked_repeats=request.n_repeats(of),
        published_spread=of.spread,
        published_repeats=of.printed_repeats,
    )


def _places_of_ours(of: TableDescription, numbers: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the places of our baselines: every column of the table, no printed number."""
    columns = dict.fromkeys((n["dataset"], n["task"], n["metric"]) for n in numbers)
    return [
        {"algorithm": row.ours, "dataset": dataset, "task": task, "metric": metric}
        | {"mean": "", "std": ""}
        for row in of.rows
        if row.ours
        for dataset, task, metric in columns
    ]


class _Plan:
    """What the cells of a table share under a reading: each config is read once."""

    def __init__(
        self, of: TableDescription, reading: Reading, plays: int, selection: str, search: str | None
    ) -> None:
        self.of, self.reading, self.plays, self.selection = of, reading, plays, selection
        self.search = search
        self.rows = {row.label: row for row in of.rows if not row.group}
        self.columns = {column.published: column for column in of.columns}
        self.read = {column: reading.for_column(column) for column in self.columns}
        self.experiment = cache(self._experiment)  # tasks and metrics share their experiment
        self.rule = cache(lambda rule, place: rule_of(rule, self.read[place]))

    def _experiment(self, algorithm: str, network: str, place: str) -> Experiment:
        column = self.columns[place]
        names = Names(algorithm, column.dataset, self.of.protocol, network or None)
        composed = Experiment.compose(names, self.read[place], column.patch)
        return composed.with_plays(self.plays)

    def cell(self, number: Mapping[str, str]) -> dict[str, Any]:
        """Return the row of a published number, or of a place of ours."""
        dataset, label = number["dataset"], number["algorithm"]
        row, column = self.rows.get(label), self.columns.get(dataset)
        if row is None or column is None:
            raise UserError(
                f"{self.of.id}: the published cell ({label}, {dataset}) matches no row and column "
                "of the table's description"
            )
        experiment, *others = (
            self.experiment(name, row.network, dataset) for name in row.algorithms
        )
        tuned_by = self.of.chosen_by if not row.ours else ""
        return {
            "dataset": dataset,
            "algorithm": label,
            "task": number["task"],
            "metric": number["metric"],
            "published_mean": number["mean"],
            "published_std": number["std"],
            "kind": _kind(row, column, number["metric"]),
            "experiment": experiment,
            "alternatives": tuple(others),
            "tuned_by": self.experiment(tuned_by, row.network, dataset) if tuned_by else None,
            "rule": self.rule(row.selection.get(self.selection, self.selection), dataset),
            "answers": self.read[dataset].answers,
            "search": self._search(column, experiment),
            "too_slow": self._too_slow(label, dataset),
        }

    def _search(self, column: Column, experiment: Experiment) -> SearchSpec | None:
        """Return the search of a column's large grids: the requested one, or else its own.

        On one draw they are played in full unless a search is requested.
        """
        on_one_draw = self.plays == 0 and experiment.dataset.is_synthetic
        name = self.search or ("" if on_one_draw else column.search)
        return SearchSpec.named(name) if name else None

    def _too_slow(self, label: str, dataset: str) -> str:
        name = self.reading.name
        return next((s.why for s in self.of.too_slow if s.has(name, dataset, label)), "")


def _kind(row: Row, column: Column, metric: str) -> str:
    if row.ours:
        return OURS
    return TIMING if METRICS[metric].timing else column.kind


@cache
def _cell_type(columns: tuple[str, ...]) -> Any:
    return namedtuple("Cell", ("Index", *columns))


def each_cell(cells: pd.DataFrame) -> Iterator[Any]:
    """Yield the cells of a frame as named tuples, whose ``Index`` is the row's label.

    `DataFrame.itertuples` compiles a new class each time, which takes longer than all else here.
    """
    values = (cells[name].tolist() for name in cells)
    return map(_cell_type(tuple(cells))._make, zip(cells.index, *values, strict=True))


def first_cell(cells: pd.DataFrame) -> Any:
    """Return the first cell of a frame, for what all cells share: table, reading, rule, seed."""
    values = (one.item() if isinstance(one, np.generic) else one for one in cells.iloc[0])
    return _cell_type(tuple(cells))(cells.index[0], *values)


def with_columns(cells: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a frame with more columns, whose values for each cell are given by name."""
    added: Any = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return cells.assign(**added)


def places_in(cells: pd.DataFrame) -> list[Place]:
    """Return the places of the cells of a frame."""
    return list(cells[PLACE].itertuples(index=False, name=None))


def description_of(cells: pd.DataFrame) -> TableDescription:
    """Return the description of the table that cells are of."""
    return describe("table", first_cell(cells).table)


def alternatives_of(cell: Any) -> tuple[Experiment, ...]:
    """Return all experiments that may provide a cell's number, its own first."""
    return cell.experiment, *cell.alternatives


def is_searched(cell: Any) -> bool:
    """Whether the grid of a cell is large enough to be searched."""
    return cell.search is not None and len(cell.experiment.points) >= cell.search.from_points
