"""Estimators in files: NumPy's archive of plain arrays, and a description in JSON; no code.

A file contains the format and its version, the learner's name and parameters, the labels, the
learner's `omtl.kernel.rules.Shape`, and every array of the state, under its path. Reading it
executes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from omtl.data.rows import SparseRows
from omtl.kernel.rules import Shape
from omtl.sklearn.arguments import task_labels
from omtl.sklearn.parameters import ROUNDS
from omtl.sklearn.stream import TaskStream, arrays_of
from omtl.util.archives import read_sealed, write_sealed
from omtl.util.errors import UserError

FORMAT = "omtl model"
VERSION = 4

DAMAGED = (KeyError, ValueError, TypeError, AttributeError, OverflowError, MemoryError)
"""Errors of a description that does not fit its arrays."""

PLAIN = (str, bool, int, float, type(None))
"""Types that JSON preserves."""


class StoredClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of two classes that can be written to a file and read again."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator to a file with only numbers and names, no code.

        Parameters
        ----------
        path : path-like
            Replaced if it exists.

        Raises
        ------
        UserError
            If a label or a parameter is not a string or a number, or the file cannot be written.
        NotFittedError
            If nothing has been learnt.
        """
        check_is_fitted(self)
        arrays: dict[str, np.ndarray] = {}
        estimator: Any = getattr(self, "estimator_", self)
        stream: TaskStream = estimator._stream
        shape = stream.shape._asdict()
        arrays["shape/mixing"] = shape.pop("mixing")
        params = estimator.get_params(deep=False)
        fixed = {**stream.feed.learner._asdict(), "rounds": ROUNDS[stream.feed.by_task]}
        # What the stream began with, whatever has been set since; 1 stays what was given as 1.
        params |= {key: fixed[key] for key in params.keys() & fixed if params[key] != fixed[key]}
        about = {
            "format": FORMAT,
            "version": VERSION,
            "learner": type(estimator).__name__,
            "params": {name: _written(name, value) for name, value in params.items()},
            "classes": [_written("classes", label) for label in stream.labels],
            "classes_dtype": stream.classes.dtype.str,
            "tasks": [_written("tasks", name) for name in stream.tasks],
            "features": getattr(estimator, "feature_names_in_", np.array([])).tolist(),
            "shape": shape,
            "is_open": stream.is_open,
        }
        if estimator is not self:
            own = self.get_params(deep=False)
            tasks = None if own["tasks"] is None else task_labels(own["tasks"], "tasks")
            about["task_column"] = {
                "column": _written("column", own["column"]),
                "tasks": tasks and [_written("tasks", name) for name in tasks],
            }
        arrays |= arrays_of(stream.feed)
        write_sealed(Path(fspath(path)), {"about": np.array(json.dumps(about)), **arrays})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the estimator of a file that `save` wrote.

        Raises
        ------
        UserError
            If it cannot be read, is not such a file, is of another learner, or of another version.

        Examples
        --------
        >>> import tempfile
        >>> from omtl.sklearn import Perceptron, load
        >>> model = Perceptron().fit([[1.0], [-1.0]], ["spam", "ham"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.npz")
        ...     load(f"{folder}/model.npz").predict([[2.0]])
        array(['spam'], dtype='<U4')
        """
        from omtl.sklearn.classes import ESTIMATORS
        from omtl.sklearn.task_column import TaskColumn

        try:
            arrays = read_sealed(path)
        except OSError as fault:
            raise UserError(f"{path}: cannot be read ({fault.strerror or fault})") from fault
        except UserError as fault:
            raise UserError(f"{path}: is not a model file, or is damaged ({fault})") from fault
        try:
            about = json.loads(str(arrays["about"]), object_hook=_read)
            if about["format"] != FORMAT:
                raise KeyError("format")
            if about["version"] != VERSION:
                raise UserError(
                    f"{path}: has version {about['version']}, but this omtl reads version "
                    f"{VERSION}; read it with the omtl that wrote it"
                )
            made = ESTIMATORS[about["learner"]]
            column = about.get("task_column")
            found = made if column is None else TaskColumn
            if not issubclass(found, cls):
                raise UserError(f"{path}: has a {found.__name__}, not a {cls.__name__}")
            estimator: Any = _filled(made, about, arrays)
            if column is not None:
                unfitted: Any = clone(estimator)
                inner, estimator = estimator, TaskColumn(unfitted, **column)
                estimator.estimator_ = inner
        except DAMAGED as fault:
            raise UserError(f"{path}: is not a model file, or is damaged ({fault!r})") from fault
        return cast(Self, estimator)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: only two classes, and sparse rows."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


load = StoredClassifier.load


def _filled(made: type[Any], about: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """Return the described estimator, with its arrays."""
    estimator = made(**about["params"])
    known = {**about["shape"], "mixing": arrays["shape/mixing"]}
    sizes = {"n_tasks": len(about["tasks"]), "n_examples": tuple(known["n_examples"])}
    shape = Shape(**known | sizes)
    classes = np.array(about["classes"], dtype=np.dtype(about["classes_dtype"]))
    if classes.dtype.kind == "V":
        raise ValueError("classes are records")
    estimator.n_features_in_ = shape.n_features
    if about["features"]:
        estimator.feature_names_in_ = np.array(about["features"], dtype=object)
    estimator._begin_shaped(shape, tuple(about["tasks"]), classes)
    stream = estimator._stream
    if shape.sparse and stream.feed.holds:
        room = arrays["window/values"].size // (2 * len(stream.tasks) + 1)
        stream = estimator._stream = stream.grown(room=room)
    stream.is_open = bool(about["is_open"])
    for name, array in arrays_of(stream.feed).items():
        kept = arrays[name]
        if kept.shape != array.shape or kept.dtype != array.dtype:
            raise ValueError(f"{name} does not fit")
        if not _is_within(name, kept, array, stream):
            raise ValueError(f"{name} has an index of nothing")
        array[...] = kept
    return estimator


def _is_within(name: str, kept: np.ndarray, fresh: np.ndarray, stream: TaskStream) -> bool:
    """Return whether compiled code, which does not check indices, may use an array.

    Parameters
    ----------
    name : str
        The array's place in the state, with slashes.
    kept : ndarray
        The array from the file.
    fresh : ndarray
        As the estimator begins: the arrays of a network never change.
    stream : TaskStream
        The stream that is read.
    """
    *path, last = name.split("/")
    if kept.dtype.kind not in "iu":
        return True
    if "links" in path:
        return bool(np.array_equal(kept, fresh))
    if last == "indptr":  # of the window: where each row begins is fixed, and how far it may go
        begin, end = fresh[:-1:2], kept[1::2]
        fits = np.array_equal(kept[::2], fresh[::2])
        return bool(fits and (end >= begin).all() and (end <= fresh[2::2]).all())
    if last == "column":
        return sorted(kept[kept != -1]) == [*range(np.count_nonzero(kept != -1))]
    shape, window = stream.shape, stream.feed.window
    n_rows = window.indptr.size - 1 if isinstance(window, SparseRows) else len(window.X)
    limits = {
        **{"example": (0, n_rows), "taken": (0, n_rows), "before": (-1, n_rows)},
        **{"indices": (0, shape.n_features), "node": (0, len(shape.mixing))},
        **{
            "task": (-1, shape.n_tasks),
            "each": (0, shape.n_tasks),
            "n_begun": (0, shape.n_tasks + 1),
        },
    }
    low, high = limits.get(last, (-np.inf, np.inf))
    return not kept.size or bool(kept.min() >= low and kept.max() < max(high, low + 1))


def _written(name: str, value: Any) -> Any:
    """Return a label or parameter for JSON, which only knows objects with texts as keys."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {"pairs": [[_written(name, key), _written(name, one)] for key, one in value.items()]}
    if isinstance(value, list | tuple) and name == "network":
        return [_written(name, each) for each in value]
    if type(value) not in PLAIN:
        raise UserError(
            f"{name}: {value!r} cannot be stored in a file, which takes only strings and numbers; "
            "use such labels, or pickle the estimator"
        )
    return value


def _read(value: dict[str, Any]) -> dict[Any, Any]:
    """Return an object of JSON, or the mapping that `_written` wrote as one."""
    return dict(value["pairs"]) if value.keys() == {"pairs"} else value
