"""The descriptions of tables and figures, the printed numbers, and what audits say of these."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Literal, overload

from omtl.experiment.config import load_option, options, paper_file, paper_files, published_file
from omtl.experiment.descriptions import (
    FILES,
    READINGS,
    FigureDescription,
    Row,
    TableDescription,
)
from omtl.experiment.readings import Reading, check_places, check_questions, questions
from omtl.experiment.schema import (
    check_names,
    choose,
    read_file,
    read_text,
    refuse_other_name,
    refuse_twice,
    typed,
)
from omtl.experiment.specs import SelectionSpec
from omtl.util.errors import UserError
from omtl.util.files import State, file_state
from omtl.util.paths import RESULTS, results_to_read
from omtl.util.result_files import rows_in


def known_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return the known name; case counts only where names differ in nothing else.

    Parameters
    ----------
    what : str
        What is named, for the message.
    name : str
        What was typed.
    known : iterable of str
        What there is.

    Raises
    ------
    UserError
        If there is none, with the closest known names, or it is no text.
    """
    if not isinstance(name, str):
        raise UserError(f"{what}: {name!r} must be a name")
    names = list(known)
    alike = [one for one in names if one.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else choose(what, name, names)


def descriptions(kind: str) -> dict[str, Path]:
    """Return the files that describe tables or figures, by id.

    Parameters
    ----------
    kind : {"table", "figure"}
    """
    prefix = {"table": "table", "figure": "fig"}[kind]
    return {f"{path.parent.name}-{path.stem}": path for path in paper_files(f"{prefix}*.yaml")}


def known_table(name: str) -> str:
    """Return the id of a table; raise UserError if there is no such table."""
    return known_name("table", name, descriptions("table"))


def known_id(name: str) -> str:
    """Return the id of a table or figure; raise UserError if there is no such one."""
    return known_name("table or figure", name, [*descriptions("table"), *descriptions("figure")])


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
    return read_file(FILES[kind], path, _completed)


def _completed(
    description: TableDescription | FigureDescription, path: Path
) -> TableDescription | FigureDescription:
    """Return a description, that of a table with rows of ours, after checking its names."""
    paper = path.parent.name
    for key, due in {"id": f"{paper}-{path.stem}", "paper": paper}.items():
        refuse_other_name(path, key, getattr(description, key), due)
    if description.repeats < 1:
        raise UserError(f"{path}: repeats={description.repeats} must be a positive whole number")
    if isinstance(description, FigureDescription):
        _check_figure(description, str(path))
        return description
    if description.baselines == "ours" and not any(row.ours for row in description.rows):
        ours = load_option("comparison", "beside_papers")["rows"]
        more = typed(tuple[Row, ...], ours, "comparison beside_papers", "rows")
        description = replace(description, rows=description.rows + more)
    _check_table(description, str(path))
    return description


def row_labels(table: TableDescription) -> list[str]:
    """Return what the rows of a table are called, without the headings of groups."""
    return [row.label for row in table.rows if not row.group]


def _check_table(table: TableDescription, where: str) -> None:
    """Refuse a description that names a metric, row, column or reading which there is not."""
    from omtl.measures.metrics import METRICS  # NumPy loads slowly, and names do without

    bold, slow = table.print.bold, table.too_slow
    rows = chain(
        *(table.proposed, table.searched_without, table.same_row, *table.same_row.values()),
        *(*bold.values(), *(cells.rows for cells in slow)),
    )
    columns = chain(table.print.examples, bold, *(cells.columns for cells in slow))
    printed = [column.published for column in table.columns]
    digits = table.digits.values() if isinstance(table.digits, Mapping) else [table.digits]
    for key, value in (("plays", table.plays), *(("digits", each) for each in digits)):
        if value < 0:
            raise UserError(f"{where}: {key}={value} must be 0 at least")
    refuse_twice(f"{where}, row", row_labels(table))
    refuse_twice(f"{where}, column", printed)
    check_places(where, (column.patch for column in table.columns))
    for column in table.columns:
        played = {"dataset": column.dataset, "protocol": table.protocol}
        for group, name, *_ in (key.split(".") for key in column.patch):
            if group in played and name not in ("*", played[group]):
                raise UserError(
                    f"{where}, column {column.published}: its patch is of the {group} {name!r}, "
                    f"and the column plays {played[group]!r}"
                )
    check_names(
        where,
        ("metric", [table.metric], METRICS),
        ("row", rows, row_labels(table)),
        ("column", columns, printed),
        ("reading", chain(*(cells.readings for cells in slow)), known_readings()),
    )


def _check_figure(figure: FigureDescription, where: str) -> None:
    """Refuse a figure of two panels with one label, or with marks that its table lacks."""
    refuse_twice(f"{where}, panel", [panel.label for panel in figure.panels])
    if figure.columns < 1:
        raise UserError(f"{where}: columns={figure.columns} must be a positive whole number")
    lines = [line for panel in figure.panels for line in panel.lines]
    scales = [line.scale for line in lines if line.scale]
    check_names(where, ("scale", scales, ("linear", "log", "log1p")))
    if figure.published:
        table = describe("table", figure.published)
        rows = [line.published for line in lines if line.published]
        columns = [panel.published for panel in figure.panels if panel.published]
        check_names(
            where,
            (f"row of {table.id}", rows, row_labels(table)),
            (f"column of {table.id}", columns, [one.published for one in table.columns]),
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
def refuse_wrong_questions(paper: str) -> None:
    """Refuse questions of a paper that name a column or a place which there is not."""
    where = str(paper_file(paper, "readings.yaml"))
    check_questions(questions(paper), columns_of(paper), where)


def published(table: str) -> list[dict[str, str]]:
    """Return the published numbers of a table, as printed, in the paper's order.

    Raises
    ------
    UserError
        If they cannot be read, or are not those of the table, each once.
    """
    known = descriptions("table")
    path = published_file(table, known[choose("table", table, list(known))])
    return _published(path, table, file_state(path))


PUBLISHED = ("table", "dataset", "algorithm", "task", "metric", "mean", "std")
"""The columns of a file of published numbers."""


@cache
def _published(path: Path, table: str, _: State) -> list[dict[str, str]]:
    rows = csv.DictReader(io.StringIO(read_text(path).removeprefix("\ufeff")))
    if tuple(rows.fieldnames or ()) != PUBLISHED:
        raise UserError(f"{path}: its first line must be {','.join(PUBLISHED)}")
    found: list[dict[str, str]] = []
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        if None in row or None in row.values():
            raise UserError(f"{where}: it does not have {len(PUBLISHED)} fields")
        refuse_other_name(where, "table", row["table"], table)
        for key in ("mean", "std"):
            if not is_number(row[key]) and (key == "mean" or row[key]):
                raise UserError(f"{where}: {key} {row[key]!r} must be a number")
        found.append(row)
    refuse_twice(str(path), [", ".join(row[key] for key in PUBLISHED[1:5]) for row in found])
    if not found:
        raise UserError(f"{path}: it has no number; write a line for each printed one")
    return found


Finding = Mapping[str, str]
"""A row of ``results/proofread.csv``: a finding about a printed cell.

`of` is the mean, the spread or the mark of the best. `chance` is the probability of the
coincidence, at most; 0 for what arithmetic rules out, empty where none can be given.
"""


def suspects(table: str) -> list[Finding]:
    """Return what `omtl audit proofread` has found of a table's printed cells."""
    found = rows_in(results_to_read("proofread.csv") / "proofread.csv")
    return [row for row in found if row["table"] == table]


def by_row(findings: Iterable[Finding]) -> list[str]:
    """Return one sentence for each row's identical findings."""
    rows: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in findings:
        places = rows.setdefault((one["algorithm"], one["says"]), {})
        tasks = places.setdefault(one["dataset"], [])
        tasks += [] if one["task"] == "all" else [one["task"]]
    return [
        f"{algorithm} on "
        + "; ".join(" ".join([data, ", ".join(tasks)]).strip() for data, tasks in places.items())
        + f": {says}"
        for (algorithm, says), places in rows.items()
    ]


def recorded_placebos(
    table: str, reading: str, results: Path = RESULTS
) -> Mapping[str, str] | None:
    """Return the row of a whole table in the placebo test of a reading; None without any."""
    rows = rows_in(results / "readings" / f"{table}.placebo.csv")
    return next((row for row in reversed(rows) if row["reading"] == reading), None)


def is_number(text: str) -> bool:
    """Whether a text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def rule_of(name: str, reading: Reading) -> SelectionSpec:
    """Return a selection rule under a reading."""
    return reading(SelectionSpec.named(name))
