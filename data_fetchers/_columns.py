"""The columns of a user's table: which are numbers, how tasks are named, what is worth a note."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from reprlib import repr as shortened
from typing import Any

import numpy as np
import pyarrow
from scipy import sparse

from omtl.util.errors import UserError

NUMBERS = (
    pyarrow.types.is_integer,
    pyarrow.types.is_floating,
    pyarrow.types.is_boolean,
    pyarrow.types.is_decimal,
    pyarrow.types.is_null,
)
"""Types that feature columns may have; missing values are told by their row."""

EXACT = 2**53
"""From here on, floats do not tell all integers apart."""

UNEVEN = 30.0
"""Features whose scales differ by more than this factor are worth a note."""

SHOWN = 5
"""Maximum number of names or values in a message."""


def check_numeric(name: str, column: pyarrow.ChunkedArray) -> None:
    """Raise a UserError that says what to do unless a column's type is one of numbers."""
    if any(is_kind(column.type) for is_kind in NUMBERS):
        return
    if pyarrow.types.is_nested(column.type):
        todo = "give each of its parts a column of its own"
    elif pyarrow.types.is_temporal(column.type):
        todo = "write times as numbers, such as days since the first"
    else:
        todo = "write a number, or a column of 0 and 1 for each value"
    values = [value for value in column.to_pylist() if value is not None]
    value = next(filter(_is_no_number, values), values[0] if values else None)
    raise UserError(
        f"column {name!r} ({column.type}) has {shortened(str(value))}, which is no number; {todo}, "
        "or leave the column out of dataset.options.features"
    )


def _is_no_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return True
    return False


def task_names_of(what: str, column: pyarrow.Array | pyarrow.ChunkedArray) -> list[str]:
    """Return a column of tasks as text, such that different values have different texts."""
    try:
        names = column.cast(pyarrow.string()).to_pylist()
    except pyarrow.ArrowException as fault:
        raise UserError(
            f"column {what!r} is of type {column.type}, which cannot name tasks; write text"
        ) from fault
    missing = (None, "", "nan") if pyarrow.types.is_floating(column.type) else (None, "")
    for row, name in enumerate(names, 1):
        if name in missing:
            raise UserError(f"row {row} has no {what}")
        if "\0" in name:  # NumPy drops trailing NUL bytes
            raise UserError(f"row {row} has a NUL byte in its {what}; take it out")
    return names


def table_notes(
    X: np.ndarray | sparse.csr_array,
    task: Sequence[str],
    features: Sequence[str] | range,
    names: Sequence[str],
) -> Iterator[str]:
    """Yield what a user should know of a table: its tasks, names that look alike, lost digits.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features)
    task : sequence of str
        The task of each example.
    features : sequence
        The names or numbers of the features.
    names : sequence of str
        The tasks in use.
    """
    count = Counter(task)
    counts = [count[name] for name in names]
    each = some([f"{name!r} {count[name]}" for name in names])
    sizes = " to ".join(dict.fromkeys(map(str, (min(counts), max(counts)))))
    yield f"{len(names)} tasks, {sum(counts)} examples, {sizes} per task ({each})"
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
            f"become equal: {some([str(features[j]) for j in large])}; leave them out if "
            "they are identifiers"
        )


def uneven_scales(X: np.ndarray | sparse.csr_array, features: Sequence[str] | range) -> str:
    """Return what to do about features of very different scales; nothing if there are none.

    The scale of a feature is the root mean square of its values other than 0.
    """
    if isinstance(X, sparse.csr_array):
        count, total = np.bincount(X.indices, minlength=X.shape[1]), X.multiply(X).sum(axis=0)
    else:
        count, total = np.count_nonzero(X, axis=0), (X * X).sum(axis=0)
    scale = np.sqrt(np.asarray(total).ravel() / np.maximum(count, 1))
    used = np.flatnonzero(scale)
    if not used.size:
        return ""
    least, most = used[scale[used].argmin()], used[scale[used].argmax()]
    if not scale[most] > UNEVEN * scale[least]:
        return ""
    return (
        f"the feature {features[most]!r} is about {scale[most]:.3g} in size and "
        f"{features[least]!r} about {scale[least]:.3g}; most learners then ignore the smaller "
        "ones: set normalise to standard or minmax"
    )


def some(names: Sequence[str]) -> str:
    """Return the first few names, and how many others there are."""
    more = f" and {len(names) - SHOWN} others" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
