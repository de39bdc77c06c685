"""Our learners as they are timed, each with its stream and the vectors that it touches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from omtl.data.examples import Examples
from omtl.data.networks import mixing_matrix, modes
from omtl.data.preparation import PreparedData, in_order
from omtl.data.rows import SparseRows, square_norms
from omtl.data.streams import Stream, Tasks, checkpoints, lifelong, rounds
from omtl.kernel.play import Trace, play
from omtl.kernel.rules import Learner, Shape
from omtl.learners.adagrad import AdaGrad
from omtl.learners.arow import AROW
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.gradient import GradientDescent
from omtl.learners.lifelong import AKLO, OGD
from omtl.learners.omtl import OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.osgl import OSGL
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from scripts.bench import streams

ETA = 0.1
"""Learning rate of all gradient steps."""

Places = Callable[[int], list[np.ndarray]]
"""The numbers of the weight vectors that an example of each task meets, by the number of tasks:
those that its score reads, those that its step reads besides, and those that its step changes."""


@dataclass(frozen=True)
class Play:
    """What a play needs, in the order in which `omtl.kernel.play.play` takes it."""

    learner: Learner
    examples: Examples
    stream: Stream
    shape: Shape

    @property
    def size(self) -> int:
        """Number of examples."""
        return self.stream.example.size

    def first(self, n_examples: int) -> Play:
        """Return the play of the first whole rounds with at most so many examples, one at least."""
        ends = self.stream.start[1:]
        n_rounds = max(1, int(np.searchsorted(ends, n_examples, side="right")))
        start = self.stream.start[: n_rounds + 1]
        which = self.stream.example[: start[-1]]
        by_task = np.bincount(self.examples.task[which], minlength=self.shape.n_tasks)
        return replace(
            self,
            stream=Stream(start, which, self.stream.node[: start[-1]], checkpoints(n_rounds, 100)),
            shape=self.shape._replace(n_rounds=n_rounds, n_examples=tuple(by_task.tolist())),
        )

    def trace(self, compiled: bool = True) -> Trace:
        """Play, and return the trace."""
        return play(self.learner, self.examples, self.stream, self.shape, compiled=compiled)[0]

    def mistakes(self, compiled: bool = True) -> int:
        """Play, and return the number of mistakes."""
        return int(self.trace(compiled).mistakes.sum())

    def rows(self) -> tuple[streams.Rows, np.ndarray]:
        """Return the examples and labels in their order, for a library."""
        rows, y, order = self.examples.rows, self.examples.y, self.stream.example
        if not isinstance(rows, SparseRows):
            return rows.X[order], y[order]
        parts = (rows.values, rows.indices, rows.indptr.astype(np.int32))
        return sparse.csr_array(parts, shape=(y.size, self.shape.n_features))[order], y[order]


def own(n_tasks: int) -> np.ndarray:
    """Return each task's own vector."""
    return np.arange(n_tasks)[:, None]


def own_and_shared(n_tasks: int) -> np.ndarray:
    """Return each task's own vector, and the last one."""
    return np.column_stack([np.arange(n_tasks), np.full(n_tasks, n_tasks)])


def two_and_shared(n_tasks: int) -> np.ndarray:
    """Return two vectors for each task, and one shared by all."""
    return np.column_stack([own_and_shared(n_tasks), np.arange(n_tasks) + n_tasks + 1])


def every(n_tasks: int) -> np.ndarray:
    """Return all vectors for each task."""
    return np.tile(np.arange(n_tasks), (n_tasks, 1))


def only(n_tasks: int) -> np.ndarray:
    """Return the only vector, for each task."""
    return np.zeros((n_tasks, 1), dtype=np.int64)


def none(n_tasks: int) -> np.ndarray:
    """Return no vector for any task."""
    return np.zeros((n_tasks, 0), dtype=np.int64)


def changing(read: Callable[[int], np.ndarray]) -> Places:
    """Return the places of learners whose steps change what their scores read."""
    return lambda n_tasks: [read(n_tasks), none(n_tasks), read(n_tasks)]


def adapting(n_tasks: int) -> list[np.ndarray]:
    """Return the places of tasks alone with a step size for each weight, which steps change."""
    return [own(n_tasks), none(n_tasks), np.hstack([own(n_tasks), own(n_tasks) + n_tasks])]


def with_variances(n_tasks: int) -> list[np.ndarray]:
    """Return the places of tasks alone with a variance for each weight, which steps read."""
    return [own(n_tasks), own(n_tasks) + n_tasks, adapting(n_tasks)[2]]


def related(n_tasks: int) -> list[np.ndarray]:
    """Return the places of tasks where each step changes all of them."""
    others = np.nonzero(~np.eye(n_tasks, dtype=bool))[1].reshape(n_tasks, -1)
    return [own(n_tasks), others, every(n_tasks)]


def after_others(n_tasks: int) -> list[np.ndarray]:
    """Return the places of tasks that come one by one and read those before them."""
    before = np.where(np.tri(n_tasks, dtype=bool), np.arange(n_tasks), -1)
    return [before, none(n_tasks), own(n_tasks)]


@dataclass(frozen=True)
class Entry:
    """A learner as it is timed.

    Parameters
    ----------
    learner : Learner
    places : Places
    network : str, optional
    one_task : bool
        Whether its stream has a single task.
    task_after_task : bool
        Whether its tasks come one after the other, not in rounds.
    most_tasks : int
        With more tasks it would take minutes.
    """

    learner: Learner
    places: Places
    network: str | None = None
    one_task: bool = False
    task_after_task: bool = False
    most_tasks: int = 1000

    def mixing(self, n_tasks: int) -> np.ndarray:
        """Return the weights of its network, with one node per task, or a single node."""
        if self.network is None:
            return np.ones((1, 1))
        return mixing_matrix(n_tasks, self.network)

    def play(self, X: streams.Rows, y: np.ndarray, n_tasks: int) -> Play:
        """Return its play of examples that are dealt to tasks in turn."""
        n_tasks = 1 if self.one_task else n_tasks
        tasks = Tasks(X, y, np.arange(y.size) % n_tasks, tuple(map(str, range(n_tasks))))
        random = np.random.default_rng(0)
        order = (
            lifelong(tasks, random)
            if self.task_after_task
            else rounds(tasks, random, random, n_nodes=n_tasks)
        )
        # As they are: `prepared_data` would drop features that only one example has.
        examples, stream = in_order(PreparedData(tasks, square_norms(X), ""), order)
        shape = Shape(
            n_tasks,
            X.shape[1],
            self.mixing(n_tasks),
            sparse=not isinstance(X, np.ndarray),
            n_rounds=stream.start.size - 1,
            n_examples=tuple(np.bincount(examples.task, minlength=n_tasks).tolist()),
        )
        return Play(self.learner, examples, stream, shape)

    def vectors(self, n_tasks: int) -> list[np.ndarray]:
        """Return the places; a network has each vector once for each of its modes."""
        n_modes = modes(self.mixing(n_tasks))[0].size
        return [
            (part[:, :, None] * n_modes + np.arange(n_modes)).reshape(n_tasks, -1)
            for part in self.places(n_tasks)
        ]


LEARNERS: dict[str, Entry] = {
    "PA": Entry(PassiveAggressive(), changing(own), one_task=True),
    "PA-I": Entry(PassiveAggressive(C=0.5), changing(own), one_task=True),
    "PM": Entry(Perceptron(eta=ETA), changing(own), one_task=True),
    "OGD": Entry(Perceptron(eta=ETA, margin=1.0), changing(own), one_task=True),
    "GD": Entry(GradientDescent(eta=1.0), changing(own), one_task=True),
    "ITOL": Entry(OGD(lam=0.01), changing(own), one_task=True),
    "AdaGrad": Entry(AdaGrad(eta=ETA), adapting, one_task=True),
    "AROW": Entry(AROW(r=1.0), with_variances, one_task=True),
    "Multi-P": Entry(MultiPerceptron(b=2.0, eta=ETA, margin=1.0), changing(own_and_shared)),
    "COML": Entry(COML(C=1.0, mu=0.5), changing(own_and_shared)),
    "OMTL-Cov": Entry(OMTLCovariance(epoch=0.1, margin=1.0), related),
    "OMTL-LogDet": Entry(OMTLLogDet(eta=0.01, epoch=0.1, margin=1.0), related),
    "OMTL-vN": Entry(OMTLVonNeumann(eta=0.01, epoch=0.1, margin=1.0), related, most_tasks=10),
    "ROM-PGD": Entry(ROMPGD(ETA, alpha=0.1, beta=0.1, gamma=0.01), changing(two_and_shared)),
    "ROM-RDA": Entry(ROMRDA(1.0, alpha=0.1, beta=0.1, gamma=0.01), changing(own_and_shared)),
    "OSGL": Entry(OSGL(C=0.1), changing(own)),
    "OSMTL-e": Entry(OSMTLExponential(C=ETA, alpha=0.5, lam=1.0, margin=1.0), changing(every)),
    "OSMTL-t": Entry(OSMTLThreshold(C=ETA, alpha=0.5, lam=1.0, margin=1.0), changing(every)),
    "AKLO": Entry(AKLO(lam=0.01), after_others, task_after_task=True),
    **{
        f"{name}, {network}": Entry(learner, changing(places), network, most_tasks=100)
        for name, learner, places in (
            ("NS", NS(eta=ETA), only),
            ("DST", DST(eta=ETA), own),
            ("DA", DA(eta=ETA, b=3.0), own_and_shared),
            ("DOM-I", DOM1(eta=ETA, b=3.0), own_and_shared),
            ("DOM-II", DOM2(eta=ETA, alpha=0.5), every),
        )
        for network in ("full", "ring")
    },
}
"""The learners whose work has a limit to compare with."""
