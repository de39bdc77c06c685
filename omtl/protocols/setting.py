"""The input of a protocol for one repeat: data, config, network, random generators.

And what all protocols return: the arrays of what they record of each learner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from omtl.data import streams
from omtl.data.networks import mixing_matrix
from omtl.data.preparation import PreparedData, in_order
from omtl.data.rows import Examples, SparseRows, square_norms
from omtl.data.streams import Stream, Tasks
from omtl.kernel.rules import Shape, findings
from omtl.util.errors import UserError, choose

JOIN = ("together", "late")
"""When tasks in given order begin: all in the first round, or so late that all end in the last."""


class Settings(dict[str, Any]):
    """A protocol's config, which says what it lacks."""

    def __missing__(self, key: str) -> NoReturn:
        """Refuse a config without a value that its module reads."""
        raise UserError(
            f"protocol {self['name']} has no {key}, which {self['module']} needs; add it to its "
            "config"
        )


@dataclass(frozen=True)
class Setting:
    """One repeat, the same for every learner.

    Parameters
    ----------
    source : PreparedData
        The data set prepared for learners.
    protocol : mapping
        Resolved config of the group ``protocol``.
    network : mapping or None
        Resolved config of the network; None for a centralised learner.
    rng : callable
        ``rng(of, **axes)`` returns the repeat's generator for a purpose, such as ``"shuffle"``;
        with ``repeat=0``, one that all repeats share.
    repeat : int
        The repeat's number.
    """

    source: PreparedData
    protocol: Mapping[str, Any]
    network: Mapping[str, Any] | None
    rng: Callable[..., np.random.Generator]
    repeat: int = 0

    @property
    def tasks(self) -> Tasks:
        """The examples."""
        return self.source.tasks

    @property
    def n_nodes(self) -> int:
        """Number of nodes: from the network, or one per task."""
        asked = (self.network or {}).get("n_nodes")
        return len(self.tasks.names) if asked is None else asked

    # Not cached: in Python 3.11 threads of different repeats would wait for each other.

    @property
    def mixing(self) -> np.ndarray:
        """Combination weights of the network, shape (n_nodes, n_nodes)."""
        network = {k: v for k, v in (self.network or {}).items() if k not in ("name", "n_nodes")}
        return mixing_matrix(self.n_nodes, **network)

    @property
    def stream(self) -> Stream:
        """The stream of the repeat, created anew at each access, and always the same.

        Raises
        ------
        UserError
            If the protocol's stream is unknown.
        """
        makers = {
            "rounds": self._rounds,
            "given_order": self._in_given_order,
            "lifelong": self._task_after_task,
        }
        kind = "given_order" if "join" in self.protocol else self.protocol["stream"]
        choose("protocol.stream", kind, makers)
        n_checkpoints = None if kind == "lifelong" else self.protocol["checkpoints"]
        share = self.protocol.get("share", 1.0)
        return streams.first_part(makers[kind](), share, n_checkpoints)

    def _rounds(self) -> Stream:
        run_out = self.protocol.get("run_out", "sit_out")
        if run_out == "again" and self.source.is_reduced:
            raise UserError(
                "protocol.run_out=again: examples that come again need the features that one "
                "example alone has, which sparse rows lack; use sit_out"
            )
        return self.in_rounds(streams.shuffled(self.tasks, self.rng("shuffle"), run_out))

    def _in_given_order(self) -> Stream:
        join = self.protocol["join"]
        choose("protocol.join", join, JOIN)
        made = self.in_rounds(streams.in_given_order(self.tasks))
        return streams.backwards(made) if join == "late" else made

    def _task_after_task(self) -> Stream:
        self.refuse_nodes()
        return streams.lifelong(self.tasks, self.rng("shuffle"))

    def in_rounds(self, orders: list[np.ndarray]) -> Stream:
        """Return rounds of each task's examples in this order (`streams.dealt_rounds`)."""
        n_nodes = self.n_nodes
        deal = self.rng("deal", n_nodes=n_nodes)
        return streams.dealt_rounds(orders, deal, n_nodes, self.protocol["checkpoints"])

    def refuse_nodes(self) -> None:
        """Refuse a network whose nodes differ, because all examples come to the first of them.

        Raises
        ------
        UserError
            If nodes weigh their neighbours differently, as on all networks but full ones.
        """
        if np.ptp(self.mixing, axis=0).any():
            raise UserError(
                f"protocol {self.protocol['name']}: all examples come to one node, so that a "
                "network other than full has no meaning; choose network=full or protocol=rounds"
            )

    def played(self) -> tuple[Examples, Stream, Shape]:
        """Return the examples in stream order, their stream, and what a learner knows of them."""
        examples, stream = in_order(self.source, self.stream)
        return examples, stream, self.shape(examples, stream)

    def shape(self, examples: Examples, stream: Stream) -> Shape:
        """Return what a learner knows about examples and their stream before the first round."""
        n_tasks = len(self.tasks.names)
        counts = np.bincount(examples.task[stream.example], minlength=n_tasks)
        return Shape(
            n_tasks=n_tasks,
            n_features=self.tasks.X.shape[1],
            mixing=self.mixing,
            sparse=isinstance(examples.rows, SparseRows),
            n_rounds=stream.start.size - 1,
            n_examples=tuple(counts.tolist()),
            seed=int(self.rng("learner").integers(2**31)),
        )


def refuse_dropped(source: PreparedData, protocol: str) -> None:
    """Refuse a data set whose weights' norms lack features that were dropped.

    Raises
    ------
    UserError
        If the rows for learners are shorter than the whole ones
        (`omtl.data.preparation.prepared_data`).
    """
    if not np.allclose(square_norms(source.tasks.X), source.square_norm, rtol=1e-9, atol=0.0):
        raise UserError(
            f"protocol {protocol}: the data set has features of one example alone, which are "
            "dropped; it needs a data set without such features, as norms of the weights miss them"
        )


def refuse_scaled(setting: Setting) -> None:
    """Refuse rows that are scaled in the order of a stream, where the protocol has none.

    Raises
    ------
    UserError
        If the data set's ``normalise`` is one of `omtl.data.scaling.SCALES`.
    """
    if setting.source.scale:
        raise UserError(
            f"dataset.normalise={setting.source.scale} scales examples in the order in which they "
            f"come, which protocol {setting.protocol['name']} does not do; use none or unit"
        )


def starts_of_tasks(task: np.ndarray, done: str) -> np.ndarray:
    """Return where each task of a stream begins, from the tasks of its events.

    Raises
    ------
    UserError
        If the tasks alternate, with what is `done` where they do not.
    """
    starts = np.flatnonzero(np.diff(task, prepend=-1))
    if np.unique(task).size < starts.size:
        raise UserError(
            f"protocol: {done} where tasks come one after the other; choose stream=lifelong"
        )
    return starts


def counts_of(shape: Shape, stream: Stream) -> dict[str, np.ndarray]:
    """Return ``examples``, by task, and ``seen``: how many come up to each checkpoint."""
    return {"examples": np.array(shape.n_examples), "seen": stream.start[stream.checkpoint]}


def by_learner(records: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """Return what is recorded of each learner as arrays; their first axis is the learners'."""
    return {name: np.stack([record[name] for record in records]) for name in records[0]}


def found_in(learner: Any, state: Any) -> dict[str, np.ndarray]:
    """Return what a learner reports of its state, each as ``found_<name>``."""
    return {f"found_{name}": value for name, value in findings(learner, state).items()}
