"""A user's own table: one row per example, with its label or target, its task and its features.

The file is CSV, Parquet, svmlight (the task is the ``qid``) or NumPy arrays (``.npz`` with ``X``,
``y`` and ``task``; in place of a sparse ``X`` the arrays of `scipy.sparse.save_npz`). Nothing in it
is ever executed: pickled arrays are refused. Its hash is part of every result, so a changed file
gives new results.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np
from scipy import sparse

from data_fetchers._columns import (
    ParsedTable,
    parsed_frame,
    some,
    table_notes,
    text_of_tasks,
    uneven_scales,
)
from data_fetchers._shared import checked_choices
from data_fetchers.fetch import RemoteFile
from omtl.data.streams import RealTasks, Tasks, in_given_order
from omtl.data.validation import sound_rows
from omtl.util.archives import read_arrays
from omtl.util.errors import UserError
from omtl.util.user_folder import own_folder

NAME = "table_file"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "the user's own"

ARRAYS = ("X", "y", "task")
"""The arrays in a file of NumPy arrays."""

OF_SPARSE = ("data", "indices", "indptr", "shape")
"""Those in place of a sparse X, in rows (CSR), called as SciPy calls them."""


@dataclass(frozen=True)
class TasksOfTable(Tasks):
    """The tasks of a user's own table.

    Parameters
    ----------
    X, y, task, names
        As in `Tasks`.
    notes : tuple of str
        Sentences about the table for its user.
    uneven : tuple of str
        Another one, unless features are scaled, if their scales differ much.
    """

    notes: tuple[str, ...] = ()
    uneven: tuple[str, ...] = ()


@dataclass(frozen=True)
class RealTasksOfTable(TasksOfTable, RealTasks):
    """Those of a table with real targets."""


@lru_cache(maxsize=16)
def _sha256(path: Path, size: int, changed: int) -> str:  # noqa: ARG001 - the file as it was
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hashes(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the hash of the file named by options, by its path as given.

    Raises
    ------
    UserError
        If the file does not exist or cannot be read.
    """
    path = options.get("path")
    if not isinstance(path, str) or not path:
        raise UserError("table_file: dataset.options.path must name a file")
    try:
        found = _found(path)
        there = found.stat()
        return {path: _sha256(found, there.st_size, there.st_mtime_ns)}
    except OSError as fault:
        raise _unreadable(path, fault) from fault


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    path : str
        The file; a relative path is within the user's own folder.
    kind : {"csv", "parquet", "svmlight", "npz"}, optional
        The file's kind; by default according to its suffix.
    label, task : str
        The columns of labels and of tasks (of CSV and Parquet).
    features : sequence of str, optional
        The columns of features, in order; default: all others.
    labels : sequence of two values, optional
        How the file writes −1 and +1, which is the default.
    real : bool
        Whether the labels are real targets (regression).
    tasks : sequence of str, optional
        Names of tasks, in order; default: all, sorted (by number if all are whole numbers).
    one_class : {"refuse", "keep"}
        What to do with a task whose labels are all the same.
    called : str, optional
        What messages call the file; by default its path.
    """

    path: str
    kind: str | None = None
    label: str = "label"
    task: str = "task"
    features: Sequence[str] | None = None
    labels: Sequence[Any] | None = None
    real: bool = False
    tasks: Sequence[str] | None = None
    one_class: str = "refuse"
    called: str | None = None


def load(options: Options) -> TasksOfTable:
    """Read a table and make a task of each name in its task column.

    Different names are different tasks. In CSV a name is the text as written, so 7 and 007 are two;
    a typed value (Parquet, NumPy) has one text of its own: 7 for the integer and for the float 7.0,
    1.1, true, 2024-12-31, and bytes as UTF-8. A ``qid`` of svmlight is an integer.

    Parameters
    ----------
    options : Options

    Returns
    -------
    Table
        X : ndarray or csr_array of shape (n_examples, n_features), rows in the file's order.

    Raises
    ------
    UserError
        If the file cannot be read, or is not a valid table; the message says where the problem is
        and what to do.
    """
    path, found = options.called or options.path, _found(options.path)
    suffix = found.suffix.lower().removeprefix(".")
    kind = options.kind or ALSO.get(suffix, suffix)
    if kind not in READERS:
        raise UserError(
            f"{path}: no table is of the kind {kind!r}; set dataset.options.kind to one of "
            f"{', '.join(READERS)}"
        )
    try:
        return _tasks(READERS[kind](found, options), options)
    except UserError as fault:
        raise UserError(f"{path}: {fault}") from fault
    except ModuleNotFoundError as fault:
        raise UserError(
            f"{path}: pyarrow reads such files, and is not installed: pip install "
            f"{str(fault.name)!r}, or 'omtl[tables]'; svmlight, NumPy's .npz and "
            "omtl.datasets.from_frame do without"
        ) from fault
    except UnicodeDecodeError as fault:
        raise UserError(f"{path}: its text is not of UTF-8; save it as UTF-8") from fault
    except OSError as fault:
        raise _unreadable(path, fault) from fault


def _unreadable(path: str, fault: OSError) -> UserError:
    return UserError(f"{path}: cannot be read ({fault.strerror or fault})")


def _found(path: str) -> Path:
    """Return a file's path; relative paths start in the user's own folder, or the current one."""
    found = (own_folder() or Path.cwd()) / Path(path).expanduser()
    if not found.is_file():
        raise UserError(
            f"{path}: there is no such file in {found.parent}; correct dataset.options.path"
        )
    return found


def _csv(path: Path, options: Options) -> ParsedTable:
    """Return the columns of a CSV file, with tasks as they are written."""
    import pyarrow.csv

    as_written = pyarrow.csv.ConvertOptions(column_types={options.task: pyarrow.string()})
    try:
        table = pyarrow.csv.read_csv(path, convert_options=as_written)
    except pyarrow.ArrowInvalid as fault:
        cause = " ".join(str(fault).split()).removeprefix("CSV parse error: ")
        raise UserError(f"it is no CSV ({cause})") from fault
    first = table.column_names[0]
    if table.num_columns == 1 and (other := next(filter(first.count, ";\t|"), None)):
        raise UserError(f"its columns are separated by {other!r}; separate them by commas")
    return parsed_frame(table.to_pandas(), options.label, options.task, options.features)


def _parquet(path: Path, options: Options) -> ParsedTable:
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowException as fault:
        raise UserError("it is no Parquet, or a damaged one") from fault
    return parsed_frame(table.to_pandas(), options.label, options.task, options.features)


def _svmlight(path: Path, options: Options) -> ParsedTable:
    from sklearn.datasets import load_svmlight_file

    if options.features:
        raise UserError("features of svmlight have no names; leave dataset.options.features out")
    try:
        X, y, qid = load_svmlight_file(str(path), query_id=True)
    except (ValueError, OverflowError) as fault:
        raise UserError(f"it is no svmlight ({' '.join(str(fault).split())})") from fault
    if qid.size != y.size:
        raise UserError("its lines have no qid, which is the task")
    names = [str(number) for number in qid.tolist()]
    return ParsedTable(sparse.csr_array(X), y.tolist(), names, range(1, X.shape[1] + 1))


def _npz(path: Path, options: Options) -> ParsedTable:
    if options.features:
        raise UserError("features of arrays have no names; leave dataset.options.features out")
    arrays = read_arrays(path)
    there = {*arrays, *(["X"] if arrays.keys() >= {*OF_SPARSE} else [])}
    lacking = [name for name in ARRAYS if name not in there]
    if lacking:
        raise UserError(f"no array {lacking[0]!r}; there are {some(list(arrays))}")
    if "X" in arrays:
        X = arrays["X"]
    else:
        *parts, shape = (arrays[name] for name in OF_SPARSE)
        try:
            X = sound_rows(sparse.csr_array(tuple(parts), shape=tuple(shape.tolist())))
        except (ValueError, TypeError, OverflowError) as fault:
            raise UserError(f"its sparse X is malformed ({fault})") from fault
    y, tasks = arrays["y"], arrays["task"]
    if X.ndim != 2 or not np.issubdtype(X.dtype, np.number) or np.iscomplexobj(X):
        raise UserError(f"X must be a matrix of numbers, and is {X.dtype} of shape {X.shape}")
    for name, array in (("y", y), ("task", tasks)):
        if array.shape != (X.shape[0],):
            raise UserError(f"X has {X.shape[0]} rows, and {name} is of shape {array.shape}")
    features: Sequence[str] | range = range(1, X.shape[1] + 1)
    if "features" in arrays:
        names = arrays["features"]
        if names.shape != (X.shape[1],) or names.dtype.kind != "U":
            raise UserError(f"features must be {X.shape[1]} names, one for each column of X")
        features = names.tolist()
    return ParsedTable(X, y.tolist(), text_of_tasks("task", tasks), features)


READERS: dict[str, Callable[[Path, Options], ParsedTable]] = {
    "csv": _csv,
    "parquet": _parquet,
    "svmlight": _svmlight,
    "npz": _npz,
}

ALSO = {"svm": "svmlight", "libsvm": "svmlight"}
"""Kinds by suffixes other than their names."""


def _tasks(parsed: ParsedTable, options: Options) -> TasksOfTable:
    """Return the tasks of parsed columns, after checking that they are not empty."""
    path, X = options.called or options.path, parsed.X
    where = "dataset.options"
    checked_choices(where, "one_class", [options.one_class], ("refuse", "keep"))
    if X.shape[0] == 0:
        raise UserError("it has no row")
    if X.shape[1] == 0:
        raise UserError("it has no feature")
    with np.errstate(over="ignore"):
        values = X.data if isinstance(X, sparse.csr_array) else X
        is_finite = np.isfinite(np.square(values, dtype=np.float64))
    if not is_finite.all():
        at = int(np.argmin(is_finite))
        row = X.tocoo().row[at] if isinstance(X, sparse.csr_array) else at // X.shape[1]
        raise UserError(
            f"row {row + 1} has a feature that is missing, NaN or infinite, or whose "
            "square is; leave the row out, or fill it in"
        )
    if options.real and options.labels is not None:
        raise UserError("real targets are no labels; leave dataset.options.labels out")
    y = _targets(parsed.label) if options.real else _signs(parsed.label, options.labels or (-1, 1))
    for name in options.tasks or ():
        if not isinstance(name, str):  # YAML reads 007 as 7, and 1.10 as 1.1
            raise UserError(
                f"dataset.options.tasks has {name}, which is no text; quote each name, written "
                "as in the file"
            )
    names = checked_choices(where, "tasks", options.tasks, _in_order(parsed.task))
    number = {name: k for k, name in enumerate(names)}
    task = np.array([number.get(name, -1) for name in parsed.task], dtype=np.int64)
    kept = np.flatnonzero(task >= 0)
    rows = X[kept] if isinstance(X, sparse.csr_array) else np.ascontiguousarray(X[kept])
    rows = rows.astype(np.float64)
    notes, uneven = (
        tuple(f"{path}: {note}" for note in found)
        for found in (table_notes(parsed, names), uneven_scales(rows, parsed.features))
    )
    of_kind = RealTasksOfTable if options.real else TasksOfTable
    table = of_kind(rows, y[kept], task[kept], names, notes, uneven)
    for name, rows_of in () if options.real else zip(names, in_given_order(table), strict=True):
        labels = table.y[rows_of]
        if options.one_class == "refuse" and abs(labels.sum()) == labels.size:
            raise UserError(
                f"the labels of task {name} are all {labels[0]:+.0f}; leave the task out, or set "
                "the option one_class to keep"
            )
    return table


def _in_order(task: Sequence[str]) -> list[str]:
    """Return the distinct names, sorted: by number if all are whole numbers."""
    names = sorted(set(task))
    try:
        return sorted(names, key=int)
    except ValueError:
        return names


def _targets(given: Sequence[Any]) -> np.ndarray:
    """Return targets as numbers."""
    for row, target in enumerate(given, 1):
        if not isinstance(target, int | float) or not math.isfinite(target):
            raise UserError(
                f"row {row} has the target {shortened(target)}, which is no finite number; leave "
                "the row out, or fill it in"
            )
    return np.array(given, dtype=np.float64)


def _signs(given: Sequence[Any], labels: Sequence[Any]) -> np.ndarray:
    """Return labels as −1 and +1."""
    if isinstance(labels, str) or len(labels) != 2 or labels[0] == labels[1]:
        raise UserError(f"dataset.options.labels={labels} must be two values, those of -1 and +1")
    low, high = labels
    for row, label in enumerate(given, 1):
        if label not in (low, high):
            todo = "fix it, or set dataset.options.labels"
            if isinstance(label, str) and isinstance(low, bool):
                todo = "put quotes in dataset.options.labels, as YAML reads no as False"
            raise UserError(
                f"row {row} has the label {shortened(label)}, not {low!r} or {high!r}; {todo}"
            )
    return np.array([1.0 if label == high else -1.0 for label in given])
