"""Our learners, the plays of them, and the passes over an example that their equations need."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np
from scipy import sparse

from omtl.data.examples import Examples
from omtl.data.networks import mixing_matrix, modes
from omtl.data.preparation import PreparedData, in_order
from omtl.data.rows import SparseRows, square_norms
from omtl.data.streams import Stream, Tasks, checkpoints
from omtl.kernel.loop import run
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
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.reference.problems import Record
from omtl.sklearn.parameters import TABLE
from scripts.bench import streams

ETA = 0.1
"""Learning rate of all gradient steps."""


class Play(NamedTuple):
    """All that a play needs, as `omtl.kernel.play.play` takes it."""

    learner: Learner
    examples: Examples
    stream: Stream
    shape: Shape

    @property
    def size(self) -> int:
        """Number of examples."""
        return self.stream.example.size

    def first(self, n_rounds: int) -> Play:
        """Return the play of the first rounds alone."""
        start = self.stream.start[: n_rounds + 1]
        which = self.stream.example[: start[-1]]
        n_examples = np.bincount(self.examples.task[which], minlength=self.shape.n_tasks)
        n_rounds = start.size - 1
        return self._replace(
            stream=Stream(start, which, self.stream.node[: start[-1]], checkpoints(n_rounds, 100)),
            shape=self.shape._replace(n_rounds=n_rounds, n_examples=tuple(n_examples.tolist())),
        )

    def of_at_most(self, examples: int) -> Play:
        """Return the play of whole first rounds, one at least, of about so many examples."""
        ends = self.stream.start[1:]
        return self.first(max(1, int(np.searchsorted(ends, examples, side="right"))))

    def by(self, learner: Learner) -> Play:
        """Return the same for another learner."""
        return self._replace(learner=learner)


def trace_of(ready: Play, compiled: bool = True) -> Trace:
    """Play, and return the trace."""
    return play(*ready, compiled=compiled)[0]


def mistakes(ready: Play, compiled: bool = True) -> int:
    """Play, and return the number of mistakes."""
    return int(trace_of(ready, compiled).mistakes.sum())


def mistakes_of_signs(ready: Play) -> int:
    """Return the number of mistakes where a tie is answered with −1, as other libraries do.

    Of sparse examples most may be ties: of features that no example had before.
    """
    learner, examples, stream, shape = ready
    scores = np.empty(stream.example.size)
    record = Record(scores, np.zeros(scores.size, dtype=bool))
    run(learner, learner.new_state(shape), examples, stream, record)
    return int(np.sum((scores > 0.0) != (examples.y[stream.example] > 0.0)))


def rows_of(ready: Play) -> tuple[streams.Rows, np.ndarray]:
    """Return the examples of a play in their order, for a library."""
    rows, y, order = ready.examples.rows, ready.examples.y, ready.stream.example
    if not isinstance(rows, SparseRows):
        return rows.X[order], y[order]
    parts = (rows.values, rows.indices, rows.indptr.astype(np.int32))
    return sparse.csr_array(parts, shape=(y.size, ready.shape.n_features))[order], y[order]


class Places(NamedTuple):
    """The weight vectors that an example of each task meets, by number: (n_tasks, any), −1 none.

    Parameters
    ----------
    heard : ndarray
        Those that its score needs.
    asked : ndarray
        Those that its step needs besides.
    learnt : ndarray
        Those that its step changes.
    """

    heard: np.ndarray
    asked: np.ndarray
    learnt: np.ndarray


def own(n_tasks: int) -> np.ndarray:
    """Return each task's own vector."""
    return np.arange(n_tasks)[:, None]


def own_and_shared(n_tasks: int) -> np.ndarray:
    """Return each task's own vector, and the last one."""
    return np.column_stack([np.arange(n_tasks), np.full(n_tasks, n_tasks)])


def own_twice_and_shared(n_tasks: int) -> np.ndarray:
    """Return each task's regular and outlying vector, and one in common."""
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


def on(which: Callable[[int], np.ndarray]) -> Callable[[int], Places]:
    """Return the places of learners whose steps change what their scores need."""
    return lambda n_tasks: Places(which(n_tasks), none(n_tasks), which(n_tasks))


def adapting(n_tasks: int) -> Places:
    """Return the places of tasks alone, each weight with a number that its step changes too."""
    return Places(own(n_tasks), none(n_tasks), np.hstack([own(n_tasks), own(n_tasks) + n_tasks]))


def believing(n_tasks: int) -> Places:
    """Return the places of tasks alone, each weight with a variance that its step asks for."""
    return adapting(n_tasks)._replace(asked=own(n_tasks) + n_tasks)


def related(n_tasks: int) -> Places:
    """Return the places of tasks of which each step teaches all."""
    others = np.nonzero(~np.eye(n_tasks, dtype=bool))[1].reshape(n_tasks, -1)
    return Places(own(n_tasks), others, every(n_tasks))


def after_others(n_tasks: int) -> Places:
    """Return the places of tasks that come one by one and ask those before them."""
    before = np.where(np.tri(n_tasks, dtype=bool), np.arange(n_tasks), -1)
    return Places(before, none(n_tasks), own(n_tasks))


class Kernel(NamedTuple):
    """A learner as it is timed.

    Parameters
    ----------
    learner : Learner
    places : callable, optional
        `Places` by the number of tasks, those of a network in one mode; without, it has no limit.
    counterpart : str
        The single-task kernel that it is compared with at equal work.
    topology : str, optional
        The network it learns on.
    stream : callable
        Orders its examples.
    most_tasks : int
        More tasks than these would take minutes.
    """

    learner: Learner
    places: Callable[[int], Places] | None = None
    counterpart: str = "OGD"
    topology: str | None = None
    stream: Callable[[Tasks], Stream] = streams.in_rounds
    most_tasks: int = 1000


SINGLE: dict[str, Kernel] = {
    "PA": Kernel(PassiveAggressive(), on(own), "PA"),
    "PA-I": Kernel(PassiveAggressive(C=0.5), on(own), "PA"),
    "PM": Kernel(Perceptron(eta=ETA), on(own)),
    "OGD": Kernel(Perceptron(eta=ETA, margin=1.0), on(own)),
    "GD": Kernel(GradientDescent(eta=1.0), on(own)),
    "ITOL": Kernel(OGD(lam=0.01), on(own)),
    "AdaGrad": Kernel(AdaGrad(eta=ETA), adapting),
    "AROW": Kernel(AROW(r=1.0), believing),
}
"""Learners of one task, whose streams are of one task."""

MULTI: dict[str, Kernel] = {
    "Multi-P": Kernel(MultiPerceptron(b=2.0, eta=ETA, margin=1.0), on(own_and_shared)),
    "COML": Kernel(COML(C=1.0, mu=0.5), on(own_and_shared), "PA"),
    "OMTL-Cov": Kernel(OMTLCovariance(epoch=0.1, margin=1.0), related),
    "OMTL-LogDet": Kernel(OMTLLogDet(eta=0.01, epoch=0.1, margin=1.0), related),
    "OMTL-vN": Kernel(OMTLVonNeumann(eta=0.01, epoch=0.1, margin=1.0), related, most_tasks=10),
    "ROM-PGD": Kernel(ROMPGD(ETA, alpha=0.1, beta=0.1, gamma=0.01), on(own_twice_and_shared)),
    "ROM-RDA": Kernel(ROMRDA(kappa=1.0, alpha=0.1, beta=0.1, gamma=0.01), on(own_and_shared)),
    "OSGL": Kernel(OSGL(C=0.1), on(own)),
    "OSGL implicit": Kernel(OSGLImplicit(C=0.1), on(own)),
    "OSMTL-e": Kernel(OSMTLExponential(C=ETA, alpha=0.5, lam=1.0, margin=1.0), on(every)),
    "OSMTL-t": Kernel(OSMTLThreshold(C=ETA, alpha=0.5, lam=1.0, margin=1.0), on(every)),
    "AKLO": Kernel(AKLO(lam=0.01), after_others, stream=streams.task_after_task),
    **{
        f"{name}, {topology}": Kernel(learner, on(which), topology=topology, most_tasks=100)
        for name, learner, which in (
            ("NS", NS(eta=ETA), only),
            ("DST", DST(eta=ETA), own),
            ("DA", DA(eta=ETA, b=3.0), own_and_shared),
            ("DOM-I", DOM1(eta=ETA, b=3.0), own_and_shared),
            ("DOM-II", DOM2(eta=ETA, alpha=0.5), every),
        )
        for topology in ("full", "ring")
    },
}
"""Learners of many tasks."""

KERNELS = SINGLE | MULTI


def others() -> dict[str, Kernel]:
    """Return the package's other learners with their estimators' defaults, by class."""
    listed = {type(kernel.learner) for kernel in KERNELS.values()}
    found = {}
    for name, entry in TABLE.items():
        rules = getattr(import_module(f"omtl.learners.{entry.module}"), name)
        if rules not in listed:
            topology = "ring" if "network" in entry.takes else None
            found[name] = Kernel(rules(**entry.defaults), topology=topology)
    return found


def mixing_of(kernel: Kernel, n_tasks: int) -> np.ndarray:
    """Return the weights of the kernel's network, with one node per task, or a single node."""
    if kernel.topology is None:
        return np.ones((1, 1))
    return mixing_matrix(n_tasks, kernel.topology)


def ready(kernel: Kernel, X: streams.Rows, y: np.ndarray, n_tasks: int) -> Play:
    """Return the kernel's play of examples that are dealt to tasks."""
    tasks = streams.tasks_of(X, y, n_tasks)
    stream = streams.one_by_one(y.size) if n_tasks == 1 else kernel.stream(tasks)
    # As they are: `prepared_data` would drop features that one example alone has.
    examples, ordered = in_order(PreparedData(tasks, square_norms(X), ""), stream)
    shape = Shape(
        n_tasks,
        X.shape[1],
        mixing_of(kernel, n_tasks),
        sparse=not isinstance(X, np.ndarray),
        n_rounds=stream.start.size - 1,
        n_examples=tuple(np.bincount(examples.task, minlength=n_tasks).tolist()),
    )
    return Play(kernel.learner, examples, ordered, shape)


def places_of(kernel: Kernel, n_tasks: int) -> Places:
    """Return the weight vectors that the kernel's examples meet; a network has each by modes."""
    assert kernel.places is not None
    n_modes = modes(mixing_of(kernel, n_tasks))[0].size
    numbers = (part[:, :, None] * n_modes + np.arange(n_modes) for part in kernel.places(n_tasks))
    return Places(*(part.reshape(n_tasks, -1) for part in numbers))


def passes_of(places: Places, trace: Trace, ready: Play) -> float:
    """Return how many passes an example needs, given how often the learner took a step."""
    heard, asked, learnt = ((part >= 0).sum(axis=1) for part in places)
    met = np.bincount(ready.examples.task[ready.stream.example], minlength=ready.shape.n_tasks)
    return float((met @ heard + trace.updates @ (asked + learnt)) / ready.size)
