"""States of streams: their rows and arrays, and how they grow with tasks and features."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from omtl.data.rows import DenseRows, Rows, SparseRows, square_norms
from omtl.data.validation import sound_rows
from omtl.kernel.loop import Batch, with_room
from omtl.kernel.one_example import SUMMED_AT_ONCE
from omtl.kernel.rules import Shape
from omtl.sklearn.arguments import TaskCodes, task_labels, too_large

if TYPE_CHECKING:
    from omtl.sklearn.base import MultiTaskClassifier
    from omtl.sklearn.stream import TaskStream


FROM_FIRST = np.zeros(1, dtype=np.int64)
"""The places at which sums begin: one sum of everything."""


def norms_of(X: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return each row's squared norm, shape (n_rows,), bit-identical alone and among others.

    Dense rows that NumPy does not sum in one go are processed one by one.
    """
    if isinstance(X, sparse.csr_array) or X.shape[1] <= SUMMED_AT_ONCE:
        return square_norms(X)
    return np.array([square_norms(row[None])[0] for row in X])


def norm_of_sparse(values: np.ndarray) -> float:
    """Return the squared norm of a sparse row, bit-identical to `norms_of`."""
    with np.errstate(over="ignore"):
        squares = values * values
    if np.count_nonzero(squares) < squares.size:
        squares = squares[squares != 0.0]
    return np.add.reduceat(squares, FROM_FIRST)[0] if squares.size else 0.0


def one_row(x: Any, is_sparse: bool) -> Any:
    """Return an example as the only row of a matrix of 64-bit numbers, sparse or dense."""
    if is_sparse:
        row = sound_rows(x) if sparse.issparse(x) else sparse.csr_array(np.atleast_2d(x))
        return row.astype(np.float64, copy=False)
    given = sound_rows(x).toarray() if sparse.issparse(x) else x
    return np.atleast_2d(np.ascontiguousarray(given, dtype=np.float64))


def batch_part(batch: Batch, begin: int, end: int) -> Batch:
    """Return a batch of some examples."""
    rows: Rows = batch.rows
    if isinstance(rows, SparseRows):
        rows = rows._replace(indptr=rows.indptr[begin : end + 1])
    else:
        rows = DenseRows(rows.X[begin:end])
    return Batch(rows, *(each[begin:end] for each in batch[1:]))


@contextmanager
def undone_on_error(estimator: object) -> Iterator[None]:
    """Restore an estimator if its new stream does not begin.

    Its number of features would not be that of its old state, which compiled code would leave.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


# Tuples of arrays, possibly nested


def arrays_of(parts: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays of a state by path."""
    found: dict[str, np.ndarray] = {}
    for name, part in zip(parts._fields, parts, strict=True):
        path = f"{prefix}{name}"
        found |= {path: part} if isinstance(part, np.ndarray) else arrays_of(part, f"{path}/")
    return found


def each_array(
    parts: Any, change: Callable[[str, np.ndarray], np.ndarray], prefix: str = ""
) -> Any:
    """Return a state with each array changed by `change(path, array)`."""
    changed = {}
    for name, part in zip(parts._fields, parts, strict=True):
        path = f"{prefix}{name}"
        if isinstance(part, np.ndarray):
            changed[name] = change(path, part)
        else:
            changed[name] = each_array(part, change, f"{path}/")
    return parts._replace(**changed)


_GROWING = threading.Lock()
"""So that threads which add tasks to one stream leave arrays of the same size."""


def new_tasks(stream: TaskStream, given: TaskCodes) -> dict[int, Hashable]:
    """Return new tasks by where they occur first; raise ValueError if they cannot be added."""
    if all(name in stream._number for name in given.names):
        return {}
    first = zip(np.unique(given.codes, return_index=True)[1].tolist(), given.names, strict=True)
    new = dict(sorted((i, name) for i, name in first if name not in stream._number))
    grown_state(stream, larger_shape(stream, len(stream._number) + len(new)))  # before any is met
    return new


def meet(stream: TaskStream, task: Hashable) -> None:
    """Add a task, if it is new."""
    if task is None and len(stream.tasks_) == 1:
        return
    (label,) = task_labels([task], "task")
    if label not in stream._number:
        add_task(stream, label)


def with_task(stream: MultiTaskClassifier, task: Hashable) -> MultiTaskClassifier:
    """Return a copy of an estimator that knows the task; what is learnt is shared."""
    twin = copy(stream)
    meet(twin, task)
    return twin


def add_task(stream: TaskStream, label: Hashable) -> None:
    """Add a task that is new; the arrays of the stream are replaced, and none is changed."""
    with _GROWING:
        n_tasks = len(stream.tasks_) + 1
        shape = larger_shape(stream, n_tasks)
        stream._state = grown_state(stream, shape)
        clock = each_array(stream._clock, lambda _, array: array.copy())
        stream._clock = clock._replace(last_met=np.append(clock.last_met, -1))
        if stream._holds:
            stream._window = with_room(stream._window, 2 * n_tasks + 1, stream._room)
        stream._shape = shape
        stream._number_tasks((*stream.tasks_, label))
        stream._forget_engine()


def grow_features(stream: TaskStream, n_features: int) -> None:
    """Add features up to this number, which no example has had yet; for sparse rows only."""
    with _GROWING:
        shape = stream._shape._replace(n_features=n_features)
        stream._state = grown_state(stream, shape)
        stream._forget_engine()
        stream._shape, stream.n_features_in_ = shape, n_features


def larger_shape(stream: TaskStream, n_tasks: int) -> Shape:
    """Return the shape of a stream with more tasks; raise ValueError if it has to know all."""
    shape = stream._shape
    if "network" in stream.entry.takes or shape.n_examples:
        raise ValueError(needs_all_tasks(stream))
    return shape._replace(n_tasks=n_tasks, mixing=np.eye(n_tasks))


def grown_state(stream: TaskStream, shape: Shape) -> Any:
    """Return a stream's state with more tasks or features, about which nothing is learnt.

    It is the state that would have been reached if they had been known from the start, but for
    what depends on the number of tasks.

    Raises
    ------
    ValueError
        If there is no memory for it, or if a new task changes the state in which others began.
    """
    n_before, n_tasks = stream._shape.n_tasks, shape.n_tasks
    try:
        empty = stream._learner.new_state(shape)
        begun = stream._learner.new_state(stream._shape) if n_tasks > n_before else empty
    except (MemoryError, OverflowError) as fault:
        raise ValueError(too_large(stream, shape)) from fault
    state = empty
    into = arrays_of(state)
    earlier = arrays_of(begun)
    for name, array in arrays_of(stream._state).items():
        place: list[Any] = [slice(size) for size in array.shape]
        for axis, size in enumerate(array.shape):
            if size == n_before + 1 and into[name].shape[axis] == n_tasks + 1 > size:
                place[axis] = [*range(n_before), n_tasks]  # what tasks share is behind them
        part = tuple(place)
        if n_tasks > n_before and not np.array_equal(into[name][part], earlier[name]):
            raise ValueError(needs_all_tasks(stream))
        into[name][part] = array
    return state


def needs_all_tasks(stream: TaskStream) -> str:
    """Return the message for a new task of a learner that begins differently with more tasks."""
    return f"{type(stream).__name__} has to know all tasks when learning begins: name them (tasks=)"
