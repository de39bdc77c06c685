"""Learning from triplets, one after the other: scores, queries and steps, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined, loop
from omtl.kernel.products import dot, row_dot

STRETCH = 64
"""Triplets of one task that are learnt from together."""


class Policy(NamedTuple):
    """What a learner does with a triplet, in numbers.

    Parameters
    ----------
    C : float
        The longest step.
    own, shared : float
        How much of a step goes to the task's own matrix, and to the one that all tasks share.
    weight : float
        What ‖X‖² is multiplied by where a step is measured.
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
    """What became of a block of triplets.

    Shapes: `scores` p and `steps` y τ (n,) float64; `queried` (n,) bool.
    """

    scores: np.ndarray
    queried: np.ndarray
    steps: np.ndarray


class Among(NamedTuple):
    """What a task learns alone, by its n examples X.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    products, scores : ndarray of shape (n, n)
        XXᵀ, and XMXᵀ before the triplets that are learnt from together.
    steps : ndarray of shape (n, n)
        What M has gained, but for the policy's weights, is Xᵀ `steps` X: y τ is added for a query
        and its first candidate, and taken off for its second.
    left, right : ndarray of shape (STRETCH, n)
        Room for the steps of these triplets: the scores gain `left`ᵀ `right`.
    """

    X: np.ndarray
    products: np.ndarray
    scores: np.ndarray
    steps: np.ndarray
    left: np.ndarray
    right: np.ndarray


@inlined
def decide(policy, p, y, square_norm, draw):
    """Return whether the label is queried, and y τ with τ = min(C, loss / ‖φ‖²) (eq. 4), or 0.

    A triplet whose X is 0 teaches nothing, and would divide by its norm.
    """
    queried = draw * (1.0 + policy.sharpness * abs(p)) < policy.rate
    loss = 1.0 - y * p
    if not queried or loss <= 0.0 or square_norm == 0.0:
        return queried, 0.0
    return queried, y * min(policy.C, loss / (policy.weight * square_norm))


@loop
def gather(X, triplets, Q, V):
    """Write the queries, and the differences of their candidates."""
    for i in range(triplets.y.size):
        a, b, c = triplets.query[i], triplets.first[i], triplets.second[i]
        for f in range(X.shape[1]):
            Q[i, f] = X[a, f]
            V[i, f] = X[b, f] - X[c, f]


@loop
def learn_in_block(policy, queries, candidates, Q, R, differences, triplets, draws, taken):
    """Find scores and steps, from the queries times the matrices before the block.

    `queries` and `candidates` hold the inner products of the queries, and of the differences of the
    candidates, in their upper triangles, shape (n, n).
    """
    n, task = triplets.y.size, triplets.task
    for i in range(n):
        taken.scores[i] = dot(Q[i], differences, i) + dot(R[i], differences, i)
    for j in range(n):
        p = taken.scores[j]
        square_norm = queries[j, j] * candidates[j, j]
        queried, step = decide(policy, p, triplets.y[j], square_norm, draws[j])
        taken.queried[j] = queried
        taken.steps[j] = step
        if step == 0.0:
            continue
        for i in range(j + 1, n):
            related = policy.shared + (policy.own if task[i] == task[j] else 0.0)
            taken.scores[i] += step * related * (queries[j, i] * candidates[j, i])


@loop
def keep_steps(steps, Q, V):
    """Move the rows of steps up, those of Q times the step; return how many there are."""
    kept = 0
    for i in range(steps.size):
        if steps[i] != 0.0:
            for f in range(Q.shape[1]):
                Q[kept, f] = steps[i] * Q[i, f]
                V[kept, f] = V[i, f]
            kept += 1
    return kept


@loop
def learn_among(policy, among, triplets, draws, taken):
    """Find scores and steps of triplets of a task's examples; return how many steps there are."""
    X, products, scores, steps, left, right = among
    kept = 0
    for i in range(triplets.y.size):
        a, b, c = triplets.query[i], triplets.first[i], triplets.second[i]
        p = scores[a, b] - scores[a, c]
        for s in range(kept):
            p += left[s, a] * (right[s, b] - right[s, c])
        square_v = 0.0  # not from `products`: 0 where the candidates are alike
        for f in range(X.shape[1]):
            square_v += (X[b, f] - X[c, f]) * (X[b, f] - X[c, f])
        queried, step = decide(policy, p, triplets.y[i], products[a, a] * square_v, draws[i])
        taken.scores[i] = p
        taken.queried[i] = queried
        taken.steps[i] = step
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


@inlined
def subtract(rows, a, b, columns, values):
    """Write row a minus row b as ascending columns with their values; return how many there are."""
    n = 0
    i, j = rows.indptr[a], rows.indptr[b]
    while i < rows.indptr[a + 1] or j < rows.indptr[b + 1]:
        takes_a = j == rows.indptr[b + 1]
        takes_b = i == rows.indptr[a + 1]
        if not takes_a and not takes_b:
            takes_a = rows.indices[i] <= rows.indices[j]
            takes_b = rows.indices[j] <= rows.indices[i]
        values[n] = 0.0
        if takes_a:
            columns[n] = rows.indices[i]
            values[n] += rows.values[i]
            i += 1
        if takes_b:
            columns[n] = rows.indices[j]
            values[n] -= rows.values[j]
            j += 1
        n += 1
    return n


@loop
def learn_sparse(policy, rows, triplets, draws, own, shared, columns, values, taken):
    """Learn from triplets of sparse rows one by one; `columns` and `values` have room for two."""
    for i in range(triplets.y.size):
        a, task = triplets.query[i], triplets.task[i]
        n = subtract(rows, triplets.first[i], triplets.second[i], columns, values)
        p = row_dot(rows, a, triplets.first[i]) - row_dot(rows, a, triplets.second[i])
        square_x = square_v = 0.0
        for m in range(n):
            square_v += values[m] * values[m]
        for e in range(rows.indptr[a], rows.indptr[a + 1]):
            r, x = rows.indices[e], rows.values[e]
            square_x += x * x
            total = 0.0
            if policy.shared != 0.0:
                for m in range(n):
                    total += shared[r, columns[m]] * values[m]
            if policy.own != 0.0:
                for m in range(n):
                    total += own[task, r, columns[m]] * values[m]
            p += x * total
        queried, step = decide(policy, p, triplets.y[i], square_x * square_v, draws[i])
        taken.scores[i] = p
        taken.queried[i] = queried
        taken.steps[i] = step
        if step == 0.0:
            continue
        for e in range(rows.indptr[a], rows.indptr[a + 1]):
            r, x = rows.indices[e], step * rows.values[e]
            if policy.shared != 0.0:
                for m in range(n):
                    shared[r, columns[m]] += policy.shared * x * values[m]
            if policy.own != 0.0:
                for m in range(n):
                    own[task, r, columns[m]] += policy.own * x * values[m]
