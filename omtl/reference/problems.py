"""Small problems for playing learners event by event and inspecting the results."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from omtl.data.networks import mixing_matrix
from omtl.data.rows import examples_of
from omtl.data.streams import Stream, Tasks, one_by_one, rounds
from omtl.kernel.loop import run
from omtl.kernel.play import Trace, play
from omtl.kernel.rules import Example, Play, Shape, is_compiled
from omtl.util.errors import UserError


class Case(NamedTuple):
    """A small problem: labelled examples, their order, and a network."""

    tasks: Tasks
    stream: Stream
    mixing: np.ndarray

    @property
    def shape(self) -> Shape:
        """What a learner knows in advance."""
        X = self.tasks.X
        counts = np.bincount(self.tasks.task[self.stream.example], minlength=len(self.tasks.names))
        return Shape(
            n_tasks=len(self.tasks.names),
            n_features=X.shape[1],
            mixing=self.mixing,
            sparse=issparse(X),
            n_rounds=self.stream.start.size - 1,
            n_examples=tuple(counts.tolist()),
        )

    def with_rows(self, X: np.ndarray | csr_array) -> Case:
        """Return the problem with other rows."""
        return self._replace(tasks=Tasks(X, self.tasks.y, self.tasks.task, self.tasks.names))

    @property
    def sparse(self) -> Case:
        """The problem in sparse rows."""
        return self.with_rows(csr_array(self.tasks.X))

    def with_labels(self, y: np.ndarray) -> Case:
        """Return the problem with other labels."""
        return self._replace(tasks=Tasks(self.tasks.X, y, self.tasks.task, self.tasks.names))


class PlayRecord(NamedTuple):
    """The score of each event, whether the learner learnt from it, and the last state."""

    scores: np.ndarray
    fired: np.ndarray
    state: Any


class Record(NamedTuple):
    """The recorder (`omtl.kernel.loop`) of events: their scores, and which caused updates."""

    scores: np.ndarray
    fired: np.ndarray

    def begin(self) -> int:
        """Return the number of events so far: none."""
        return 0

    def scored(
        self,
        n: int,
        play: Play,  # noqa: ARG002
        x: Example,  # noqa: ARG002
        y: float,  # noqa: ARG002
        score: float,
    ) -> int:
        """Keep the score."""
        self.scores[n] = score
        return n

    def learnt(self, n: int, x: Example, stepped: bool) -> int:  # noqa: ARG002
        """Keep whether there was a step."""
        self.fired[n] = stepped
        return n + 1


def problem(sizes: tuple[int, ...], n_features: int = 33, seed: int = 0) -> Case:
    """Return a fixed problem with learnable labels, one node per task, and many zero features.

    Parameters
    ----------
    sizes : tuple of int
        Number of examples of each task.
    n_features, seed : int
    """
    rng = np.random.default_rng(seed)
    n_tasks, n = len(sizes), sum(sizes)
    task = np.repeat(np.arange(n_tasks), sizes)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.4)
    ways = rng.normal(size=n_features) + 0.5 * rng.normal(size=(n_tasks, n_features))
    margin = np.einsum("ij,ij->i", X, ways[task]) + 0.3 * rng.normal(size=n)
    names = tuple(f"task {k + 1}" for k in range(n_tasks))
    tasks = Tasks(X, np.where(margin > 0, 1.0, -1.0), task, names)
    stream = rounds(
        tasks, np.random.default_rng(seed + 1), np.random.default_rng(seed + 2), n_tasks
    )
    # A ring that has all modes at any size.
    return Case(tasks, stream, 0.7 * np.eye(n_tasks) + 0.3 * mixing_matrix(n_tasks, "ring"))


def recorded(learner: Any, case: Case, compiled: bool = True) -> PlayRecord:
    """Play a case and return its scores by event.

    Parameters
    ----------
    learner
        A learner that is not a tuple is played as plain Python.
    case : Case
    compiled : bool
        Whether to run in the compiled loop.
    """
    n_events = case.stream.example.size
    noted = Record(np.full(n_events, np.nan), np.zeros(n_events, dtype=bool))
    state = learner.new_state(case.shape)
    run(learner, state, examples_of(case.tasks), case.stream, noted, compiled)
    return PlayRecord(noted.scores, noted.fired, state)


def traced(learner: Any, case: Case, compiled: bool = True) -> Trace:
    """Play a case and return its trace."""
    return play(learner, examples_of(case.tasks), case.stream, case.shape, compiled)[0]


def problem_of(sizes: tuple[int, ...]) -> Case:
    """Return a problem with these numbers of examples per task, possibly zero."""
    case = problem(tuple(max(size, 1) for size in sizes))
    kept = np.concatenate(
        [np.flatnonzero(case.tasks.task == k)[:size] for k, size in enumerate(sizes)]
    ).astype(np.int64)
    end = np.array([kept.size] if kept.size else [], dtype=np.int64)
    return case._replace(stream=one_by_one(kept, end)._replace(node=case.tasks.task[kept]))


def points_around(learner: Any) -> list[Any]:
    """Return a learner, and others of its kind with other hyper-parameters.

    Each number is halved and doubled, and each flag changed, alone and all together; values that
    the learner refuses are left out.
    """
    if is_compiled(learner):
        values, change = learner._asdict(), learner._replace
    else:
        own = [one.name for one in fields(learner) if one.init] if is_dataclass(learner) else []
        values = {name: getattr(learner, name) for name in own}
        change = partial(replace, learner)
    changes: list[dict[str, Any]] = []
    for factor in (0.5, 2.0):
        each = {name: _changed(value, factor) for name, value in values.items()}
        each = {name: value for name, value in each.items() if value is not None}
        if each:
            changes += [each, *({name: value} for name, value in each.items())]
    shape = problem((12, 12, 12)).shape
    points = [learner]
    for changed in changes:
        point = change(**changed)
        try:
            point.new_state(shape)
        except (UserError, ValueError):
            continue
        points.append(point)
    return points


def _changed(value: Any, factor: float) -> Any:
    """Return another value of a hyper-parameter; None if there is no obvious one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return max(1, int(factor * value))
    if isinstance(value, float) and np.isfinite(value):
        return factor * (value or 1.0)
    return None
