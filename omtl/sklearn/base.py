"""The base class of all estimators: a learner fed in pieces of any size, for scikit-learn.

The rules of a learner are a tuple of hyper-parameters (`omtl.kernel.rules`). Its estimator takes
the same hyper-parameters under the same names, and keeps the state of a stream. What each of the
estimators adds is in `omtl.sklearn.parameters`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from omtl.data.networks import mixing_matrix
from omtl.data.rows import DenseRows, Rows, SparseRows, rows_of, square_norms
from omtl.data.validation import sound_rows
from omtl.kernel.rules import Shape, findings
from omtl.sklearn import arrays, engine
from omtl.sklearn.coefficients import coefficients
from omtl.sklearn.engine import RUNAWAY, UNSOUND, Engine
from omtl.sklearn.following import (
    Batch,
    Clock,
    Manner,
    follow_slowly,
    new_clock,
    new_window,
    with_room,
)
from omtl.sklearn.parameters import ANY, NUMBERS, Entry
from omtl.util.errors import UserError

TAKEN: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
"""What scikit-learn is to make of examples."""

FLOAT = np.dtype(np.float64)

COMPILED_PARTS = ("_engine", "_quick")
"""Attributes that are made anew where they are missing."""

NOT_QUICK = (AttributeError, KeyError, TypeError, ValueError)
"""What the quick way raises, before it learns, from an example that it does not take as it is."""

SUMMED_AT_ONCE = 8192
"""Where rows are longer, NumPy's sums over an array of rows depend on where a row begins in it."""


class MultiTaskClassifier(ClassifierMixin, BaseEstimator):
    """An online learner of many binary classification tasks, as a scikit-learn estimator.

    The classes of `omtl.sklearn` are made of this one. Examples are learnt from in the order in
    which they come, each once; whether they come one by one or in arrays changes no bit.

    A task is any hashable label. All tasks are declared when learning begins, as the classes are:
    by `tasks`, or by the tasks of the first call. With one task, `task` may be left out. The
    hyper-parameters are those that are set then, too.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two classes; the second is the positive one.
    tasks_ : tuple
        The tasks' labels, in the order of their numbers.
    n_features_in_ : int
    coef_ : ndarray of shape (n_tasks, n_features)
        The weights of each task as they are now, where the score is w·x; computed when it is asked
        for (`omtl.sklearn.coefficients`).
    """

    rules: ClassVar[Any]
    entry: ClassVar[Entry]
    classes_: np.ndarray
    tasks_: tuple[Hashable, ...]
    n_features_in_: int
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
    _place: dict[Hashable, int]
    _labels: tuple[Any, ...]
    _table: tuple[int, np.ndarray] | None
    _engine: Engine
    _quick: Callable[..., float]

    # Learning

    def fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        node: Any = None,
        tasks: Iterable[Hashable] | None = None,
    ) -> Self:
        """Learn from examples in their order, once, forgetting what was learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_examples, n_features)
        y : array-like of shape (n_examples,)
            Labels of two classes.
        task : array-like of shape (n_examples,), optional
            The task of each example.
        node : array-like of int of shape (n_examples,), optional
            The node that each example is dealt to, for a learner on a network: by default that
            with the number of the task.
        tasks : iterable, optional
            All tasks, where `task` does not name them all or another order is meant.

        Raises
        ------
        ValueError
            If an argument does not fit.
        """
        if node is None and self._fit_quickly(X, y, task, tasks):
            return self
        X, y = validate_data(self, sound_rows(X), y, **TAKEN)
        check_classification_targets(y)
        self._begin(X, np.unique(y), task, tasks, whole=True)
        self._learn(X, y, task, node, ends=True)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        node: Any = None,
        classes: Any = None,
        tasks: Iterable[Hashable] | None = None,
    ) -> Self:
        """Go on learning from examples in their order.

        A round may go on from call to call (`end_round`).

        Parameters
        ----------
        X, y, task, node
            As in `fit`.
        classes : array-like of shape (2,), optional
            The two classes, in the first call; they may be left out if `y` has both.
        tasks : iterable, optional
            All tasks, in the first call.

        Raises
        ------
        ValueError
            If an argument does not fit.
        """
        first = not self.__sklearn_is_fitted__()
        again = first or classes is not None or tasks is not None or node is not None
        if not again and self._learn_quickly(X, y, task, ends=False):
            return self
        X, y = validate_data(self, sound_rows(X), y, **TAKEN, reset=first)
        if first:
            if classes is None:
                check_classification_targets(y)
            self._begin(X, np.unique(y if classes is None else classes), task, tasks, whole=False)
        else:
            self._check_again(classes, tasks)
        self._learn(X, y, task, node, ends=False)
        return self

    def begin(
        self,
        n_features: int,
        classes: Any,
        tasks: Iterable[Hashable] | None = None,
        sparse: bool = False,
    ) -> Self:
        """Begin a stream, before its first example, forgetting what was learnt before.

        Parameters
        ----------
        n_features : int
        classes : array-like of shape (2,)
        tasks : iterable, optional
            All tasks; one, if left out.
        sparse : bool
            Whether examples are sparse. Those that are not as told are converted.

        Raises
        ------
        ValueError
            If an argument does not fit.
        """
        if not isinstance(n_features, Integral) or n_features < 1:
            raise ValueError(f"n_features={n_features!r} must be a positive whole number")
        self.n_features_in_ = int(n_features)
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        names = (0,) if tasks is None else names_of(tasks)
        self._start(self._shape_of(names, sparse), two_classes(np.unique(classes)), names)
        return self

    def learn_one(self, x: Any, y: Any, task: Hashable = None, node: int | None = None) -> float:
        """Learn from one example; return the score that it had before.

        Parameters
        ----------
        x : array-like of shape (n_features,), or sparse matrix of shape (1, n_features)
        y : label
        task : hashable, optional
        node : int, optional

        Raises
        ------
        ValueError
            If an argument does not fit.
        NotFittedError
            If the stream has not begun (`begin`).
        """
        try:
            if node is None and x.dtype is FLOAT:
                k = self._place[task]
                score = self._quick(x, self._sign[y], k, k)
                if not -math.inf < score < math.inf:
                    self._warn()
                return score
        except NOT_QUICK:
            pass
        return self._one(x, task, node, sign=self._sign_of(y))

    def end_round(self) -> Self:
        """End the round that is open: what comes next is of another round, whatever its task."""
        check_is_fitted(self)
        rows = rows_of(
            sparse.csr_array(np.zeros((0, self.n_features_in_)))
            if self._shape.sparse
            else np.zeros((0, self.n_features_in_))
        )
        nothing = np.zeros(0, dtype=np.int64)
        self._follow(Batch(rows, np.zeros(0), nothing, nothing, np.zeros(0)), True, ends=True)
        return self

    # Prediction

    def decision_function(self, X: Any, task: Any = None, node: Any = None) -> np.ndarray:
        """Return the signed scores of examples, shape (n_examples,).

        Each is scored as if it came next, in the round that is open.

        Parameters
        ----------
        X, task, node
            As in `fit`.

        Raises
        ------
        ValueError
            If an argument does not fit.
        NotFittedError
            If nothing has been learnt.
        """
        check_is_fitted(self)
        X = validate_data(self, sound_rows(X), **TAKEN, reset=False)
        batch = self._batch(X, np.zeros(X.shape[0]), task, node)
        return self._foresee(batch)

    def predict(self, X: Any, task: Any = None, node: Any = None) -> np.ndarray:
        """Return the predicted classes of examples, shape (n_examples,); the first for a score 0.

        Parameters
        ----------
        X, task, node
            As in `fit`.
        """
        scores = self.decision_function(X, task, node)
        return self.classes_[(scores > 0.0).astype(int)]

    def score(
        self, X: Any, y: Any, task: Any = None, node: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the share of examples that are predicted rightly.

        Parameters
        ----------
        X, y, task, node
            As in `fit`.
        sample_weight : array-like of shape (n_examples,), optional
        """
        predicted = self.predict(X, task, node)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def decision_one(self, x: Any, task: Hashable = None, node: int | None = None) -> float:
        """Return the signed score of one example; `x`, `task`, `node` as in `learn_one`."""
        try:
            if node is None and x.dtype is FLOAT and not self.entry.drawn:
                k = self._place[task]
                return self._quick(x, 0.0, k, k)
        except NOT_QUICK:
            pass
        return self._one(x, task, node, sign=0.0)

    def predict_one(self, x: Any, task: Hashable = None, node: int | None = None) -> Any:
        """Return the predicted class of one example; `x`, `task`, `node` as in `learn_one`."""
        return self._label_of(self.decision_one(x, task, node))

    @property
    def coef_(self) -> np.ndarray:
        """Return the weights of each task, shape (n_tasks, n_features)."""
        if not self.entry.linear or not self.__sklearn_is_fitted__():
            why = "has not learnt yet" if self.entry.linear else "has no weights"
            raise AttributeError(f"coef_: this {type(self).__name__} {why}")
        return coefficients(self)

    def findings(self) -> dict[str, np.ndarray]:
        """Return what is learnt besides weights, by name: relations of tasks, which are outliers.

        Empty for learners that learn nothing else.
        """
        check_is_fitted(self)
        return findings(self._learner, self._state)

    # Keeping

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator to a file that holds numbers and names only, no code.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        UserError
            If a label is not a string or a number, or the file cannot be written.
        NotFittedError
            If nothing has been learnt.
        """
        from omtl.sklearn.model_file import save

        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the estimator of a file that `save` wrote.

        Raises
        ------
        UserError
            If the file is none of these, or of another learner.
        """
        from omtl.sklearn.model_file import load

        return load(cls, path)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: all but compiled code and its addresses."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name not in COMPILED_PARTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a pickled state; arrays that were mapped into memory become our own."""
        super().__setstate__(state)
        if self.__sklearn_is_fitted__():
            self._state, self._clock, self._window = (
                each_array(part, lambda _, a: a if a.flags.writeable else a.copy())
                for part in (self._state, self._clock, self._window)
            )

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a stream has begun."""
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn's tools ask: two classes only, and sparse rows."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    # How a stream begins

    def _begin(self, X: Any, classes: np.ndarray, task: Any, tasks: Any, whole: bool) -> None:
        """Begin the stream of these examples; `whole` if no others come."""
        if tasks is not None:
            names = names_of(tasks)
        elif task is not None:
            names = names_in(task)
        else:
            names = (0,)
        counted: list[int] | None = None
        if whole and {"n_rounds", "n_examples"} & {*self.entry.told}:
            counted = numbers_of(task, X.shape[0], {name: k for k, name in enumerate(names)})
        self._start(self._shape_of(names, sparse.issparse(X), counted), two_classes(classes), names)

    def _shape_of(
        self, names: tuple[Hashable, ...], sparse: bool, counted: list[int] | None = None
    ) -> Shape:
        """Return what the rules are told; `counted` are the tasks' numbers of a whole stream."""
        m = len(names)
        shape = Shape(m, self.n_features_in_, np.eye(m), sparse=bool(sparse))
        if "network" in self.entry.told:
            shape = shape._replace(mixing=mixing_of(self.network, m))
        if "n_rounds" in self.entry.told:
            known = self.n_rounds
            if known is None:
                known = 0 if counted is None else count_rounds(counted, m, self._rounds_by_task())
            if not isinstance(known, Integral) or known < 0:
                raise ValueError(f"n_rounds={known!r} must be a whole number, not negative")
            shape = shape._replace(n_rounds=int(known))
        if "n_examples" in self.entry.told:
            shape = shape._replace(n_examples=self._n_examples(names, counted))
        if "random_state" in self.entry.told:
            given = self.random_state
            drawn = given if isinstance(given, Integral) else None
            if drawn is None:
                drawn = check_random_state(given).randint(2**31 - 1)
            if drawn < 0:
                raise ValueError(f"random_state={drawn} must not be negative")
            shape = shape._replace(seed=int(drawn))
        return shape

    def _n_examples(
        self, names: tuple[Hashable, ...], counted: list[int] | None
    ) -> tuple[int, ...]:
        """Return how many examples of each task come, as far as it is known."""
        if self.n_examples is not None:
            if not isinstance(self.n_examples, Mapping) or set(self.n_examples) != set(names):
                raise ValueError(f"n_examples must give a number to each of the tasks {names}")
            return tuple(int(self.n_examples[name]) for name in names)
        if counted is None:
            return ()
        return tuple(np.bincount(counted, minlength=len(names)).tolist())

    def _rounds_by_task(self) -> bool:
        """Return whether a round has an example of each task."""
        kinds = {"task": True, "example": False}
        kind = getattr(self, "rounds", "example")
        if kind not in kinds:
            raise ValueError(f"rounds={kind!r} is not known; choose from {', '.join(kinds)}")
        return kinds[kind]

    def _start(self, shape: Shape, classes: np.ndarray, names: tuple[Hashable, ...]) -> None:
        """Set the state of a stream that has not begun."""
        learner = self._checked_rules()
        by_task = self._rounds_by_task()
        try:
            state = learner.new_state(shape)
        except UserError as fault:
            raise ValueError(f"{type(self).__name__}: {fault}") from fault
        except (MemoryError, OverflowError) as fault:
            raise too_large(self, shape) from fault
        self._state = each_array(state, self._without_row_lists)
        holds = hasattr(self.rules, "close_round")
        self._learner, self._shape, self._by_task, self._holds = learner, shape, by_task, holds
        self._clock = new_clock(len(names))
        n_slots = 2 * len(names) + 1 if holds else 0
        self._window = new_window(n_slots, shape.n_features, shape.sparse)
        self._room = 0
        self.classes_, self.tasks_ = classes, names
        self._forget_engine()
        self._number = {name: k for k, name in enumerate(names)}
        places = dict(self._number) if len(names) > 1 else {None: 0, **self._number}
        each_at_its_node = "network" not in self.entry.told or len(shape.mixing) == len(names)
        self._place = places if each_at_its_node else {}
        self._table = arrays.table_of(names)
        self._labels = tuple(classes.tolist())
        self._sign = dict(zip(classes.tolist(), (-1.0, 1.0), strict=True))

    def _checked_rules(self) -> Any:
        """Return the rules with the hyper-parameters as they are now."""
        kinds = get_type_hints(self.rules)
        values: dict[str, Any] = {}
        for name in self.rules._fields:
            kind: Any = kinds[name]
            value: Any = getattr(self, name)
            words, numbers = NUMBERS[kind]
            right = isinstance(value, numbers)
            if not right or (kind is not bool and (isinstance(value, bool) or value != value)):
                raise ValueError(f"{type(self).__name__}: {name}={value!r} must be {words}")
            words, fits = self.entry.values.get(name, ANY)
            if not fits(float(value)):
                raise ValueError(f"{type(self).__name__}: {name}={value!r} must be {words}")
            values[name] = kind(value)
        return self.rules(**values)

    def _check_again(self, classes: Any, tasks: Any) -> None:
        """Raise ValueError where classes or tasks are not what they were."""
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} are not those of the first call: {self.classes_}"
            )
        if tasks is not None and names_of(tasks) != self.tasks_:
            raise ValueError(f"tasks are not those of the first call: {self.tasks_}")

    # How it goes on

    def _fit_quickly(self, X: Any, y: Any, task: Any, tasks: Any) -> bool:
        """Fit arrays that need no conversion; return False, all as it was, if they do."""
        classes = arrays.two_labels(y) if engine.COMPILED else None
        drawn = not isinstance(getattr(self, "random_state", None), Integral | None)
        if classes is None or drawn or arrays.plain_rows(X) is None:
            return False
        before = dict(self.__dict__)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = X.shape[1]
        self._begin(X, classes, task, tasks, whole=True)
        if self._learn_quickly(X, y, task, ends=True):
            return True
        self.__dict__.clear()
        self.__dict__.update(before)
        return False

    def _learn_quickly(self, X: Any, y: Any, task: Any, ends: bool) -> bool:
        """Learn from arrays that need no conversion; return False if they do, nothing learnt."""
        if not self._place or not engine.COMPILED or hasattr(self, "feature_names_in_"):
            return False
        rows = arrays.plain_rows(X)
        if rows is None or X.shape[1] != self.n_features_in_:
            return False
        if isinstance(rows, SparseRows) != self._shape.sparse:
            return False
        n = X.shape[0]
        signs = arrays.signs_of(y, n, self.classes_)
        number = arrays.numbers_of(task, n, self._table, len(self.tasks_))
        if signs is None or number is None or not self._compiled().knows_norms():
            return False
        code = arrays.learn(self, rows, signs, number, ends)
        if code == RUNAWAY:
            self._warn()
        return code != UNSOUND

    def _learn(self, X: Any, y: Any, task: Any, node: Any, ends: bool) -> None:
        """Learn from validated rows."""
        y = column_or_1d(y)
        positive, negative = y == self.classes_[1], y == self.classes_[0]
        if not np.all(positive | negative):
            strange = np.unique(y[~(positive | negative)])[:5].tolist()
            raise ValueError(f"y has the labels {strange}, which are not in {self.classes_}")
        scores = self._follow(
            self._batch(X, np.where(positive, 1.0, -1.0), task, node), True, ends=ends
        )
        if not np.isfinite(scores).all():
            self._warn()

    def _warn(self) -> None:
        """Tell that the weights have run away."""
        warnings.warn(
            f"{type(self).__name__}: scores are no longer finite; take a smaller learning rate",
            ConvergenceWarning,
            stacklevel=4,
        )

    def _batch(self, X: Any, y: np.ndarray, task: Any, node: Any) -> Batch:
        """Return validated rows as compiled code reads them, in the layout of the stream."""
        n = X.shape[0]
        number = np.array(numbers_of(task, n, self._number), dtype=np.int64)
        nodes = self._nodes(number, node)
        if self._shape.sparse:
            X = sparse.csr_array(X)
        elif sparse.issparse(X):
            X = X.toarray()
        return Batch(rows_in(X), y, number, nodes, norms_of(X))

    def _nodes(self, number: np.ndarray, node: Any) -> np.ndarray:
        """Return the node of each example."""
        if "network" not in self.entry.told:
            return np.zeros(number.size, dtype=np.int64)
        n_nodes = self._shape.mixing.shape[0]
        if node is None:
            if n_nodes != self._shape.n_tasks:
                raise ValueError(
                    f"the network has {n_nodes} nodes for {self._shape.n_tasks} tasks: "
                    "give the node of each example (node=)"
                )
            return number.copy()
        nodes = np.asarray(node)
        if nodes.shape != number.shape or nodes.dtype.kind not in "iu":
            raise ValueError(f"node must be {number.size} whole numbers, one an example")
        if nodes.size and not (nodes.min() >= 0 and nodes.max() < n_nodes):
            raise ValueError(f"node must be from 0 to {n_nodes - 1}, as the network has {n_nodes}")
        return nodes.astype(np.int64)

    def _follow(self, batch: Batch, learns: bool, ends: bool = False) -> np.ndarray:
        """Let the rules go on with a batch; return its scores."""
        self._make_room(batch.rows)
        n = batch.task.size
        scores = np.empty(n)
        if engine.COMPILED:
            self._compiled().many(batch, scores, (0, n, 0), (learns, ends))
        else:
            manner = Manner(self._by_task, self._holds, learns, 0, n, ends)
            parts = self._learner, self._state, self._window
            follow_slowly(*parts, batch, self._clock, manner, scores)
        return scores

    def _make_room(self, rows: Rows) -> None:
        """See to it that the window has room for each of these rows."""
        if isinstance(rows, SparseRows) and self._holds:
            longest = int(np.diff(rows.indptr).max(initial=0))
            if longest > self._room:
                self._room = 2 * longest
                self._window = with_room(self._window, self._room)
                self._forget_engine()

    def _compiled(self, room: int = 0) -> Engine:
        """Return the compiled code of the stream, with room for a row of so many nonzeros."""
        found: Engine | None = getattr(self, "_engine", None)
        if found is None or (found.room is not None and found.room < room):
            sizes = (self.n_features_in_, 2 * room if self._shape.sparse else None)
            parts = (self._learner, self._state, self._window, self._clock)
            found = Engine(parts, (self._by_task, self._holds), *sizes)
            self._engine = found
        return found

    def _forget_engine(self) -> None:
        """Drop the compiled code of arrays that are no longer those of the stream."""
        for name in COMPILED_PARTS:
            self.__dict__.pop(name, None)

    def _foresee(self, batch: Batch) -> np.ndarray:
        """Return the scores of examples, each as if it came next, and learn nothing."""
        if not self.entry.drawn:
            return self._follow(batch, learns=False)
        before = {name: getattr(self._state, name).copy() for name in self.entry.drawn}
        scores = np.empty(batch.task.size)
        for i in range(scores.size):
            scores[i : i + 1] = self._follow(one_of(batch, i), learns=False)
            for name, array in before.items():
                getattr(self._state, name)[...] = array
        return scores

    def _one(self, x: Any, task: Hashable, node: int | None, sign: float) -> float:
        """Score one example, and learn from it if `sign` is a label, not 0."""
        check_begun(self)
        if self._shape.sparse:
            row = sound_rows(x) if sparse.issparse(x) else sparse.csr_array(np.atleast_2d(x))
            row = row.astype(np.float64, copy=False)
        else:
            given = sound_rows(x).toarray() if sparse.issparse(x) else x
            row = np.atleast_2d(np.asarray(given, dtype=float))
        if row.shape != (1, self.n_features_in_):
            raise ValueError(
                f"x has the shape {np.shape(x)}, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self._one_row(rows_in(row), norms_of(row), task, node, sign)

    def _one_row(
        self, rows: Rows, square_norm: np.ndarray, task: Hashable, node: int | None, sign: float
    ) -> float:
        """Go on with the only row of `rows`."""
        if not math.isfinite(square_norm[0]):
            raise ValueError("x contains NaN, infinity or a value too large for its square")
        number = np.array([self._number_of(task)])
        nodes = self._nodes(number, None if node is None else [node])
        if sign == 0.0 and self.entry.drawn:
            return float(self._foresee(Batch(rows, np.zeros(1), number, nodes, square_norm))[0])
        if engine.COMPILED and isinstance(rows, DenseRows) and self._compiled().knows_norms():
            if not hasattr(self, "_quick"):
                self._quick = partial(self._engine.one(), self._engine.address)
            score = self._quick(rows.X[0], sign, number[0], nodes[0])
        else:
            batch = Batch(rows, np.array([sign]), number, nodes, square_norm)
            score = float(self._follow(batch, learns=sign != 0.0)[0])
        if sign != 0.0 and not math.isfinite(score):
            self._warn()
        return score

    def _number_of(self, task: Hashable) -> int:
        """Return the number of a task."""
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
            raise ValueError(f"y={y!r} is none of the classes {self.classes_.tolist()}") from None

    def _label_of(self, score: float) -> Any:
        """Return the class of a score as a plain object; the first for a score of 0."""
        return self._labels[score > 0.0]

    def _without_row_lists(self, name: str, array: np.ndarray) -> np.ndarray:
        return array[:, :0].copy() if name in self.entry.row_lists else array

    def _widen(self, n_features: int) -> None:
        """Make room for more features, of which no example had any; for sparse rows only."""
        self._shape = self._shape._replace(n_features=n_features)
        try:
            state = self._learner.new_state(self._shape)
        except (MemoryError, OverflowError) as fault:
            raise too_large(self, self._shape) from fault
        wider = iter(arrays_of(state).values())

        def grown(name: str, array: np.ndarray) -> np.ndarray:
            into = next(wider)
            if name in self.entry.row_lists:
                return array
            into[tuple(slice(size) for size in array.shape)] = array
            return into

        self._state = each_array(self._state, grown)
        self._forget_engine()
        self.n_features_in_ = n_features


# What is made of arguments


def check_begun(estimator: MultiTaskClassifier) -> None:
    """Raise NotFittedError, at little cost, where no stream has begun."""
    if not hasattr(estimator, "_state"):
        raise NotFittedError(
            f"this {type(estimator).__name__} has seen nothing yet: call fit, partial_fit or begin"
        )


def too_large(estimator: MultiTaskClassifier, shape: Shape) -> ValueError:
    """Return the error for weights that do not fit into memory."""
    return ValueError(
        f"{type(estimator).__name__}: weights of {shape.n_tasks} tasks and {shape.n_features} "
        "features do not fit into the memory; hash the features to fewer"
    )


def two_classes(classes: np.ndarray) -> np.ndarray:
    """Return sorted classes; raise ValueError unless there are two."""
    if classes.size > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{classes.size} classes"
        )
    if classes.size < 2:
        raise ValueError(
            f"two classes are needed, but there is one class or none: {classes.tolist()}; a "
            "stream that begins with one class must be told both (classes=)"
        )
    return classes


def labels_of(task: Any, what: str) -> list[Hashable]:
    """Return labels of tasks as plain, hashable objects."""
    plain = task.tolist() if hasattr(task, "tolist") else task
    if isinstance(plain, str | bytes) or not isinstance(plain, Iterable):
        raise ValueError(f"{what}={task!r} must be one label an entry, such as a list")
    listed = list(plain)
    try:
        set(listed)
    except TypeError as fault:
        raise ValueError(f"{what}: a label must be hashable, such as a string: {fault}") from None
    return listed


def names_of(tasks: Any) -> tuple[Hashable, ...]:
    """Return the names of declared tasks; raise ValueError where one comes twice, or none."""
    if isinstance(tasks, set | frozenset):
        raise ValueError("tasks must have an order, which a set has not: give a list")
    names = labels_of(tasks, "tasks")
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"tasks={names} must be different labels, at least one")
    return tuple(names)


def names_in(task: Any) -> tuple[Hashable, ...]:
    """Return the tasks that occur: sorted if they can be, else in the order of appearance."""
    known = arrays.whole_numbers(task)
    if known is not None:
        return known
    names = list(dict.fromkeys(labels_of(task, "task")))
    try:
        return tuple(sorted(names))  # type: ignore[type-var]
    except TypeError:
        return tuple(names)


def numbers_of(task: Any, n: int, number: Mapping[Hashable, int]) -> list[int]:
    """Return the numbers of the tasks of `n` examples."""
    if task is None:
        if len(number) > 1:
            raise ValueError(
                f"there are {len(number)} tasks: give the task of each example (task=)"
            )
        return [0] * n
    labels = labels_of(task, "task")
    if len(labels) != n:
        raise ValueError(f"task has {len(labels)} entries for {n} examples")
    try:
        return [number[label] for label in labels]
    except KeyError as fault:
        raise ValueError(unknown_task(fault.args[0], tuple(number))) from None


def unknown_task(task: Any, names: tuple[Hashable, ...]) -> str:
    """Return the message for a task that was not declared."""
    shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
    return (
        f"task {task!r} is none of those that were declared ({shown}); "
        "name all tasks when learning begins (tasks=)"
    )


def mixing_of(network: Any, n_tasks: int) -> np.ndarray:
    """Return the combination weights of a network; raise ValueError where it is none."""
    try:
        if isinstance(network, str):
            return mixing_matrix(n_tasks, network)
        if isinstance(network, Mapping):
            return mixing_matrix(**{"n_nodes": n_tasks, **network})
    except (UserError, TypeError) as fault:
        raise ValueError(str(fault)) from fault
    mixing = np.ascontiguousarray(network, dtype=np.float64)
    if mixing.ndim != 2 or mixing.shape[0] != mixing.shape[1]:
        raise ValueError(f"network: combination weights of the shape {mixing.shape} are not square")
    if not (np.all(mixing >= 0.0) and np.allclose(mixing.sum(axis=1), 1.0)):
        raise ValueError("network: combination weights must not be negative, and sum to 1 by row")
    return mixing


def count_rounds(numbers: list[int], n_tasks: int, by_task: bool) -> int:
    """Return the number of rounds of a whole stream (`omtl.sklearn.following`)."""
    if not by_task:
        return len(numbers)
    count, met = 0, set[int]()
    for k in numbers:
        if k in met:
            count += 1
            met = set()
        met.add(k)
        if len(met) == n_tasks:
            count += 1
            met = set()
    return count + bool(met)


def rows_in(X: np.ndarray | sparse.csr_array) -> Rows:
    """Return rows as compiled code reads them: writable, which it takes for a type.

    Sparse ones must be canonical (`omtl.data.validation`).
    """
    if not sparse.issparse(X) and not X.flags.writeable:
        X = X.copy()
    return rows_of(X)


def norms_of(X: np.ndarray | sparse.csr_array) -> np.ndarray:
    """Return the squared norm of each row, shape (n_rows,), the same bits alone and among others.

    Dense rows that NumPy does not sum in one go are given to it one by one.
    """
    if isinstance(X, sparse.csr_array) or X.shape[1] <= SUMMED_AT_ONCE:
        return square_norms(X)
    return np.array([square_norms(row[None])[0] for row in X])


def one_of(batch: Batch, i: int) -> Batch:
    """Return a batch of one example."""
    rows = batch.rows
    if isinstance(rows, SparseRows):
        rows = rows._replace(indptr=rows.indptr[i : i + 2])
    else:
        rows = DenseRows(rows.X[i : i + 1])
    return Batch(rows, *(each[i : i + 1] for each in batch[1:]))


# Tuples of arrays, some of them of tuples in their turn


def arrays_of(parts: Any, prefix: str = "") -> dict[str, np.ndarray]:
    """Return the arrays of a state by their paths."""
    found: dict[str, np.ndarray] = {}
    for name, part in zip(parts._fields, parts, strict=True):
        path = f"{prefix}{name}"
        found |= {path: part} if isinstance(part, np.ndarray) else arrays_of(part, f"{path}/")
    return found


def each_array(
    parts: Any, change: Callable[[str, np.ndarray], np.ndarray], prefix: str = ""
) -> Any:
    """Return a state with each array changed; `change` is given its path and itself."""
    changed = {}
    for name, part in zip(parts._fields, parts, strict=True):
        path = f"{prefix}{name}"
        if isinstance(part, np.ndarray):
            changed[name] = change(path, part)
        else:
            changed[name] = each_array(part, change, f"{path}/")
    return parts._replace(**changed)
