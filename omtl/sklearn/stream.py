"""The stream of an estimator: how it begins and continues."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterator
from functools import partial
from itertools import count, pairwise
from numbers import Integral
from typing import Any, ClassVar, get_type_hints

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import assert_all_finite, column_or_1d

from omtl.data.rows import DenseRows, Rows, SparseRows, rows_of
from omtl.kernel.loop import (
    Batch,
    Clock,
    Feed,
    follow_slowly,
    new_clock,
    new_sparse_window,
    with_room,
)
from omtl.kernel.one_example import Engine
from omtl.kernel.rules import Shape
from omtl.sklearn import states
from omtl.sklearn.arguments import (
    TaskCodes,
    check_begun,
    checked,
    count_rounds,
    declared_names,
    example_counts,
    mixing_of,
    names_of_codes,
    nodes_of,
    numbers_of,
    seed_of,
    too_large,
    two_classes,
    unknown_task,
)
from omtl.sklearn.parameters import Entry
from omtl.util.errors import UserError

COMPILED = True
"""Whether estimators run compiled code; tests of the rules as plain Python set it to False."""

BLOCK = 1 << 19
"""Numbers in the rows of one call of compiled code, which finds them in the cache. Dense rows of 32
bits are converted one block at a time."""

COMPILED_PARTS = ("_engine", "_quick", "_quick_ahead")
"""Attributes that are recreated if missing."""

NOT_FINITE = "x contains NaN, infinity or a value too large for its square"
"""The error of an example, for users."""


class TaskStream(BaseEstimator):
    """The state of a stream of examples of many tasks, and the rules that continue it."""

    rules: ClassVar[Any]
    entry: ClassVar[Entry]
    classes_: np.ndarray
    tasks_: tuple[Hashable, ...]
    n_features_in_: int
    network: Any
    n_rounds: Any
    n_examples: Any
    random_state: Any
    _learner: Any
    _state: Any
    _shape: Shape
    _clock: Clock
    _window: Rows
    _room: int
    _by_task: bool
    _holds: bool
    _number: dict[Hashable, int]
    _sign: dict[Any, float]
    _is_open: bool = False
    _place: dict[Hashable, int]
    _labels: tuple[Any, ...]  # by whether the score is positive
    _engine: Engine
    _quick: Callable[..., float]
    _quick_ahead: Callable[..., float]

    # How a stream begins

    def _begin(
        self, X: Any, classes: np.ndarray, given: TaskCodes | None, tasks: Any, whole: bool
    ) -> None:
        """Begin the stream of these examples; `whole` if no others follow."""
        if tasks is not None:
            names = declared_names(tasks)
        else:
            names = (0,) if given is None else names_of_codes(given)
        counted: np.ndarray | None = None
        if whole and {"n_rounds", "n_examples"} & {*self.entry.takes}:
            counted = numbers_of(given, X.shape[0], {name: k for k, name in enumerate(names)})
        self._start(self._shape_of(names, sparse.issparse(X), counted), two_classes(classes), names)
        self._is_open = tasks is None and given is not None

    def _shape_of(
        self, names: tuple[Hashable, ...], sparse: bool, counted: np.ndarray | None = None
    ) -> Shape:
        """Return the rules' input; `counted` are the task indices of a whole stream."""
        m = len(names)
        shape = Shape(m, self.n_features_in_, np.eye(m), sparse=bool(sparse))
        if "network" in self.entry.takes:
            shape = shape._replace(mixing=mixing_of(self.network, m))
        if "n_rounds" in self.entry.takes:
            known = self.n_rounds
            if known is None:
                known = 0 if counted is None else count_rounds(counted, m, self._rounds_by_task())
            if not isinstance(known, Integral) or known < 0:
                raise ValueError(f"n_rounds={known!r} must be a non-negative whole number")
            shape = shape._replace(n_rounds=int(known))
        if "n_examples" in self.entry.takes:
            shape = shape._replace(n_examples=example_counts(self.n_examples, names, counted))
        if "random_state" in self.entry.takes:
            shape = shape._replace(seed=seed_of(self.random_state))
        return shape

    def _rounds_by_task(self) -> bool:
        """Return whether a round has an example of each task."""
        kinds = {"task": True, "example": False}
        kind = getattr(self, "rounds", "example")
        if kind not in kinds:
            raise ValueError(f"rounds={kind!r} is not known; choose from {', '.join(kinds)}")
        return kinds[kind]

    def _start(self, shape: Shape, classes: np.ndarray, names: tuple[Hashable, ...]) -> None:
        """Set the state of a new stream."""
        learner = self._checked_rules()
        by_task = self._rounds_by_task()
        try:
            state = learner.new_state(shape)
        except UserError as fault:
            raise ValueError(f"{type(self).__name__}: {fault}") from fault
        except (MemoryError, OverflowError) as fault:
            raise ValueError(too_large(self, shape)) from fault
        self._state = state
        holds = hasattr(self.rules, "close_round")
        self._learner, self._shape, self._by_task, self._holds = learner, shape, by_task, holds
        self._clock = new_clock(len(names))
        n_slots = 2 * len(names) + 1 if holds else 0
        self._room = 0
        self._window = (
            new_sparse_window(n_slots, 0)
            if shape.sparse
            else DenseRows(np.zeros((n_slots, shape.n_features)))
        )
        self.classes_ = classes
        self._number_tasks(names)
        self._is_open = False
        self._forget_engine()
        self._labels = tuple(classes.tolist())
        self._sign = dict(zip(classes.tolist(), (-1.0, 1.0), strict=True))

    def _number_tasks(self, names: tuple[Hashable, ...]) -> None:
        """Give each task its number."""
        self.tasks_ = names
        self._number = {name: k for k, name in enumerate(names)}
        places = dict(self._number) if len(names) > 1 else {None: 0, **self._number}
        gives_node = "network" in self.entry.takes and len(self._shape.mixing) != len(names)
        self._place = {} if gives_node else places

    def _checked_rules(self) -> Any:
        """Return the rules with the current hyper-parameters."""
        kinds, entry = get_type_hints(self.rules), self.entry
        given = {name: getattr(self, name) for name in self.rules._fields}
        try:
            values = {name: checked(name, one, kinds[name], entry) for name, one in given.items()}
        except ValueError as fault:
            raise ValueError(f"{type(self).__name__}: {fault}") from None
        return self.rules(**values)

    def _check_again(self, classes: Any, tasks: Any) -> None:
        """Raise ValueError if classes or tasks have changed."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call: {self.classes_}"
            )
        if tasks is not None and declared_names(tasks) != self.tasks_:
            raise ValueError(f"tasks differ from those of the first call: {self.tasks_}")

    # How it continues

    def _learn(self, X: Any, y: Any, given: TaskCodes | None, node: Any, whole: bool) -> None:
        """Learn from validated rows, which may still contain NaN or infinity.

        If they are the whole stream, dense rows are checked block by block while learning; if not,
        nothing is learnt before all are checked.
        """
        if type(y) is not np.ndarray or y.ndim != 1:
            y = column_or_1d(y)
        signs = np.subtract(y == self.classes_[1], y == self.classes_[0], dtype=np.float64)
        if not signs.all():
            strange = np.unique(y[signs == 0.0])[:5].tolist()
            raise ValueError(
                f"y has the labels {strange}, which are not among the classes {self.classes_}"
            )
        new = states.new_tasks(self, given) if self._is_open and given is not None else {}
        places = {**self._number, **dict(zip(new.values(), count(len(self.tasks_))))}
        batch = self._batch(X, signs, numbers_of(given, y.size, places), node, checks=not whole)
        finite = True
        for begin, end in pairwise(sorted({0, *new, y.size})):
            if begin in new:
                states.add_task(self, new[begin])
            part = states.batch_part(batch, begin, end) if new else batch
            scores = self._follow(part, True, ends=whole and end == y.size)
            finite &= bool(np.isfinite(scores).all())
        if not finite:
            self._warn()

    def _warn(self) -> None:
        """Warn that the weights have diverged."""
        warnings.warn(
            f"{type(self).__name__}: scores are no longer finite; use a smaller learning rate",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _batch(
        self, X: Any, y: np.ndarray, number: np.ndarray, node: Any, checks: bool = True
    ) -> Batch:
        """Return rows as the stream has them; dense ones have square norms only if checked.

        Raises
        ------
        ValueError
            If a row contains NaN, infinity or numbers too large.
        """
        nodes = self._nodes(number, node)
        if self._shape.sparse:
            X = sparse.csr_array(X).astype(np.float64, copy=False)
            return Batch(rows_of(X), y, number, nodes, self._finite_norms(X))
        rows = DenseRows(X.toarray() if sparse.issparse(X) else X)
        batch = Batch(rows, y, number, nodes, np.zeros(0))
        if not checks:
            return batch
        norms = [part.square_norm for part in self._blocks(batch)]
        return batch._replace(square_norm=np.concatenate(norms))

    def _finite_norms(self, X: Any) -> np.ndarray:
        """Return the squared norms of rows; raise ValueError if one is not finite."""
        norms = states.norms_of(X)
        if not np.isfinite(norms).all():
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")
            raise ValueError(NOT_FINITE)
        return norms

    def _blocks(self, batch: Batch) -> Iterator[Batch]:
        """Yield the batch in parts, as compiled code wants them; at least one, if it is empty.

        The next part takes the place of converted rows.
        """
        if isinstance(batch.rows, SparseRows):
            yield batch
            return
        n, size = batch.task.size, max(1, BLOCK // max(1, self.n_features_in_))
        is_converted = batch.rows.X.dtype != np.float64
        buffer = np.empty((min(n, size) if is_converted else 0, self.n_features_in_))
        for begin in range(0, max(n, 1), size):
            part = states.batch_part(batch, begin, min(begin + size, n))
            X = batch.rows.X[begin : begin + size]
            if is_converted:
                buffer[: part.task.size] = X
                X = buffer[: part.task.size]
            norms = part.square_norm if part.square_norm.size else self._finite_norms(X)
            yield part._replace(rows=DenseRows(X), square_norm=norms)

    def _nodes(self, number: np.ndarray, node: Any) -> np.ndarray:
        """Return the node of each example."""
        if "network" not in self.entry.takes:
            return number
        return nodes_of(number, node, self._shape.mixing.shape[0], self._shape.n_tasks)

    def _follow(self, batch: Batch, learns: bool, ends: bool = False) -> np.ndarray:
        """Process a batch with the rules; return its scores."""
        self._make_room(batch.rows)
        scores, begin = np.empty(batch.task.size), 0
        follow = self._compiled().many if COMPILED else partial(follow_slowly, self._feed())
        for part in self._blocks(batch):
            end = begin + part.task.size
            follow(part, learns, ends and end == scores.size, scores[begin:end])
            begin = end
        return scores

    def _feed(self) -> Feed:
        """Return the stream for compiled code."""
        parts = (self._learner, self._state, self._window, self._clock)
        return Feed(*parts, self._by_task, self._holds)

    def _make_room(self, rows: Rows) -> None:
        """Ensure that the window has space for each of these rows."""
        if isinstance(rows, SparseRows) and self._holds:
            longest = int(np.diff(rows.indptr).max(initial=0))
            if longest > self._room:
                self._give_room(2 * longest)

    def _give_room(self, room: int) -> None:
        """Let the window hold rows of up to this many nonzeros."""
        assert isinstance(self._window, SparseRows)
        self._window = with_room(self._window, self._window.indptr.size // 2, room)
        self._room = room
        self._forget_engine()

    def _compiled(self) -> Engine:
        """Return the compiled code for the arrays that the stream has now."""
        found: Engine | None = getattr(self, "_engine", None)
        if found is None or found.feed.state is not self._state:
            found = Engine(self._feed(), self.n_features_in_, self._shape.sparse)
            self._engine = found
        return found

    def _forget_engine(self) -> None:
        """Drop the compiled code for arrays that the stream no longer uses."""
        for name in COMPILED_PARTS:
            self.__dict__.pop(name, None)

    def _foresee(self, batch: Batch) -> np.ndarray:
        """Return the scores of examples, each as if it came next, without learning."""
        if not self.entry.drawn:
            return self._follow(batch, learns=False)
        before = {name: getattr(self._state, name).copy() for name in self.entry.drawn}
        scores = np.empty(batch.task.size)
        for i in range(scores.size):
            scores[i : i + 1] = self._follow(states.batch_part(batch, i, i + 1), learns=False)
            for name, array in before.items():
                getattr(self._state, name)[...] = array
        return scores

    def _one(self, x: Any, task: Hashable, node: int | None, sign: float) -> float:
        """Score one example, and learn from it if `sign` is a label, not 0."""
        check_begun(self)
        row = states.one_row(x, self._shape.sparse)
        if row.shape != (1, self.n_features_in_):
            raise ValueError(
                f"x has the shape {np.shape(x)}, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        norm = states.norms_of(row)
        if not np.isfinite(norm).all():
            raise ValueError(NOT_FINITE)
        if sign != 0.0 and self._is_open:
            states.meet(self, task)
        number = np.array([self._number_of(task)])
        nodes = self._nodes(number, None if node is None else [node])
        batch = Batch(rows_of(row), np.array([sign]), number, nodes, norm)
        score = float((self._follow(batch, True) if sign else self._foresee(batch))[0])
        if COMPILED and self._compiled().knows_norms():
            self._quick = self._compiled().one
            if not self.entry.drawn:
                self._quick_ahead = self._quick
        if sign != 0.0 and not math.isfinite(score):
            self._warn()
        return score

    def _number_of(self, task: Hashable) -> int:
        """Return the index of a task."""
        if task is None and len(self.tasks_) == 1:
            return 0
        try:
            return self._number[task]
        except (KeyError, TypeError):
            raise ValueError(unknown_task(task, self.tasks_)) from None

    def _sign_of(self, y: Any) -> float:
        """Return -1 or +1 for a class."""
        check_begun(self)
        try:
            return self._sign[y]
        except (KeyError, TypeError):
            raise ValueError(
                f"y={y!r} is not one of the classes {self.classes_.tolist()}"
            ) from None

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return all arrays of what is learnt, by path."""
        return {
            **states.arrays_of(self._state, "state/"),
            **states.arrays_of(self._clock, "clock/"),
            **states.arrays_of(self._window, "window/"),
        }
