"""Labelled examples of many tasks, and the order in which a learner sees them."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse

from omtl.util.errors import UserError, choose

BLOCK = 1 << 20
"""How many numbers to convert at a time for hashing."""


@dataclass(frozen=True)
class Tasks:
    """Labelled examples of many tasks, in no particular order.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features), float64
        One example per row.
    y : ndarray of shape (n_examples,), float64
        Labels, -1 or +1.
    task : ndarray of shape (n_examples,), int64
        The task of each example, from 0 to ``len(names) - 1``.
    names : tuple of str
        The tasks' names, by index.
    """

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    task: np.ndarray
    names: tuple[str, ...]

    real: ClassVar[bool] = False

    @cached_property
    def sha256(self) -> str:
        """Hash of a learner's input: rows, labels, tasks."""
        digest = hashlib.sha256(repr((self.X.shape, self.names)).encode())
        parts = [self.X]
        if isinstance(self.X, sparse.csr_array):
            digest.update(self.X.indptr.astype(np.int64).data)
            for first in range(0, self.X.nnz, BLOCK):  # a full copy would double the memory
                digest.update(self.X.indices[first : first + BLOCK].astype(np.int64).data)
            parts = [self.X.data]
        for array in (*parts, self.y, self.task):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def taken(self, rows: np.ndarray) -> Self:
        """Return some of the examples, of the same tasks."""
        return replace(self, X=self.X[rows], y=self.y[rows], task=self.task[rows])


@dataclass(frozen=True)
class RealTasks(Tasks):
    """Examples of many tasks with real targets: `y` may be any finite numbers (regression)."""

    real: ClassVar[bool] = True


@dataclass(frozen=True)
class Classes:
    """Examples of many tasks, with classes.

    This is not `Tasks` with the class as y: y is -1 or +1, and a learner that
    multiplies it with a score would silently accept any other number.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features), float64
        One example per row.
    label : ndarray of shape (n_examples,), int64
        The class of each example, with the same meaning in all tasks.
    task : ndarray of shape (n_examples,), int64
        The task of each example, from 0 to ``len(names) - 1``.
    names : tuple of str
        The tasks' names, by index.
    """

    X: np.ndarray | sparse.csr_array
    label: np.ndarray
    task: np.ndarray
    names: tuple[str, ...]

    @cached_property
    def sha256(self) -> str:
        """Hash of a learner's input: rows, classes, tasks."""
        return Tasks(self.X, self.label, self.task, self.names).sha256

    @property
    def y(self) -> np.ndarray:
        """Raise a UserError, because there are classes instead."""
        raise UserError(
            f"the tasks {', '.join(self.names)} have classes instead of labels of -1 and +1; "
            "choose another data set, or a learner of similarities"
        )


class Stream(NamedTuple):
    """The order of the examples, in rounds.

    Parameters
    ----------
    start : ndarray of shape (n_rounds + 1,), int64
        Round t has the events from ``start[t]`` to ``start[t + 1] - 1``.
    example, node : ndarray of shape (n_events,), int64
        The example of the event, and its node (0 without a network).
    checkpoint : ndarray of shape (n_checkpoints,), int64
        Numbers of rounds after which the trace records the learner's progress.
    """

    start: np.ndarray
    example: np.ndarray
    node: np.ndarray
    checkpoint: np.ndarray


def checkpoints(n_rounds: int, n_checkpoints: int) -> np.ndarray:
    """Return evenly spaced numbers of rounds, ending with all of them."""
    n = min(n_rounds, n_checkpoints)
    return np.ceil(np.arange(1, n + 1) * n_rounds / max(n, 1)).astype(np.int64)


RUN_OUT = ("sit_out", "again")
"""The options for a task that has run out of examples."""


def in_given_order(tasks: Tasks) -> list[np.ndarray]:
    """Return the examples of each task, in the order of the data set."""
    return [np.flatnonzero(tasks.task == k) for k in range(len(tasks.names))]


def shuffled(
    tasks: Tasks, shuffle: np.random.Generator, run_out: str = "sit_out"
) -> list[np.ndarray]:
    """Return the examples of each task, in random order.

    Parameters
    ----------
    tasks : Tasks
    shuffle : numpy.random.Generator
        Decides the order.
    run_out : {"sit_out", "again"}
        What a task does when it runs out of examples before the largest task: it sits out the
        remaining rounds, or starts again in the same order.

    Raises
    ------
    UserError
        If `run_out` is neither.
    """
    choose("protocol.run_out", run_out, RUN_OUT)
    orders = [shuffle.permutation(order) for order in in_given_order(tasks)]
    n_rounds = max(order.size for order in orders)
    again = run_out == "again"
    return [np.resize(order, n_rounds) if again and order.size else order for order in orders]


def rounds(
    tasks: Tasks,
    shuffle: np.random.Generator,
    deal: np.random.Generator,
    n_nodes: int = 1,
    n_checkpoints: int = 100,
) -> Stream:
    """Return a stream of rounds of shuffled examples, in which tasks that run out sit out.

    The parameters are those of `shuffled` and `dealt_rounds`.
    """
    return dealt_rounds(shuffled(tasks, shuffle), deal, n_nodes, n_checkpoints)


def dealt_rounds(
    orders: list[np.ndarray],
    deal: np.random.Generator,
    n_nodes: int = 1,
    n_checkpoints: int = 100,
) -> Stream:
    """Return a stream of rounds: one example of every task per round, in the order of the tasks.

    In each round the examples are assigned to the nodes at random; no node gets a second one before
    every node has one.

    Parameters
    ----------
    orders : list of ndarray of int
        The examples of each task, in the order in which they come.
    deal : numpy.random.Generator
        Decides the examples' nodes.
    n_nodes : int
        Number of nodes.
    n_checkpoints : int
        How often the trace records the learner's progress.
    """
    n_tasks, n_rounds = len(orders), max(order.size for order in orders)
    table = np.full((n_rounds, n_tasks), -1, dtype=np.int64)
    for k, order in enumerate(orders):
        table[: order.size, k] = order
    present = table >= 0
    turns = -(-n_tasks // n_nodes)
    hands = np.argsort(deal.random((n_rounds, turns, n_nodes)), axis=2, kind="stable")
    hand = np.cumsum(present, axis=1) - 1  # position of each example in its round
    nodes = np.take_along_axis(hands.reshape(n_rounds, turns * n_nodes), hand, axis=1)
    return Stream(
        start=np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int64),
        example=table[present],
        node=np.ascontiguousarray(nodes[present]),
        checkpoint=checkpoints(n_rounds, n_checkpoints),
    )


def lifelong(tasks: Tasks, shuffle: np.random.Generator) -> Stream:
    """Return a stream of tasks, one after the other, with one example per round.

    The order of the tasks is shuffled, and the examples within each. Checkpoints are the ends of
    tasks, and every example of the last task (AKLO paper, figure 2).

    Parameters
    ----------
    tasks : Tasks
    shuffle : numpy.random.Generator
        Decides the orders.
    """
    order = shuffle.permutation(len(tasks.names))
    parts = [shuffle.permutation(np.flatnonzero(tasks.task == k)) for k in order]
    parts = [part for part in parts if part.size]  # the end of no examples is not a checkpoint
    example = np.concatenate(parts).astype(np.int64)
    ends = np.cumsum([part.size for part in parts])
    last = np.arange(ends[-1] - parts[-1].size + 1, ends[-1])
    return one_by_one(example, np.concatenate([ends[:-1], last, ends[-1:]]).astype(np.int64))


def backwards(stream: Stream) -> Stream:
    """Return a stream with its rounds in reverse order, each round unchanged."""
    rounds = np.split(np.arange(stream.example.size), stream.start[1:-1])[::-1]
    events = np.concatenate(rounds)
    start = np.cumsum([0, *map(len, rounds)]).astype(np.int64)
    return stream._replace(start=start, example=stream.example[events], node=stream.node[events])


def one_by_one(example: np.ndarray, checkpoint: np.ndarray) -> Stream:
    """Return a stream of examples in this order, one a round, with checkpoints after some."""
    node = np.zeros(example.size, dtype=np.int64)
    return Stream(np.arange(example.size + 1), example, node, checkpoint)


def first_part(stream: Stream, share: float, n_checkpoints: int | None = None) -> Stream:
    """Return this share of a stream's rounds, from the start, ending with a checkpoint.

    Parameters
    ----------
    stream : Stream
    share : float
        Greater than 0; 1 for the whole stream.
    n_checkpoints : int or None
        How many evenly spaced checkpoints the part has; None keeps those of the stream.
    """
    n_rounds = math.ceil(share * (stream.start.size - 1))
    if n_rounds >= stream.start.size - 1:
        return stream
    n_events = stream.start[n_rounds]
    if n_checkpoints is None:
        at = np.append(stream.checkpoint[stream.checkpoint < n_rounds], n_rounds)
    else:
        at = checkpoints(n_rounds, n_checkpoints)
    return Stream(
        start=stream.start[: n_rounds + 1],
        example=stream.example[:n_events],
        node=stream.node[:n_events],
        checkpoint=at,
    )
