"""The base class of all estimators: a learner for scikit-learn, fed in pieces of any size.

A learner is a tuple of hyper-parameters with rules (`omtl.kernel.rules`). Its estimator takes the
same hyper-parameters under the same names, and keeps the state of a stream (`omtl.sklearn.stream`).
`omtl.sklearn.parameters` has what each estimator adds.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import nullcontext
from numbers import Integral
from os import PathLike
from typing import Any, Self, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted, validate_data

from omtl.data.validation import sound_rows
from omtl.kernel.rules import findings
from omtl.sklearn.arguments import (
    declared_names,
    label_classes,
    numbers_of,
    repeat_by_weight,
    task_codes,
    two_classes,
)
from omtl.sklearn.states import each_array, undone_on_error
from omtl.sklearn.stream import COMPILED_PARTS, TaskStream

E = TypeVar("E")

TAKEN: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": False,
}
"""Options of scikit-learn's validation of examples; their norms show what is not finite."""

PROBED_AT_ONCE = 256
"""Number of unit vectors that `coef_` scores in one call."""

FLOAT = np.dtype(np.float64)
ADJACENT = (FLOAT.itemsize,)
"""The strides of a vector that compiled code can read."""

NOT_QUICK = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of the fast path, before learning, for an example that needs conversion."""


class SaveLoadMixin:
    """An estimator that can be written to a file and read again."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator to a file with only numbers and names, no code.

        Parameters
        ----------
        path : path-like
            Replaced if it exists.

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
            If the file is not such a file, or of another learner.
        """
        from omtl.sklearn.model_file import load

        return cast(Self, load(path, cls))


def cloned(estimator: E) -> E:
    """Return an unfitted estimator with the same parameters."""
    return cast(E, clone(estimator))


class MultiTaskClassifier(SaveLoadMixin, ClassifierMixin, TaskStream):
    """An online learner of many binary classification tasks, as a scikit-learn estimator.

    All classes of `omtl.sklearn` derive from this one. Each example is learnt from once, in the
    given order; passing examples one by one or in arrays gives identical bits.

    A task is any hashable label. If `tasks` declares them when learning begins, there are no
    others; otherwise new tasks are learnt as they come, except by learners that have to know all of
    them. With a single task, `task` may be omitted. The classes and the hyper-parameters are fixed
    when learning begins.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two classes; the second is the positive one.
    tasks_ : tuple
        The tasks' labels, by index.
    n_features_in_ : int
    coef_ : ndarray of shape (n_tasks, n_features)
        The current weights of each task, if the score is w·x: its scores of unit vectors, whatever
        form the learner stores them in. They are computed on access, which costs
        O(n_tasks · n_features) for sparse rows, n_features times that for dense ones.
    """

    # Learning

    def fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        node: Any = None,
        tasks: Iterable[Hashable] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from examples once, in order, forgetting everything learnt before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_examples, n_features)
            One row per example.
        y : array-like of shape (n_examples,)
            Labels of two classes.
        task : array-like of shape (n_examples,), optional
            The task of each example.
        node : array-like of int of shape (n_examples,), optional
            The node of each example, for a learner on a network; by default the one with the task's
            index.
        tasks : iterable, optional
            All tasks, if `task` does not contain them all or for another order.
        sample_weight : array-like of shape (n_examples,), optional
            How many times in a row each example is met: whole numbers, 0 leaves it out.

        Raises
        ------
        ValueError
            If an argument does not fit.
        """
        with undone_on_error(self):
            X, y = validate_data(self, sound_rows(X), y, **TAKEN)
            X, y, task, node = repeat_by_weight(sample_weight, X, y, task, node)
            given = task_codes(task)
            self._begin(X, label_classes(y), given, tasks, whole=True)
            self._learn(X, y, given, node, whole=True)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        task: Any = None,
        node: Any = None,
        classes: Any = None,
        tasks: Iterable[Hashable] | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Continue learning from examples, in order.

        A round may continue across calls (`end_round`).

        Parameters
        ----------
        X, y, task, node
            As in `fit`.
        classes : array-like of shape (2,), optional
            The two classes, in the first call; optional if `y` has both.
        tasks : iterable, optional
            All tasks, in the first call; by default later calls may bring new ones.
        sample_weight : array-like of shape (n_examples,), optional
            As in `fit`.

        Raises
        ------
        ValueError
            If an argument does not fit.
        """
        first = not self.__sklearn_is_fitted__()
        with undone_on_error(self) if first else nullcontext():
            if first or not self._fits(X, y):
                X, y = validate_data(self, sound_rows(X), y, **TAKEN, reset=first)
            X, y, task, node = repeat_by_weight(sample_weight, X, y, task, node)
            given = task_codes(task)
            if first:
                known = label_classes(y) if classes is None else np.unique(classes)
                self._begin(X, known, given, tasks, whole=False)
            else:
                self._check_again(classes, tasks)
            self._learn(X, y, given, node, whole=False)
        return self

    def _fits(self, X: Any, y: Any) -> bool:
        """Whether arrays are as scikit-learn's validation returns them, but for NaN and infinity.

        It takes longer than learning from a small batch.
        """
        return (
            type(X) is type(y) is np.ndarray
            and X.dtype in TAKEN["dtype"]
            and X.flags.c_contiguous
            and not hasattr(self, "feature_names_in_")
            and y.dtype.kind in "biuf"
            and X.shape == (y.size, self.n_features_in_) != (0, self.n_features_in_)
            and y.shape == (y.size,)
        )

    def begin(
        self,
        n_features: int,
        classes: Any,
        tasks: Iterable[Hashable] | None = None,
        sparse: bool = False,
    ) -> Self:
        """Begin a stream, before its first example, forgetting everything learnt before.

        Parameters
        ----------
        n_features : int
            The length of an example.
        classes : array-like of shape (2,)
            The two labels.
        tasks : iterable, optional
            All tasks; by default a single one.
        sparse : bool
            Whether examples are sparse. Examples of the other kind are converted.

        Raises
        ------
        ValueError
            If an argument does not fit.
        """
        if not isinstance(n_features, Integral) or n_features < 1:
            raise ValueError(f"n_features={n_features!r} must be a positive whole number")
        with undone_on_error(self):
            self.n_features_in_ = int(n_features)
            self.__dict__.pop("feature_names_in_", None)
            names = (0,) if tasks is None else declared_names(tasks)
            self._start(self._shape_of(names, sparse), two_classes(np.unique(classes)), names)
        return self

    def learn_one(self, x: Any, y: Any, task: Hashable = None, node: int | None = None) -> float:
        """Learn from one example; return its score before learning.

        Parameters
        ----------
        x : array-like of shape (n_features,), or sparse matrix of shape (1, n_features)
            The example.
        y : label
            One of the two classes.
        task : hashable, optional
            The example's task.
        node : int, optional
            As in `fit`.

        Raises
        ------
        ValueError
            If an argument does not fit.
        NotFittedError
            If the stream has not begun (`begin`).
        """
        try:
            row = x if x.dtype is FLOAT else x.astype(FLOAT)
            if node is None and row.strides == ADJACENT:
                k = self._place[task]
                score = self._quick(row, self._sign[y], k, k)
                if score - score != 0.0:  # infinite or NaN
                    self._warn()
                return score
        except NOT_QUICK:
            pass
        return self._one(x, task, node, sign=self._sign_of(y))

    def end_round(self) -> Self:
        """End the current round: the next example starts a new one, whatever its task."""
        check_is_fitted(self)
        nothing = np.zeros(0, dtype=np.int64)
        rows = np.zeros((0, self.n_features_in_))
        self._follow(self._batch(rows, np.zeros(0), nothing, nothing), True, ends=True)
        return self

    # Prediction

    def decision_function(self, X: Any, task: Any = None, node: Any = None) -> np.ndarray:
        """Return the signed scores of examples, shape (n_examples,).

        Each is scored as if it came next, in the current round.

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
        number = numbers_of(task_codes(task), X.shape[0], self._number)
        batch = self._batch(X, np.zeros(X.shape[0]), number, node)
        return self._foresee(batch)

    def predict(self, X: Any, task: Any = None, node: Any = None) -> np.ndarray:
        """Return the predicted classes of examples, shape (n_examples,); the first for a score 0.

        Parameters
        ----------
        X, task, node
            As in `fit`.
        """
        scores = self.decision_function(X, task, node)
        return np.asarray(self.classes_[(scores > 0.0).astype(int)])

    def score(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, X: Any, y: Any, task: Any = None, node: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the share of examples that are predicted correctly.

        Parameters
        ----------
        X, y, task, node
            As in `fit`.
        sample_weight : array-like of shape (n_examples,), optional
            The weight of each example in the average.
        """
        predicted = self.predict(X, task, node)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def decision_one(self, x: Any, task: Hashable = None, node: int | None = None) -> float:
        """Return the signed score of one example; `x`, `task`, `node` as in `learn_one`."""
        try:
            row = x if x.dtype is FLOAT else x.astype(FLOAT)
            if node is None and row.strides == ADJACENT:
                k = self._place[task]
                return self._quick_ahead(row, 0.0, k, k)
        except NOT_QUICK:
            pass
        return self._one(x, task, node, sign=0.0)

    def predict_one(self, x: Any, task: Hashable = None, node: int | None = None) -> Any:
        """Return the predicted class of one example; `x`, `task`, `node` as in `learn_one`."""
        return self._labels[self.decision_one(x, task, node) > 0.0]

    @property
    def coef_(self) -> np.ndarray:
        """Return the weights of each task, shape (n_tasks, n_features)."""
        if not self.entry.linear or not self.__sklearn_is_fitted__():
            why = "has not learnt anything yet" if self.entry.linear else "has no weights"
            raise AttributeError(f"coef_: this {type(self).__name__} {why}")
        found = np.empty((len(self.tasks_), self.n_features_in_))
        for begin in range(0, self.n_features_in_, PROBED_AT_ONCE):
            rows = sparse.eye_array(PROBED_AT_ONCE, self.n_features_in_, k=begin, format="csr")
            unit: Any = sparse.csr_array(rows)[: self.n_features_in_ - begin]
            X = unit if self._shape.sparse else unit.toarray()
            for k, name in enumerate(self.tasks_):
                probed = self.decision_function(X, [name] * X.shape[0])
                found[k, begin : begin + probed.size] = probed
        return found

    def findings(self) -> dict[str, np.ndarray]:
        """Return what is learnt besides weights, by name: task relations, outlier tasks.

        Empty for learners that learn nothing else.
        """
        check_is_fitted(self)
        return findings(self._learner, self._state)

    # Keeping

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling: everything except compiled code and its addresses."""
        state = cast("dict[str, Any]", super().__getstate__())
        return {name: value for name, value in state.items() if name not in COMPILED_PARTS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled state; memory-mapped arrays are copied."""
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
        """Return scikit-learn's tags: only two classes, and sparse rows."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
