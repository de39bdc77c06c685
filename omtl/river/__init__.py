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
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from river import base
from scipy import sparse
from scipy.special import expit

from omtl.sklearn import PassiveAggressive
from omtl.sklearn.base import MultiTaskClassifier, fresh
from omtl.sklearn.stream import NOT_QUICK, norm_of_sparse

__all__ = ["MultiTask"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


FIRST_COLUMNS = 16
"""Initial number of columns; it is doubled when they are used up."""

UNNAMED = ()
"""The task of examples that do not name one, beside tasks that are learnt as they come."""


def _rows(
    columns: np.ndarray, values: np.ndarray, n: int, model: MultiTaskClassifier
) -> sparse.csr_array:
    """Return `n` rows of as many values each, for a learner."""
    ends = np.arange(n + 1) * (values.size // n)
    return sparse.csr_array((values, columns, ends), (n, model.n_features_in_))


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
        self._names: tuple[Hashable, ...] | None = None  # of an example with known features
        self._known: list[Hashable] = []
        self._columns, self._ends = np.zeros(0, np.int32), np.zeros(2, np.int64)

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
        task = self._task_of(x)
        model = self._begun(task)
        columns, values = self._row_of(x, model)
        try:
            stream = model._stream
            k = stream.number[task]
            norm = norm_of_sparse(values)
            score = stream.one(self._ends, columns, values, norm, stream.sign[y], k, k)
        except NOT_QUICK:
            model.learn_one(_rows(columns, values, 1, model), y, task)
        else:
            if not -math.inf < score < math.inf:
                model._warn()
        self._model = model

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:  # noqa: ARG002
        """Return the predicted class of one example, the first for a score of 0."""
        return self._labels()[self.decision_one(x) > 0.0]

    def decision_one(self, x: dict[Hashable, Any]) -> float:
        """Return the signed score of one example; of a new task, as its first one."""
        task = self._task_of(x)
        model = self._begun(task)
        columns, values = self._row_of(x)
        try:
            stream = model._stream
            k, norm = stream.number[task], norm_of_sparse(values)
            return stream.one_ahead(self._ends, columns, values, norm, 0.0, k, k)
        except NOT_QUICK:
            return float(self._scores(model, _rows(columns, values, 1, model), [task])[0])

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:  # noqa: ARG002
        """Return 1 / (1 + e^(−score)) for the second class, as river's linear models do.

        It has the same order as the scores, but is not calibrated.
        """
        positive = float(expit(self.decision_one(x)))
        return dict(zip(self._labels(), (1.0 - positive, positive), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows of a frame, in order; bit-identical to `learn_one`.

        Parameters
        ----------
        X : DataFrame
            A column per feature, and one with the task.
        y : Series
            The labels, in the order of the rows.
        """
        if tasks := self._tasks_of(X):
            model = self._begun(tasks[0])
            self._give_columns(X.columns, model)
            self._model = model.partial_fit(self._rows_of(X, model), np.asarray(y), tasks)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the result of `predict_proba_one`, one row per example."""
        positive = expit(self._decide_many(X))
        table = np.column_stack([1.0 - positive, positive])
        return pd.DataFrame(table, X.index, self._labels())

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predicted class of each row."""
        classes = np.array(self._labels())
        return pd.Series(classes[(self._decide_many(X) > 0.0).astype(int)], X.index)

    def _decide_many(self, X: pd.DataFrame) -> np.ndarray:
        """Return the scores of the rows of a frame."""
        if not (tasks := self._tasks_of(X)):
            return np.zeros(0)
        model = self._begun(tasks[0])
        return self._scores(model, self._rows_of(X, model), tasks)

    def _scores(
        self, model: MultiTaskClassifier, rows: sparse.csr_array, tasks: list[Hashable]
    ) -> np.ndarray:
        """Return the scores of rows; those of a new task, as of its first example."""
        scores = np.zeros(len(tasks))
        at: dict[Hashable, list[int]] = {}
        for i, task in enumerate(tasks):
            at.setdefault(task, []).append(i)
        for task, places in at.items():
            asked = copy(model)
            if self.tasks is None:
                asked._meet(task)
            scores[places] = asked.decision_function(rows[places], [task] * len(places))
        return scores

    def _tasks_of(self, X: pd.DataFrame) -> list[Hashable]:
        """Return the tasks of the rows of a frame; raise ValueError if it is none."""
        if not isinstance(X, pd.DataFrame) or not X.columns.is_unique:
            raise ValueError("X must be a data frame whose columns have different names")
        found = self._task_of(X)
        return found.tolist() if isinstance(found, pd.Series) else [found] * len(X)

    def _rows_of(self, X: pd.DataFrame, model: MultiTaskClassifier) -> sparse.csr_array:
        """Return the known features of the rows of a frame in the learner's columns."""
        known = [name for name in X.columns if name in self._column]
        part = X[known]
        try:
            if all(kind.kind in "biuf" for kind in part.dtypes):
                values = part.to_numpy(dtype=np.float64)
            else:  # which may be numbers even so
                values = np.array([array("d", part[name]) for name in known]).T
        except (TypeError, OverflowError):
            raise ValueError("the frame has a feature that is not a number") from None
        columns = np.tile([self._column[name] for name in known], len(X))
        return _rows(columns, values.ravel(), len(X), model)

    def _row_of(
        self, x: Mapping[Hashable, Any], learner: MultiTaskClassifier | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns of an example's known features, ascending, and their values.

        Those that are new get columns of a learner that learns from it.
        """
        names = tuple(x)
        if names != self._names:
            if learner is not None:
                self._give_columns(names, learner)
            place = self._column
            known = sorted((name for name in names if name in place), key=place.__getitem__)
            knows_all = len(known) + (self.task_key in x) == len(names)
            self._names, self._known = names if knows_all else None, known
            self._columns = np.array([place[name] for name in known], dtype=np.int32)
            self._ends = np.array([0, len(known)])
        try:
            return self._columns, np.array(array("d", map(x.__getitem__, self._known)))
        except (TypeError, OverflowError):
            raise ValueError(f"the example {x!r} has a feature that is not a number") from None

    def _give_columns(self, features: Iterable[Hashable], model: MultiTaskClassifier) -> None:
        """Assign columns to features without one, in an order independent of the dict."""
        column = self._column
        unknown = {name for name in features if name not in column} - {self.task_key}
        new = sorted(unknown, key=repr)
        n_columns = len(column) + len(new)
        if n_columns > model.n_features_in_:
            model._stream = model._stream.grown(n_features=2 * n_columns)
            model.n_features_in_ = 2 * n_columns
        column.update(zip(new, range(len(column), n_columns), strict=True))

    @property
    def _raw_memory_usage(self) -> int:
        """Return the memory in bytes, without compiled code, which models share."""
        return len(pickle.dumps(self))

    def _begun(self, task: Hashable) -> MultiTaskClassifier:
        """Return the learner; a new one, with all tasks or this one, until it has learnt."""
        if self._model is not None:
            return self._model
        names = (task,) if self.tasks is None else self.tasks
        model = fresh(self.learner, "learner")
        n_columns = max(FIRST_COLUMNS, 2 * len(self._column))  # some if an example was refused
        model.begin(n_columns, list(self.classes), names, sparse=True)
        model._stream.is_open = self.tasks is None
        return model

    def _labels(self) -> list[Any]:
        """Return the classes, sorted."""
        model = self._model
        return np.unique(self.classes).tolist() if model is None else [*model._stream.labels]

    def _task_of(self, x: Mapping[Hashable, Any] | pd.DataFrame) -> Any:
        """Return the task of an example, or the column of tasks of a frame; or the default."""
        if self.task_key in x:
            if x[self.task_key] is None:
                raise ValueError(f"the example's {self.task_key!r} is None, which names no task")
            return x[self.task_key]
        if self.default_task is not None:
            return self.default_task
        if self.tasks is None:
            return UNNAMED
        raise ValueError(f"the example has no feature {self.task_key!r}, which names its task")
