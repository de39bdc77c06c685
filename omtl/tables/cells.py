"""A table as one frame: a row is a cell, and each stage adds columns.

`planned` gives the cells with their experiments, `omtl.tables.scoring.played` our numbers,
`omtl.tables.scoring.judged` the verdicts, and `omtl.tables.writing.as_rows` the rows of the CSV.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names
from omtl.experiment.specs import SearchSpec
from omtl.experiment.unit import Experiment, Names
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
    if reading.answers:
        refuse_wrong_questions(reading.paper)
    if plays is None:
        plays = 0 if request.one_draw else of.plays
    rows = {row.label: row for row in of.rows if not row.group}
    columns = {column.published: column for column in of.columns}
    read = {column: reading.for_column(column) for column in columns}
    cells = _places(of, rows, columns)
    selection = request.rule(of)

    @cache  # tasks and metrics share their experiment
    def experiment(algorithm: str, network: str, place: str) -> Experiment:
        names = Names(algorithm, columns[place].dataset, of.protocol, network or None)
        composed = Experiment.compose(names, read[place], columns[place].patch)
        return composed.with_plays(plays)

    @cache
    def of_row_and_column(label: str, place: str) -> dict[str, Any]:
        row, column = rows[label], columns[place]
        first, *others = (experiment(one, row.network, place) for one in row.algorithms)
        tuned_by = "" if row.ours else of.chosen_by
        on_one_draw = plays == 0 and first.dataset.is_synthetic
        search = request.search or ("" if on_one_draw else column.search)
        return {
            "kind": OURS if row.ours else column.kind,
            "experiment": first,
            "alternatives": tuple(others),
            "tuned_by": experiment(tuned_by, row.network, place) if tuned_by else None,
            "rule": rule_of(row.selection.get(selection, selection), read[place]),
            "answers": read[place].answers,
            "search": SearchSpec.named(search) if search else None,
            "too_slow": next(
                (slow.why for slow in of.too_slow if slow.has(reading.name, place, label)), ""
            ),
        }

    found = [
        of_row_and_column(*place)
        for place in zip(cells["algorithm"], cells["dataset"], strict=True)
    ]
    cells = with_columns(cells, found)
    timed = cells["metric"].map(lambda metric: METRICS[metric].timing) & (cells["kind"] != OURS)
    return cells.assign(
        kind=cells["kind"].mask(timed, TIMING),
        table=name,
        reading=reading.name,
        selection=selection,
        seed=request.seed,
        asked_repeats=request.n_repeats(of),
        published_spread=[read[place].spread_in(name, of.spread) for place in cells["dataset"]],
        published_repeats=of.printed_repeats,
    )


def _places(of: TableDescription, rows: Collection[str], columns: Collection[str]) -> pd.DataFrame:
    """Return the places of a table's cells with the printed numbers: of our rows, no number.

    Raises
    ------
    UserError
        If a printed number is of no metric, row or column.
    """
    printed = pd.DataFrame(published(of.id), columns=[*PLACE, "mean", "std"])
    check_names(f"{of.id}: the published numbers", ("metric", printed["metric"], METRICS))
    for label, dataset in zip(printed["algorithm"], printed["dataset"], strict=True):
        if label not in rows or dataset not in columns:
            raise UserError(
                f"{of.id}: the published cell ({label}, {dataset}) matches no row and column "
                "of the table's description"
            )
    each = printed.drop_duplicates(["dataset", "task", "metric"]).assign(mean="", std="")
    ours = [each.assign(algorithm=row.ours) for row in of.rows if row.ours]
    cells = pd.concat([printed, *ours], ignore_index=True)
    named = {"mean": "published_mean", "std": "published_std"}
    return cells.rename(columns=named)[[*PLACE, *named.values()]]


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
