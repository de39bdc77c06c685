"""A classifier whose examples have their task in a column, for tools that only know X and y."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._indexing import _get_column_indices
from sklearn.utils.validation import check_is_fitted

from omtl.sklearn.base import MultiTaskClassifier, fresh
from omtl.sklearn.model_file import StoredClassifier


class TaskColumn(MetaEstimatorMixin, StoredClassifier):
    """An estimator of many tasks that reads the task from a column of X.

    Scikit-learn passes the task as metadata to few of its tools, and not to scorers. If the task is
    a column, all of them work: named scorers, ``cross_val_predict``, calibration, stacking.

    Parameters
    ----------
    estimator : MultiTaskClassifier
        The estimator; a clone of it learns from the other columns.
    column : int or str
        The position of the column, or its name in a data frame; by default the last one.
    tasks : iterable of hashable, optional
        All tasks; by default those in `fit`, or in the first `partial_fit`. Then no fold may leave
        out a whole task.

    Attributes
    ----------
    estimator_ : MultiTaskClassifier
        The fitted estimator.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> import numpy as np
    >>> from omtl.sklearn import PassiveAggressive, TaskColumn
    >>> X = np.array([[1.0, 0.0, 7], [0.0, 1.0, 8], [0.9, 0.1, 7], [0.1, 0.9, 8]] * 5)
    >>> y = np.array(["spam", "ham"] * 10)
    >>> TaskColumn(PassiveAggressive()).fit(X, y).predict(X[:2])
    array(['spam', 'ham'], dtype='<U4')
    """

    estimator_: MultiTaskClassifier

    def __init__(
        self,
        estimator: MultiTaskClassifier,
        column: int | str = -1,
        tasks: Iterable[Hashable] | None = None,
    ) -> None:
        self.estimator = estimator
        self.column = column
        self.tasks = tasks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples once, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_examples, n_features + 1)
            One row per example, with the column of tasks.
        y : array-like of shape (n_examples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_examples,), optional
            How many times in a row each example is met.
        """
        features, task = self._split(X)
        self.estimator_ = fresh(self.estimator, "estimator").fit(
            features, y, task, tasks=self.tasks, sample_weight=sample_weight
        )
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue learning from examples, in order; `classes` as in the estimator."""
        features, task = self._split(X)
        known = hasattr(self, "estimator_")
        model = self.estimator_ if known else fresh(self.estimator, "estimator")
        self.estimator_ = model.partial_fit(
            features, y, task, classes=classes, tasks=self.tasks, sample_weight=sample_weight
        )
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the signed scores of examples, shape (n_examples,)."""
        check_is_fitted(self)
        return self.estimator_.decision_function(*self._split(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted classes of examples, shape (n_examples,)."""
        check_is_fitted(self)
        return self.estimator_.predict(*self._split(X))

    @property
    def classes_(self) -> np.ndarray:
        """Return the two classes."""
        return self.estimator_.classes_

    def _split(self, X: Any) -> tuple[Any, Any]:
        """Return the other columns, and the task column."""
        is_frame = hasattr(X, "columns")
        if not is_frame:
            X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
        if len(X.shape) != 2:
            raise ValueError(f"X must have two axes, but has shape {X.shape}")
        if isinstance(self.column, bool) or not isinstance(self.column, Integral | str):
            raise ValueError(f"column={self.column!r} must be a position, or a name")
        (place,), n_columns = _get_column_indices(X, self.column), int(X.shape[1])
        task: Any = _safe_indexing(X, place, axis=1)
        rest: Any = _safe_indexing(X, [k for k in range(n_columns) if k != place], axis=1)
        if is_frame:
            return rest, task.to_list()
        if sparse.issparse(X):
            return rest, task.toarray().ravel()
        return rest if rest.dtype != object else rest.astype(np.float64), task
