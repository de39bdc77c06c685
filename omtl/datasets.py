"""The data sets as Python objects: arrays for scikit-learn, streams of examples for river.

>>> from omtl.datasets import load
>>> data = load("random_walk", n_examples=100)
>>> data.X.shape, data.n_tasks
((900, 100), 9)
>>> x, y = next(iter(data))
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from data_fetchers._columns import parsed_frame, text_of_tasks
from data_fetchers.table_file import OF_SPARSE
from omtl.data.streams import Tasks, rounds
from omtl.experiment.config import options
from omtl.experiment.loading import load_tasks
from omtl.experiment.schema import NOT_NEGATIVE, refuse_unfit
from omtl.experiment.specs import DataSetSpec
from omtl.util import user_folder
from omtl.util.errors import UserError, known_name
from omtl.util.files import write_whole
from omtl.util.paths import home_folder
from omtl.util.seeds import generator

__all__ = ["DataSet", "from_arrays", "from_frame", "load", "names"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


TASK = "task"
"""The feature that names the task of a river example."""


@dataclass(frozen=True, eq=False)
class DataSet:
    """Labelled examples of many tasks. Iterating yields river's pairs ``(x, y)`` (`stream`).

    Parameters
    ----------
    name, label : str
        The name in ``conf/dataset/``, and the display name.
    X : ndarray or csr_array of shape (n_examples, n_features)
    y : ndarray of shape (n_examples,)
        Labels, -1 or +1; or targets, any numbers.
    task : ndarray of shape (n_examples,)
        The name of each example's task.
    task_names : tuple of str
    citation, licence : str
        What to cite (BibTeX), and the terms of use.
    real : bool
        Whether `y` are targets (regression).
    spec : DataSetSpec, optional
        How the experiments of the package load it again.

    Examples
    --------
    >>> data = load("random_walk", n_examples=20, n_tasks=2)
    >>> data.X.shape, data.task_names
    ((40, 100), ('task 1', 'task 2'))
    >>> x, y = next(iter(data))
    >>> y in (True, False)
    True
    """

    name: str
    label: str
    X: np.ndarray | sparse.csr_array = field(repr=False)
    y: np.ndarray = field(repr=False)
    task: np.ndarray = field(repr=False)
    task_names: tuple[str, ...] = field(repr=False)
    citation: str = field(default="", repr=False)
    licence: str = field(default="", repr=False)
    real: bool = field(default=False, repr=False)
    spec: DataSetSpec | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """Return the name with the numbers of examples, features and tasks."""
        X: Any = self.X
        rows, columns = X.shape
        return f"<DataSet {self.name}: {rows} examples, {columns} features, {self.n_tasks} tasks>"

    @property
    def arrays(self) -> tuple[np.ndarray | sparse.csr_array, np.ndarray, np.ndarray]:
        """Features, labels and tasks: ``X, y, task = data.arrays``."""
        return self.X, self.y, self.task

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each example: its features, its ``label`` and its ``task``."""
        X = self.X.toarray() if isinstance(self.X, sparse.csr_array) else self.X
        names = [f"x{number}" for number in range(1, X.shape[1] + 1)]
        return pd.DataFrame(X, columns=names).assign(label=self.y, task=self.task)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.task_names)

    def __len__(self) -> int:
        """Return the number of examples."""
        return len(self.y)

    def __iter__(self) -> Iterator[tuple[dict[str, Any], bool | float]]:
        """Yield the stream of repeat 0 under seed 0."""
        return self.stream()

    def order(self, seed: int = 0, repeat: int = 0) -> np.ndarray:
        """Return the indices of the examples in the order in which ``protocol=rounds`` plays them.

        A round has one example from each task that has any left.

        Parameters
        ----------
        seed, repeat : int
            As in ``omtl run``: the same seed and repeat give the same order.
        """
        refuse_unfit("seed", seed, NOT_NEGATIVE)
        refuse_unfit("repeat", repeat, NOT_NEGATIVE)
        number = {name: k for k, name in enumerate(self.task_names)}
        task = np.array([number[name] for name in self.task], dtype=np.int64)
        shuffle = generator(seed, of="shuffle", dataset=self.name, repeat=repeat, draw=0)
        tasks = Tasks(self.X, self.y, task, self.task_names)
        return rounds(tasks, shuffle, np.random.default_rng(0)).example

    def stream(
        self, seed: int = 0, repeat: int = 0
    ) -> Iterator[tuple[dict[str, Any], bool | float]]:
        """Yield the examples one at a time, as river's data sets do.

        Parameters
        ----------
        seed, repeat : int
            Seed and repeat of the order (`order`).

        Yields
        ------
        x : dict of str to float
            The nonzero features, by index; ``x["task"]`` names the task.
        y : bool
            Or a float, if targets are real.
        """
        X = self.X if isinstance(self.X, sparse.csr_array) else sparse.csr_array(self.X)
        for i in self.order(seed, repeat):
            part = slice(X.indptr[i], X.indptr[i + 1])
            features = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
            x: dict[str, Any] = {TASK: str(self.task[i])}
            x |= {str(feature): value for feature, value in features}
            yield x, float(self.y[i]) if self.real else bool(self.y[i] > 0)


def names() -> list[str]:
    """Return the names of the data sets, including those of the user's own folder.

    Examples
    --------
    >>> "landmine" in names()
    True
    """
    user_folder.find()
    return options("dataset")


def load(name: str, *, prepared: bool = True, seed: int = 0, **changed: Any) -> DataSet:
    """Load a data set; download its files, checked by their hashes, if necessary.

    Parameters
    ----------
    name : str
        One of `names`.
    prepared : bool
        Whether to normalise rows and add a bias feature as in the data set's config, like the
        harness; otherwise the data are as in the files. Scaling by the examples seen so far
        (``normalise: standard``) depends on the order, and is left to `omtl.sklearn.OnlineScaler`.
    seed : int
        Seed of a synthetic data set's draw.
    **changed
        Options of the data set (``options`` of its config) to set.

    Raises
    ------
    UserError
        If the name or an option is wrong, or a file cannot be downloaded.

    Examples
    --------
    >>> load("random_walk", n_examples=100)
    <DataSet random_walk: 900 examples, 100 features, 9 tasks>
    """
    refuse_unfit("seed", seed, NOT_NEGATIVE)
    spec = DataSetSpec.named(known_name("dataset", name, names()))
    spec = replace(spec, options={**spec.options, **changed})
    if not prepared:
        spec = replace(spec, normalise="none", bias=False)
    return _loaded(spec, seed)


def from_arrays(
    X: Any,
    y: Any,
    task: Any,
    *,
    name: str = "my_data",
    normalise: str = "none",
    bias: bool = False,
    one_class: str = "refuse",
    real: bool = False,
) -> DataSet:
    """Return the data set of arrays, for `omtl.run`, `omtl.sweep` and `omtl.compare`.

    The arrays are copied to a file in the package's cache, from which worker processes read them.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_examples, n_features)
        Numbers.
    y : array-like of shape (n_examples,)
        Two different labels, of which the greater one is positive; or numbers, if they are `real`.
    task : array-like of shape (n_examples,)
        The task of each example: names or whole numbers.
    name : str
        What to call the data set.
    normalise : {"none", "unit", "standard", "minmax"}
        How to scale the features: not at all, to rows of length 1, or by mean and deviation or
        range of the examples so far (`omtl.data.scaling`), which happens when the data are played:
        ``X`` is then as given.
    bias : bool
        Whether to add a feature that is always 1.
    one_class : {"refuse", "keep"}
        What to do with a task whose labels are all the same.
    real : bool
        Whether `y` are targets of a regression, for ``protocol="regression"``.

    Raises
    ------
    UserError
        If the arrays do not fit together, or are no such data.

    Examples
    --------
    >>> from_arrays([[0.5, 1.0], [2.0, 1.0], [1.0, 0.0], [0.0, 3.0]], [0, 1, 1, 0], list("aabb"))
    <DataSet my_data: 4 examples, 2 features, 2 tasks>
    """
    for what, given in {"X": X, "y": y, "task": task}.items():
        if np.ma.is_masked(given):
            raise UserError(f"{name}: {what} has masked entries; fill them in, or leave them out")
    try:
        if sparse.issparse(X):
            rows = sparse.csr_array(X)
            features = {part: np.asarray(getattr(rows, part)) for part in OF_SPARSE}
        else:
            features = {"X": np.asarray(X)}
    except ValueError as fault:
        raise UserError(f"{name}: X must be a matrix of numbers ({fault})") from fault
    if "X" in features and features["X"].dtype.hasobject:
        raise UserError(f"{name}: X must be a matrix of numbers, and is one of objects")
    tasks = np.asarray(task, dtype=object)  # not text: there 7 and "7" would be one task
    if tasks.ndim != 1:
        raise UserError(f"{name}: task must have one name for each row, and is {tasks.ndim}-d")
    names = np.array(text_of_tasks("task", tasks), dtype=str)
    arrays = {**features, "y": _checked(y, real, name), "task": names}
    return _of_arrays(name, arrays, normalise, bias, one_class, real)


def from_frame(
    frame: pd.DataFrame,
    *,
    label: str = "label",
    task: str = "task",
    features: Sequence[str] | None = None,
    name: str = "my_data",
    normalise: str = "none",
    bias: bool = False,
    one_class: str = "refuse",
    real: bool = False,
) -> DataSet:
    """Return the data set of a frame with a row for each example (`from_arrays`).

    Parameters
    ----------
    frame : DataFrame
        One row per example.
    label, task : str
        The columns with labels or targets, and with the names of tasks.
    features : sequence of str, optional
        The columns with features; by default all others.
    name, normalise, bias, one_class, real
        As in `from_arrays`.

    Raises
    ------
    UserError
        If a column is lacking, or is no such data.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = {"age": [20, 80, 35, 41], "ill": [0, 1, 0, 1], "clinic": ["A", "A", "B", "B"]}
    >>> from_frame(pd.DataFrame(rows), label="ill", task="clinic", name="clinics")
    <DataSet clinics: 4 examples, 1 features, 2 tasks>
    """
    if not isinstance(frame, pd.DataFrame):
        raise UserError(f"from_frame takes a pandas DataFrame, not a {type(frame).__name__}")
    if isinstance(features, str):
        raise UserError(f"features={features!r} must be a list of columns")
    parsed = parsed_frame(frame, label, task, None if features is None else list(features))
    arrays = {
        "X": parsed.X,
        "y": _checked(parsed.label, real, name),
        "task": np.array(parsed.task),
        "features": np.array(parsed.features, dtype=str),
    }
    return _of_arrays(name, arrays, normalise, bias, one_class, real)


def _checked(given: Any, real: bool, name: str) -> np.ndarray:
    """Return labels as -1 and +1, or targets as they are."""
    y = np.asarray(given)
    if real:
        return y
    try:
        kinds = np.unique(y)
    except TypeError as fault:
        raise UserError(f"{name}: the labels are of different types; make them alike") from fault
    if kinds.size != 2:
        raise UserError(
            f"{name}: there must be two different labels, not {kinds.size}; give targets of a "
            "regression with real=True"
        )
    return np.where(y == kinds[1], 1, -1)


def _of_arrays(
    name: str, arrays: dict[str, Any], normalise: str, bias: bool, one_class: str, real: bool
) -> DataSet:
    """Load arrays as a table; a file of it, named by its hash, is kept in the cache."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    content = file.getvalue()
    path = home_folder() / "frames" / f"{hashlib.sha256(content).hexdigest()[:16]}.npz"
    if not path.exists():
        write_whole(path, content)
    given = {"path": str(path.absolute()), "called": name, "one_class": one_class}
    about = {"name": name, "label": name, "module": "table_file", "normalise": normalise}
    options = given | ({"real": True} if real else {})
    spec = DataSetSpec.read({**about, "options": options, "bias": bias})
    return _loaded(spec, 0)


def _loaded(spec: DataSetSpec, seed: int) -> DataSet:
    """Load the data set of a specification."""
    tasks, module = load_tasks(spec, seed), spec.fetcher
    return DataSet(
        name=spec.name,
        label=spec.label,
        X=tasks.X,
        y=tasks.y,
        task=np.array(tasks.names)[tasks.task],
        task_names=tasks.names,
        citation=getattr(module, "CITATION", ""),
        licence=getattr(module, "LICENCE", ""),
        real=getattr(tasks, "real", False),
        spec=spec,
    )
