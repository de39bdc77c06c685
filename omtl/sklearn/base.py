"""The base class of all estimators: a learner for scikit-learn, fed in pieces of any size.

A learner is a tuple of hyper-parameters with rules (`omtl.kernel.rules`). Its estimator takes the
same hyper-parameters under the same names, and keeps the state of a stream (`omtl.sklearn.stream`).
`omtl.sklearn.parameters` has what each estimator adds.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from itertools import count
from numbers import Integral
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from omtl.kernel.loop import Batch, new_feed
from omtl.kernel.rules import Shape, findings
from omtl.sklearn.arguments import (
    TaskCodes,
    count_in,
    count_rounds,
    declared_names,
    example_counts,
    given_rows,
    label_classes,
    mixing_of,
    names_of_codes,
    nodes_of,
    numbering,
    numbers_of,
    repeat_by_weight,
    seed_of,
    task_codes,
    task_labels,
    two_classes,
)
from omtl.sklearn.model_file import StoredClassifier
from omtl.sklearn.parameters import ROUNDS, Entry, checked
from omtl.sklearn.stream import ADJACENT, FLOAT, NOT_QUICK, TaskStream, new_state

TAKEN: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "order": "C",
    "ensure_all_finite": False,
}
"""Options of scikit-learn's validation of examples; their norms show what is not finite."""

NOT_BEGUN = "this %(name)s has not been fitted yet: call fit, partial_fit or begin"
"""The error of examples that come before the stream has begun."""


class MultiTaskClassifier(StoredClassifier):
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

    rules: ClassVar[Any]
    entry: ClassVar[Entry]
    n_features_in_: int
    _stream: TaskStream

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
        new = self._unfitted()
        new._learn(True, X, y, task, node, None, tasks, sample_weight)
        self.__dict__ = new.__dict__
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
        model = self if self.__sklearn_is_fitted__() else self._unfitted()
        model._learn(False, X, y, task, node, classes, tasks, sample_weight)
        self.__dict__ = model.__dict__
        return self

    def _fits(self, X: Any, y: Any) -> bool:
        """Whether arrays are as scikit-learn's validation returns them, but for NaN and infinity.

        It takes longer than learning from a small batch.
        """
        return (
            type(X) is type(y) is np.ndarray
            and X.dtype == FLOAT
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
        new = self._unfitted()
        new.n_features_in_ = int(n_features)
        new.__dict__.pop("feature_names_in_", None)
        names = (0,) if tasks is None else declared_names(tasks)
        new._begin(names, label_classes(classes), sparse)
        self.__dict__ = new.__dict__
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
            row = x if x.dtype is FLOAT else x.astype(FLOAT, casting="same_kind")
            if node is None and row.strides == ADJACENT:
                stream = self._stream
                k = stream.number[task]
                score = stream.one(row, stream.sign[y], k, k)
                if score - score != 0.0:  # infinite or NaN
                    self._warn()
                return score
        except NOT_QUICK:
            pass
        check_is_fitted(self, msg=NOT_BEGUN)
        if np.ndim(y):
            raise ValueError(f"y={y!r} must be a single label")
        X, tasks, nodes = single(x, task, node)
        return float(self._learn(False, X, [y], tasks, nodes)[0])

    def end_round(self) -> Self:
        """End the current round: the next example starts a new one, whatever its task."""
        check_is_fitted(self)
        self._stream.end_round()
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
        X = validate_data(self, given_rows(X), **TAKEN, reset=False)
        stream, n = self._stream, X.shape[0]
        number = numbers_of(task_codes(task), n, stream.number)
        alone = range(n) if self.entry.drawn else ()
        batches = stream.batches(X, np.zeros(n), number, self._nodes(number, node), alone)
        return self._followed(batches, learns=False)

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
            row = x if x.dtype is FLOAT else x.astype(FLOAT, casting="same_kind")
            if node is None and row.strides == ADJACENT:
                stream = self._stream
                k = stream.number[task]
                return stream.one_ahead(row, 0.0, k, k)
        except NOT_QUICK:
            pass
        X, tasks, nodes = single(x, task, node)
        return float(self.decision_function(X, tasks, nodes)[0])

    def predict_one(self, x: Any, task: Hashable = None, node: int | None = None) -> Any:
        """Return the predicted class of one example; `x`, `task`, `node` as in `learn_one`."""
        score = self.decision_one(x, task, node)
        return self._stream.labels[score > 0.0]

    @property
    def coef_(self) -> np.ndarray:
        """Return the weights of each task, shape (n_tasks, n_features)."""
        if not self.entry.linear or not self.__sklearn_is_fitted__():
            why = "has not learnt anything yet" if self.entry.linear else "has no weights"
            raise AttributeError(f"coef_: this {type(self).__name__} {why}")
        d = self.n_features_in_
        units = sparse.csr_array(sparse.eye_array(d, format="csr"))
        return np.stack([self.decision_function(units, [name] * d) for name in self.tasks_])

    def findings(self) -> dict[str, np.ndarray]:
        """Return what is learnt besides weights, by name: task relations, outlier tasks.

        Empty for learners that learn nothing else.
        """
        check_is_fitted(self)
        return findings(self._stream.feed.learner, self._stream.feed.state)

    # What scikit-learn asks

    @property
    def classes_(self) -> np.ndarray:
        """Return the two classes."""
        return self._stream.classes

    @property
    def tasks_(self) -> tuple[Hashable, ...]:
        """Return the tasks' labels, by index."""
        return self._stream.tasks

    def __sklearn_is_fitted__(self) -> bool:
        """Whether a stream has begun."""
        return hasattr(self, "_stream")

    # How a stream begins

    def _unfitted(self) -> Self:
        """Return a copy that has learnt nothing: if its stream does not begin, this one is kept."""
        new = copy(self)
        new.__dict__.pop("_stream", None)
        return new

    def _begin(
        self,
        names: tuple[Hashable, ...],
        classes: np.ndarray,
        is_sparse: bool,
        counted: np.ndarray | None = None,
    ) -> None:
        """Begin a stream; `counted` are the task indices of a whole one."""
        m, takes, given = len(names), self.entry.takes, self.get_params(deep=False)
        shape = Shape(m, self.n_features_in_, np.eye(m), sparse=bool(is_sparse))
        if "network" in takes:
            shape = shape._replace(mixing=mixing_of(given["network"], m))
        if "n_rounds" in takes:
            known = given["n_rounds"]
            if known is None:
                known = 0 if counted is None else count_rounds(counted, m, self._rounds_by_task())
            shape = shape._replace(n_rounds=count_in("n_rounds", known))
        if "n_examples" in takes:
            shape = shape._replace(n_examples=example_counts(given["n_examples"], names, counted))
        if "random_state" in takes:
            shape = shape._replace(seed=seed_of(given["random_state"]))
        self._begin_shaped(shape, names, two_classes(classes))

    def _begin_shaped(self, shape: Shape, names: tuple[Hashable, ...], classes: np.ndarray) -> None:
        """Begin a stream of this shape."""
        learner, by_task = self._checked_rules(), self._rounds_by_task()
        feed = new_feed(learner, new_state(learner, shape), shape, by_task)
        self._stream = TaskStream(feed, shape, names, classes)

    def _rounds_by_task(self) -> bool:
        """Return whether a round has an example of each task."""
        kind = getattr(self, "rounds", "example")
        if kind not in ROUNDS.values():
            known = ", ".join(ROUNDS.values())
            raise ValueError(f"rounds={kind!r} is not known; choose from {known}")
        return kind == ROUNDS[True]

    def _checked_rules(self) -> Any:
        """Return the rules with the current hyper-parameters."""
        kinds, allowed = get_type_hints(self.rules), self.entry.values
        given = {name: getattr(self, name) for name in self.rules._fields}
        try:
            values = {n: checked(n, one, kinds[n], allowed) for n, one in given.items()}
        except ValueError as fault:
            raise ValueError(f"{type(self).__name__}: {fault}") from None
        return self.rules(**values)

    # How it continues

    def _learn(
        self,
        whole: bool,
        X: Any,
        y: Any,
        task: Any,
        node: Any,
        classes: Any = None,
        tasks: Any = None,
        sample_weight: Any = None,
    ) -> np.ndarray:
        """Learn from examples, and return their scores.

        If they are not the `whole` stream, it begins after all are checked.
        """
        first = not self.__sklearn_is_fitted__()
        if first or not self._fits(X, y):
            taken = TAKEN if whole else {**TAKEN, "dtype": np.float64}
            X, y = validate_data(self, given_rows(X, y), y, **taken, reset=first)
        X, y, task, node = repeat_by_weight(sample_weight, X, y, task, node)
        given = task_codes(task)
        new: dict[int, Hashable] = {}
        if first:
            known = label_classes(y if classes is None else classes)
            if classes is None:
                check_classification_targets(known)
            names = names_of_codes(given) if tasks is None else declared_names(tasks)
            number = numbers_of(given, y.size, numbering(names))
            self._begin(names, known, sparse.issparse(X), number if whole else None)
            self._stream.is_open = tasks is None and given is not None
        else:
            self._check_again(classes, tasks)
            new = self._new_tasks(given)
            later = dict(zip(new.values(), count(len(self.tasks_))))
            number = numbers_of(given, y.size, {**self._stream.number, **later})
        signs = np.subtract(y == self.classes_[1], y == self.classes_[0], dtype=np.float64)
        if not signs.all():
            strange = np.unique(y[signs == 0.0])[:5].tolist()
            raise ValueError(
                f"y has the labels {strange}, which are not among the classes {self.classes_}"
            )
        batches = self._stream.batches(X, signs, number, self._nodes(number, node), new)
        checked = batches if whole else [*map(self._stream.checked, batches)]
        scores = self._followed(checked, True, new)
        if whole:
            self._stream.end_round()
        return scores

    def _check_again(self, classes: Any, tasks: Any) -> None:
        """Raise ValueError if classes or tasks have changed."""
        if classes is not None and not np.array_equal(label_classes(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call: {self.classes_}"
            )
        if tasks is not None and declared_names(tasks) != self.tasks_:
            raise ValueError(f"tasks differ from those of the first call: {self.tasks_}")

    def _new_tasks(self, given: TaskCodes | None) -> dict[int, Hashable]:
        """Return new tasks by where they occur first; raise ValueError if they cannot be added."""
        stream = self._stream
        if not stream.is_open or given is None or stream.number.keys() >= {*given.names}:
            return {}
        first = np.unique(given.codes, return_index=True)[1].tolist()
        found = sorted(zip(first, given.names, strict=True))
        new = {i: name for i, name in found if name not in stream.number}
        stream.grown((*stream.tasks, *new.values()))
        return new

    def _meet(self, task: Hashable) -> None:
        """Add a task, if it is new."""
        stream = self._stream
        if task is None and None in stream.number:
            return
        (label,) = task_labels([task], "task")
        if label not in stream.number:
            self._stream = stream.grown((*stream.tasks, label))

    def _nodes(self, number: np.ndarray, node: Any) -> np.ndarray:
        """Return the node of each example."""
        if "network" not in self.entry.takes:
            if node is not None:
                raise ValueError(f"{type(self).__name__} learns on no network; leave node out")
            return number
        return nodes_of(number, node, len(self._stream.shape.mixing), len(self.tasks_))

    def _followed(
        self, batches: Iterable[Batch], learns: bool, new: Mapping[int, Hashable] | None = None
    ) -> np.ndarray:
        """Return scores of batches; learn from them, or score each as if it came next.

        New tasks come with the examples that have their numbers, which begin a batch.
        """
        scores, n = [], 0
        for batch in batches:
            if new and n in new:
                self._meet(new[n])
            self._stream = stream = self._stream.with_room(batch.rows)
            drawn = (
                [] if learns else [getattr(stream.feed.state, name) for name in self.entry.drawn]
            )
            before = [array.copy() for array in drawn]
            try:
                scores.append(stream.follow(batch, learns))
            finally:
                for array, kept in zip(drawn, before, strict=True):
                    array[...] = kept
            n += batch.task.size
        found = np.concatenate(scores)
        if learns and not np.isfinite(found).all():
            self._warn()
        return found

    def _warn(self) -> None:
        """Warn that the weights have diverged."""
        warnings.warn(
            f"{type(self).__name__}: scores are no longer finite; use a smaller learning rate",
            ConvergenceWarning,
            stacklevel=5,
        )


def fresh(estimator: Any, what: str) -> MultiTaskClassifier:
    """Return an unfitted clone of an argument; raise ValueError if it is no such estimator."""
    if not isinstance(estimator, MultiTaskClassifier):
        raise ValueError(
            f"{what}={estimator!r} must be an estimator of omtl.sklearn, such as "
            "PassiveAggressive(); other steps of a pipeline come before it"
        )
    unfitted: MultiTaskClassifier = clone(estimator)
    return unfitted


def single(x: Any, task: Hashable, node: int | None) -> tuple[Any, Any, Any]:
    """Return an example as rows, tasks and nodes of one example."""
    rows = x if sparse.issparse(x) else np.atleast_2d(x)
    if rows.shape[0] != 1:
        raise ValueError(f"x has the shape {rows.shape}, but must be one example")
    return rows, None if task is None else [task], None if node is None else [node]
