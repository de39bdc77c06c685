"""The points of a grid played together: what several have learnt alike is computed once.

Points of a learner that declares its parts (`omtl.kernel.sharing`) share copies of them. A copy's
product with an example is computed once, it takes a step once, and it is split when some of its
points learn from an example and others do not. That is 3 to 40 times as fast on grids of 6,000
points, and every number is bit-identical to that of `omtl.kernel.play.play`. The points of other
learners are played one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.data.examples import Examples
from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.data.streams import Stream
from omtl.kernel.copies import (
    DIVIDED,
    KINDS,
    SUMMED,
    Bank,
    Copies,
    close_sums,
    mark_features,
    new_copies,
    schedule,
    split_copies,
    step_copies,
    store_products,
)
from omtl.kernel.inlining import chosen, inlined, loop
from omtl.kernel.many_vectors import zero_vectors
from omtl.kernel.play import Trace, new_trace, play
from omtl.kernel.rules import Example, Shape, findings
from omtl.kernel.sharing import can_share
from omtl.kernel.vectors import note_norm

AT_ONCE = 500
"""Maximum number of points played together. More would share more, but crowd the cache."""

MEMORY = 2**27
"""Maximum memory, in bytes, for the copies of one part. If it runs short, fewer points are played
together."""


def play_points(
    learners: Sequence[Any], examples: Examples, stream: Stream, shape: Shape, zero: float = 0.0
) -> Iterator[tuple[Trace, dict[str, np.ndarray]]]:
    """Play a stream with all points of a grid, which share what they can.

    Parameters
    ----------
    learners : sequence
        Learners of one kind.
    examples, stream, shape, zero
        As in `omtl.kernel.play.play`.

    Yields
    ------
    tuple of (Trace, dict)
        The trace and the findings of each learner in turn.
    """
    if learners and all(map(can_share, learners)):
        yield from share(learners, examples, stream, shape, zero=zero)
        return
    common = None
    for learner in learners:
        if common is None and hasattr(learner, "in_common"):
            common = learner.in_common(shape)
        trace, state = play(learner, examples, stream, shape, True, common, zero)
        yield trace, findings(learner, state)


class Points(NamedTuple):
    """The points that are played together.

    Parameters
    ----------
    hyper : record array of shape (n_points,)
        Their hyper-parameters.
    factors : ndarray of shape (4, n_points)
        Results of the first function of `weights`.
    trace : Trace
        As in `omtl.kernel.play`, with the points along an additional last axis.
    lost, score, learns : ndarray of shape (n_points,)
        The loss so far, the scores of an example, and who learns from it.
    """

    hyper: np.ndarray
    factors: np.ndarray
    trace: Trace
    lost: np.ndarray
    score: np.ndarray
    learns: np.ndarray


# Scores of all points


@inlined
def _add_products(product, of, score):
    for p in range(score.size):
        score[p] += product[of[p]]


@inlined
def _sum_of_products(learner, points, banks, of, k):  # noqa: ARG001
    points.score[:] = 0.0
    for part in range(of.shape[0]):
        _add_products(banks[part].product, of[part, k if part else 0], points.score)


def _weighed_sum(weigh: Callable) -> Callable:
    def weighed_sum(learner, points, banks, of, k):  # noqa: ARG001
        first, second, score = banks[0].product, banks[1].product, points.score
        norms, factors, of_first, of_second = banks[1].norm, points.factors, of[0, 0], of[1, k]
        for p in range(score.size):
            c = of_second[p]
            of_round = (factors[0, p], factors[1, p], factors[2, p], factors[3, p])
            common, own, more = weigh(of_round, norms[c])
            score[p] = common * first[of_first[p]] + (own + more) * second[c]

    return weighed_sum


def _note_factors(of_round: Callable) -> Callable:
    def note(learner, points, t):  # noqa: ARG001
        factors = points.factors
        for p in range(points.score.size):
            r, s, u, v = of_round(points.hyper[p], float(t))
            factors[0, p], factors[1, p], factors[2, p], factors[3, p] = r, s, u, v

    return note


def _no_factors(learner, points, t):
    pass


def _form_of_scores(kind: Any) -> Callable:
    return _weighed_sum(kind.shared_weights[1]) if kind.shared_weights else _sum_of_products


def _form_of_rounds(kind: Any) -> Callable:
    return _note_factors(kind.shared_weights[0]) if kind.shared_weights else _no_factors


def scores(learner: Any, points: Points, banks: tuple[Bank, ...], of: np.ndarray, k: int) -> None:
    """Write the score of each point on an example of task `k`; the banks have the products."""
    _form_of_scores(type(learner))(learner, points, banks, of, k)


def begin_round(learner: Any, points: Points, t: int) -> None:
    """Store the factors of each point after `t` rounds, if `weights` are given."""
    _form_of_rounds(type(learner))(learner, points, t)


chosen(scores, lambda learner, *_: _form_of_scores(learner.instance_class))
chosen(begin_round, lambda learner, *_: _form_of_rounds(learner.instance_class))


# Loops over points, in separate functions so that they are vectorised


@inlined
def record_scores(points, k, y, teaches, zero):
    """Record the scores of an example of task `k`; return how many points learn from it."""
    score, learns, lost, trace = points.score, points.learns, points.lost, points.trace
    mistakes, updates = trace.mistakes[k], trace.updates[k]
    for p in range(score.size):
        score[p] = zero if score[p] == 0.0 else score[p]
        lost[p] += 0.0 if y * score[p] >= 1.0 else 1.0 - y * score[p]
    for p in range(score.size):
        mistakes[p] += not y * score[p] > 0.0
        trace.diverged[0, p] += not np.isfinite(score[p])
    n_learn = 0
    for p in range(score.size):
        learns[p] = teaches and y * score[p] < 1.0
        updates[p] += learns[p]
        n_learn += learns[p]
    return n_learn


@inlined
def record_checkpoint(points, passed):
    """Record the mistakes and the loss so far."""
    trace = points.trace
    for p in range(points.score.size):
        trace.checkpoint_loss[passed, p] = points.lost[p]
        for k in range(trace.mistakes.shape[0]):
            trace.checkpoint_mistakes[passed, p] += trace.mistakes[k, p]
            trace.checkpoint_by_task[passed, k, p] = trace.mistakes[k, p]


def share_slowly(
    learner: Any,
    points: Points,
    banks: tuple[Bank, ...],
    kinds: tuple[int, ...],
    examples: Examples,
    own_rows: Rows,
    stream: Stream,
    copies: Copies,
    zero: float,
) -> bool:
    """Play a stream with all points; return whether the memory sufficed."""
    n_parts, n_tasks, n_points = copies.of.shape
    passed = 0
    for t in range(stream.start.size - 1):
        begin_round(learner, points, t)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            k = examples.task[i]
            y = examples.y[i]
            x = Example(examples.rows, i, k, stream.node[e], examples.square_norm[i], t)
            own_x = Example(own_rows, i, k, stream.node[e], examples.square_norm[i], t)
            for part in range(n_parts):
                its_x, slot = (own_x, k) if part else (x, 0)
                first, last = copies.start[part, slot], copies.stop[part, slot]
                mark_features(banks[part].met[slot], its_x)
                store_products(banks[part], its_x, first, last, copies.sums)
            scores(learner, points, banks, copies.of, k)
            n_learn = record_scores(points, k, y, x.square_norm > 0.0, zero)
            if n_learn == 0:
                continue
            for part in range(n_parts):
                slot = k if part else 0
                first, last = copies.start[part, slot], copies.stop[part, slot]
                if n_learn < n_points:
                    if not split_copies(banks[part], copies, part, slot, points.learns):
                        return False
                    last = copies.stop[part, slot]
                else:
                    copies.has_points[first:last, 1] = True
                if part == 0:
                    schedule(banks[0], copies, x, y, first, last)
                else:
                    step_copies(banks[part], kinds[part], copies, own_x, y, first, last)
        close_sums(banks[0], examples.rows, 0, copies.stop[0, 0], copies.steps)
        for part in range(1, n_parts):
            if kinds[part] == SUMMED:
                for k in range(n_tasks):
                    for c in range(copies.start[part, k], copies.stop[part, k]):
                        note_norm(banks[part], c)
        if passed < stream.checkpoint.size and t + 1 == stream.checkpoint[passed]:
            record_checkpoint(points, passed)
            passed += 1
    return True


share_compiled = loop(share_slowly)


def new_points(learners: Sequence[Any], n_tasks: int, n_checkpoints: int) -> Points:
    """Return points with empty traces."""
    n = len(learners)
    columns = zip(learners[0]._fields, zip(*learners, strict=True), strict=True)
    kinds = [(name, np.array(values).dtype) for name, values in columns]
    trace = new_trace(n_tasks, n_checkpoints)
    return Points(
        hyper=np.array([tuple(one) for one in learners], dtype=kinds).view(np.recarray),
        factors=np.zeros((4, n)),
        trace=Trace(*(np.zeros((*array.shape, n), array.dtype) for array in trace)),
        lost=np.zeros(n),
        score=np.zeros(n),
        learns=np.zeros(n, dtype=np.bool_),
    )


def room_for_copies(
    shape: Shape, n_own_features: int, n_parts: int, n_points: int
) -> list[np.ndarray]:
    """Return zero vectors for the copies of each part, as many as the memory allows.

    There are at least two vectors of two features, because numba takes a matrix of one row for one
    of columns.
    """
    vectors = []
    for part in range(n_parts):
        n_slots, width = (shape.n_tasks, n_own_features) if part else (1, shape.n_features)
        most = max(1, min(n_points, MEMORY // (8 * n_slots * max(1, width))))
        vectors.append(zero_vectors(max(2, most * n_slots), max(2, width), shape.sparse))
    return vectors


def rows_by_task(
    rows: Rows, of_task: np.ndarray, n_tasks: int, n_features: int
) -> tuple[Rows, int]:
    """Return rows with features numbered within their tasks, and the largest count of these.

    A vector of one task then has no weights for features that only other tasks have.
    """
    if isinstance(rows, DenseRows):
        return rows, n_features
    task = np.repeat(of_task, np.diff(rows.indptr))
    indices = np.empty_like(rows.indices)
    most = 1
    for k in range(n_tasks):
        mine = task == k
        features, indices[mine] = np.unique(rows.indices[mine], return_inverse=True)
        most = max(most, features.size)
    return SparseRows(rows.indptr, indices, rows.values), most


def state_of_point(
    learner: Any, state: Any, made: tuple[Copies, tuple[Bank, ...]], t: int, p: int
) -> Any:
    """Return the state of point `p` after `t` rounds, given a new one, except for the vectors."""

    def taken(value: Any, copies: np.ndarray) -> Any:
        if isinstance(value, np.ndarray):
            return value[copies]
        return type(value)(*(each[copies] for each in value))

    copies, banks = made
    own = {}
    for name, bank, of in zip(learner.shared_parts, banks, copies.of[..., p], strict=True):
        part = getattr(state, name)
        if type(part) in KINDS:
            known = {*part._fields} & {"scale", "norms", "norm"}
            own[name] = part._replace(**{field: taken(getattr(bank, field), of) for field in known})
    rounds = {"rounds": np.array([float(t)])} if "rounds" in state._fields else {}
    return state._replace(**own, **rounds)


def share(
    learners: Sequence[Any],
    examples: Examples,
    stream: Stream,
    shape: Shape,
    compiled: bool = True,
    zero: float = 0.0,
) -> Iterator[tuple[Trace, dict[str, np.ndarray]]]:
    """Play a stream with learners that share their parts.

    Parameters
    ----------
    learners : sequence of NamedTuple
        Learners of one kind, each of which can share.
    examples, stream, shape
        As in `omtl.kernel.play.play`.
    compiled : bool
        Whether to run in the compiled loop.
    zero : float
        As in `omtl.kernel.play.play`.

    Yields
    ------
    tuple of (Trace, dict)
        The trace and the findings of each learner in turn.
    """
    own_rows, n_own = rows_by_task(examples.rows, examples.task, shape.n_tasks, shape.n_features)
    play_together = share_compiled if compiled else share_slowly
    new, t = learners[0].new_state(shape), stream.start.size - 1
    names = list(learners[0].shared_parts)
    kinds = (DIVIDED, *(KINDS[type(getattr(new, name))] for name in names[1:]))
    begin, size = 0, min(AT_ONCE, len(learners))
    vectors = room_for_copies(shape, n_own, len(names), size)
    while begin < len(learners):
        block = learners[begin : begin + size]
        points = new_points(block, shape.n_tasks, stream.checkpoint.size)
        made = new_copies(block, shape.n_tasks, vectors, shape.sparse)
        done = made is not None and play_together(
            block[0], points, made[1], kinds, examples, own_rows, stream, made[0], zero
        )
        if made is not None and done:
            for p, learner in enumerate(block):
                trace = Trace(*(np.ascontiguousarray(array[..., p]) for array in points.trace))
                yield trace, findings(learner, state_of_point(learner, new, made, t, p))
            begin += len(block)
        else:
            size = -(-len(block) // 2)
        if made is not None:
            for of_part, first, last in zip(vectors, made[0].start, made[0].stop, strict=True):
                for k in range(shape.n_tasks):
                    of_part[first[k] : last[k]] = 0.0
