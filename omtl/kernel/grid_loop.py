"""Test, then train, for all points of a grid at once; shared state is stored once.

Points of a learner that declares its parts (`omtl.kernel.sharing`) share copies of them. A copy's
product with an example is computed once, it takes a step once, and it is duplicated when some of
its points learn from an example and others do not. Every number is bit-identical to that of
`omtl.kernel.play.play`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.data.examples import Examples
from omtl.data.rows import Rows
from omtl.data.streams import Stream
from omtl.kernel import sharing
from omtl.kernel.copies import add_later_to_copy
from omtl.kernel.inlining import inlined, loop
from omtl.kernel.play import Trace
from omtl.kernel.products import SUMS
from omtl.kernel.rules import Example, Shape, findings
from omtl.kernel.seen_features import SeenFeatures, add_features, none_seen, rows_by_task

AT_ONCE = 500
"""Maximum number of points played together. More would share more, but crowd the cache."""

SOME_MEMORY, MEMORY = 2**26, 2**27
"""Initial and maximum memory, in bytes, for the copies of one part. It is doubled when it runs
short; at the maximum, fewer points are played together."""

FULL = 0.7
"""Share of that memory for the next points, if they split like the previous ones."""


class Copies(NamedTuple):
    """Which points share which copies of each part; copies are numbered in order of creation.

    Parameters
    ----------
    of : ndarray of shape (n_parts, n_tasks, n_points), uint32
        The copy that a point has of a part of a task; part 0 is at task 0.
    start, stop, limit : ndarray of shape (n_parts, n_tasks), int64
        A task's copies are numbered from `start` to ``stop - 1``, and at most to ``limit - 1``.
    a_point : ndarray of shape (n_parts, n_kept), int64
        A point with the hyper-parameters that the copy depends on.
    product : ndarray of shape (n_parts, n_kept)
        Its contribution to the example's score.
    has_points : ndarray of shape (n_kept, 2), bool
        For one part: whether the copy has points that do not learn from the example, and that do.
    successor : ndarray of shape (n_kept,), uint32
        The copy with which the learning points continue, often the same.
    learners : ndarray of shape (n_kept,), uint32
        The copies that learn from the example.
    steps : ndarray of shape (n_kept,)
        The factor with which the example is added.
    sums : ndarray of shape (SUMS, n_kept)
        Memory for `omtl.kernel.many_vectors.dots`.
    """

    of: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    limit: np.ndarray
    a_point: np.ndarray
    product: np.ndarray
    has_points: np.ndarray
    successor: np.ndarray
    learners: np.ndarray
    steps: np.ndarray
    sums: np.ndarray


class Tally(NamedTuple):
    """The traces of all points, with the points along the last axis, and the scores of an example.

    The traces are as in `omtl.kernel.play.Trace`; ``lost`` (n_points,) is the hinge loss so far;
    ``score`` and ``learns`` refer to the example.
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


# Loops over points and copies, in separate functions so that they are vectorised.


@inlined
def record_scores(tally, k, y, teaches, zero):
    """Record the scores of an example of task `k`; return how many points learn from it."""
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


@inlined
def mark_copies(has_points, first, last, of, learns):
    """Mark copies with points that do not learn, and that do; return how many have both."""
    for c in range(first, last):
        has_points[np.uint32(c), 0] = has_points[np.uint32(c), 1] = False
    for p in range(of.size):
        has_points[of[p], np.uint8(learns[p])] = True
    n_both = 0
    for c in range(first, last):
        n_both += has_points[np.uint32(c), 0] & has_points[np.uint32(c), 1]
    return n_both


@inlined
def move_to_successors(successor, of, learns):
    """Move the learning points to the successors of their copies."""
    for p in range(of.size):
        if learns[p]:
            of[p] = successor[of[p]]


@inlined
def learning_copies(learners, has_points, first, last):
    """Select the copies whose points learn; return their number."""
    n = 0
    for c in range(first, last):
        learners[np.uint32(n)] = c
        n += has_points[np.uint32(c), 1]
    return n


@inlined
def split_copies(pool, copies, part, slot, learns, features):
    """Split copies of which only some points learn; return whether the memory sufficed.

    Afterwards a copy has points of one kind only, given by `copies.has_points`.
    """
    has_points, successor, product = copies.has_points, copies.successor, copies.product[part]
    first, last = copies.start[part, slot], copies.stop[part, slot]
    of, a_point = copies.of[part, slot], copies.a_point[part]
    n_both = mark_copies(has_points, first, last, of, learns)
    if n_both == 0:
        return True
    if last + n_both > copies.limit[part, slot]:
        return False
    new = last
    for c in range(first, last):
        successor[c] = c
        if has_points[c, 0] and has_points[c, 1]:
            successor[c] = new
            a_point[new] = a_point[c]
            sharing.copy_part_of(pool.parts, part, c, new, features)
            product[new] = product[c]
            has_points[c, 1], has_points[new, 1] = False, True
            new += 1
    move_to_successors(successor, of, learns)
    copies.stop[part, slot] = new
    return True


def share_slowly(
    points: Any,
    pool: sharing.Pool,
    examples: Examples,
    own_rows: Rows,
    stream: Stream,
    copies: Copies,
    seen: tuple[SeenFeatures, SeenFeatures],
    tally: Tally,
    zero: float,
) -> bool:
    """Play a stream with all points; return whether the memory sufficed."""
    parts, of, product, learners = pool.parts, copies.of, copies.product, copies.learners
    n_parts, n_tasks, n_points = of.shape
    passed = 0
    for t in range(stream.start.size - 1):
        sharing.begin_round(points, pool.factors, t)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            k = examples.task[i]
            y = examples.y[i]
            x = Example(examples.rows, i, k, stream.node[e], examples.square_norm[i], t)
            own_x = Example(own_rows, i, k, stream.node[e], examples.square_norm[i], t)
            add_features(seen[0], examples.rows, 0, i)
            add_features(seen[1], own_rows, k, i)
            for part in range(n_parts):
                its_x, slot = (own_x, k) if part else (x, 0)
                first, last = copies.start[part, slot], copies.stop[part, slot]
                sharing.take_products_of(
                    parts, part, its_x, first, last, copies.sums, product[part]
                )
            sharing.scores(points, pool, product, of, k, tally.score)
            n_learn = record_scores(tally, k, y, x.square_norm > 0.0, zero)
            if n_learn == 0:
                continue
            for part in range(n_parts):
                slot, known = (k, seen[1]) if part else (0, seen[0])
                first, last = copies.start[part, slot], copies.stop[part, slot]
                if n_learn < n_points:
                    features = known.features[slot, : known.n[slot]]
                    if not split_copies(pool, copies, part, slot, tally.learns, features):
                        return False
                    last = copies.stop[part, slot]
                else:
                    for c in range(first, last):
                        copies.has_points[np.uint32(c), 1] = True
                n = learning_copies(learners, copies.has_points, first, last)
                if part == 0:
                    for j in range(n):
                        add_later_to_copy(parts[0], learners[j], x, y)
                    continue
                a_point, steps, which = copies.a_point[part], copies.steps, learners[:n]
                for c in range(first, last):
                    steps[np.uint32(c)] = 0.0
                for j in range(n):
                    c = learners[j]
                    step = sharing.step_of(points, part, a_point[c], n_tasks)
                    steps[c] = sharing.coefficient_of(parts, part, step, c, own_x, y)
                sharing.add_rows_to(parts, part, steps, own_x, first, last, which)
                for j in range(n):
                    c = learners[j]
                    step = sharing.step_of(points, part, a_point[c], n_tasks)
                    sharing.finish_step_of(parts, part, step, c, own_x, y, product[part, c])
        for part in range(n_parts):
            rows = own_rows if part else examples.rows
            for slot in range(n_tasks if part else 1):
                first, last = copies.start[part, slot], copies.stop[part, slot]
                if part == 0:
                    for c in range(first, last):
                        step = sharing.step_of(points, 0, copies.a_point[0, c], n_tasks)
                        pool.rate[c], pool.divisor[c] = step
                rates = pool.rate, pool.divisor
                sharing.close_copies_of(parts, part, rates, first, last, rows, copies.steps)
        if passed < stream.checkpoint.size and t + 1 == stream.checkpoint[passed]:
            for p in range(n_points):
                tally.checkpoint_loss[passed, p] = tally.lost[p]
                for j in range(tally.mistakes.shape[0]):
                    tally.checkpoint_mistakes[passed, p] += tally.mistakes[j, p]
                    tally.checkpoint_by_task[passed, j, p] = tally.mistakes[j, p]
            passed += 1
    return True


share_compiled = loop(share_slowly)


def new_copies(
    parts: Sequence[tuple[tuple[float, ...], ...]], n_tasks: int, most: Sequence[int]
) -> Copies:
    """Return the initial copies: one for all points with the same hyper-parameters.

    Parameters
    ----------
    parts : sequence of tuple
        The hyper-parameters that the parts of each point depend on.
    n_tasks : int
    most : sequence of int
        Maximum number of copies of each part of a task, at least as many as these.
    """
    n_points, n_parts = len(parts), len(parts[0])
    start = np.multiply.outer(most, np.arange(n_tasks))
    start[0] = 0
    stop = start.copy()
    table = (n_parts, max(most[0], *(each * n_tasks for each in most[1:])))
    copies = Copies(
        of=np.zeros((n_parts, n_tasks, n_points), dtype=np.uint32),
        start=start,
        stop=stop,
        limit=start + np.array(most)[:, None],
        a_point=np.zeros(table, dtype=np.int64),
        product=np.zeros(table),
        has_points=np.zeros((table[1], 2), dtype=np.bool_),
        successor=np.zeros(table[1], dtype=np.uint32),
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
        Learners of one kind, each of which can share (`omtl.kernel.sharing.can_share`).
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
    play = share_compiled if compiled else share_slowly
    waiting = list(learners)
    at_once = min(len(waiting), AT_ONCE)
    n_parts = len(waiting[0].shared_parts)
    weights = [shape.n_features, *[n_own * shape.n_tasks] * (n_parts - 1)]

    def fitting(memory: int) -> list[int]:
        return [max(1, min(at_once, memory // (8 * max(1, n)))) for n in weights]

    room, memory = fitting(MEMORY), min(SOME_MEMORY, MEMORY)
    size, pool = at_once, None
    new, t = waiting[0].new_state(shape), stream.start.size - 1
    while waiting:
        block, most = waiting[:size], fitting(memory)
        parts = [sharing.parts_of(learner) for learner in block]
        kinds = [len(set(numbers)) for numbers in zip(*parts, strict=True)]
        enough = all(n <= limit for n, limit in zip(kinds, most, strict=True))
        if enough:
            if pool is None:
                kept = most[0], max(most[1:]) * shape.n_tasks
                pool = sharing.new_pool(block[0], shape, n_own, *kept, at_once)
            points = type(block[0])(*(np.array(values) for values in zip(*block, strict=True)))
            copies = new_copies(parts, shape.n_tasks, most)
            seen = (
                none_seen(examples.rows, 1, shape.n_features),
                none_seen(own_rows, shape.n_tasks, n_own),
            )
            tally = new_tally(len(block), shape.n_tasks, stream.checkpoint.size)
            enough = play(points, pool, examples, own_rows, stream, copies, seen, tally, zero)
            if enough:
                for p, learner in enumerate(block):
                    trace = Trace(*(np.ascontiguousarray(of[..., p]) for of in tally[:6]))
                    state = sharing.state_of_point(learner, new, pool, t, copies.of[..., p])
                    yield trace, findings(learner, state)
                del waiting[: len(block)]
                taken = (copies.stop - copies.start).max(axis=1) / room
                size = max(1, min(at_once, int(len(block) * FULL / taken.max())))
            for part in range(n_parts):
                for slot in range(shape.n_tasks if part else 1):
                    first, last = copies.start[part, slot], copies.stop[part, slot]
                    sharing.clear(pool, part, first, last)
        if not enough and most != room:
            memory, pool = min(2 * memory, MEMORY), None
        elif not enough:
            size = -(-len(block) // 2)
