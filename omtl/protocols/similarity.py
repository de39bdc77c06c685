"""Learn similarities from triplets of a training part, and rank a test part (the OMTRSL paper).

A repeat is one fold of a cross-validation (section 4.1): the fold is the test part, and the next
one the validation part. The folds are the same for all repeats of a seed; the triplets are not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from omtl.data.streams import Classes, checkpoints
from omtl.data.triplets import Sampler, Triplets
from omtl.kernel.similarities import Similarities
from omtl.kernel.triplet_steps import Policy
from omtl.learners.similarity import SimilarityLearner
from omtl.measures.ranking import Quality, quality
from omtl.protocols.setting import Setting, by_learner, refuse_scaled
from omtl.protocols.splits import folds
from omtl.util.errors import UserError, choose

NEEDS = ("policy or metrics",)
"""Methods of which a learner must have one: it learns online, or all at once."""

Matrices = Callable[[int], np.ndarray]
"""Maps a task to its matrix M."""


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


def triplet_stream(examples: Classes, rows: np.ndarray, setting: Setting) -> Iterator[Triplets]:
    """Yield the triplets of a repeat, the same for all learners that see the same tasks."""
    sampler = Sampler(examples.label, examples.task, rows, examples.names)
    options = setting.protocol
    rng = setting.rng("triplets", tasks=len(examples.names), rows=rows.size)
    return sampler.stream(options["triplets"], options["order"], rng)


def state_of(
    learner: SimilarityLearner, examples: Classes, rows: np.ndarray, setting: Setting
) -> Similarities:
    """Return a learner's matrices before a repeat's triplets."""
    n_tasks, of_tasks = len(examples.names), None
    if setting.protocol["order"] == "by_task":
        of_tasks = [rows[examples.task[rows] == k] for k in range(n_tasks)]
    return Similarities(learner.policy(n_tasks), examples.X, n_tasks, of_tasks)


def online(
    learner: SimilarityLearner, examples: Classes, rows: np.ndarray, setting: Setting
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
    draws, noted, seconds = setting.rng("queries"), [], 0.0
    for triplets in triplet_stream(examples, rows, setting):
        drawn = draws.random(triplets.y.size)
        started = time.thread_time()
        taken = state.learn(triplets, drawn)
        seconds += time.thread_time() - started
        noted.append((triplets.task, triplets.y * taken.scores, taken.steps, taken.queried))
    started = time.thread_time()
    state.end()
    seconds += time.thread_time() - started
    task, signed, steps, queried = map(np.concatenate, zip(*noted, strict=True))
    wrong, seen = ~(signed > 0.0), checkpoints(task.size, setting.protocol["checkpoints"])
    marked = {"mistakes": wrong, "updates": steps != 0.0, "queries": queried}
    counts = {name: np.bincount(task[each], minlength=n_tasks) for name, each in marked.items()}
    counts |= {"examples": np.bincount(task, minlength=n_tasks)}
    counts |= {"checkpoint_mistakes": np.cumsum(wrong)[seen - 1], "seen": seen}
    diverged, longest = int(np.sum(~np.isfinite(signed))), float(np.abs(steps).max())
    return TrainingResult(state.matrix, seconds, diverged, counts, longest=longest)


def warm_up(learner: Any, examples: Classes, rows: np.ndarray, setting: Setting) -> None:
    """Compile what training runs: learn from one block, and discard the result."""
    if hasattr(learner, "warm"):
        learner.warm()
    elif not hasattr(learner, "metrics"):
        state = state_of(learner, examples, rows, setting)
        triplets = next(triplet_stream(examples, rows, setting))
        state.learn(triplets, np.zeros(triplets.y.size))


def batch(learner: Any, examples: Classes, rows: np.ndarray, setting: Setting) -> TrainingResult:
    """Train on all examples at once.

    ``protocol.metric_ranks_by`` says whether a metric M ranks by the similarity xᵀ M x' of eq. 1
    (``product``), or by the distance (x - x')ᵀ M (x - x') (``distance``).

    Parameters
    ----------
    learner : NamedTuple
        With ``metrics(X, y, task, n_tasks)``, which returns a metric for each task.
    examples : Examples
    rows : ndarray of int64
        The training part.
    setting : Setting
    """
    kind = setting.protocol["metric_ranks_by"]
    choose("protocol.metric_ranks_by", kind, ("product", "distance"))
    X = examples.X[rows]
    X = X.toarray() if isinstance(X, sparse.csr_array) else X
    started = time.thread_time()
    metrics = learner.metrics(X, examples.label[rows], examples.task[rows], len(examples.names))
    seconds = time.thread_time() - started
    diverged = int(not np.all(np.isfinite(metrics)))
    return TrainingResult(
        lambda task: metrics[task], seconds, diverged, by_distance=kind == "distance"
    )


class FoldParts(NamedTuple):
    """Rows of the parts of a repeat.

    Parameters
    ----------
    train : ndarray of int64
        Training part of the tested matrices.
    fit, held_out : ndarray of int64
        Training and validation parts of the validated matrices.
    test : ndarray of int64
    """

    train: np.ndarray
    fit: np.ndarray
    held_out: np.ndarray
    test: np.ndarray


def fold_parts(setting: Setting) -> FoldParts:
    """Return the parts of a repeat.

    ``protocol.validation`` determines the training part of the tested matrices: everything except
    the test part (``within``), or except the test and validation parts (``apart``).

    Raises
    ------
    UserError
        If this or the number of folds is invalid.
    """
    options = setting.protocol
    n_folds, kind = options["folds"], options["validation"]
    choose("protocol.validation", kind, ("within", "apart"))
    if n_folds < 3:
        raise UserError(f"protocol.folds={n_folds} must be 3 at least: to learn, validate and test")
    rows = np.arange(setting.tasks.task.size)
    dealt = folds(setting.tasks, rows, n_folds, "plain", setting.rng("folds", repeat=0))
    at = setting.repeat % n_folds
    train, test = dealt[at]
    held_out = dealt[(at + 1) % n_folds][1]
    fit = np.setdiff1d(train, held_out)
    return FoldParts(train if kind == "within" else fit, fit, held_out, test)


def as_seen(setting: Setting, pooled: bool) -> Classes:
    """Return the examples unchanged, or as those of one task.

    ``protocol.pooled_classes`` says whether merged tasks share their classes (``shared``) or have
    separate ones (``apart``).

    Raises
    ------
    UserError
        If the data set has labels instead of classes.
    """
    refuse_scaled(setting)
    tasks = setting.tasks
    if not isinstance(tasks, Classes):
        raise UserError(
            f"protocol {setting.protocol['name']}: the examples have no classes, which "
            "similarities are learnt from; choose a data set that has, such as isolet or news20"
        )
    if not pooled:
        return tasks
    kind, label = setting.protocol["pooled_classes"], tasks.label
    choose("protocol.pooled_classes", kind, ("shared", "apart"))
    if kind == "apart":
        label = label + tasks.task * (label.max() + 1)
    return Classes(tasks.X, label, np.zeros_like(tasks.task), ("all",))


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Train each learner on triplets of a fold's training part, and rank its test part.

    Returns
    -------
    dict of str to ndarray
        With P learners, K tasks (as the learner sees them) and R ranks: ``precision`` and
        ``average_precision`` (P, R) on the test part, in per cent, averaged over the tasks, and by
        task under ``precision_by_task`` and ``average_precision_by_task`` (P, K, R); ``validation``
        (P,): precision at R on the validation part; ``seconds`` (P,) of training; ``diverged``
        (P,); and for learners of triplets ``mistakes``, ``updates`` and ``queries`` (P, K),
        ``checkpoint_mistakes`` (P, C), ``examples`` (K,) and ``seen`` (C,): triplets by task, and
        up to each checkpoint. A learner whose C exceeds all steps of an earlier, otherwise equal
        one is not trained again: it gets that one's results, including its seconds.
    """
    parts = fold_parts(setting)
    records: list[dict[str, Any]] = []
    warm = False
    uncapped: dict[Policy, tuple[float, dict[str, Any]]] = {}
    """By policies without their C: the longest step of an earlier play, and what it left."""
    for learner in learners:
        pooled = getattr(learner, "pooled", False)
        examples = as_seen(setting, pooled)
        train = batch if hasattr(learner, "metrics") else online
        if not warm:  # so that no measured training includes compilation
            warm_up(learner, examples, parts.fit, setting)
            warm = True
        policy = learner.policy(len(examples.names)) if hasattr(learner, "policy") else None
        if policy is not None:  # a C above the longest step gives the same play
            longest, record = uncapped.get(policy._replace(C=math.inf), (math.inf, {}))
            if record and longest <= policy.C:
                records.append(record)
                continue
        fitted = train(learner, examples, parts.fit, setting)
        tested = (
            fitted if parts.train is parts.fit else train(learner, examples, parts.train, setting)
        )
        ranked = examples
        if pooled and setting.protocol["pooled_ranking"] == "by_task":
            ranked = as_seen(setting, pooled=False)
        validated = qualities(fitted, ranked, parts.held_out, pooled, setting)
        precise = qualities(tested, ranked, parts.test, pooled, setting)
        record = {name: 100.0 * np.mean(of, axis=0) for name, of in precise._asdict().items()}
        record |= {f"{name}_by_task": 100.0 * of for name, of in precise._asdict().items()}
        validation = 100.0 * np.mean(validated.precision, axis=0)[-1]
        about = {"seconds": tested.seconds, "diverged": tested.diverged, "validation": validation}
        records.append({**tested.counts, **record, **about})
        longest = float(np.maximum(fitted.longest, tested.longest))
        if policy is not None and longest < policy.C:
            uncapped[policy._replace(C=math.inf)] = longest, records[-1]
    arrays = by_learner(records)
    return arrays | {name: arrays[name][0] for name in ("examples", "seen") if name in arrays}


def qualities(
    trained: TrainingResult,
    examples: Classes,
    rows: np.ndarray,
    pooled: bool,
    setting: Setting,
) -> Quality:
    """Return the quality of the rankings of a part, each of shape (n_tasks, n_ranks).

    Parameters
    ----------
    trained : Trained
    examples : Examples
        The examples; ranking is within tasks.
    rows : ndarray of int64
        The part.
    pooled : bool
        Whether there is one matrix for all tasks.
    setting : Setting
    """
    options, found = setting.protocol, []
    for k in range(len(examples.names)):
        own = rows[examples.task[rows] == k]
        X, M = examples.X[own], trained.matrices(0 if pooled else k)
        # The part of a distance that is common to all examples does not change their order.
        against = square_lengths(X, M) / 2.0 if trained.by_distance else 0.0
        how = options["ranks"], options["with_query"], options["normaliser"]
        found.append(quality(partial(_similarities, X, M, against), examples.label[own], *how))
    return Quality(*map(np.stack, zip(*found, strict=True)))


def _similarities(
    X: np.ndarray | sparse.csr_array, M: np.ndarray, against: np.ndarray | float, part: slice
) -> np.ndarray:
    """Return the similarities of some rows to all, shape (n_some, n)."""
    return (X @ (X[part] @ M).T).T - against


def square_lengths(X: np.ndarray | sparse.csr_array, M: np.ndarray) -> np.ndarray:
    """Return xᵀ M x of each row, shape (n,)."""
    return np.asarray((X * (X @ M)).sum(axis=1), dtype=np.float64).ravel()
