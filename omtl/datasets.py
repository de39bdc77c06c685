"""The data sets as Python objects: arrays for scikit-learn, streams of examples for river.

>>> from omtl.datasets import load
>>> data = load("random_walk", n_examples=100)
>>> data.X.shape, data.n_tasks
((900, 100), 9)
>>> x, y = next(iter(data))
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from data_fetchers import load_module, options_of
from omtl.data.preparation import prepare
from omtl.data.streams import Tasks, rounds
from omtl.experiment.config import options
from omtl.experiment.data_sets import check_options, module_of
from omtl.experiment.specs import DataSetSpec
from omtl.util.errors import UserError
from omtl.util.seeds import generator

__all__ = ["DataSet", "load", "names"]

TASK = "task"
"""The feature that names the task of a river example."""


@dataclass(frozen=True)
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
        number = {name: k for k, name in enumerate(self.task_names)}
        task = np.array([number[name] for name in self.task], dtype=np.int64)
        axes: dict[str, Any] = {"dataset": self.name, "repeat": repeat, "draw": 0}
        shuffle = generator(seed, of="shuffle", **axes)
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
    """Return the names of the data sets, including those of the user's own folder."""
    return options("dataset")


def load(name: str, *, prepared: bool = True, seed: int = 0, **changed: Any) -> DataSet:
    """Load a data set; download its files, checked by their hashes, if necessary.

    Parameters
    ----------
    name : str
        One of `names`.
    prepared : bool
        Whether to normalise and add a bias feature as in the data set's config, like the harness;
        otherwise the data are as in the files.
    seed : int
        Seed of a synthetic data set's draw.
    **changed
        Options of the data set (``options`` of its config) to set.

    Raises
    ------
    UserError
        If the name or an option is wrong, or a file cannot be downloaded.
    """
    spec = DataSetSpec.named(name)
    module = module_of(spec)
    given: dict[str, Any] = {**spec.options, **changed}
    check_options(options_of(module), given, name)
    if getattr(module, "SYNTHETIC", False):
        given["rng"] = generator(seed, of="draw", dataset=name, draw=0)
    try:
        tasks = load_module(module, given)
    except (TypeError, ValueError) as fault:
        raise UserError(f"dataset {name}: options {changed} do not fit ({fault})") from fault
    tasks = prepare(tasks, spec.normalise, spec.bias) if prepared else tasks
    return DataSet(
        name=name,
        label=spec.label,
        X=tasks.X,
        y=tasks.y,
        task=np.array(tasks.names)[tasks.task],
        task_names=tasks.names,
        citation=getattr(module, "CITATION", ""),
        licence=getattr(module, "LICENCE", ""),
        real=getattr(tasks, "real", False),
    )
