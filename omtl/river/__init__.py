"""The learners in river: a classifier of river's that follows one of our estimators.

river's examples are dictionaries of features, of which new ones may come at any time. Here a
feature gets a column when it is first learnt from, and the state is laid out for sparse rows, so
that features which an example does not have cost nothing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from river import base
from sklearn.base import clone

from omtl.data.rows import SparseRows
from omtl.sklearn import PassiveAggressive
from omtl.sklearn.base import MultiTaskClassifier

FIRST_COLUMNS = 16
"""Columns that there is room for at first; when they are used up, there will be twice as many."""


class MultiTask(base.Classifier):
    """An estimator of `omtl.sklearn` as a classifier of river.

    Cost per example: that of the learner on sparse rows, and O(f log f) of its f features to put
    them in order; where columns are used up, O(size of the state) to double them. `OMTLCovariance`
    divides by the number of features, which here is that of columns, used or not.

    Parameters
    ----------
    learner : MultiTaskClassifier
        What learns; a clone of it does.
    tasks : tuple of hashable, optional
        All tasks. If left out there is one, and no feature tells which.
    task_key : hashable
        The feature that tells the task of an example.
    classes : tuple of two labels
    """

    def __init__(
        self,
        learner: MultiTaskClassifier,
        tasks: tuple[Hashable, ...] | None = None,
        task_key: Hashable = "task",
        classes: tuple[Any, Any] = (False, True),
    ) -> None:
        self.learner = learner
        self.tasks = tasks
        self.task_key = task_key
        self.classes = classes
        self._model: MultiTaskClassifier | None = None
        self._column: dict[Hashable, int] = {}

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"learner": PassiveAggressive(C=1.0)}

    def learn_one(self, x: dict[Hashable, Any], y: Any) -> None:
        """Learn from one example.

        Parameters
        ----------
        x : dict of feature to number
            With the task under `task_key`, where there are tasks.
        y : label

        Raises
        ------
        ValueError
            If a feature is no finite number, or the label or the task was not declared.
        """
        task, features = self._split(x)
        self._one(features, task, self._begun()._sign_of(y))

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:  # noqa: ARG002
        """Return the predicted class of one example, the first for a score of 0."""
        return self._begun()._label_of(self.decision_one(x))

    def decision_one(self, x: dict[Hashable, Any]) -> float:
        """Return the signed score of one example."""
        task, features = self._split(x)
        return self._one(features, task, 0.0)

    def _begun(self) -> MultiTaskClassifier:
        """Return what learns."""
        if self._model is None:
            model = clone(self.learner)
            self._model = model.begin(FIRST_COLUMNS, list(self.classes), self.tasks, sparse=True)
        return self._model

    def _split(self, x: Mapping[Hashable, Any]) -> tuple[Hashable, dict[Hashable, Any]]:
        """Return the task of an example, and its other features."""
        features = dict(x)
        if self.tasks is None:
            return None, features
        if self.task_key not in features:
            raise ValueError(f"the example has no feature {self.task_key!r}, which tells its task")
        return features.pop(self.task_key), features

    def _one(self, features: dict[Hashable, Any], task: Hashable, sign: float) -> float:
        """Score an example, and learn from it if `sign` is a label, not 0."""
        model, column = self._begun(), self._column
        if sign != 0.0:
            # In an order of their own: that of the dictionary must not matter.
            for name in sorted((name for name in features if name not in column), key=repr):
                column[name] = len(column)
            if len(column) > model.n_features_in_:
                model._widen(2 * len(column))
        entries = sorted(
            (column[name], value) for name, value in features.items() if name in column
        )
        try:
            values = np.array([value for _, value in entries], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"the example {features!r} has a feature that is no number") from None
        rows = SparseRows(
            np.array([0, len(entries)]), np.array([i for i, _ in entries], dtype=np.int32), values
        )
        # As SciPy sums up many rows (`omtl.data.rows.square_norms`), to the last bit, at less cost.
        squares = values * values
        squares = squares[squares != 0.0]
        square_norm = np.add.reduceat(squares, [0]) if squares.size else np.zeros(1)
        return model._one_row(rows, square_norm, task, None, sign)
