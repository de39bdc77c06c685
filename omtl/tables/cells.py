"""A table as one frame: a row is a cell, and each stage adds columns.

`planned` gives the cells with their experiments, `omtl.tables.scoring.played` adds our numbers,
`omtl.tables.verdict.judged` the verdicts, and `as_rows` returns the rows of the CSV.
"""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.descriptions import Row, TableDescription, describe, published
from omtl.experiment.readings import Reading
from omtl.experiment.schema import check_names
from omtl.experiment.specs import SearchSpec, SelectionSpec
from omtl.experiment.unit import Experiment
from omtl.measures.metrics import METRICS
from omtl.tables.request import Request
from omtl.tables.verdict import OURS, QUANTITIES, TIMING
from omtl.util.errors import UserError, did_you_mean

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
    rows = {row.label: row for row in of.rows if not row.group}
    columns = {column.published: column for column in of.columns}
    read = {column: reading.for_column(column) for column in columns}
    patches = {column: own.patch for column, own in read.items()}
    cells = _places(of, rows, columns)
    selection = request.rule(of)

    @cache  # tasks and metrics share their experiment
    def experiment(algorithm: str, network: str, place: str) -> Experiment:
        names = algorithm, columns[place].dataset, of.protocol, network
        composed = Experiment.compose(*names, columns[place].patch, patches[place])
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
            "rule": read[place](SelectionSpec.named(row.selection.get(selection, selection))),
            "answers": read[place].answers,
            "published_spread": patches[place].get(f"table.{name}.spread", of.spread),
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
        published_repeats=of.printed_repeats,
    )


def _places(
    of: TableDescription, rows: Mapping[str, Row], columns: Collection[str]
) -> pd.DataFrame:
    """Return the places of a table's cells with the printed numbers: of our rows, no number.

    Raises
    ------
    UserError
        If a printed number is of no metric, row or column, or a row or column has none.
    """
    printed = pd.DataFrame(published(of.id), columns=[*PLACE, "mean", "std"])
    check_names(f"{of.id}: the published numbers", ("metric", printed["metric"], METRICS))
    for label, dataset in zip(printed["algorithm"], printed["dataset"], strict=True):
        if label not in rows or dataset not in columns:
            raise UserError(
                f"{of.id}: the published cell ({label}, {dataset}) matches no row and column "
                "of the table's description"
            )
    theirs = [label for label, row in rows.items() if not row.ours]
    for what, names, key in (("row", theirs, "algorithm"), ("column", columns, "dataset")):
        if lacking := [name for name in names if name not in set(printed[key])]:
            raise UserError(f"{of.id}: the {what} {lacking[0]!r} has no published number")
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
    return next(each_cell(cells.head(1)))


def with_columns(cells: pd.DataFrame, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a frame with more columns, whose values for each cell are given by name."""
    added: Any = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return cells.assign(**added)


def places_in(cells: pd.DataFrame) -> list[Place]:
    """Return the places of the cells of a frame."""
    return list(cells[PLACE].itertuples(index=False, name=None))


def description_of(cells: pd.DataFrame) -> TableDescription:
    """Return the description of the table that cells are of."""
    return describe("table", str(cells["table"].iloc[0]))


def cell_names_in(cells: pd.DataFrame) -> list[str]:
    """Return the names of a table's cells.

    A name is ``<algorithm> on <data set>``, with the task where it is of one, and with the metric
    where the table has several: ``OSMTL-e on Landmine Detection, auc``.
    """
    several = cells["metric"].nunique() > 1
    task = (", " + cells["task"]).where(cells["task"] != ALL_TASKS, "")
    metric = ", " + cells["metric"] if several else ""
    return (cells["algorithm"] + " on " + cells["dataset"] + task + metric).tolist()


def only(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the cell of a table that has a name.

    Raises
    ------
    UserError
        If there is no cell of that name.
    """
    names = cell_names_in(cells)
    folded = [one.casefold() for one in names]
    if name.casefold() not in folded:
        table, hint = first_cell(cells).table, did_you_mean(name, names, cutoff=0.3)
        raise UserError(f"{table} has no cell {name!r}{hint}; `omtl explain {table}` lists them")
    found = name if name in names else names[folded.index(name.casefold())]
    return cells.iloc[[names.index(found)]]


def alternatives_of(cell: Any) -> tuple[Experiment, ...]:
    """Return all experiments that may provide a cell's number, its own first."""
    return cell.experiment, *cell.alternatives


def is_searched(cell: Any) -> bool:
    """Whether the grid of a cell is large enough to be searched."""
    return cell.search is not None and len(cell.experiment.points) >= cell.search.from_points


NUMBERS = ("ours_mean", "ours_std", *QUANTITIES, "shuffle_std", "spread_ratio", "spread_p")
"""Columns of `as_rows` with four decimals."""

ROWS = (
    *("table", *PLACE, "reading", "selection"),
    *("published_mean", "published_std", "published_spread", "published_repeats"),
    *("ours_mean", "ours_std", "n_repeats", "n_draws", *QUANTITIES, "verdict", "interval"),
    *("shuffle_std", "spread_ratio", "spread_p", "params", "data_sha256"),
)
"""Columns of ``results/reproduced/<id>.csv``, explained in ``docs/reading_results.md``."""

OF_REPEATS = ["table", *PLACE, "reading", "seed"]
"""Columns that the repeats of a cell share."""


def number_text(number: float, form: str = ".4g") -> str:
    """Return a number as text, to four digits or in another format; empty if there is none."""
    return "" if np.isnan(number) else format(number, form)


def as_text(rows: pd.DataFrame, forms: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Return rows as text, some columns in a format for numbers: by default floats to four digits.

    Missing numbers become empty.
    """
    floats = map(str, rows.select_dtypes("float"))
    forms = dict.fromkeys(floats, ".4g") if forms is None else forms
    texts: Any = {
        name: rows[name].astype(float).map(partial(number_text, form=form))
        for name, form in forms.items()
    }
    return rows.assign(**texts).astype(str)


def as_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.csv``, as text with a fixed precision.

    A cell that diverged has its repeats and parameters, but no number.
    """
    was_run = cells["n_repeats"] > 0
    has_number = was_run & (cells["diverged"] == 0)
    numbers = as_text(cells[[*NUMBERS]].where(has_number), dict.fromkeys(NUMBERS, ".4f"))
    params = cells["params"].map(lambda chosen: json.dumps(chosen, sort_keys=True))
    rows = cells.assign(
        selection=[rule.name for rule in cells["rule"]],
        published_spread=cells["published_spread"].where(cells["published_std"] != "", ""),
        published_repeats=cells["published_repeats"]
        .astype(str)
        .where(cells["published_mean"] != "", ""),
        params=params.where(was_run, ""),
        **numbers,
    )
    return rows[list(ROWS)].astype(str)


COUNTED = ("published_repeats", "n_repeats", "n_draws")
"""Columns of a table's rows that are whole numbers."""


def with_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table's rows, which are text as in the CSV, with numbers where they are numbers.

    Missing numbers are null; counts are integers.
    """
    made = rows.copy()
    for name in ("published_mean", "published_std", *NUMBERS, *COUNTED):
        if name in rows:
            known = pd.to_numeric(rows[name].replace("", None))
            made[name] = known.astype("Int64" if name in COUNTED else "float64")
    return made


def raw_repeats(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell that was run: its numbers in all repeats, in full precision.

    The numbers stand in the column `values`, with spaces between them.
    """
    was_run = cells[cells["n_repeats"] > 0]
    joined = [" ".join(map(repr, values.tolist())) for values in was_run["values"]]
    return was_run[OF_REPEATS].assign(values=joined)


def long_repeats(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per repeat of each cell that was run, in full precision."""
    was_run = cells.loc[cells["values"].map(len) > 0, [*OF_REPEATS, "values"]]
    numbers = [{"repeat": range(len(values))} for values in was_run["values"]]
    rows = with_columns(was_run, numbers).explode(["repeat", "values"], ignore_index=True)
    rows = rows.rename(columns={"values": "value"})[[*OF_REPEATS, "repeat", "value"]]
    return rows.astype({"repeat": int, "value": float})
