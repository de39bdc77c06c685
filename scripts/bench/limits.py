"""The machine's own limit: memory, a product and a step, a rank-1 update, a gather."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.linalg.blas import daxpy, ddot, dger

from omtl.data.rows import SparseRows
from omtl.kernel.play import Trace
from scripts.bench.effort import Effort
from scripts.bench.measure import Contender, Go, spread, turn
from scripts.bench.ours import Places, Play

SMALL_STEP = 1e-6


class Bare(NamedTuple):
    """What a bare loop is given: rows, the order, who steps, and the weight vectors to meet."""

    example: np.ndarray
    task: np.ndarray
    y: np.ndarray
    fires: np.ndarray
    places: Places


@njit(fastmath=True, nogil=True)
def bare_dense(X, bare, W):
    """Take the products and steps of a learner on dense rows, and nothing else."""
    d = X.shape[1]
    wrong = 0
    for e in range(bare.example.size):
        i = bare.example[e]
        k = bare.task[i]
        total = 0.0
        for place in bare.places.heard[k]:
            if place >= 0:
                w, part = W[place], 0.0
                for j in range(d):
                    part += w[j] * X[i, j]
                total += part
        if not bare.y[i] * total > 0.0:
            wrong += 1
        if bare.fires[e]:
            for place in bare.places.asked[k]:
                w, part = W[place], 0.0
                for j in range(d):
                    part += w[j] * X[i, j]
                total += part
            # The step depends on the products, as a learner's does.
            step = SMALL_STEP * bare.y[i] if total < 1e9 else 0.0
            for place in bare.places.learnt[k]:
                w = W[place]
                for j in range(d):
                    w[j] += step * X[i, j]
    return wrong


@njit(nogil=True, inline="always")
def gathered(rows, start, stop, w):
    """Return a product with a sparse row, in four sums: vectors of gathered numbers are slower."""
    whole = stop - (stop - start) % 4
    s0 = s1 = s2 = s3 = 0.0
    for j in range(start, whole, 4):
        s0 += w[np.uint32(rows.indices[j])] * rows.values[j]
        s1 += w[np.uint32(rows.indices[j + 1])] * rows.values[j + 1]
        s2 += w[np.uint32(rows.indices[j + 2])] * rows.values[j + 2]
        s3 += w[np.uint32(rows.indices[j + 3])] * rows.values[j + 3]
    for j in range(whole, stop):
        s0 += w[np.uint32(rows.indices[j])] * rows.values[j]
    return (s0 + s1) + (s2 + s3)


@njit(nogil=True)
def bare_sparse(rows, bare, W):
    """Take the products and steps of a learner on sparse rows, and nothing else."""
    wrong = 0
    for e in range(bare.example.size):
        i = bare.example[e]
        k = bare.task[i]
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        total = 0.0
        for place in bare.places.heard[k]:
            if place >= 0:
                total += gathered(rows, start, stop, W[place])
        if not bare.y[i] * total > 0.0:
            wrong += 1
        if bare.fires[e]:
            for place in bare.places.asked[k]:
                total += gathered(rows, start, stop, W[place])
            step = SMALL_STEP * bare.y[i] if total < 1e9 else 0.0
            for place in bare.places.learnt[k]:
                w = W[place]
                for j in range(start, stop):
                    w[np.uint32(rows.indices[j])] += step * rows.values[j]
    return wrong


def bare_loop(ready: Play, places: Places, trace: Trace) -> Go:
    """Return a loop of as many products and steps as a learner took, in the learner's order.

    As often as the learner, each task takes steps; at which of its examples is drawn. The weight
    vectors are zeros before each call, as a learner's are.
    """
    order = ready.stream.example
    task = ready.examples.task
    met = np.bincount(task[order], minlength=ready.shape.n_tasks)
    share = trace.updates / np.maximum(met, 1)
    fires = np.random.default_rng(0).random(order.size) < share[task[order]]
    bare = Bare(order, task, ready.examples.y, fires, places)
    size = (1 + max(int(part.max(initial=0)) for part in places), ready.shape.n_features)
    rows = ready.examples.rows

    if isinstance(rows, SparseRows):
        return lambda: bare_sparse(rows, bare, np.zeros(size))
    return lambda: bare_dense(rows.X, bare, np.zeros(size))


@njit(fastmath=True, nogil=True)
def total(x: np.ndarray) -> float:
    """Read each number once."""
    result = 0.0
    for k in range(x.size):
        result += x[k]
    return result


@njit(fastmath=True, nogil=True)
def pairs(x: np.ndarray, w: np.ndarray, times: int) -> float:
    """Take a product and a step, so many times."""
    result = 0.0
    for _ in range(times):
        part = 0.0
        for k in range(x.size):
            part += w[k] * x[k]
        step = SMALL_STEP if part < 1e9 else 0.0
        for k in range(x.size):
            w[k] += step * x[k]
        result += part
    return result


@njit(nogil=True)
def chase(following: np.ndarray, times: int) -> int:
    """Follow pointers: each read waits for the one before."""
    at = 0
    for _ in range(times):
        at = following[at]
    return at


@njit(fastmath=True, nogil=True)
def gather(w: np.ndarray, indices: np.ndarray) -> float:
    """Read numbers in a random order that is known beforehand."""
    result = 0.0
    for k in range(indices.size):
        result += w[np.uint32(indices[k])]
    return result


def blas_pairs(x: np.ndarray, w: np.ndarray, times: int) -> None:
    """Take a product and a step by BLAS, so many times."""
    for _ in range(times):
        ddot(w, x)
        daxpy(x, w, a=SMALL_STEP)


def rank_one(matrix: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add the outer product of two rows to a matrix, by BLAS."""
    dger(SMALL_STEP, left, right, a=matrix, overwrite_a=1)


def rank_ones(matrix: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    """Add the outer product of each pair of rows to a matrix, by BLAS."""
    for a, b in zip(left, right, strict=True):
        rank_one(matrix, a, b)


Limit = tuple[str, int, str, float, Go]
"""What the machine does, of which size, in which unit; units in one call, and the call."""


def machine(effort: Effort) -> Iterator[Limit]:
    """Yield what is measured of the machine."""
    random = np.random.default_rng(0)
    n = effort.memory
    x, w = np.ones(n), np.zeros(n)
    yield "read memory", n, "GB/s", 8e-9 * n, partial(total, x)
    yield "copy memory", n, "GB/s", 16e-9 * n, partial(np.copyto, w, x)
    for d in effort.dense:
        times = max(1, effort.numbers // d)
        small, vector = random.standard_normal(d), np.zeros(d)
        amount = 4e-9 * d * times
        yield "product and step", d, "Gflop/s", amount, partial(pairs, small, vector, times)
        few = partial(blas_pairs, small, vector.copy(), max(1, times // 10))
        yield "product and step, BLAS", d, "Gflop/s", amount / 10.0, few
    for size in effort.features:
        following = np.empty(size, dtype=np.int64)
        cycle = random.permutation(size)
        following[cycle] = np.roll(cycle, -1)
        times = effort.numbers // 10
        yield "dependent read", size, "reads/ns", 1e-9 * times, partial(chase, following, times)
        indices = random.integers(size, size=effort.numbers).astype(np.int32)
        ones = np.ones(size)
        yield "gather", size, "reads/ns", 1e-9 * indices.size, partial(gather, ones, indices)
    for d in effort.square:
        matrix = np.zeros((d, d), order="F")
        left, right = random.standard_normal((2, 20, d))
        updates = partial(rank_ones, matrix, left, right)
        yield "rank-1 update, BLAS", d, "Gflop/s", 2e-9 * d * d * 20, updates


class LimitRow(NamedTuple):
    """What the machine does in its unit, over the turns."""

    what: str
    size: int
    unit: str
    rate_median: float
    rate_min: float
    rate_max: float


def measure(effort: Effort, folder: Path) -> list[LimitRow]:  # noqa: ARG001
    """Return what the machine does."""
    rows = []
    for what, size, unit, amount, go in machine(effort):
        print(f"{what}, {size}", file=sys.stderr, flush=True)
        contender = Contender(what, 1, partial(partial, go))
        go()  # compiles
        rates = [amount / turn(contender, effort.seconds) for _ in range(effort.turns)]
        rows.append(LimitRow(what, size, unit, *spread(rates)))
    return rows
