"""Learn from some of the examples, then score the held-out ones (the OSMTL paper)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from omtl.data import streams
from omtl.data.preparation import PreparedData, in_order, scaled_rows
from omtl.data.rows import Examples
from omtl.data.streams import Stream, Tasks
from omtl.kernel.inlining import loop
from omtl.kernel.play import play
from omtl.kernel.rules import Example, Shape, is_compiled, score
from omtl.protocols.setting import Setting, by_learner, found_in, refuse_scaled
from omtl.protocols.splits import areas, split_and_folds
from omtl.util.errors import choose


def score_slowly(
    learner: Any, state: Any, examples: Examples, which: np.ndarray, scores: np.ndarray
) -> None:
    """Write the score of each example to `scores`, with a fixed state."""
    for n in range(which.size):
        i = which[n]
        x = Example(examples.rows, i, examples.task[i], 0, examples.square_norm[i], 0)
        scores[n] = score(learner, state, x)


score_compiled = loop(score_slowly)


@dataclass(frozen=True)
class HeldOutPart:
    """Training examples in stream order, and held-out examples.

    They are rows of one matrix, because a learner may read earlier rows again.

    Parameters
    ----------
    examples : Examples
    stream : Stream
        The stream of training examples.
    shape : Shape
        What the learner knows about them in advance.
    held_out : ndarray of int
        The indices of the held-out examples.
    """

    examples: Examples
    stream: Stream
    shape: Shape
    held_out: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """The labels of the held-out examples."""
        return self.examples.y[self.held_out]

    @property
    def task(self) -> np.ndarray:
        """The tasks of the held-out examples."""
        return self.examples.task[self.held_out]


def renumbered(source: PreparedData, n_learnt: int) -> PreparedData:
    """Return examples with only the features of the first ones, by which a learner learns.

    All features that only the others have share one more number, at their places in the rows:
    their weights are zero, and so no bit of a score changes.
    """
    X = sparse.csr_array(source.tasks.X)
    is_met = np.zeros(X.shape[1], dtype=bool)
    is_met[X.indices[: X.indptr[n_learnt]]] = True
    n_met = np.count_nonzero(is_met)
    number = np.where(is_met, np.cumsum(is_met) - 1, n_met).astype(X.indices.dtype)
    few = sparse.csr_array((X.data, number[X.indices], X.indptr), shape=(X.shape[0], n_met + 1))
    return replace(source, tasks=replace(source.tasks, X=few))


def part_of(setting: Setting, number: int, learnt: np.ndarray, held_out: np.ndarray) -> HeldOutPart:
    """Return a part of a repeat: number 0 is the whole split, its folds follow.

    Raises
    ------
    UserError
        If the protocol names an unknown stream, or the network is not full.
    """
    setting.refuse_nodes()
    source, n = setting.source, learnt.size
    some, rest = source.tasks.taken(learnt), source.tasks.taken(held_out)
    square_norm = source.square_norm[np.concatenate([learnt, held_out])]
    if setting.protocol["unit_rows_to_learn"]:
        refuse_scaled(setting)
        own = square_norm[:n]
        scale = 1.0 / np.sqrt(np.where(own > 0.0, own, 1.0))
        some, square_norm[:n] = scaled_rows(some, scale), own * scale**2
    X = [some.X, rest.X]
    tasks = replace(
        some,
        X=sparse.vstack(X, "csr") if sparse.issparse(some.X) else np.concatenate(X),
        y=np.concatenate([some.y, rest.y]),
        task=np.concatenate([some.task, rest.task]),
    )
    both = replace(source, tasks=tasks, square_norm=square_norm, is_reduced=False)
    if source.is_reduced:  # the weights of other features would stay zero
        both = renumbered(both, n)
    choose("protocol.stream", setting.protocol["stream"], STREAMS)
    stream = STREAMS[setting.protocol["stream"]](some, setting.rng("shuffle", part=number))
    order = np.concatenate([stream.example, n + np.arange(held_out.size)])
    n = stream.example.size
    examples, ordered = in_order(both, stream._replace(example=order), n)
    played = ordered._replace(example=ordered.example[:n])
    n_features, n_whole = both.tasks.X.shape[1], setting.tasks.X.shape[1]
    shape = setting.shape(examples, played)
    shape = shape._replace(n_features=n_features, n_unmet=n_whole - n_features)
    return HeldOutPart(examples, played, shape, ordered.example[n:])


def in_rounds(tasks: Tasks, shuffle: np.random.Generator) -> Stream:
    """Return rounds with one example of every task."""
    return streams.rounds(tasks, shuffle, deal=np.random.default_rng(0), n_checkpoints=1)


def pooled(tasks: Tasks, shuffle: np.random.Generator) -> Stream:
    """Return all examples in one random order, with one example per round."""
    n = tasks.y.size
    return streams.one_by_one(shuffle.permutation(n), streams.checkpoints(n, 1))


STREAMS = {"rounds": in_rounds, "pooled": pooled, "lifelong": streams.lifelong}


def split_parts(setting: Setting) -> list[HeldOutPart]:
    """Return the split of a repeat, and the parts of its cross-validation if there is one.

    Raises
    ------
    UserError
        If the protocol names an unknown measure, or does not fit the data.
    """
    protocol = setting.protocol
    for key in ("test_by", "validate_by"):
        choose(f"protocol.{key}", protocol[key], MEASURES)
    pairs = split_and_folds(setting.tasks, protocol, setting.rng)
    return [part_of(setting, number, *pair) for number, pair in enumerate(pairs)]


def scores_of(learner: Any, state: Any, part: HeldOutPart) -> tuple[np.ndarray, int]:
    """Return the held-out examples' scores, with 0 for those not finite, and the number of these.

    Parameters
    ----------
    learner, state
        A learner and its last state.
    part : Part
    """
    scores = np.empty(part.held_out.size)
    score_all = score_compiled if is_compiled(learner) else score_slowly
    score_all(learner, state, part.examples, part.held_out, scores)
    wild = ~np.isfinite(scores)
    return np.where(wild, 0.0, scores), int(np.count_nonzero(wild))


def area_of_each(scores: np.ndarray, part: HeldOutPart) -> np.ndarray:
    """Return the area under each task's ROC curve, shape (n_tasks,)."""
    return areas(scores, part.y, part.task, part.shape.n_tasks)


def area_of_all(scores: np.ndarray, part: HeldOutPart) -> np.ndarray:
    """Return the area under the ROC curve of all examples, for every task."""
    one_task = np.zeros(scores.size, dtype=np.int64)
    return np.repeat(areas(scores, part.y, one_task, 1), part.shape.n_tasks)


def accuracy_of_each(scores: np.ndarray, part: HeldOutPart) -> np.ndarray:
    """Return each task's share of examples with the correct sign of the score."""
    right = part.y * scores > 0.0
    n_tasks = part.shape.n_tasks
    count = np.bincount(part.task, minlength=n_tasks)
    return np.bincount(part.task, weights=right, minlength=n_tasks) / count


MEASURES = {"auc": area_of_each, "pooled_auc": area_of_all, "accuracy": accuracy_of_each}


NEEDS = ("score", "update")
"""Methods that a learner must have."""


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on a repeat's training examples, and score its test examples.

    Returns
    -------
    dict of str to ndarray
        With P learners and K tasks: ``auc`` (P, K), nan for a task without both classes in the
        test; ``mistakes`` and ``updates`` (P, K) while learning; ``diverged`` (P,), ``examples``
        (K,); ``validation`` (P,), the protocol's measure `validate_by`, averaged over tasks and
        folds, if it has `folds`; ``found_<name>`` (P, ...): the learners' findings in their final
        states (if these include ``updates``, it is the learners' own count); and ``seconds`` (P,),
        the CPU time of learning without testing, if it is `timed`.

    Raises
    ------
    UserError
        If the protocol does not fit the data.
    """
    return play_parts(learners, split_parts(setting), setting.protocol)


def play_parts(
    learners: Iterable[Any], parts: Sequence[HeldOutPart], protocol: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    """Play each learner on the parts of a repeat (`split_parts`); return as `play_grid`."""
    tests, validates = MEASURES[protocol["test_by"]], MEASURES[protocol["validate_by"]]
    whole, *rest = parts
    records: list[dict[str, Any]] = []
    for learner in learners:
        if protocol["timed"] and not records:
            play(learner, whole.examples, whole.stream, whole.shape)  # no measured play compiles
        started = time.thread_time()
        trace, state = play(learner, whole.examples, whole.stream, whole.shape)
        seconds = time.thread_time() - started
        scores, wild = scores_of(learner, state, whole)
        found = found_in(learner, state)
        record: dict[str, Any] = {"auc": tests(scores, whole), "mistakes": trace.mistakes}
        record["updates"] = found.pop("found_updates", trace.updates)
        validated = []
        for part in rest:
            other, its_state = play(learner, part.examples, part.stream, part.shape)
            scores, its_wild = scores_of(learner, its_state, part)
            found_here = validates(scores, part)  # NaN where a task has one class only
            known = found_here[~np.isnan(found_here)]
            validated.append(known.mean() if known.size else np.nan)
            wild += its_wild + int(other.diverged[0])
        if validated:
            record["validation"] = np.mean(validated)
        if protocol["timed"]:
            record["seconds"] = seconds
        records.append(record | found | {"diverged": wild + int(trace.diverged[0])})
    return by_learner(records) | {"examples": np.array(whole.shape.n_examples)}
