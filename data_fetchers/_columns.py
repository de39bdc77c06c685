"""The columns of a user's table: which are numbers, how tasks are named, what is worth a note."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from reprlib import repr as shortened
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from omtl.util.errors import UserError, repeated
from omtl.util.screen import plural

NAMING = (str, bytes, bool, int, float, Decimal, date)
"""Types whose values may name tasks."""

OF_NUMBERS = ("floating", "integer", "mixed-integer-float", "boolean", "decimal", "empty")
"""What pandas says of a column of objects that are numbers, or lacking."""

EXACT = 2**53
"""From here on, floats do not tell all integers apart."""

UNEVEN = 30.0
"""Features whose scales differ by more than this factor are worth a note."""

SHOWN = 5
"""Maximum number of names or values in a message."""


@dataclass(frozen=True)
class ParsedTable:
    """The columns of a file.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features)
        The features, numbers of any type.
    label : sequence
        As in the file.
    task : sequence of str
        As written in the file or, if the file has typed values, their text.
    features : sequence
        The features' names or numbers.
    """

    X: np.ndarray | sparse.csr_array
    label: Sequence[Any]
    task: Sequence[str]
    features: Sequence[str] | range


TIMES = "write times as numbers, such as days since the first"
"""What to do about a column of times."""

VALUES = "write a number, or a column of 0 and 1 for each value"
"""What to do about a column of other values."""


NESTED = "give each of its parts a column of its own"
"""What to do about a column of lists or records."""


def parsed_frame(
    frame: pd.DataFrame, label: str, task: str, features: Sequence[str] | None
) -> ParsedTable:
    """Return the columns of a frame, after checking that they exist and are numeric.

    Parameters
    ----------
    frame : DataFrame
    label, task : str
    features : sequence of str, optional
        The columns of features; default: all but label and task.

    Raises
    ------
    UserError
        If a column is lacking, is there twice, is asked for as two of label, task and feature, or
        has other values.
    """
    if label == task:
        raise UserError(f"column {label!r} cannot be both the label and the task")
    if twice := repeated(frame.columns):
        raise UserError(f"column {twice[0]!r} is there twice; rename one")
    lacking = [name for name in (label, task, *(features or ())) if name not in frame]
    if lacking:
        raise UserError(f"no column {lacking[0]!r}; there are {some([*map(str, frame)])}")
    if twice := repeated(features or ()):
        raise UserError(f"column {twice[0]!r} is twice among the features; name it once")
    said = [name for name in features or () if name in (label, task)]
    if said:
        raise UserError(f"column {said[0]!r} is the label or the task; leave it out of features")
    others = [name for name in frame if name not in (label, task)]
    used = others if features is None else features
    if not used:
        raise UserError("there is no column of features")
    X = np.column_stack([_numbers(str(name), frame[name]) for name in used])
    if frame[label].isna().any():
        raise UserError(f"row {int(frame[label].isna().argmax()) + 1} has no {label}")
    tasks = text_of_tasks(task, frame[task].astype(object).where(frame[task].notna(), None))
    labels = [one.tolist() if isinstance(one, np.ndarray) else one for one in frame[label].tolist()]
    return ParsedTable(X, labels, tasks, [*map(str, used)])


def _numbers(name: str, column: pd.Series) -> np.ndarray:
    """Return a column of features as floats, with NaN for what is missing."""
    kind = pd.api.types.infer_dtype(column)
    is_real = pd.api.types.is_numeric_dtype(column.dtype) and kind != "complex"
    if is_real or kind in OF_NUMBERS:
        return column.to_numpy(np.float64, na_value=np.nan)
    values = column.dropna()
    if isinstance(values.iloc[0], list | dict | np.ndarray):
        todo = NESTED
    else:
        todo = TIMES if kind.startswith(("date", "time")) else VALUES
    first = pd.to_numeric(values.astype(str), errors="coerce").notna().argmin()
    raise UserError(
        f"column {name!r} ({kind}) has {shortened(str(values.iloc[first]))}, which is no number; "
        f"{todo}, or leave the column out of dataset.options.features"
    )


def text_of_tasks(what: str, column: np.ndarray | pd.Series) -> list[str]:
    """Return an array of tasks as text, such that different values have different texts.

    7 is the text of the integer and of the float 7.0; others are 1.1, true, 2024-12-31, and bytes
    as UTF-8.

    Raises
    ------
    UserError
        If a value is missing or has a NUL byte, or if the values are of types that name no tasks,
        or of several.
    """
    values = column.astype(str).tolist() if column.dtype.kind == "M" else column.tolist()
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 or not all(issubclass(kind, NAMING) for kind in kinds):
        raise UserError(
            f"{what} is of type {' and '.join(sorted(kind.__name__ for kind in kinds))}, which "
            "cannot name tasks; write text"
        )
    names = []
    for row, name in enumerate(map(_text, values), 1):
        if not name:
            raise UserError(f"row {row} has no {what}")
        if "\0" in name:  # NumPy drops trailing NUL bytes
            raise UserError(f"row {row} has a NUL byte in its {what}; take it out")
        names.append(name)
    return names


def _text(value: Any) -> str:
    """Return a task's name as text, or nothing if it is missing."""
    if pd.isna(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < EXACT else repr(value)
    return str(value)


def table_notes(table: ParsedTable, names: Sequence[str]) -> Iterator[str]:
    """Yield what a user should know of a table: its tasks, names that look alike, lost digits.

    Parameters
    ----------
    table : ParsedTable
    names : sequence of str
        The tasks in use.
    """
    X, count = table.X, Counter(table.task)
    counts = [count[name] for name in names]
    each = some([f"{name!r} {count[name]}" for name in names])
    sizes = " to ".join(dict.fromkeys(map(str, (min(counts), max(counts)))))
    size = f"{plural(len(names), 'task')}, {plural(sum(counts), 'example')}"
    yield f"{size}, {sizes} per task ({each})"
    alike = defaultdict(list)
    for name in names:
        alike[" ".join(unicodedata.normalize("NFC", name).split())].append(name)
    for group in alike.values():
        if len(group) > 1:
            yield (
                f"the tasks {', '.join(map(ascii, group))} differ only in spaces or in the form "
                "of their Unicode; if they are one task, write them alike"
            )
    if isinstance(X, sparse.csr_array):
        large = np.unique(X.indices[np.abs(X.data) >= EXACT])
    else:
        large = np.flatnonzero((X.max(axis=0) >= EXACT) | (X.min(axis=0) <= -EXACT))
    if large.size:
        yield (
            f"features have numbers of 2**53 or more, which lose digits as floats, so that some "
            f"become equal: {some([str(table.features[j]) for j in large])}; leave them out if "
            "they are identifiers"
        )


def uneven_scales(
    X: np.ndarray | sparse.csr_array, features: Sequence[str] | range
) -> Iterator[str]:
    """Yield what to do about features of very different scales, if there are any.

    The scale of a feature is the root mean square of its values other than 0.
    """
    if isinstance(X, sparse.csr_array):
        values = X.data[X.data != 0.0]
        used, column = np.unique(X.indices[X.data != 0.0], return_inverse=True)  # of perhaps 10^8
        count, total = np.bincount(column), np.bincount(column, values**2)
    else:
        used = np.flatnonzero(X.any(axis=0))
        count, total = np.count_nonzero(X, axis=0)[used], (X * X).sum(axis=0)[used]
    if not used.size:
        return
    scale = np.sqrt(total / count)
    least, most = scale.argmin(), scale.argmax()
    if scale[most] > UNEVEN * scale[least]:
        yield (
            f"the feature {features[used[most]]!r} is about {scale[most]:.3g} in size and "
            f"{features[used[least]]!r} about {scale[least]:.3g}; most learners then ignore the "
            "smaller ones: set normalise to standard or minmax"
        )


def some(names: Sequence[str]) -> str:
    """Return the first few names, and how many others there are."""
    more = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
