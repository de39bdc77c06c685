"""Reading CSV and Parquet: the part of a user's table that needs pyarrow, of the extra `tables`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from data_fetchers._columns import (
    TIMES,
    VALUES,
    ParsedTable,
    checked_names,
    feature_columns,
    no_numbers,
)
from omtl.util.errors import UserError

NUMBERS = (
    pyarrow.types.is_integer,
    pyarrow.types.is_floating,
    pyarrow.types.is_boolean,
    pyarrow.types.is_decimal,
    pyarrow.types.is_null,
)
"""Types that feature columns may have; missing values are told by their row."""


def _columns(
    table: pyarrow.Table, label: str, task: str, features: Sequence[str] | None
) -> ParsedTable:
    """Return the columns of a table, after checking that they exist and are numeric."""
    used = feature_columns(table.column_names, label, task, features)
    if not table.num_rows:
        raise UserError("it has no row")
    for name in used:
        _check_numeric(name, table[name])
    columns = [table[name].to_pandas().to_numpy(np.float64) for name in used]
    labels = table[label].to_pylist()
    if None in labels:
        raise UserError(f"row {labels.index(None) + 1} has no {label}")
    return ParsedTable(np.column_stack(columns), labels, _task_names(task, table[task]), used)


def csv_table(path: Path, label: str, task: str, features: Sequence[str] | None) -> ParsedTable:
    """Return the columns of a CSV file, with tasks as they are written.

    Parameters
    ----------
    path : Path
    label, task : str
        The columns of labels and of tasks.
    features : sequence of str, optional
        The columns of features; default: all others.

    Raises
    ------
    UserError
        If it is not CSV, a column is missing, or a feature is not a number.
    """
    as_written = pyarrow.csv.ConvertOptions(column_types={task: pyarrow.string()})
    try:
        table = pyarrow.csv.read_csv(path, convert_options=as_written)
    except pyarrow.ArrowInvalid as fault:
        cause = " ".join(str(fault).split()).removeprefix("CSV parse error: ")
        raise UserError(f"it is no CSV ({cause})") from fault
    return _columns(table, label, task, features)


def parquet_table(path: Path, label: str, task: str, features: Sequence[str] | None) -> ParsedTable:
    """Return the columns of a Parquet file (`csv_table`)."""
    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException as fault:
        raise UserError("it is no Parquet, or a damaged one") from fault
    return _columns(table, label, task, features)


def _check_numeric(name: str, column: pyarrow.ChunkedArray) -> None:
    if any(is_kind(column.type) for is_kind in NUMBERS):
        return
    if pyarrow.types.is_nested(column.type):
        todo = "give each of its parts a column of its own"
    else:
        todo = TIMES if pyarrow.types.is_temporal(column.type) else VALUES
    raise no_numbers(name, str(column.type), column.to_pylist(), todo)


def _task_names(what: str, column: pyarrow.ChunkedArray) -> list[str]:
    """Return a column of tasks as text, such that different values have different texts."""
    try:
        names = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException as fault:
        raise UserError(
            f"column {what!r} is of type {column.type}, which cannot name tasks; write text"
        ) from fault
    is_float = pyarrow.types.is_floating(column.type)
    return checked_names(what, [None if is_float and name == "nan" else name for name in names])
