"""The learners in river: a river classifier that wraps one of our estimators.

river's examples are dictionaries of features, and new features may appear at any time. Here a
feature gets a column when the learner first learns from it, and the state is laid out for sparse
rows, so that features missing from an example cost nothing.

>>> from omtl.sklearn import Perceptron
>>> model = MultiTask(Perceptron())
>>> model.learn_one({"task": "ann", "length": 1.0}, True)
>>> model.predict_one({"task": "ann", "length": 2.0})
True
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from functools import partial
from operator import itemgetter
from struct import error as StructError  # noqa: N812 - as exceptions are named
from struct import pack_into
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from river import base
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from omtl.sklearn import PassiveAggressive
from omtl.sklearn.base import NOT_QUICK, MultiTaskClassifier

__all__ = ["MultiTask"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


FIRST_COLUMNS = 16
"""Initial number of columns; it is doubled when they are used up."""

UNNAMED = ()
"""The task of examples that do not name one, beside tasks that are learnt as they come."""


class Layout(NamedTuple):
    """How examples with the same features are read.

    Parameters
    ----------
    names : tuple of hashable
        The keys of such an example, in its order.
    known : tuple of hashable
        The features with columns, in the order of these.
    pick : callable
        Returns their values.
    columns : ndarray of shape (n_known,), int32
    values : ndarray of shape (n_known,)
        Where an example's values go.
    has_unknown : bool
        Whether a feature has no column.
    """

    names: tuple[Hashable, ...]
    known: tuple[Hashable, ...]
    pick: Callable[[Mapping[Hashable, Any]], Iterable[Any]]
    columns: np.ndarray
    values: np.ndarray
    has_unknown: bool


FROM_FIRST = np.zeros(1, dtype=np.int64)
"""The places at which sums begin: one sum of everything."""


def norm_of_sparse(values: np.ndarray) -> float:
    """Return the squared norm of a sparse row, bit-identical to that of arrays."""
    with np.errstate(over="ignore"):
        squares = values * values
    if np.count_nonzero(squares) < squares.size:
        squares = squares[squares != 0.0]
    return np.add.reduceat(squares, FROM_FIRST)[0] if squares.size else 0.0


def _few(known: tuple[Hashable, ...], x: Mapping[Hashable, Any]) -> list[Any]:
    return [x[name] for name in known]


class MultiTask(base.MiniBatchClassifier):
    """An estimator of `omtl.sklearn` as a river classifier.

    Cost per example: that of the learner on sparse rows, plus O(f log f) to sort its f features;
    when columns are used up, O(size of the state) to double them. `OMTLCovariance` divides by the
    number of features, which here is the number of columns, used or not.

    Parameters
    ----------
    learner : MultiTaskClassifier
        The estimator; a clone of it learns.
    tasks : tuple of hashable, optional
        All tasks. By default they are learnt as they come: each new name is a new task. A learner
        on a network, or one whose relations of tasks begin with all of them, needs them here.
    task_key : hashable
        The feature that names an example's task.
    classes : tuple of two labels
    default_task : hashable, optional
        The task of examples that do not name one; by default they are a task of their own, unless
        `tasks` are given.

    Examples
    --------
    >>> from omtl.sklearn import PassiveAggressive
    >>> model = MultiTask(PassiveAggressive(), task_key="user", classes=("ham", "spam"))
    >>> for _ in range(3):
    ...     model.learn_one({"user": "ann", "offers": 1.0}, "spam")
    ...     model.learn_one({"user": "bob", "offers": 1.0}, "ham")
    >>> [model.predict_one({"user": user, "offers": 1.0}) for user in ("ann", "bob")]
    ['spam', 'ham']
    """

    def __init__(
        self,
        learner: MultiTaskClassifier,
        tasks: tuple[Hashable, ...] | None = None,
        task_key: Hashable = "task",
        classes: tuple[Any, Any] = (False, True),
        default_task: Hashable = None,
    ) -> None:
        self.learner = learner
        self.tasks = tasks
        self.task_key = task_key
        self.classes = classes
        self.default_task = default_task
        self._model: MultiTaskClassifier | None = None
        self._column: dict[Hashable, int] = {}
        self._layout: Layout | None = None

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": PassiveAggressive(C=1.0)}

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature to number
            With the task under `task_key`.
        y : label
            One of `classes`.

        Raises
        ------
        ValueError
            If a feature is not a finite number, or the label is not one of `classes`, or the task
            is not one of `tasks`.
        """
        model = self._model or self._begun(self._task_of(x))
        self._one(x, model._sign_of(y))

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:  # noqa: ARG002
        """Return the predicted class of one example, the first for a score of 0."""
        score = self._one(x, 0.0)
        return self._begun()._stream.labels[score > 0.0]

    def decision_one(self, x: dict[Hashable, Any]) -> float:
        """Return the signed score of one example; of a new task, as its first one."""
        return self._one(x, 0.0)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:  # noqa: ARG002
        """Return 1 / (1 + e^(−score)) for the second class, as river's linear models do.

        It has the same order as the scores, but is not calibrated.
        """
        positive = float(expit(self.decision_one(x)))
        return dict(zip(self._begun()._stream.labels, (1.0 - positive, positive), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows of a frame, in order; bit-identical to `learn_one`.

        Parameters
        ----------
        X : DataFrame
            A column per feature, and one with the task.
        y : Series
            The labels, in the order of the rows.
        """
        if len(X):
            task = self._tasks_of(X)
            model = self._begun(task[0])
            rows = self._rows_of(X, learns=True)
            model.partial_fit(rows, np.asarray(y), task)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the result of `predict_proba_one`, one row per example."""
        positive = expit(self._decide_many(X))
        table = np.column_stack([1.0 - positive, positive])
        return pd.DataFrame(table, X.index, self._known_classes())

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predicted class of each row."""
        classes = np.array(self._known_classes())
        return pd.Series(classes[(self._decide_many(X) > 0.0).astype(int)], X.index)

    def _decide_many(self, X: pd.DataFrame) -> np.ndarray:
        """Return the scores of the rows of a frame."""
        scores = np.zeros(len(X))
        if not len(X):
            return scores
        task = self._tasks_of(X)
        model = self._begun(task[0])
        rows = self._rows_of(X, learns=False)
        if self.tasks is not None:
            return model.decision_function(rows, task)
        at: dict[Hashable, list[int]] = {}
        for i, name in enumerate(task):
            at.setdefault(name, []).append(i)
        for name, places in at.items():
            asked = copy(model)
            asked._meet(name)
            scores[places] = asked.decision_function(rows[places], [name] * len(places))
        return scores

    def _tasks_of(self, X: pd.DataFrame) -> list[Hashable]:
        """Return the tasks of the rows of a frame."""
        found = self._task_of(X)
        return found.tolist() if isinstance(found, pd.Series) else [found] * len(X)

    def _rows_of(self, X: pd.DataFrame, learns: bool) -> sparse.csr_array:
        """Return the rows of a frame in the learner's columns."""
        layout = self._layout_of(tuple(X.columns), learns)
        values = X[[*layout.known]].to_numpy(dtype=np.float64)
        n, f = values.shape
        at, shape = np.tile(layout.columns, n), (n, self._begun().n_features_in_)
        return sparse.csr_array((values.ravel(), at, np.arange(n + 1) * f), shape=shape)

    def _give_columns(self, features: Iterable[Hashable]) -> None:
        """Assign columns to features without one, in an order independent of the dict."""
        column, model = self._column, self._begun()
        new = sorted(dict.fromkeys(name for name in features if name not in column), key=repr)
        n_columns = len(column) + len(new)
        if n_columns > model.n_features_in_:
            model._stream = model._stream.grown(n_features=2 * n_columns)
            model.n_features_in_ = 2 * n_columns
        column.update(zip(new, range(len(column), n_columns), strict=True))
        self._layout = None

    @property
    def _raw_memory_usage(self) -> int:
        """Return the memory in bytes, without compiled code, which models share."""
        return len(pickle.dumps(self))

    def _begun(self, task: Hashable = None) -> MultiTaskClassifier:
        """Return the learner; it begins with all tasks, or with this one."""
        if self._model is None:
            names = (task,) if self.tasks is None else self.tasks
            fresh: Any = clone(self.learner)
            model: MultiTaskClassifier = fresh
            model.begin(FIRST_COLUMNS, list(self.classes), names, sparse=True)
            model._stream.is_open = self.tasks is None
            self._model = model
        return self._model

    def _known_classes(self) -> list[Any]:
        """Return the classes, sorted."""
        return list(np.unique(list(self.classes)).tolist())

    def _task_of(self, x: Mapping[Hashable, Any] | pd.DataFrame) -> Any:
        """Return the task of an example, or the column of tasks of a frame; or the default."""
        if self.task_key in x:
            return x[self.task_key]
        if self.default_task is not None:
            return self.default_task
        if self.tasks is None:
            return UNNAMED
        raise ValueError(f"the example has no feature {self.task_key!r}, which names its task")

    def _layout_of(self, names: tuple[Hashable, ...], learns: bool) -> Layout:
        """Return how examples with these names are read; features to learn from get columns."""
        features = [name for name in names if name != self.task_key]
        if learns:
            self._give_columns(features)
        column = self._column
        known = tuple(sorted(filter(column.__contains__, features), key=column.__getitem__))
        columns = np.array([column[name] for name in known], dtype=np.int32)
        pick = itemgetter(*known) if len(known) > 1 else partial(_few, known)
        has_unknown = len(known) < len(features)
        return Layout(names, known, pick, columns, np.empty(len(known)), has_unknown)

    def _one(self, x: Mapping[Hashable, Any], sign: float) -> float:
        """Score an example, and learn from it if `sign` is a label, not 0."""
        task, names, layout = self._task_of(x), tuple(x), self._layout
        model = self._begun(task)
        if layout is None or layout.names != names or (sign != 0.0 and layout.has_unknown):
            layout = self._layout = self._layout_of(names, learns=sign != 0.0)
        columns, values = layout.columns, layout.values
        try:
            pack_into(f"{values.size}d", values.data, 0, *layout.pick(x))
        except StructError:
            raise ValueError(f"the example {x!r} has a feature that is not a number") from None
        try:
            stream = model._stream
            k = stream.number[task]
            follow = stream.one_ahead if sign == 0.0 else stream.one
            score = follow(columns, values, norm_of_sparse(values), sign, k, k)
        except NOT_QUICK:
            if self.tasks is None and sign == 0.0:
                model = copy(model)
                model._meet(task)
            shape = (1, model.n_features_in_)
            row = sparse.csr_array((values, columns, [0, values.size]), shape=shape)
            return model._one(row, task, None, sign)
        if sign != 0.0 and not -math.inf < score < math.inf:
            model._warn()
        return score
