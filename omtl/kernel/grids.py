"""The points of a grid played together: what several have learnt alike is computed once.

Points of a learner that declares its parts (`omtl.kernel.sharing`) share *copies* of them. A copy
stands for the part of all points that have learnt it alike. Its product with an example is computed
once, it takes a step once, and it is split when some of its points learn from an example and others
do not. That is 1.3 to 10 times as fast on ROM's grids (``docs/performance.md``), and every number
is bit-identical to that of `omtl.kernel.play.play`. The points of other learners are played one
after another.

This loop never calls the learner's own `score` and `update`: it derives scores and steps from the
declaration. Tests and ``omtl check`` compare both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import DenseRows, Examples, Rows, SparseRows
from omtl.data.streams import Stream
from omtl.kernel.inlining import forms, inlined, loop
from omtl.kernel.lanes import SUMS
from omtl.kernel.play import Trace, new_trace, play
from omtl.kernel.products import dense_axpys, dense_row_dots, each_feature
from omtl.kernel.rules import Example, Shape, findings, row_at
from omtl.kernel.sharing import begin_shared_round, can_share, shared_scores, steps_of
from omtl.kernel.side_by_side import zero_vectors
from omtl.kernel.vectors import Bank

AT_ONCE = 500
"""Maximum number of points played together. More would share more, but crowd the cache."""

MEMORY = 2**27
"""Maximum memory, in bytes, for the copies of one part. If it runs short, fewer points are played
together."""

DIVIDED, SHORTENED, SUMMED = range(3)
"""What happens to a copy after y x is added: it is divided, shortened by a group lasso, or left."""


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


class Part(NamedTuple):
    """The copies of one part of the weights, numbered in order of creation.

    The first part has one slot, for all tasks; the others have one for each task.

    Parameters
    ----------
    kind : int
        What happens to a copy after a step.
    bank : Bank
        The copies; the vectors are from `omtl.kernel.side_by_side.zero_vectors`.
    norm : ndarray of shape (n_copies,)
        Norms at the end of the last round, if `kind` is SUMMED.
    rate, bound : ndarray of shape (n_copies,)
        The result of the step function: the factor of y x, and the divisor or threshold.
    label : ndarray of shape (n_tasks, n_copies)
        What a copy of the first part adds at the end of the round, as a factor of `example`.
    example : ndarray of shape (n_tasks,), int64
        The round's example of each task.
    met : ndarray of shape (n_slots, n_features), bool
        Which features the examples so far have had.
    of : ndarray of shape (n_slots, n_points), uint32
        The copy that a point has.
    start, stop : ndarray of shape (n_slots,), int64
        A slot's copies are numbered from `start` to ``stop - 1``.
    has_points : ndarray of shape (n_copies, 2), bool
        Whether the copy has points that do not learn from the example, and that do.
    steps : ndarray of shape (n_copies,)
        The factor with which an example is added.
    sums : ndarray of shape (SUMS, n_copies)
        Memory for products.
    """

    kind: int
    bank: Bank
    norm: np.ndarray
    rate: np.ndarray
    bound: np.ndarray
    label: np.ndarray
    example: np.ndarray
    met: np.ndarray
    of: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    has_points: np.ndarray
    steps: np.ndarray
    sums: np.ndarray

    def store_products(self, x, first, last):
        """Store the products of copies with `x`, in O(nonzeros) each."""
        bank, sums = self.bank, self.sums
        dots(bank.vectors, x, first, last, sums)
        _times(bank.scale[first:last], sums[0, first:last], bank.product[first:last])

    def split_copies(self, slot, learns):
        """Split copies from which only some points learn; return whether the memory sufficed.

        Afterwards a copy has points of one kind only, given by `has_points`.
        """
        has_points, of, start = self.has_points, self.of[slot], self.start[slot]
        last = new = self.stop[slot]
        for c in range(start, last):
            has_points[np.uint32(c), 0] = has_points[np.uint32(c), 1] = False
        for p in range(of.size):
            has_points[of[p], np.uint8(learns[p])] = True
        for c in range(start, last):
            if has_points[np.uint32(c), 0] & has_points[np.uint32(c), 1]:
                if new == start + self.steps.size // self.start.size:
                    return False
                self.duplicate(c, new, self.met[slot])
                has_points[c, 1], has_points[new, 0], has_points[new, 1] = False, False, True
                for p in range(of.size):
                    of[p] = new if learns[p] and of[p] == c else of[p]
                new += 1
        self.stop[slot] = new
        return True

    def duplicate(self, c, new, met):
        """Copy everything about one copy to another one, whose vector is zero."""
        bank = self.bank
        for j in range(met.size):
            if met[j]:
                bank.vectors[new, j] = bank.vectors[c, j]
        for of in (bank.scale, bank.product, bank.square, bank.unseen, bank.error):
            of[new] = of[c]
        for of in (self.norm, self.rate, self.bound):
            of[new] = of[c]
        for k in range(self.label.shape[0]):
            self.label[k, new] = self.label[k, c]

    def step_copies(self, x, y, first, last):
        """Let the copies whose points learn take their steps along `x`."""
        bank, learn, steps = self.bank, self.has_points[:, 1], self.steps
        for c in range(first, last):
            steps[c] = 0.0
            if learn[c] and not self.remains_zero(c, x, y):
                steps[c] = self.rate[c] * y / bank.scale[c]
        axpys(steps, x, first, last, bank.vectors)
        for c in range(first, last):
            if not learn[c]:
                continue
            if self.kind == DIVIDED:
                bank.divide(c, self.bound[c])
            elif not self.remains_zero(c, x, y):
                bank.follow_norm(c, self.rate[c] * y, x)
                if self.kind == SHORTENED:
                    bank.cut_norm(c, self.bound[c])

    def remains_zero(self, c, x, y):
        """Return whether a shortened copy is zero, and is again after its step."""
        return self.kind == SHORTENED and self.bank.stays_zero(
            c, self.rate[c] * y, x, self.bound[c]
        )

    def schedule(self, x, y, first, last):
        """Schedule y times an example for the copies whose points learn."""
        self.example[x.task] = x.i
        for c in range(first, last):
            if self.has_points[c, 1]:
                self.label[x.task, c] = y

    def close_sums(self, rows):
        """Add the round's examples to the copies of the first part, and divide these."""
        bank, last, steps = self.bank, self.stop[0], self.steps
        for k in range(self.example.size):
            label, any_learns = self.label[k], False
            for c in range(last):
                steps[c] = self.rate[c] * label[c] / bank.scale[c]
                any_learns |= label[c] != 0.0
                label[c] = 0.0
            if any_learns:
                axpys(steps, row_at(rows, self.example[k]), 0, last, bank.vectors)
        for c in range(last):
            bank.divide(c, self.bound[c])

    def note_norms(self):
        """Store the norms of sums at the end of a round."""
        for k in range(self.start.size):
            for c in range(self.start[k], self.stop[k]):
                self.norm[c] = math.sqrt(self.bank.square_norm(c))


def new_part(
    kind: int, steps: Sequence[Any], n_slots: int, n_features: int, n_added: int, sparse: bool
) -> Part | None:
    """Return a copy for all points with the same step, in each slot.

    None if the memory is too small for the different steps.

    Parameters
    ----------
    kind : int
    steps : sequence
        The step function of each point, and what it takes.
    n_slots, n_features, n_added : int
        Numbers of slots, of features, and of examples that a copy adds at the end of a round.
    sparse : bool
    """
    most = max(1, min(len(steps), MEMORY // (8 * n_slots * max(1, n_features))))
    numbered = {step: c for c, step in enumerate(dict.fromkeys(steps))}
    if len(numbered) > most:
        return None
    # At least two copies of two features: numba takes a matrix of one row for one of columns.
    n, n_features = max(2, most * n_slots), max(2, n_features)
    start = most * np.arange(n_slots)
    norm, rate, bound, factors = np.zeros((4, n))
    for (step, given), c in numbered.items():
        rate[start + c], bound[start + c] = step(*given)
    of = np.array([numbered[step] for step in steps])
    return Part(
        kind=kind,
        bank=Bank.of(zero_vectors(n, n_features, sparse), normed=True),
        norm=norm,
        rate=rate,
        bound=bound,
        label=np.zeros((n_added, n)),
        example=np.zeros(n_added, dtype=np.int64),
        met=np.zeros((n_slots, n_features), dtype=np.bool_),
        of=(start[:, None] + of).astype(np.uint32),
        start=start,
        stop=start + len(numbered),
        has_points=np.zeros((n, 2), dtype=np.bool_),
        steps=factors,
        sums=np.zeros((SUMS, n)),
    )


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

    def record_scores(self, k, y, teaches, zero):
        """Record the scores of an example of task `k`; return whether any point learns from it.

        Each loop over points is short, so that it is vectorised.
        """
        score, learns, lost, trace = self.score, self.learns, self.lost, self.trace
        mistakes, updates = trace.mistakes[k], trace.updates[k]
        for p in range(score.size):
            score[p] = zero if score[p] == 0.0 else score[p]
            lost[p] += 0.0 if y * score[p] >= 1.0 else 1.0 - y * score[p]
        for p in range(score.size):
            mistakes[p] += not y * score[p] > 0.0
            trace.diverged[0, p] += not np.isfinite(score[p])
        any_learns = False
        for p in range(score.size):
            learns[p] = teaches and y * score[p] < 1.0
            updates[p] += learns[p]
            any_learns |= learns[p]
        return any_learns

    def record_checkpoint(self, passed):
        """Record the mistakes and the loss so far."""
        trace = self.trace
        for p in range(self.score.size):
            trace.checkpoint_loss[passed, p] = self.lost[p]
            for k in range(trace.mistakes.shape[0]):
                trace.checkpoint_mistakes[passed, p] += trace.mistakes[k, p]
                trace.checkpoint_by_task[passed, k, p] = trace.mistakes[k, p]


# Products of a row with copies, and steps of copies along it: bit-identical to those of one vector


@inlined
def _add_products(total, w, x):
    for j in range(total.size):
        total[j] += w[j] * x


def _dense_dots(W, x, first, last, sums):
    dense_row_dots(W, x.rows.X[x.i], first, last, sums[0])


def _sparse_dots(W, x, first, last, sums):
    features = W.T
    start, stop = x.rows.indptr[x.i], x.rows.indptr[x.i + 1]
    whole = stop - (stop - start) % SUMS
    for s in range(SUMS):
        for j in range(first, last):
            sums[s, j] = 0.0
    for k in range(start, stop):
        s = (k - start) % SUMS if k < whole else 0
        weights = features[x.rows.indices[k], first:last]
        _add_products(sums[s, first:last], weights, x.rows.values[k])
    for j in range(first, last):
        sums[0, j] = (sums[0, j] + sums[2, j]) + (sums[1, j] + sums[3, j])


dots = forms(_dense_dots, _sparse_dots)
"""Write the products of some vectors with `x`: ``dots(W, x, first, last, sums)`` to ``sums[0]``."""


def _sparse_axpys(a, x, first, last, W):
    features, steps = W.T, a[first:last]
    for k in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        _add_products(features[x.rows.indices[k], first:last], steps, x.rows.values[k])


axpys = forms(dense_axpys, _sparse_axpys)
"""Add ``a[j]`` times `x` to some vectors ``W[j]``: ``axpys(a, x, first, last, W)``."""


@each_feature
def mark(f, value, met):  # noqa: ARG001
    """Mark the features of an example: ``mark(x, met)``."""
    met[f] = True


@inlined
def _times(scale, sums, out):
    for c in range(out.size):
        out[c] = scale[c] * sums[c]


def share_slowly(
    learner: Any,
    points: Points,
    parts: tuple[Part, ...],
    examples: Examples,
    own_rows: Rows,
    stream: Stream,
    zero: float,
) -> bool:
    """Play a stream with all points; return whether the memory sufficed."""
    passed = 0
    for t in range(stream.start.size - 1):
        begin_shared_round(learner, points, t)
        for e in range(stream.start[t], stream.start[t + 1]):
            i = stream.example[e]
            k = examples.task[i]
            y = examples.y[i]
            x = Example(examples.rows, i, k, stream.node[e], examples.square_norm[i], t)
            own_x = Example(own_rows, i, k, stream.node[e], examples.square_norm[i], t)
            for p in range(len(parts)):
                part, its_x, slot = parts[p], own_x if p else x, k if p else 0
                mark(its_x, part.met[slot])
                part.store_products(its_x, part.start[slot], part.stop[slot])
            shared_scores(learner, points, parts, k)
            if not points.record_scores(k, y, x.square_norm > 0.0, zero):
                continue
            for p in range(len(parts)):
                part, slot = parts[p], k if p else 0
                if not part.split_copies(slot, points.learns):
                    return False
                first, last = part.start[slot], part.stop[slot]
                if p == 0:
                    part.schedule(x, y, first, last)
                else:
                    part.step_copies(own_x, y, first, last)
        parts[0].close_sums(examples.rows)
        for part in parts:
            if part.kind == SUMMED:
                part.note_norms()
        if passed < stream.checkpoint.size and t + 1 == stream.checkpoint[passed]:
            points.record_checkpoint(passed)
            passed += 1
    return True


share_compiled = loop(share_slowly)


def new_points(learners: Sequence[Any], n_tasks: int, n_checkpoints: int) -> Points:
    """Return points with empty traces."""
    n = len(learners)
    hyper = np.rec.fromrecords([tuple(one) for one in learners], names=learners[0]._fields)
    lost, score = np.zeros((2, n))
    trace, learns = new_trace(n_tasks, n_checkpoints, n), np.zeros(n, dtype=np.bool_)
    return Points(hyper, np.zeros((4, n)), trace, lost, score, learns)


def rows_by_task(
    rows: Rows, of_task: np.ndarray, n_tasks: int, n_features: int
) -> tuple[Rows, int]:
    """Return rows with features numbered within their tasks, and the largest count of these.

    A vector of one task then has no weights for features that only other tasks have.
    """
    if isinstance(rows, DenseRows):
        return rows, n_features
    task = np.repeat(of_task, np.diff(rows.indptr))
    pairs, place = np.unique(task * n_features + rows.indices, return_inverse=True)
    first = np.searchsorted(pairs, n_features * np.arange(n_tasks + 1))
    indices = (place - first[task]).astype(rows.indices.dtype)
    return SparseRows(rows.indptr, indices, rows.values), max(1, int(np.diff(first).max()))


def parts_of(
    learners: Sequence[Any], shape: Shape, new: Any, n_own_features: int
) -> tuple[Part, ...] | None:
    """Return the parts of points that have learnt nothing; None if the memory is too small."""
    kind, m = learners[0], shape.n_tasks
    parts: list[Part] = []
    steps = zip(*(steps_of(one, m) for one in learners), strict=True)
    for name, of_part in zip(kind.shared_parts, steps, strict=True):
        normed = getattr(new, name).square.size > 0
        after = (SUMMED if kind.shared_weights else SHORTENED) if normed else DIVIDED
        size = (m, n_own_features, 0) if parts else (1, shape.n_features, m)
        part = new_part(after, of_part, *size, shape.sparse)
        if part is None:
            return None
        parts.append(part)
    return tuple(parts)


def state_of_point(learner: Any, state: Any, parts: tuple[Part, ...], t: int, p: int) -> Any:
    """Return the state of point `p` after `t` rounds, given a new one, except for the vectors."""
    own: dict[str, Any] = {}
    for name, part in zip(learner.shared_parts, parts, strict=True):
        bank, of = getattr(state, name), part.of[:, p]
        fields = [field for field in bank._fields[1:] if getattr(bank, field).size]
        own[name] = bank._replace(**{field: getattr(part.bank, field)[of] for field in fields})
        if part.kind == SUMMED:
            own["norm"] = part.norm[of]
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
    begin, size = 0, AT_ONCE
    while begin < len(learners):
        block = learners[begin : begin + size]
        points = new_points(block, shape.n_tasks, stream.checkpoint.size)
        parts = parts_of(block, shape, new, n_own)
        given = examples, own_rows, stream
        if parts is not None and play_together(block[0], points, parts, *given, zero):
            for p, learner in enumerate(block):
                trace = Trace(*(np.ascontiguousarray(array[..., p]) for array in points.trace))
                yield trace, findings(learner, state_of_point(learner, new, parts, t, p))
            begin += len(block)
        else:
            size = -(-len(block) // 2)
