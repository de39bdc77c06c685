"""The learners in river: a river classifier that wraps one of our estimators.

river's examples are dictionaries of features, and new features may appear at any time. Here a
feature gets a column when the learner first learns from it, and the state is laid out for sparse
rows, so that features missing from an example cost nothing.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from river import base
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone

from omtl.data.rows import SparseRows
from omtl.kernel.compiled_stream import Engine
from omtl.sklearn import PassiveAggressive, stream
from omtl.sklearn.base import MultiTaskClassifier

FIRST_COLUMNS = 16
"""Initial number of columns; it is doubled when they are used up."""

NOT_QUICK = (AttributeError, KeyError, OverflowError, TypeError, ValueError, StructError)


class Plan(NamedTuple):
    """How examples with the same features reach compiled code.

    Parameters
    ----------
    size : int
        The number of features, with the task if it is among them.
    names_task : bool
        Whether the task is among them.
    task : hashable
        The task if not.
    values : callable
        Returns the values of the other features, by column, and the first one again.
    pack : callable
        Stores them.
    engine : Engine
    call : callable
        Scores what is stored, and learns from it: given the label or 0, and task and node.
    """

    size: int
    names_task: bool
    task: Hashable
    values: Callable[[Mapping[Hashable, Any]], tuple[Any, ...]]
    pack: Callable[..., None]
    engine: Engine
    call: Callable[..., float]


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
        All tasks. By default there is a single task, and no feature names it.
    task_key : hashable
        The feature that names an example's task.
    classes : tuple of two labels
    default_task : hashable, optional
        The task of examples that do not name one.
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
        self._plan: Plan | None = None
        self._names: list[Hashable] = []
        self._stored: tuple[Any, ...] = ()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": PassiveAggressive(C=1.0)}

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature to number
            With the task under `task_key`, if there are tasks.
        y : label

        Raises
        ------
        ValueError
            If a feature is not a finite number, or the label or the task was not declared.
        """
        try:
            self._quick(x, self._begun()._sign[y])
        except NOT_QUICK:
            task, features = self._split(x)
            self._one(features, task, self._begun()._sign_of(y))
            names = list(x)
            if self._plan is None or names == self._names:
                self._prepare(x)
            self._names = names

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:  # noqa: ARG002
        """Return the predicted class of one example, the first for a score of 0."""
        return self._begun()._label_of(self.decision_one(x))

    def decision_one(self, x: dict[Hashable, Any]) -> float:
        """Return the signed score of one example."""
        try:
            return self._quick(x, 0.0)
        except NOT_QUICK:
            task, features = self._split(x)
            return self._one(features, task, 0.0)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:  # noqa: ARG002
        """Return 1 / (1 + e^(−score)) for the second class, as river's linear models do.

        It has the same order as the scores, but is not calibrated.
        """
        positive = float(expit(self.decision_one(x)))
        return dict(zip(self._begun().classes_.tolist(), (1.0 - positive, positive), strict=True))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows of a frame, in order; bit-identical to `learn_one`.

        Parameters
        ----------
        X : DataFrame
            A column per feature, and one with the task if there are tasks.
        y : Series of labels
        """
        rows, task = self._rows_of(X, learns=True)
        if rows.shape[0]:
            self._begun().partial_fit(rows, np.asarray(y), task)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the result of `predict_proba_one`, one row per example."""
        positive = expit(self._decide_many(X))
        names = self._begun().classes_.tolist()
        return pd.DataFrame(np.column_stack([1.0 - positive, positive]), X.index, names)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predicted class of each row."""
        classes = self._begun().classes_
        return pd.Series(classes[(self._decide_many(X) > 0.0).astype(int)], X.index)

    def _decide_many(self, X: pd.DataFrame) -> np.ndarray:
        """Return the scores of the rows of a frame."""
        rows, task = self._rows_of(X, learns=False)
        if not rows.shape[0]:
            return np.zeros(0)
        return self._begun().decision_function(rows, task)

    def _rows_of(self, X: pd.DataFrame, learns: bool) -> tuple[sparse.csr_array, Any]:
        """Return the rows of a frame in the learner's columns, and their tasks."""
        model, task = self._begun(), None
        if self.tasks is not None:
            if self.task_key in X.columns:
                X, task = X.drop(columns=self.task_key), X[self.task_key].tolist()
            elif self.default_task is not None:
                task = [self.default_task] * len(X)
            else:
                raise self._no_task()
        if learns:
            self._give_columns(X.columns)
        names = sorted(filter(self._column.__contains__, X.columns), key=self._column.__getitem__)
        values = X[names].to_numpy(dtype=np.float64)
        n, f = values.shape
        at = np.tile(np.array([self._column[name] for name in names], dtype=np.int32), n)
        return sparse.csr_array(
            (values.ravel(), at, np.arange(n + 1) * f), shape=(n, model.n_features_in_)
        ), task

    def _give_columns(self, features: Iterable[Hashable]) -> None:
        """Assign columns to features without one, in an order independent of the dict."""
        column, model = self._column, self._begun()
        new = sorted(dict.fromkeys(name for name in features if name not in column), key=repr)
        n_columns = len(column) + len(new)
        if n_columns > model.n_features_in_:
            model._widen(2 * n_columns)  # before any is assigned, as this may fail
        column.update(zip(new, range(len(column), n_columns), strict=True))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copying or pickling: everything except addresses of compiled
        code."""
        return {**self.__dict__, "_plan": None, "_stored": ()}

    @property
    def _raw_memory_usage(self) -> int:
        """Return the memory in bytes, without compiled code, which models share."""
        return len(pickle.dumps(self))

    def _compiled(self, columns: np.ndarray) -> Engine | None:
        """Return compiled code for an example with these columns, None if it cannot be used."""
        model, n = self._begun(), columns.size
        if not stream.COMPILED or model.entry.drawn or not model._place:
            return None
        model._make_room(SparseRows(np.array([0, n]), columns, np.zeros(n)))
        found = model._compiled(n)
        return found if found.knows_norms() else None

    def _prepare(self, x: Mapping[Hashable, Any]) -> None:
        """Prepare for examples with the same features as this one, which are known."""
        if type(x) is not dict:  # others may have a value for features that they do not list
            return
        names_task = self.tasks is not None and self.task_key in x
        features = [name for name in x if not (names_task and name == self.task_key)]
        features.sort(key=self._column.__getitem__)
        columns = np.array([self._column[name] for name in features], dtype=np.int32)
        compiled, n = self._compiled(columns), columns.size
        if compiled is None or not n:
            return
        packed = bytearray(8 * (n + 1))
        self._stored = ()
        self._plan = Plan(
            len(x),
            names_task,
            None if self.tasks is None else self.default_task,
            itemgetter(*features, features[0]),  # alone, one would not be in a tuple
            partial(Struct(f"{n + 1}d").pack_into, packed, 0),
            compiled,
            partial(compiled.one, columns, np.frombuffer(packed)),
        )

    def _quick(self, x: Mapping[Hashable, Any], sign: float) -> float:
        """Process an example with the same features as the last one.

        Raises one of `NOT_QUICK`, and learns nothing, if the features differ.
        """
        size, names_task, task, values_of, pack, compiled, call = self._plan  # type: ignore[misc]
        model = self._begun()
        if len(x) != size or type(x) is not dict or model._engine is not compiled:
            raise KeyError
        values = values_of(x)
        k = model._place[x[self.task_key] if names_task else task]
        if values != self._stored:  # what was scored is usually learnt from next
            self._stored = ()
            pack(*values)
            self._stored = values
        score = call(sign, k, k)
        if sign != 0.0 and not math.isfinite(score):
            model._warn()
        return score

    def _begun(self) -> MultiTaskClassifier:
        """Return the learner."""
        if self._model is None:
            model = clone(self.learner)
            self._model = model.begin(FIRST_COLUMNS, list(self.classes), self.tasks, sparse=True)
        return self._model

    def _split(self, x: Mapping[Hashable, Any]) -> tuple[Hashable, dict[Hashable, Any]]:
        """Return an example's task, and its other features."""
        features = dict(x)
        if self.tasks is None:
            return None, features
        task = features.pop(self.task_key, self.default_task)
        if task is None:
            raise self._no_task()
        return task, features

    def _no_task(self) -> ValueError:
        return ValueError(f"the example has no feature {self.task_key!r}, which names its task")

    def _one(self, features: dict[Hashable, Any], task: Hashable, sign: float) -> float:
        """Score an example, and learn from it if `sign` is a label, not 0."""
        model, column = self._begun(), self._column
        if sign != 0.0:
            self._give_columns(features)
        names = sorted(filter(column.__contains__, features), key=column.__getitem__)
        columns = np.array([column[name] for name in names], dtype=np.int32)
        try:
            values = np.array([features[name] for name in names], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"the example {features!r} has a feature that is not a number"
            ) from None
        except OverflowError:
            raise ValueError(stream.NOT_FINITE) from None
        compiled = self._compiled(columns)
        if compiled is not None:
            k = model._number_of(task)
            try:
                score = compiled.one(columns, values, sign, k, k)
            except ValueError:
                raise ValueError(stream.NOT_FINITE) from None
            if sign != 0.0 and not math.isfinite(score):
                model._warn()
            return score
        # Bit-identical to SciPy's sums (`omtl.data.rows.square_norms`), at less cost.
        squares = values * values
        squares = squares[squares != 0.0]
        square_norm = np.add.reduceat(squares, [0]) if squares.size else np.zeros(1)
        rows = SparseRows(np.array([0, columns.size]), columns, values)
        return model._one_row(rows, square_norm, task, None, sign)
