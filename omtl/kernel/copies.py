"""Copies of the parts of weights that points of a grid share.

A copy stands for the part of all points that have learnt it alike, and is split when some of these
learn from an example and others do not (`omtl.kernel.grids`). All kinds of parts have the same
arrays; a kind is what happens to a copy after y x is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import SparseRows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.many_vectors import axpys, dots
from omtl.kernel.products import SUMS
from omtl.kernel.rules import Example, row_at
from omtl.kernel.sharing import steps_of
from omtl.kernel.vectors import (
    GroupSparse,
    NormedSum,
    Norms,
    Scaled,
    follow_norm,
    shrink,
    stays_zero,
    threshold_sum,
    zero_norms,
)

DIVIDED, SHORTENED, SUMMED = range(3)
"""What happens to a copy after y x is added: it is divided, shortened by a group lasso, or left."""

KINDS = {Scaled: DIVIDED, GroupSparse: SHORTENED, NormedSum: SUMMED}


class Bank(NamedTuple):
    """Copies of one part of the weights.

    Parameters
    ----------
    vectors : ndarray of shape (n_copies, n_features)
        From `omtl.kernel.many_vectors.zero_vectors`.
    scale, norms, norm
        As in `omtl.kernel.vectors`, by copy.
    rate, bound : ndarray of shape (n_copies,)
        The result of the step function: the factor of y x, and the divisor or threshold.
    product : ndarray of shape (n_copies,)
        The products with an example.
    label, example : ndarray of shape (n_copies, n_tasks)
        What a copy of the first part adds at the end of the round, as in `RoundSum`.
    met : ndarray of shape (n_slots, n_features), bool
        Which features the examples so far have had: of each task, or of all for the first part.
    """

    vectors: np.ndarray
    scale: np.ndarray
    norms: Norms
    norm: np.ndarray
    rate: np.ndarray
    bound: np.ndarray
    product: np.ndarray
    label: np.ndarray
    example: np.ndarray
    met: np.ndarray


class Copies(NamedTuple):
    """Which points use which copies of each part; copies are numbered in order of creation.

    Parameters
    ----------
    of : ndarray of shape (n_parts, n_tasks, n_points), uint32
        The copy that a point has of a part of a task; the first part is at task 0.
    start, stop, limit : ndarray of shape (n_parts, n_tasks), int64
        A task's copies are numbered from `start` to ``stop - 1``, and at most to ``limit - 1``.
    has_points : ndarray of shape (n_copies, 2), bool
        For one part: whether the copy has points that do not learn from the example, and that do.
    successor : ndarray of shape (n_copies,), uint32
        The copy with which the learning points continue, often the same.
    steps : ndarray of shape (n_copies,)
        The factor with which an example is added.
    sums : ndarray of shape (SUMS, n_copies)
        Memory for `omtl.kernel.many_vectors.dots`.
    """

    of: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    limit: np.ndarray
    has_points: np.ndarray
    successor: np.ndarray
    steps: np.ndarray
    sums: np.ndarray


def new_bank(vectors: np.ndarray, n_slots: int, n_added: int, sparse: bool) -> Bank:
    """Return copies of zero vectors, which can add so many examples at the end of a round."""
    n = len(vectors)
    rate, bound, norm, product = np.zeros((4, n))
    return Bank(
        vectors,
        scale=np.ones(n),
        norms=zero_norms(n),
        norm=norm,
        rate=rate,
        bound=bound,
        product=product,
        label=np.zeros((n, n_added)),
        example=np.zeros((n, n_added), dtype=np.int64),
        met=np.full((n_slots, vectors.shape[1]), not sparse),
    )


def new_copies(
    learners: Sequence[Any], n_tasks: int, vectors: Sequence[np.ndarray], sparse: bool
) -> tuple[Copies, tuple[Bank, ...]] | None:
    """Return the initial copies: one of each part for all points with the same step.

    None if there are fewer of the zero vectors than different steps.
    """
    n = max(map(len, vectors))
    table = len(vectors), n_tasks
    copies = Copies(
        of=np.zeros((*table, len(learners)), dtype=np.uint32),
        start=np.zeros(table, dtype=np.int64),
        stop=np.zeros(table, dtype=np.int64),
        limit=np.zeros(table, dtype=np.int64),
        has_points=np.zeros((n, 2), dtype=np.bool_),
        successor=np.zeros(n, dtype=np.uint32),
        steps=np.zeros(n),
        sums=np.zeros((SUMS, n)),
    )
    banks = []
    for part, steps in enumerate(zip(*(steps_of(one, n_tasks) for one in learners), strict=True)):
        slots, added = (n_tasks, 0) if part else (1, n_tasks)
        bank = new_bank(vectors[part], slots, added, sparse)
        numbered = {step: c for c, step in enumerate(dict.fromkeys(steps))}
        most = len(vectors[part]) // slots
        if len(numbered) > most:
            return None
        for k in range(slots):
            start = copies.start[part, k] = k * most
            copies.stop[part, k], copies.limit[part, k] = start + len(numbered), start + most
            copies.of[part, k] = [start + numbered[step] for step in steps]
            for (step, given), c in numbered.items():
                bank.rate[start + c], bank.bound[start + c] = step(*given)
        banks.append(bank)
    return copies, tuple(banks)


# Before a step


def _all_are_marked(met, x):
    pass


def _mark_nonzeros(met, x):
    for e in range(x.rows.indptr[x.i], x.rows.indptr[x.i + 1]):
        met[x.rows.indices[e]] = True


@by_rows(dense=_all_are_marked, sparse=_mark_nonzeros)
def mark_features(met: np.ndarray, x: Example) -> None:
    """Mark the features of an example; for dense rows all are marked from the start."""
    if isinstance(x.rows, SparseRows):
        _mark_nonzeros(met, x)


@inlined
def store_products(bank, x, first, last, sums):
    """Store the products of copies with `x`, in O(nonzeros) each."""
    dots(bank.vectors, x, first, last, sums)
    _times(bank.scale[first:last], sums[0, first:last], bank.product[first:last])


@inlined
def _times(scale, sums, out):
    for c in range(out.size):
        out[c] = scale[c] * sums[c]


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
def split_copies(bank, copies, part, slot, learns):
    """Split copies from which only some points learn; return whether the memory sufficed.

    Afterwards a copy has points of one kind only, given by `copies.has_points`.
    """
    has_points, successor, of = copies.has_points, copies.successor, copies.of[part, slot]
    first, last = copies.start[part, slot], copies.stop[part, slot]
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
            duplicate(bank, c, new, bank.met[slot])
            has_points[c, 1], has_points[new, 1] = False, True
            new += 1
    move_to_successors(successor, of, learns)
    copies.stop[part, slot] = new
    return True


@inlined
def duplicate(bank, c, new, met):
    """Copy everything about one copy to another one, whose vector is zero."""
    for j in range(met.size):
        if met[j]:
            bank.vectors[new, j] = bank.vectors[c, j]
    for of in (bank.scale, bank.norm, bank.rate, bank.bound, bank.product):
        of[new] = of[c]
    for of in bank.norms:
        of[new] = of[c]
    for k in range(bank.label.shape[1]):
        bank.label[new, k], bank.example[new, k] = bank.label[c, k], bank.example[c, k]


# Steps


@inlined
def step_copies(bank, kind, copies, x, y, first, last):
    """Let the copies whose points learn take their steps along `x`."""
    learn, steps = copies.has_points[:, 1], copies.steps
    for c in range(first, last):
        steps[c] = 0.0
        if learn[c] and not (kind == SHORTENED and remains_zero(bank, c, x, y)):
            steps[c] = bank.rate[c] * y / bank.scale[c]
    axpys(steps, x, first, last, bank.vectors)
    for c in range(first, last):
        if not learn[c]:
            continue
        if kind == DIVIDED:
            shrink(bank, c, bank.bound[c])
        elif kind == SUMMED:
            follow_norm(bank, c, 1.0, bank.rate[c] * y, x, bank.product[c])
        elif not remains_zero(bank, c, x, y):
            threshold_sum(bank, c, bank.rate[c] * y, x, bank.bound[c], bank.product[c])


@inlined
def remains_zero(bank, c, x, y):
    """Return whether a shortened copy is zero, and is again after its step."""
    return stays_zero(bank, c, bank.rate[c] * y, x, bank.bound[c])


@inlined
def schedule(bank, copies, x, y, first, last):
    """Schedule y times an example for the copies whose points learn."""
    for c in range(first, last):
        if copies.has_points[c, 1]:
            bank.label[c, x.task], bank.example[c, x.task] = y, x.i


@inlined
def close_sums(bank, rows, first, last, steps):
    """Add the round's examples to copies of the first part, and divide these."""
    for k in range(bank.label.shape[1]):
        more = True
        while more:  # more than once if the task had several examples in the round
            more, i = False, -1
            for c in range(first, last):
                steps[c] = 0.0
                if bank.label[c, k] != 0.0:
                    i = bank.example[c, k] if i < 0 else i
                    more |= bank.example[c, k] != i
                    if bank.example[c, k] == i:
                        steps[c] = bank.rate[c] * bank.label[c, k] / bank.scale[c]
                        bank.label[c, k] = 0.0
            if i >= 0:
                axpys(steps, row_at(rows, i), first, last, bank.vectors)
    for c in range(first, last):
        shrink(bank, c, bank.bound[c])
