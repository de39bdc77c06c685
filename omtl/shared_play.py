"""Playing the points of a grid together: what several of them have learnt alike is kept once.

Two points of a grid that have learnt from the same examples differ only in what their
hyper-parameters make of these. A learner that tells which *parts* its state is made of (below)
lets all points that have a part in common share it: its product with an example is taken once, it
takes a step once, and it is copied when the first of its points learns from an example that others
leave. Every number is the one that `omtl.play.play` finds, to the bit.

This serves learners whose steps depend on the example, the label and the hyper-parameters, and not
on how large a loss was. Such a learner has these methods besides the rules of a round:

``parts(self)``
    for each part, what it depends on besides the examples learnt from, as a tuple of numbers; None
    if this learner cannot share. Part 0 is of all tasks, the others are each of one task;
``new_pool(self, shape, n_own_features, n_shared, n_own, n_points)``
    memory for so many copies of part 0 and of each other part, all of them zero, with their vectors
    as `omtl.ops.dots` reads them; those of one task need no more features than its examples have;
``at(self, p)``
    the learner of point `p`, where `self` has arrays in place of hyper-parameters;
``begin(self, pool, t)``
    note what points need in all of the round after `t` rounds, where `self` is as in ``at``;
``products(self, pool, part, rows, i, first, last, sums, out)``
    put in ``out[c]`` what a copy of a part adds to the score of a row, or what is needed for that;
    the products with its vectors are by `omtl.ops.dots`;
``scores(self, pool, products, of, k, out)``
    put in ``out[p]`` the score of a point on an example of task `k`, where ``of[part, k, p]`` is
    its copy of a part (``of[0, 0, p]`` of part 0), and ``products[part, c]`` that of a copy;
``step(self, pool, part, c, event, y)``
    how many times the row a copy of a part of one task is to take in where the hinge loss is
    positive;
``axpys(self, pool, part, rows, i, first, last, which, steps)``
    take the row in, by `omtl.fused.axpys_where`;
``learn(self, pool, part, c, rows, event, y, product)``
    the rest of the step;
``settle(self, pool, part, a_point, first, last, rows, steps)``
    what happens to these copies at the end of a round, where ``at(a_point[c])`` is a learner of
    copy `c`, and `steps` is memory to use;
``copy(self, pool, part, c, new, features)``
    copy one copy to another, whose vectors are zero; those of the first are so but for `features`;
``clear(self, pool, part, first, last)``
    make these copies zero again;
``findings_of(self, pool, t, of)``
    as ``findings``, of a point whose copies are ``of[part, k]``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from omtl.ops import BORROWED, SUMS, DenseRows, Rows, SparseRows
from omtl.play import Examples, Trace
from omtl.rules import Event, Shape
from omtl.streams import Stream

AT_ONCE = 500
"""Most points that are played together. More share more, and crowd the processor's cache."""

SOME_MEMORY, MEMORY = 2**26, 2**27
"""Bytes that the copies of one part may take at first, which are doubled when they are short, and
at most; then fewer points are played together."""

FULL = 0.7
"""Share of that memory to be taken by the next points, if they part as those before them did."""


class Copies(NamedTuple):
    """Who shares what: the copies of each part, numbered in the order in which they came.

    Parameters
    ----------
    of : ndarray of shape (n_parts, n_tasks, n_points), uint32
        The copy that a point has of a part of a task; part 0 is at task 0.
    start, stop, limit : ndarray of shape (n_parts, n_tasks), int64
        The copies of a task are from `start` to ``stop - 1``, and there may be up to ``limit - 1``.
    a_point : ndarray of shape (n_parts, n_kept), int64
        A point with the numbers that the copy depends on.
    product : ndarray of shape (n_parts, n_kept)
        What it adds to the score of the example.
    fate : ndarray of shape (n_kept, 2), bool
        Of one part: whether it has points that do not learn from the example, and that do.
    heir : ndarray of shape (n_kept,), uint32
        The copy that those who learn go on with, often the same.
    learners : ndarray of shape (n_kept,), uint32
        The copies that learn from the example.
    steps : ndarray of shape (n_kept,)
        How many times the example is taken in.
    sums : ndarray of shape (SUMS, n_kept)
        Memory for `omtl.ops.dots`.
    """

    of: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    limit: np.ndarray
    a_point: np.ndarray
    product: np.ndarray
    fate: np.ndarray
    heir: np.ndarray
    learners: np.ndarray
    steps: np.ndarray
    sums: np.ndarray


class Met(NamedTuple):
    """The features that examples have had so far: of all tasks, or by task.

    Parameters
    ----------
    features : ndarray of shape (n_slots, n_features), int32
        In the order in which they came.
    n : ndarray of shape (n_slots,), int64
        How many there are.
    known : ndarray of shape (n_slots, n_features), bool
        Whether a feature is one of them.
    """

    features: np.ndarray
    n: np.ndarray
    known: np.ndarray


class Tally(NamedTuple):
    """The traces of all points, with the points along the last axis, and the scores of an example.

    The first are as in `omtl.play.Trace`; ``lost`` (n_points,) is the hinge loss so far, ``score``
    and ``learns`` are of the example.
    """

    mistakes: np.ndarray
    updates: np.ndarray
    checkpoint_mistakes: np.ndarray
    checkpoint_by_task: np.ndarray
    checkpoint_loss: np.ndarray
    diverged: np.ndarray
    lost: np.ndarray
    score: np.ndarray
    learns: np.ndarray


def _rule(name: str) -> Callable:
    """Return a function that calls a learner's method, compiled too."""

    def call(self: Any, *arguments: Any) -> Any:
        return getattr(self, name)(*arguments)

    def pick(self, *arguments):  # noqa: ARG001
        method = getattr(self.instance_class, name)
        return FunctionType(method.__code__, method.__globals__, name)

    overload(call, jit_options=BORROWED, strict=False)(pick)
    return call


_at, _begin, _products, _scores = map(_rule, ("at", "begin", "products", "scores"))
_step, _axpys, _learn, _settle, _copy = map(_rule, ("step", "axpys", "learn", "settle", "copy"))


def meet(met: Met, rows: Rows, slot: int, i: int) -> None:
    """Note the features of row `i`; of dense rows all are known from the start."""
    if isinstance(rows, SparseRows):
        for j in rows.indices[rows.indptr[i] : rows.indptr[i + 1]]:
            if not met.known[slot, j]:
                met.known[slot, j] = True
                met.features[slot, met.n[slot]] = j
                met.n[slot] += 1


@overload(meet, jit_options=BORROWED)
def _meet(met, rows, slot, i):  # noqa: ARG001
    def dense(met, rows, slot, i):
        pass

    def compressed(met, rows, slot, i):
        for e in range(rows.indptr[i], rows.indptr[i + 1]):
            j = np.uint32(rows.indices[e])
            if not met.known[slot, j]:
                met.known[slot, j] = True
                met.features[slot, met.n[slot]] = j
                met.n[slot] += 1

    return dense if rows.instance_class is DenseRows else compressed


# Loops over points and copies, apart so that they are compiled to vector instructions.


@register_jitable(**BORROWED)
def note(tally, k, y, teaches, zero):
    """Note the scores of an example of task `k`, and who learns from it; return how many do."""
    score, learns = tally.score, tally.learns
    mistakes, updates = tally.mistakes[k], tally.updates[k]
    for p in range(score.size):
        score[p] = zero if score[p] == 0.0 else score[p]
        tally.lost[p] += 0.0 if y * score[p] >= 1.0 else 1.0 - y * score[p]
    for p in range(score.size):
        mistakes[p] += not y * score[p] > 0.0
        tally.diverged[0, p] += not np.isfinite(score[p])
    n_learn = 0
    for p in range(score.size):
        learns[p] = teaches and y * score[p] < 1.0
        updates[p] += learns[p]
        n_learn += learns[p]
    return n_learn


@register_jitable(**BORROWED)
def mark(fate, first, last, of, learns):
    """Mark which copies have points that do not learn, and that do; return how many have both."""
    for c in range(first, last):
        fate[np.uint32(c), 0] = fate[np.uint32(c), 1] = False
    for p in range(of.size):
        fate[of[p], np.uint8(learns[p])] = True
    n_both = 0
    for c in range(first, last):
        n_both += fate[np.uint32(c), 0] & fate[np.uint32(c), 1]
    return n_both


@register_jitable(**BORROWED)
def follow(heir, of, learns):
    """Let the points that learn go on with the heirs of their copies."""
    for p in range(of.size):
        if learns[p]:
            of[p] = heir[of[p]]


@register_jitable(**BORROWED)
def pick(learners, fate, first, last):
    """Pick the copies whose points learn; return how many they are."""
    n = 0
    for c in range(first, last):
        learners[np.uint32(n)] = c
        n += fate[np.uint32(c), 1]
    return n


@register_jitable(**BORROWED)
def divide(points, pool, copies, part, slot, learns, features):
    """Copy what some points learn with and others do not; return whether the memory was enough.

    Afterwards a copy has points of one kind only, and `copies.fate` tells of which.
    """
    fate, heir, product = copies.fate, copies.heir, copies.product[part]
    first, last = copies.start[part, slot], copies.stop[part, slot]
    of, a_point = copies.of[part, slot], copies.a_point[part]
    n_both = mark(fate, first, last, of, learns)
    if n_both == 0:
        return True
    if last + n_both > copies.limit[part, slot]:
        return False
    new = last
    for c in range(first, last):
        heir[c] = c
        if fate[c, 0] and fate[c, 1]:
            heir[c] = new
            a_point[new] = a_point[c]
            _copy(points, pool, part, c, new, features)
            product[new] = product[c]
            fate[c, 1], fate[new, 1] = False, True
            new += 1
    follow(heir, of, learns)
    copies.stop[part, slot] = new
    return True


def share_slowly(
    points: Any,
    pool: Any,
    examples: Examples,
    own_rows: Rows,
    stream: Stream,
    copies: Copies,
    met: tuple[Met, Met],
    tally: Tally,
    zero: float,
) -> bool:
    """Play a stream with all points; return whether the memory was enough."""
    of, product, learners = copies.of, copies.product, copies.learners
    n_parts, n_points = of.shape[0], of.shape[2]
    passed = 0
    for t in range(stream.start.size - 1):
        _begin(points, pool, t)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            k = examples.task[i]
            y = examples.y[i]
            event = Event(t, i, k, stream.node[e], examples.square_norm[i])
            meet(met[0], examples.rows, 0, i)
            meet(met[1], own_rows, k, i)
            for part in range(n_parts):
                rows, slot = (own_rows, k) if part else (examples.rows, 0)
                first, last = copies.start[part, slot], copies.stop[part, slot]
                _products(points, pool, part, rows, i, first, last, copies.sums, product[part])
            _scores(points, pool, product, of, k, tally.score)
            n_learn = note(tally, k, y, event.square_norm > 0.0, zero)
            if n_learn == 0:
                continue
            for part in range(n_parts):
                rows, slot, seen = (own_rows, k, met[1]) if part else (examples.rows, 0, met[0])
                first, last = copies.start[part, slot], copies.stop[part, slot]
                if n_learn < n_points:
                    features = seen.features[slot, : seen.n[slot]]
                    if not divide(points, pool, copies, part, slot, tally.learns, features):
                        return False
                    last = copies.stop[part, slot]
                else:
                    for c in range(first, last):
                        copies.fate[np.uint32(c), 1] = True
                n = pick(learners, copies.fate, first, last)
                if part:
                    for c in range(first, last):
                        copies.steps[np.uint32(c)] = 0.0
                    for j in range(n):
                        c = learners[j]
                        one = _at(points, copies.a_point[part, c])
                        copies.steps[c] = _step(one, pool, part, c, event, y)
                    which = learners[:n]
                    _axpys(points, pool, part, rows, i, first, last, which, copies.steps)
                for j in range(n):
                    c = learners[j]
                    one = _at(points, copies.a_point[part, c])
                    _learn(one, pool, part, c, rows, event, y, product[part, c])
        for part in range(n_parts):
            rows = own_rows if part else examples.rows
            for slot in range(of.shape[1] if part else 1):
                first, last = copies.start[part, slot], copies.stop[part, slot]
                a_point = copies.a_point[part]
                _settle(points, pool, part, a_point, first, last, rows, copies.steps)
        if passed < stream.checkpoint.size and t + 1 == stream.checkpoint[passed]:
            for p in range(n_points):
                tally.checkpoint_loss[passed, p] = tally.lost[p]
                for j in range(tally.mistakes.shape[0]):
                    tally.checkpoint_mistakes[passed, p] += tally.mistakes[j, p]
                    tally.checkpoint_by_task[passed, j, p] = tally.mistakes[j, p]
            passed += 1
    return True


share_compiled = njit(cache=True, nogil=True, **BORROWED)(share_slowly)


def new_copies(
    parts: Sequence[tuple[tuple[float, ...], ...]], n_tasks: int, most: Sequence[int]
) -> Copies:
    """Return the copies before the first example: one for all points with the same numbers.

    Parameters
    ----------
    parts : sequence of tuple
        What the parts of each point depend on.
    n_tasks : int
    most : sequence of int
        How many copies of each part there may be of a task, at least as many as these.
    """
    n_points, n_parts = len(parts), len(parts[0])
    start = np.multiply.outer(most, np.arange(n_tasks))
    start[0] = 0
    stop = start.copy()
    table = (n_parts, padded(max(most[0], *(each * n_tasks for each in most[1:]))))
    copies = Copies(
        of=np.zeros((n_parts, n_tasks, n_points), dtype=np.uint32),
        start=start,
        stop=stop,
        limit=start + np.array(most)[:, None],
        a_point=np.zeros(table, dtype=np.int64),
        product=np.zeros(table),
        fate=np.zeros((table[1], 2), dtype=np.bool_),
        heir=np.zeros(table[1], dtype=np.uint32),
        learners=np.zeros(table[1], dtype=np.uint32),
        steps=np.zeros(table[1]),
        sums=np.zeros((SUMS, table[1])),
    )
    for part in range(n_parts):
        numbers = [point[part] for point in parts]
        kinds = {one: kind for kind, one in enumerate(dict.fromkeys(numbers))}
        for slot in range(n_tasks if part else 1):
            of = start[part, slot] + np.array([kinds[one] for one in numbers])
            copies.of[part, slot] = of
            copies.a_point[part, of] = np.arange(n_points)
            stop[part, slot] += len(kinds)
    return copies


def padded(n: int) -> int:
    """Return at least `n`, such that vectors side by side do not crowd in the processor's cache."""
    return 8 * (2 * (-(-n // 8) // 2) + 1)


def nothing_met(rows: Rows, n_slots: int, n_features: int) -> Met:
    """Return the features met before the first example: none, or all if the rows are dense."""
    dense = isinstance(rows, DenseRows)
    return Met(
        features=np.tile(np.arange(n_features, dtype=np.int32), (n_slots, 1)),
        n=np.full(n_slots, n_features if dense else 0),
        known=np.full((n_slots, n_features), dense),
    )


def new_tally(n_points: int, n_tasks: int, n_checkpoints: int) -> Tally:
    """Return empty traces."""

    def counts(*size: int) -> np.ndarray:
        return np.zeros((*size, n_points), dtype=np.int64)

    return Tally(
        mistakes=counts(n_tasks),
        updates=counts(n_tasks),
        checkpoint_mistakes=counts(n_checkpoints),
        checkpoint_by_task=counts(n_checkpoints, n_tasks),
        checkpoint_loss=np.zeros((n_checkpoints, n_points)),
        diverged=counts(1),
        lost=np.zeros(n_points),
        score=np.zeros(n_points),
        learns=np.zeros(n_points, dtype=np.bool_),
    )


def rows_by_task(examples: Examples, n_tasks: int, n_features: int) -> tuple[Rows, int]:
    """Return rows whose features are numbered within their tasks, and the largest number of these.

    A vector of one task then has no weights for features that only other tasks have.
    """
    rows = examples.rows
    if isinstance(rows, DenseRows):
        return rows, n_features
    task = np.repeat(examples.task, np.diff(rows.indptr))
    indices = np.empty_like(rows.indices)
    most = 1
    for k in range(n_tasks):
        mine = task == k
        features, indices[mine] = np.unique(rows.indices[mine], return_inverse=True)
        most = max(most, features.size)
    return SparseRows(rows.indptr, indices, rows.values), most


def can_share(learner: Any) -> bool:
    """Return whether a learner tells its parts."""
    return hasattr(learner, "parts") and learner.parts() is not None


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
        Learners of one kind, each of which tells its parts.
    examples, stream, shape
        As in `omtl.play.play`.
    compiled : bool
        Whether to run in the compiled loop.
    zero : float
        As in `omtl.play.play`.

    Yields
    ------
    tuple of (Trace, dict)
        Of each learner in turn, its trace and its findings.
    """
    own_rows, n_own = rows_by_task(examples, shape.n_tasks, shape.n_features)
    loop = share_compiled if compiled else share_slowly
    waiting = list(learners)
    at_once = min(len(waiting), AT_ONCE)
    n_parts = len(waiting[0].parts())
    weights = [shape.n_features, *[n_own * shape.n_tasks] * (n_parts - 1)]

    def fitting(memory: int) -> list[int]:
        return [max(1, min(at_once, memory // (8 * max(1, n)))) for n in weights]

    room, memory = fitting(MEMORY), min(SOME_MEMORY, MEMORY)
    size, pool = at_once, None
    while waiting:
        block, most = waiting[:size], fitting(memory)
        parts = [learner.parts() for learner in block]
        kinds = [len(set(numbers)) for numbers in zip(*parts, strict=True)]
        enough = all(n <= limit for n, limit in zip(kinds, most, strict=True))
        if enough:
            if pool is None:
                kept = padded(most[0]), padded(max(most[1:]) * shape.n_tasks)
                pool = block[0].new_pool(shape, n_own, *kept, at_once)
            points = type(block[0])(*(np.array(values) for values in zip(*block, strict=True)))
            copies = new_copies(parts, shape.n_tasks, most)
            met = (
                nothing_met(examples.rows, 1, shape.n_features),
                nothing_met(own_rows, shape.n_tasks, n_own),
            )
            tally = new_tally(len(block), shape.n_tasks, stream.checkpoint.size)
            enough = loop(points, pool, examples, own_rows, stream, copies, met, tally, zero)
            if enough:
                for p, learner in enumerate(block):
                    trace = Trace(*(np.ascontiguousarray(of[..., p]) for of in tally[:6]))
                    yield trace, learner.findings_of(pool, stream.start.size - 1, copies.of[..., p])
                del waiting[: len(block)]
                taken = (copies.stop - copies.start).max(axis=1) / room
                size = max(1, min(at_once, int(len(block) * FULL / taken.max())))
            for part in range(n_parts):
                for slot in range(shape.n_tasks if part else 1):
                    first, last = copies.start[part, slot], copies.stop[part, slot]
                    block[0].clear(pool, part, first, last)
        if not enough and most != room:
            memory, pool = min(2 * memory, MEMORY), None
        elif not enough:
            size = -(-len(block) // 2)
