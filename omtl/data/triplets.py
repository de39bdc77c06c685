"""Triplets of a query and two candidates, one of them of the query's class.

They are generated in blocks on demand, so that a stream of any length needs little memory (OMTRSL
paper, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omtl.util.errors import UserError, choose

BLOCK = 256
"""Number of triplets that are drawn and processed together."""


class Triplets(NamedTuple):
    """Triplets in stream order.

    Parameters
    ----------
    query, first, second : ndarray of shape (n,), int64
        Rows of the examples.
    y : ndarray of shape (n,), float64
        +1 if `first` is of the query's class, -1 if `second` is.
    task : ndarray of shape (n,), int64
    """

    query: np.ndarray
    first: np.ndarray
    second: np.ndarray
    y: np.ndarray
    task: np.ndarray


def interleaved(counts: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield tasks in random order, each on average as often as its count.

    Parameters
    ----------
    counts : ndarray of shape (n_tasks,), int64
    rng : numpy.random.Generator
    """
    upper = np.cumsum(counts)
    for left in range(int(upper[-1]), 0, -BLOCK):
        yield np.searchsorted(upper, rng.integers(upper[-1], size=min(BLOCK, left)), side="right")


def task_by_task(counts: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:  # noqa: ARG001
    """Yield tasks one after the other, each as often as its count."""
    upper = np.cumsum(counts)
    for start in range(0, int(upper[-1]), BLOCK):
        at = np.arange(start, min(start + BLOCK, upper[-1]))
        yield np.searchsorted(upper, at, side="right")


ORDERS = {"interleaved": interleaved, "by_task": task_by_task}


class Sampler:
    """Draws triplets from examples of tasks with classes.

    A class of the task and one of its others are drawn uniformly, then two different examples of
    the first, then one of the second, and then which candidate comes first.

    Parameters
    ----------
    label, task : ndarray of shape (n_examples,), int64
        Class and task of each example.
    rows : ndarray of int64
        The examples to draw from.
    names : tuple of str
        The tasks' names.

    Raises
    ------
    UserError
        If a task has fewer than two classes, or a class fewer than two examples.
    """

    def __init__(
        self, label: np.ndarray, task: np.ndarray, rows: np.ndarray, names: tuple[str, ...]
    ) -> None:
        self.n_examples = np.bincount(task[rows], minlength=len(names))
        self.rows = rows[np.lexsort((label[rows], task[rows]))]
        """The examples; those of a class are adjacent, and so are the classes of a task."""
        pairs = np.stack([task[self.rows], label[self.rows]])
        known, self.start, self.size = np.unique(
            pairs, axis=1, return_index=True, return_counts=True
        )
        self.n_classes = np.bincount(known[0], minlength=len(names))
        self.first_class = np.cumsum(self.n_classes) - self.n_classes
        for name, n_classes in zip(names, self.n_classes, strict=True):
            if n_classes < 2:
                raise UserError(
                    f"task {name!r} has {n_classes} classes to draw triplets of: 2 are needed"
                )
        if self.size.min() < 2:
            of, lone = known[:, self.size.argmin()]
            raise UserError(
                f"class {lone} of task {names[of]!r} has one example to draw triplets of: 2 are "
                "needed"
            )

    def of(self, tasks: np.ndarray, rng: np.random.Generator) -> Triplets:
        """Return one triplet for each of the tasks.

        Parameters
        ----------
        tasks : ndarray of shape (n,), int64
        rng : numpy.random.Generator
        """
        n = self.n_classes[tasks]
        same = rng.integers(n)
        other = rng.integers(n - 1)
        other += other >= same
        same, other = (self.first_class[tasks] + each for each in (same, other))
        query = rng.integers(self.size[same])
        mate = rng.integers(self.size[same] - 1)
        mate += mate >= query
        query, mate, stranger = (
            self.rows[self.start[of] + at]
            for of, at in ((same, query), (same, mate), (other, rng.integers(self.size[other])))
        )
        right = rng.random(tasks.size) < 0.5
        return Triplets(
            query,
            np.where(right, mate, stranger),
            np.where(right, stranger, mate),
            np.where(right, 1.0, -1.0),
            tasks,
        )

    def stream(
        self, per_example: float, order: str, rng: np.random.Generator
    ) -> Iterator[Triplets]:
        """Yield a stream of triplets in blocks.

        Parameters
        ----------
        per_example : float
            Number of triplets per example of a task.
        order : {"interleaved", "by_task"}
        rng : numpy.random.Generator

        Raises
        ------
        UserError
            If the order is unknown, or there would be no triplets.
        """
        choose("protocol.order", order, ORDERS)
        counts = np.rint(per_example * self.n_examples).astype(np.int64)
        if counts.min() < 1:
            raise UserError(f"protocol.triplets={per_example} must give each task one at least")
        for tasks in ORDERS[order](counts, rng):
            yield self.of(tasks, rng)
