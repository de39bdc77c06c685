"""The limit: bare loops of the products and steps of a learner, and nothing else."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg.blas import dger

from omtl.data.triplets import Triplets
from scripts.bench.ours import Entry, Play
from scripts.bench.turns import Call

SMALL_STEP = 1e-6


@njit(fastmath=True, nogil=True, inline="always")
def dense_product(rows, i, w):
    """Return a product with a dense row."""
    total = 0.0
    for j in range(rows.X.shape[1]):
        total += w[j] * rows.X[i, j]
    return total


@njit(nogil=True, inline="always")
def dense_step(rows, i, w, size):
    """Add a part of a dense row."""
    for j in range(rows.X.shape[1]):
        w[j] += size * rows.X[i, j]


@njit(nogil=True, inline="always")
def sparse_product(rows, i, w):
    """Return a product with a sparse row, in four sums: vectors of gathered numbers are slower."""
    start, stop = rows.indptr[i], rows.indptr[i + 1]
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


@njit(nogil=True, inline="always")
def sparse_step(rows, i, w, size):
    """Add a part of a sparse row."""
    for j in range(rows.indptr[i], rows.indptr[i + 1]):
        w[np.uint32(rows.indices[j])] += size * rows.values[j]


def compiled(product, step, fastmath):
    """Return a loop that takes the products and steps of a learner, and counts mistakes."""

    @njit(nogil=True, fastmath=fastmath)
    def loop(examples, order, fires, places, W):
        rows, y, task, _ = examples
        scored, read, changed = places
        wrong = 0
        for e in range(order.size):
            i = order[e]
            k = task[i]
            total = 0.0
            for place in scored[k]:
                if place >= 0:
                    total += product(rows, i, W[place])
            if not y[i] * total > 0.0:
                wrong += 1
            if fires[e]:
                for place in read[k]:
                    total += product(rows, i, W[place])
                # The step depends on the products, as a learner's does.
                size = SMALL_STEP * y[i] if total < 1e9 else 0.0
                for place in changed[k]:
                    step(rows, i, W[place], size)
        return wrong

    return loop


bare_dense = compiled(dense_product, dense_step, True)
bare_sparse = compiled(sparse_product, sparse_step, False)


def bare_loop(entry: Entry, ready: Play) -> Call:
    """Return a loop of as many products and steps as a learner takes, in the learner's order.

    Each task steps as often as with the learner; at which of its examples is drawn. The weight
    vectors are zero before each call, as a learner's are.
    """
    examples, order, shape = ready.examples, ready.stream.example, ready.shape
    share = ready.trace().updates / np.maximum(shape.n_examples, 1)
    fires = np.random.default_rng(0).random(order.size) < share[examples.task[order]]
    places = entry.places(shape)
    size = (1 + max(int(part.max(initial=0)) for part in places), shape.n_features)
    loop = bare_sparse if shape.sparse else bare_dense
    return lambda: loop(examples, order, fires, places, np.zeros(size))


def rank_one_updates(X: np.ndarray, triplets: Triplets, n_tasks: int, shared: bool) -> Call:
    """Return BLAS's rank-1 updates of the matrices that a learner of similarities keeps.

    Each triplet updates its task's matrix and, where there is one, that shared by all tasks.
    """
    left = X[triplets.query]
    right = X[triplets.first] - X[triplets.second]
    matrices = [np.zeros((X.shape[1],) * 2, order="F") for _ in range(n_tasks + shared)]

    def call() -> None:
        for k, a, b in zip(triplets.task, left, right, strict=True):
            for matrix in (*matrices[k : k + 1], *matrices[n_tasks:]):
                dger(SMALL_STEP, a, b, a=matrix, overwrite_a=1)

    return call
