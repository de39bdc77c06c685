"""Learning from triplets one by one: compiled scores, queries and steps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined, loop
from omtl.kernel.products import dot, row_dot
from omtl.kernel.rules import row_at

STRETCH = 64
"""Number of triplets of one task that are processed together."""


class Policy(NamedTuple):
    """The numbers that determine what a learner does with a triplet.

    Parameters
    ----------
    C : float
        The longest step.
    own, shared : float
        Share of a step for the task's own matrix, and for the matrix that all tasks share.
    weight : float
        Factor of ‖X‖² in the length of a step.
    rate, sharpness : float
        A label is queried with probability rate / (1 + sharpness |p|).
    """

    C: float
    own: float
    shared: float
    weight: float
    rate: float = 1.0
    sharpness: float = 0.0


class Taken(NamedTuple):
    """The results for a block of triplets.

    Shapes: `scores` p and `steps` y τ (n,) float64; `queried` (n,) bool.
    """

    scores: np.ndarray
    queried: np.ndarray
    steps: np.ndarray


class Among(NamedTuple):
    """The state of a task that learns alone, in terms of its n examples X.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    products, scores : ndarray of shape (n, n)
        XXᵀ, and XMXᵀ before the triplets that are processed together.
    steps : ndarray of shape (n, n)
        Up to the policy's weights, M has gained Xᵀ `steps` X: y τ is added for a query and its
        first candidate, and subtracted for its second.
    left, right : ndarray of shape (STRETCH, n)
        Work space for the steps of these triplets: the scores gain `left`ᵀ `right`.
    """

    X: np.ndarray
    products: np.ndarray
    scores: np.ndarray
    steps: np.ndarray
    left: np.ndarray
    right: np.ndarray


@inlined
def decide(policy, taken, i, p, y, square_norm, draw):
    """Note triplet i's score p, whether its label is queried, and its step; return the step.

    That is y τ with τ = min(C, loss / ‖φ‖²) (eq. 4), or 0. A triplet with X = 0 has nothing to
    learn from, and a norm of 0 to divide by.
    """
    loss = 1.0 - y * p
    taken.scores[i] = p
    taken.queried[i] = draw * (1.0 + policy.sharpness * abs(p)) < policy.rate
    taken.steps[i] = 0.0
    if taken.queried[i] and not loss <= 0.0 and square_norm != 0.0:
        taken.steps[i] = y * min(policy.C, loss / (policy.weight * square_norm))
    return taken.steps[i]


@loop
def learn_in_block(policy, queries, candidates, Q, R, differences, triplets, draws, taken):
    """Compute scores and steps, from the queries times the matrices before the block.

    `queries` and `candidates` hold the inner products of the queries, and of the differences of the
    candidates, in their upper triangles, shape (n, n).
    """
    n, task = triplets.y.size, triplets.task
    for i in range(n):
        v = row_at(differences, i)
        taken.scores[i] = dot(Q[i], v) + dot(R[i], v)
    for j in range(n):
        p = taken.scores[j]
        square_norm = queries[j, j] * candidates[j, j]
        step = decide(policy, taken, j, p, triplets.y[j], square_norm, draws[j])
        if step == 0.0:
            continue
        for i in range(j + 1, n):
            related = policy.shared + (policy.own if task[i] == task[j] else 0.0)
            taken.scores[i] += step * related * (queries[j, i] * candidates[j, i])


@loop
def learn_among(policy, among, triplets, draws, taken):
    """Compute scores and steps for triplets of a task's examples; return the number of steps."""
    X, products, scores, steps, left, right = among
    kept = 0
    for i in range(triplets.y.size):
        a, b, c = triplets.query[i], triplets.first[i], triplets.second[i]
        p = scores[a, b] - scores[a, c]
        for s in range(kept):
            p += left[s, a] * (right[s, b] - right[s, c])
        square_v = 0.0  # not from `products`: 0 if the candidates are equal
        for f in range(X.shape[1]):
            square_v += (X[b, f] - X[c, f]) * (X[b, f] - X[c, f])
        step = decide(policy, taken, i, p, triplets.y[i], products[a, a] * square_v, draws[i])
        if step == 0.0:
            continue
        steps[a, b] += step
        steps[a, c] -= step
        step *= policy.own + policy.shared
        for j in range(X.shape[0]):
            left[kept, j] = step * products[a, j]
            right[kept, j] = products[b, j] - products[c, j]
        kept += 1
    return kept


@loop
def learn_sparse(policy, rows, differences, triplets, draws, own, shared, taken):
    """Learn from sparse triplets one by one, given the differences of their candidates as rows."""
    columns, values = differences.indices, differences.values
    for i in range(triplets.y.size):
        a, task = triplets.query[i], triplets.task[i]
        first, last = differences.indptr[i], differences.indptr[i + 1]
        query = row_at(rows, a)
        p = row_dot(query, row_at(rows, triplets.first[i]))
        p -= row_dot(query, row_at(rows, triplets.second[i]))
        square_x = square_v = 0.0
        for m in range(first, last):
            square_v += values[m] * values[m]
        for e in range(rows.indptr[a], rows.indptr[a + 1]):
            r, x = rows.indices[e], rows.values[e]
            square_x += x * x
            total = 0.0
            if policy.shared != 0.0:
                for m in range(first, last):
                    total += shared[r, columns[m]] * values[m]
            if policy.own != 0.0:
                for m in range(first, last):
                    total += own[task, r, columns[m]] * values[m]
            p += x * total
        step = decide(policy, taken, i, p, triplets.y[i], square_x * square_v, draws[i])
        if step == 0.0:
            continue
        for e in range(rows.indptr[a], rows.indptr[a + 1]):
            r, x = rows.indices[e], step * rows.values[e]
            if policy.shared != 0.0:
                for m in range(first, last):
                    shared[r, columns[m]] += policy.shared * x * values[m]
            if policy.own != 0.0:
                for m in range(first, last):
                    own[task, r, columns[m]] += policy.own * x * values[m]
