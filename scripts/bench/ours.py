"""Our learners as they are timed, each with its stream and the vectors that it touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from omtl.data.networks import modes
from omtl.data.preparation import PreparedData
from omtl.data.rows import Examples, square_norms
from omtl.data.streams import Stream, Tasks
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
from omtl.protocols.setting import Setting
from scripts.bench import streams

ETA = 0.1
"""Learning rate of all gradient steps."""


class Play(NamedTuple):
    """What a play needs, in the order in which `omtl.kernel.play.play` takes it."""

    learner: Learner
    examples: Examples
    stream: Stream
    shape: Shape

    @property
    def size(self) -> int:
        """Number of examples."""
        return self.stream.example.size

    def trace(self, compiled: bool = True) -> Trace:
        """Play, and return the trace."""
        return play(*self, compiled=compiled)[0]

    def mistakes(self, compiled: bool = True) -> int:
        """Play, and return the number of mistakes."""
        return int(self.trace(compiled).mistakes.sum())


def vectors(kinds: str, n_tasks: int, n_modes: int) -> np.ndarray:
    """Return the numbers of the weight vectors of some kinds that an example of each task meets.

    A network has each vector once for each of its modes. -1 stands for no vector.
    """
    task = np.arange(n_tasks)[:, None]
    numbers = {
        "only": 0 * task,
        "own": task,
        "shared": np.full_like(task, n_tasks),
        "second": task + n_tasks + 1,
        "every": np.tile(task.T, (n_tasks, 1)),
        "others": np.nonzero(~np.eye(n_tasks, dtype=bool))[1].reshape(n_tasks, -1),
        "so far": np.where(np.tri(n_tasks, dtype=bool), task.T, -1),
    }
    met = [np.empty((n_tasks, 0), dtype=np.int64)]
    met += [numbers[kind] for kind in kinds.split(", ") if kind]
    by_mode = np.hstack(met)[:, :, None] * n_modes + np.arange(n_modes)
    return np.ascontiguousarray(by_mode.reshape(n_tasks, -1))


@dataclass(frozen=True)
class Entry:
    """A learner as it is timed.

    Parameters
    ----------
    learner : Learner
    scores, reads, changes : str
        The kinds of weight vectors (`vectors`) that a score reads, those that a step reads besides,
        and those that a step changes; by default those that a score reads.
    network : str, optional
        Its topology; there is one node per task.
    one_task : bool
        Whether its stream has a single task.
    stream : str
        How its tasks come (`Setting.stream`).
    most_tasks : int
        With more tasks it would take minutes.
    """

    learner: Learner
    scores: str = "own"
    reads: str = ""
    changes: str = ""
    network: str | None = None
    one_task: bool = False
    stream: str = "rounds"
    most_tasks: int = 1000

    def play(self, X: streams.Rows, y: np.ndarray, n_tasks: int, share: float = 1.0) -> Play:
        """Return its play of examples that are dealt to tasks in turn, or of the first share."""
        n_tasks = 1 if self.one_task else n_tasks
        tasks = Tasks(X, y, np.arange(y.size) % n_tasks, tuple(map(str, range(n_tasks))))
        setting = Setting(
            # As they are: `prepared_data` would drop features that only one example has.
            PreparedData(tasks, square_norms(X), ""),
            {"stream": self.stream, "checkpoints": 100, "share": share},
            {"topology": self.network} if self.network else {"n_nodes": 1},
            lambda of, **axes: np.random.default_rng(0),  # noqa: ARG005
        )
        return Play(self.learner, *setting.played())

    def places(self, shape: Shape) -> tuple[np.ndarray, ...]:
        """Return the vectors that scores read, that steps read besides, and that steps change."""
        n_modes = modes(shape.mixing)[0].size
        kinds = self.scores, self.reads, self.changes or self.scores
        return tuple(vectors(kind, shape.n_tasks, n_modes) for kind in kinds)


LEARNERS: dict[str, Entry] = {
    "PA": Entry(PassiveAggressive(), one_task=True),
    "PA-I": Entry(PassiveAggressive(C=0.5), one_task=True),
    "PM": Entry(Perceptron(eta=ETA), one_task=True),
    "OGD": Entry(Perceptron(eta=ETA, margin=1.0), one_task=True),
    "GD": Entry(GradientDescent(eta=1.0), one_task=True),
    "ITOL": Entry(OGD(lam=0.01), one_task=True),
    # The shared vector of one task holds the step size or the variance of each weight.
    "AdaGrad": Entry(AdaGrad(eta=ETA), changes="own, shared", one_task=True),
    "AROW": Entry(AROW(r=1.0), reads="shared", changes="own, shared", one_task=True),
    "Multi-P": Entry(MultiPerceptron(b=2.0, eta=ETA, margin=1.0), "own, shared"),
    "COML": Entry(COML(C=1.0, mu=0.5), "own, shared"),
    "OMTL-Cov": Entry(OMTLCovariance(epoch=0.1, margin=1.0), "own", "others", "every"),
    "OMTL-LogDet": Entry(OMTLLogDet(0.01, epoch=0.1, margin=1.0), "own", "others", "every"),
    "OMTL-vN": Entry(
        OMTLVonNeumann(0.01, epoch=0.1, margin=1.0), "own", "others", "every", most_tasks=10
    ),
    "ROM-PGD": Entry(ROMPGD(ETA, alpha=0.1, beta=0.1, gamma=0.01), "own, shared, second"),
    "ROM-RDA": Entry(ROMRDA(1.0, alpha=0.1, beta=0.1, gamma=0.01), "own, shared"),
    "OSGL": Entry(OSGL(C=0.1)),
    "OSMTL-e": Entry(OSMTLExponential(C=ETA, alpha=0.5, lam=1.0, margin=1.0), "every"),
    "OSMTL-t": Entry(OSMTLThreshold(C=ETA, alpha=0.5, lam=1.0, margin=1.0), "every"),
    "AKLO": Entry(AKLO(lam=0.01), "so far", changes="own", stream="lifelong"),
    **{
        f"{name}, {network}": Entry(learner, kinds, network=network, most_tasks=100)
        for name, learner, kinds in (
            ("NS", NS(eta=ETA), "only"),
            ("DST", DST(eta=ETA), "own"),
            ("DA", DA(eta=ETA, b=3.0), "own, shared"),
            ("DOM-I", DOM1(eta=ETA, b=3.0), "own, shared"),
            ("DOM-II", DOM2(eta=ETA, alpha=0.5), "every"),
        )
        for network in ("full", "ring")
    },
}
"""The learners whose work has a limit to compare with."""
