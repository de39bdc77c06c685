"""Training on triplets, or on all examples at once, and its results."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from omtl.data.streams import checkpoints
from omtl.data.triplets import Sampler, Triplets
from omtl.kernel.similarities import Similarities
from omtl.learners.similarity import SimilarityLearner
from omtl.protocols.setting import Setting
from omtl.util.errors import check_known

Matrices = Callable[[int], np.ndarray]
"""Maps a task to its matrix M."""


BY_TASK = ("mistakes", "updates", "queries", "examples")
"""What is counted of each task's triplets; ``examples`` are the triplets themselves."""


class ClassExamples(NamedTuple):
    """Rows with their classes and tasks, as the learner sees them.

    Shapes: `X` (n, n_features), dense or sparse; `label` and `task` (n,).
    """

    X: np.ndarray | sparse.csr_array
    label: np.ndarray
    task: np.ndarray
    names: tuple[str, ...]


class TrainingResult(NamedTuple):
    """The results of training.

    Parameters
    ----------
    matrices : callable
    seconds : float
        CPU seconds of learning only.
    diverged : int
        Number of scores that were not finite.
    counts : mapping of str to ndarray
        Of a learner of triplets: ``mistakes``, ``updates``, ``queries`` and ``examples``, of shape
        (n_tasks,), int64: wrong predictions, steps, queried labels, and triplets, by task; and
        ``checkpoint_mistakes`` and ``seen``, of shape (n_checkpoints,), int64: wrong predictions of
        all tasks, and triplets, up to each checkpoint.
    by_distance : bool
        Whether M ranks by the distance (x - x')ᵀ M (x - x') instead of the similarity xᵀ M x'.
    longest : float
        The longest step of a learner of triplets.
    """

    matrices: Matrices
    seconds: float
    diverged: int
    counts: Mapping[str, np.ndarray] = MappingProxyType({})
    by_distance: bool = False
    longest: float = math.inf


def triplet_stream(
    examples: ClassExamples, rows: np.ndarray, setting: Setting
) -> Iterator[Triplets]:
    """Yield the triplets of a repeat, the same for all learners that see the same tasks."""
    sampler = Sampler(examples.label, examples.task, rows, examples.names)
    options = setting.protocol
    rng = setting.rng("triplets", tasks=len(examples.names), rows=rows.size)
    return sampler.stream(options["triplets"], options["order"], rng)


def state_of(
    learner: SimilarityLearner, examples: ClassExamples, rows: np.ndarray, setting: Setting
) -> Similarities:
    """Return a learner's matrices before a repeat's triplets."""
    n_tasks, of_tasks = len(examples.names), None
    if setting.protocol["order"] == "by_task":
        of_tasks = [rows[examples.task[rows] == k] for k in range(n_tasks)]
    return Similarities(learner.policy(n_tasks), examples.X, n_tasks, of_tasks)


def online(
    learner: SimilarityLearner, examples: ClassExamples, rows: np.ndarray, setting: Setting
) -> TrainingResult:
    """Train on a stream of triplets.

    Parameters
    ----------
    learner : NamedTuple
        A learner of `omtl.learners.similarity`.
    examples : Examples
    rows : ndarray of int64
        The training part.
    setting : Setting
    """
    n_tasks = len(examples.names)
    state = state_of(learner, examples, rows, setting)
    draws = setting.rng("queries")
    counts = {name: np.zeros(n_tasks, dtype=np.int64) for name in BY_TASK}
    wrong_after, seconds, diverged = [np.zeros(1, dtype=np.int64)], 0.0, 0
    longest = 0.0
    for triplets in triplet_stream(examples, rows, setting):
        drawn = draws.random(triplets.y.size)
        started = time.thread_time()
        taken = state.learn(triplets, drawn)
        seconds += time.thread_time() - started
        wrong = ~(triplets.y * taken.scores > 0.0)
        diverged += int(np.count_nonzero(~np.isfinite(taken.scores)))
        longest = float(np.maximum(longest, np.abs(taken.steps).max()))  # nan stays nan
        for count, marked in zip(
            counts.values(), (wrong, taken.steps != 0.0, taken.queried, wrong | True), strict=True
        ):
            count += np.bincount(triplets.task[marked], minlength=n_tasks)
        wrong_after.append(wrong_after[-1][-1] + np.cumsum(wrong))
    started = time.thread_time()
    state.end()
    seconds += time.thread_time() - started
    after = np.concatenate(wrong_after)
    seen = checkpoints(after.size - 1, setting.protocol["checkpoints"])
    counts |= {"checkpoint_mistakes": after[seen], "seen": seen}
    return TrainingResult(state.matrix, seconds, diverged, counts, longest=longest)


def warm_up(learner: Any, examples: ClassExamples, rows: np.ndarray, setting: Setting) -> None:
    """Compile what training runs: learn from one block, and discard the result."""
    if hasattr(learner, "warm"):
        learner.warm()
    elif not hasattr(learner, "fit"):
        state = state_of(learner, examples, rows, setting)
        triplets = next(triplet_stream(examples, rows, setting))
        state.learn(triplets, np.zeros(triplets.y.size))


def batch(
    learner: Any, examples: ClassExamples, rows: np.ndarray, setting: Setting
) -> TrainingResult:
    """Train on all examples at once.

    ``protocol.metric_ranks_by`` says whether a metric M ranks by the similarity xᵀ M x' of eq. 1
    (``product``), or by the distance (x - x')ᵀ M (x - x') (``distance``).

    Parameters
    ----------
    learner : NamedTuple
        With ``fit(X, y, task, n_tasks)``, which returns a metric for each task.
    examples : Examples
    rows : ndarray of int64
        The training part.
    setting : Setting
    """
    kind = setting.protocol["metric_ranks_by"]
    check_known("protocol.metric_ranks_by", kind, ("product", "distance"))
    X = examples.X[rows]
    X = X.toarray() if isinstance(X, sparse.csr_array) else X
    started = time.thread_time()
    metrics = learner.fit(X, examples.label[rows], examples.task[rows], len(examples.names))
    seconds = time.thread_time() - started
    diverged = int(not np.all(np.isfinite(metrics)))
    return TrainingResult(
        lambda task: metrics[task], seconds, diverged, by_distance=kind == "distance"
    )
