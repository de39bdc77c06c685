"""The stream of an estimator: what has been learnt from its examples, and how it continues."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import assert_all_finite

from omtl.data.rows import Rows, SparseRows, rows_of, square_norms
from omtl.kernel.loop import (
    Batch,
    Clock,
    Feed,
    no_examples,
    with_room,
)
from omtl.kernel.one_example import Engine, follow_slowly
from omtl.kernel.rules import Shape
from omtl.sklearn.arguments import numbering
from omtl.sklearn.parameters import declared_entries
from omtl.util.errors import UserError

COMPILED = True
"""Whether estimators run compiled code; tests of the rules as plain Python set it to False."""

BLOCK = 1 << 19
"""Numbers in the dense rows of one call of compiled code, which finds them in the cache."""

FLOAT = np.dtype(np.float64)
ADJACENT = (FLOAT.itemsize,)
"""The strides of a vector that compiled code can read."""

NOT_QUICK = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of the fast path, before learning, for an example that has to be processed as a batch."""

NOT_FINITE = "x contains NaN, infinity or a value too large for its square"
"""The error of an example, for users."""


class TaskStream:
    """What has been learnt from examples of many tasks, and the rules that continue.

    Compiled code keeps the addresses of the arrays, so a stream keeps its arrays: one of more tasks
    or features, or with room for longer rows, is another stream.

    Parameters
    ----------
    feed : Feed
        The rules and their arrays; those that are memory-mapped are copied.
    shape : Shape
        What the rules know of the stream.
    tasks : tuple of hashable
        The tasks' labels, by index.
    classes : ndarray of shape (2,)
        The labels of examples, sorted.
    is_open : bool
        Whether examples may bring new tasks.
    """

    def __init__(
        self,
        feed: Feed,
        shape: Shape,
        tasks: tuple[Hashable, ...],
        classes: np.ndarray,
        is_open: bool = False,
    ) -> None:
        self.feed = writeable(feed)
        self.shape, self.tasks, self.classes, self.is_open = shape, tasks, classes, is_open
        self.entry = declared_entries()[type(feed.learner).__name__]
        self.number = numbering(tasks)
        self.labels = tuple(classes.tolist())
        self.sign = dict(zip(self.labels, (-1.0, 1.0), strict=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle everything except compiled code."""
        return TaskStream, (self.feed, self.shape, self.tasks, self.classes, self.is_open)

    # Examples

    def batches(
        self,
        X: Any,
        y: np.ndarray,
        number: np.ndarray,
        node: np.ndarray,
        breaks: Iterable[int] = (),
    ) -> Iterator[Batch]:
        """Yield examples as the rules read them, in parts that end at the breaks, or earlier.

        Dense rows that have to be converted take the place of those of the part before.
        """
        (n, d), is_sparse = X.shape, self.shape.sparse
        if is_sparse:
            X = sparse.csr_array(X).astype(np.float64, copy=False)
        size = max(1, n if is_sparse else BLOCK // d)
        is_converted = X.dtype != np.float64
        buffer = np.empty((min(n, size) if is_converted else 0, d))
        for begin, end in pairwise(sorted({*range(0, n, size), *breaks, n})):
            part = slice(begin, end)
            rows = X[part].toarray() if sparse.issparse(X) and not is_sparse else X[part]
            if is_converted:
                buffer[: end - begin] = rows
                rows = buffer[: end - begin]
            norms = square_norms(rows) if is_sparse else np.zeros(0)
            yield Batch(rows_of(rows), y[part], number[part], node[part], norms)

    def checked(self, batch: Batch) -> Batch:
        """Return a batch; raise ValueError if it contains NaN, infinity or numbers too large."""
        rows, norms = batch.rows, batch.square_norm
        numbers = rows.values if isinstance(rows, SparseRows) else rows.X
        if np.isfinite(np.vdot(numbers, numbers)):
            return batch
        if not np.isfinite(norms if norms.size else square_norms(numbers)).all():
            name = type(self.feed.learner).__name__
            assert_all_finite(numbers, estimator_name=name, input_name="X")
            raise ValueError(NOT_FINITE)
        return batch

    def with_room(self, rows: Rows) -> TaskStream:
        """Return a stream that can hold such rows: this one, or a larger one."""
        window = self.feed.window
        if not (self.feed.holds and isinstance(rows, SparseRows)):
            return self
        longest = int(np.diff(rows.indptr).max(initial=0))
        return self if longest <= window.indptr[2] else self.grown(room=2 * longest)

    def follow(self, batch: Batch, learns: bool, ends: bool = False) -> np.ndarray:
        """Score examples of known tasks, and learn from each after it is scored.

        Parameters
        ----------
        batch : Batch
            With rows for which there is room.
        learns, ends : bool
            As in `omtl.kernel.one_example.follow_slowly`.

        Returns
        -------
        ndarray of shape (n_examples,)
            The scores.

        Raises
        ------
        ValueError
            At a row that contains NaN, infinity or numbers too large.
        """
        scores = np.empty(batch.task.size)
        follow = self._engine.many if COMPILED else partial(follow_slowly, self.feed)
        try:
            follow(batch, learns, ends, scores)
        except ValueError:
            self.checked(batch)
            raise
        return scores

    def end_round(self) -> None:
        """End the current round, if one is open."""
        self.follow(no_examples(self.feed.window), True, ends=True)

    @cached_property
    def _engine(self) -> Engine:
        """The compiled code for the arrays."""
        return Engine(self.feed, self.shape.sparse)

    @cached_property
    def one(self) -> Callable[..., float]:
        """The compiled function for one example at the node of its task (`Engine.one`).

        Raises
        ------
        AttributeError
            If there is none: the example is processed as a batch.
        """
        if COMPILED and len(self.shape.mixing) == len(self.tasks):
            return self._engine.one
        raise AttributeError("one example is processed as a batch")

    @cached_property
    def one_ahead(self) -> Callable[..., float]:
        """The function `one` for scoring alone, if that leaves nothing to restore."""
        if self.entry.drawn:
            raise AttributeError("scoring changes the state")
        return self.one

    # Growth

    def grown(
        self, tasks: tuple[Hashable, ...] = (), n_features: int = 0, room: int = 0
    ) -> TaskStream:
        """Return a larger stream, which has learnt the same; more features if rows are sparse.

        Parameters
        ----------
        tasks : tuple of hashable
            The present tasks and new ones.
        n_features : int
            The new number of features.
        room : int
            How many nonzeros a row that is held may have.

        Raises
        ------
        ValueError
            If there is no memory for it, or if the rules have to know all tasks at the beginning.
        """
        feed, shape, tasks = self.feed, self.shape, tasks or self.tasks
        n_new = len(tasks) - shape.n_tasks
        if n_new:
            if "network" in self.entry.takes or shape.n_examples:
                raise ValueError(self._needs_all_tasks())
            shape = shape._replace(n_tasks=len(tasks), mixing=np.eye(len(tasks)))
        if n_features:
            shape = shape._replace(n_features=n_features)
        clock, window = Clock(*(array.copy() for array in feed.clock)), feed.window
        clock = clock._replace(last_met=np.append(clock.last_met, np.full(n_new, -1)))
        if feed.holds:
            before = window.indptr[2] if isinstance(window, SparseRows) else 0
            window = with_room(window, 2 * len(tasks) + 1, max(room, int(before)))
        state = feed.state if shape is self.shape else self._grown_state(shape)
        feed = feed._replace(state=state, clock=clock, window=window)
        return TaskStream(feed, shape, tasks, self.classes, self.is_open)

    def _grown_state(self, shape: Shape) -> Any:
        """Return the state with more tasks or features, about which nothing is learnt.

        It is the state that would have been reached if they had been known from the start, but for
        what depends on the number of tasks.
        """
        n_before, n_tasks = self.shape.n_tasks, shape.n_tasks
        state = new_state(self.feed.learner, shape)
        begun = new_state(self.feed.learner, self.shape) if n_tasks > n_before else state
        into, earlier = arrays_of(state), arrays_of(begun)
        for name, array in arrays_of(self.feed.state).items():
            place: list[Any] = [slice(size) for size in array.shape]
            for axis, size in enumerate(array.shape):
                if size == n_before + 1 and into[name].shape[axis] == n_tasks + 1 > size:
                    place[axis] = [*range(n_before), n_tasks]  # what tasks share is behind them
            part = tuple(place)
            if n_tasks > n_before and not np.array_equal(into[name][part], earlier[name]):
                raise ValueError(self._needs_all_tasks())
            into[name][part] = array
        return state

    def _needs_all_tasks(self) -> str:
        """Return the message for a new task of rules that begin differently with more tasks."""
        name = type(self.feed.learner).__name__
        return f"{name} has to know all tasks when learning begins: name them (tasks=)"


def new_state(learner: Any, shape: Shape) -> Any:
    """Return the state before the first round; raise ValueError if it cannot be had."""
    name = type(learner).__name__
    try:
        return learner.new_state(shape)
    except UserError as fault:
        raise ValueError(f"{name}: {fault}") from fault
    except (MemoryError, OverflowError) as fault:
        raise ValueError(
            f"{name}: weights of {shape.n_tasks} tasks and {shape.n_features} features do not fit "
            "into the memory; hash the features to fewer"
        ) from fault


FROM_FIRST = np.zeros(1, dtype=np.int64)
"""The places at which sums begin: one sum of everything."""


def norm_of_sparse(values: np.ndarray) -> float:
    """Return the squared norm of a sparse row, bit-identical to that of arrays."""
    with np.errstate(over="ignore"):
        squares = values * values
    if np.count_nonzero(squares) < squares.size:
        squares = squares[squares != 0.0]
    return np.add.reduceat(squares, FROM_FIRST)[0] if squares.size else 0.0


# Tuples of arrays, possibly nested


def arrays_of(parts: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays in a tuple of named parts, by path."""
    found: dict[str, np.ndarray] = {}
    for name, part in zip(parts._fields, parts, strict=True):
        if isinstance(part, np.ndarray):
            found[f"{prefix}{name}"] = part
        elif isinstance(part, tuple):
            found |= arrays_of(part, f"{prefix}{name}/")
    return found


def writeable(parts: Any) -> Any:
    """Return a tuple of named parts with copies of arrays that cannot be written."""
    if isinstance(parts, np.ndarray):
        return parts if parts.flags.writeable else parts.copy()
    return type(parts)(*map(writeable, parts)) if isinstance(parts, tuple) else parts
