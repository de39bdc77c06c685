"""Similarities of many tasks learnt online from triplets (Hao et al., IJCAI 2017).

Task k has the similarity S^k(x, x') = xᵀ M^k x' (eq. 1), M^k = I at first. A triplet
(x, x¹, x²; y) of task t has X = x (x¹ - x²)ᵀ, p = ⟨M^t, X⟩ and the loss [1 - y p]_+. Where the
label is queried and the loss is positive,

    M^k ← M^k + y τ (A⁻¹)_{k,t} X for all k,   τ = min(C, loss / ‖φ‖²_{A⁻¹})     (eqs. 3 and 4),

with (A⁻¹)_{k,t} = (b + K δ_kt) / ((1 + b) K) and ‖φ‖²_{A⁻¹} = (A⁻¹)_{t,t} ‖x‖² ‖x¹ - x²‖². Each
M^k is I, a matrix that all tasks share, and one of its own: a step is of rank 1 in two matrices.

Dense triplets are learnt from in blocks: their scores under the matrices before the block are
matrix products, what the block's own steps add to them are inner products of the triplets, and the
steps come into the matrices together. This changes nothing but the order of sums, and makes of
passes over the matrices, which wait for the memory, products that do not. While the triplets are of
one task only, the sum of its two matrices is all that is looked at and changed; the two get their
shares when another task comes. Where that task's examples X are known and fewer than the features,
it is not the sum that is looked at but the scores XMXᵀ of the examples with each other, which are
fewer: a step changes them by rank 1 too, through the products XXᵀ. Sparse triplets touch few
entries of the matrices and are learnt from one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from omtl.kernel.inlining import inlined, loop
from omtl.kernel.products import dot, row_dot
from omtl.rows import DenseRows, SparseRows, rows_of
from omtl.triplets import BLOCK, Triplets

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


def related(C: float, b: float, n_tasks: int, plain_step: bool) -> Policy:
    """Return the policy of tasks related by A⁻¹ that queries every label."""
    shared = b / ((1.0 + b) * n_tasks)
    own = 1.0 / (1.0 + b)
    return Policy(C, own, shared, 1.0 if plain_step else own + shared)


class OMTRSL(NamedTuple):
    """Algorithm 1: all labels are queried.

    Cost per triplet: O(d²) for the scores and O(d²) for a step, or O(nonzeros²) of sparse rows.

    Parameters
    ----------
    C : float
        Longest step, C > 0.
    b : float
        Relation of the tasks: 0 for none, ∞ for one common matrix.
    plain_step : bool
        Measure steps by ‖X‖², without (A⁻¹)_{t,t}.
    """

    C: float
    b: float
    plain_step: bool = False

    def policy(self, n_tasks: int) -> Policy:
        """Return what is done with a triplet."""
        return related(self.C, self.b, n_tasks, self.plain_step)


class OMTRSLActive(NamedTuple):
    """Algorithm 2: a label is queried with probability δ / (δ + |p|).

    Cost per triplet: that of `OMTRSL`, steps only where the label is queried.

    Parameters
    ----------
    C, b, plain_step
        As of `OMTRSL`.
    delta : float
        Smoothing δ > 0.
    """

    C: float
    b: float
    delta: float
    plain_step: bool = False

    def policy(self, n_tasks: int) -> Policy:
        """Return what is done with a triplet."""
        every = related(self.C, self.b, n_tasks, self.plain_step)
        return every._replace(sharpness=1.0 / self.delta)


class OMTRSLRandom(NamedTuple):
    """OMTRSL that queries each label with the same probability (section 4.2).

    Cost per triplet: that of `OMTRSLActive`.

    Parameters
    ----------
    C, b, plain_step
        As of `OMTRSL`.
    rate : float
        The probability.
    """

    C: float
    b: float
    rate: float
    plain_step: bool = False

    def policy(self, n_tasks: int) -> Policy:
        """Return what is done with a triplet."""
        return related(self.C, self.b, n_tasks, self.plain_step)._replace(rate=self.rate)


class OSTRSL(NamedTuple):
    """OASIS (Chechik et al., JMLR 2010) of each task alone: OMTRSL with b = 0.

    Cost per triplet: O(d²) for the score and O(d²) for a step, or O(nonzeros²) of sparse rows.

    Parameters
    ----------
    C : float
        Longest step, C > 0.
    """

    C: float

    def policy(self, n_tasks: int) -> Policy:  # noqa: ARG002
        """Return what is done with a triplet."""
        return Policy(self.C, own=1.0, shared=0.0, weight=1.0)


class OGRSL(NamedTuple):
    """OASIS (Chechik et al., JMLR 2010) of all tasks as one: a global matrix.

    Cost per triplet: as of `OSTRSL`.

    Parameters
    ----------
    C : float
        Longest step, C > 0.
    """

    C: float

    @property
    def pooled(self) -> bool:
        """Whether all tasks are seen as one."""
        return True

    def policy(self, n_tasks: int) -> Policy:  # noqa: ARG002
        """Return what is done with a triplet."""
        return Policy(self.C, own=0.0, shared=1.0, weight=1.0)


class SimilarityLearner(Protocol):
    """What the learners of this module have."""

    def policy(self, n_tasks: int) -> Policy:
        """Return what is done with a triplet."""


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
    """Return whether the label is queried, and the signed length of the step that follows.

    A triplet whose X is 0 teaches nothing, and would divide by its norm.
    """
    queried = draw * (1.0 + policy.sharpness * abs(p)) < policy.rate
    loss = 1.0 - y * p
    if not queried or loss <= 0.0 or square_norm == 0.0:
        return queried, 0.0
    return queried, y * min(policy.C, loss / (policy.weight * square_norm))


@loop
def _gather(X, triplets, Q, V):
    """Write the queries, and the differences of their candidates."""
    for i in range(triplets.y.size):
        a, b, c = triplets.query[i], triplets.first[i], triplets.second[i]
        for f in range(X.shape[1]):
            Q[i, f] = X[a, f]
            V[i, f] = X[b, f] - X[c, f]


@loop
def _learn_in_block(policy, queries, candidates, Q, R, differences, triplets, draws, taken):
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
def _keep_steps(steps, Q, V):
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
def _learn_among(policy, among, triplets, draws, taken):
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
def _learn_sparse(policy, rows, triplets, draws, own, shared, columns, values, taken):
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


class Similarities:
    """The matrices of all tasks while they are learnt: I + `shared` + `own[k]`.

    Parameters
    ----------
    policy : Policy
    X : ndarray or csr_array of shape (n_examples, n_features)
    n_tasks : int
    examples : sequence of ndarray of int64
        Of triplets that come task by task: the rows of X that those of each task are of. None if
        the tasks alternate, or the rows are not known.
    """

    def __init__(
        self,
        policy: Policy,
        X: np.ndarray | sparse.csr_array,
        n_tasks: int,
        examples: Sequence[np.ndarray] | None = None,
    ) -> None:
        d = X.shape[1]
        self.policy = policy
        self.X = X
        self._alone: int | None = None
        self._among: Among | None = None
        self.shared = np.zeros((d, d) if policy.shared else (1, 1))
        self.own = np.zeros((n_tasks, d, d) if policy.own else (1, 1, 1))
        if isinstance(X, sparse.csr_array):
            rows = rows_of(X)
            assert isinstance(rows, SparseRows)
            self._rows = rows
            room = 2 * int(np.diff(X.indptr).max(initial=0))
            self._columns, self._values = np.empty(room, dtype=np.int32), np.empty(room)
        else:
            self._dense = np.ascontiguousarray(X, dtype=np.float64)
            self._room = np.empty((3, BLOCK, d))
            self._learnt = np.empty((d, d) if policy.own and policy.shared else (1, 1))
            self._few = {k: of for k, of in enumerate(examples or ()) if of.size <= d}
            self._place = np.zeros(len(X), dtype=np.int64)
            for of in self._few.values():
                self._place[of] = np.arange(of.size)

    def matrix(self, task: int) -> np.ndarray:
        """Return M of a task, shape (n_features, n_features)."""
        self.end()
        whole = np.eye(self.X.shape[1])
        if self.policy.shared:
            whole += self.shared
        if self.policy.own:
            whole += self.own[task]
        return whole

    def learn(self, triplets: Triplets, draws: np.ndarray) -> Taken:
        """Learn from triplets in their order.

        Parameters
        ----------
        triplets : Triplets
        draws : ndarray of shape (n,)
            Uniform random numbers that decide on queries.
        """
        n = triplets.y.size
        taken = Taken(np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n))
        if isinstance(self.X, sparse.csr_array):
            _learn_sparse(
                self.policy,
                self._rows,
                triplets,
                draws,
                self.own,
                self.shared,
                self._columns,
                self._values,
                taken,
            )
        else:
            self._learn_dense(triplets, draws, taken)
        return taken

    def _learn_dense(self, triplets: Triplets, draws: np.ndarray, taken: Taken) -> None:
        for start, stop, task in stretches(triplets.task):
            at = slice(start, stop)
            part = Triplets(*(each[at] for each in triplets))
            self._learn_stretch(task, part, draws[at], Taken(*(each[at] for each in taken)))

    def _learn_stretch(
        self, alone: int | None, triplets: Triplets, draws: np.ndarray, taken: Taken
    ) -> None:
        """Learn from triplets of the task `alone`, or from those of many if it is None."""
        if alone in self._few:
            self._learn_alone(alone, triplets, draws, taken)
            return
        policy, n = self.policy, triplets.y.size
        Q, V, R = (each[:n] for each in self._room)
        _gather(self._dense, triplets, Q, V)
        if alone is not None:
            learnt = self._begin(alone)
            np.matmul(Q, learnt, out=R)
        else:
            self.end()
            np.matmul(Q, self.shared, out=R) if policy.shared else R.fill(0.0)
            if policy.own:
                for k, own in enumerate(self.own):
                    at = np.flatnonzero(triplets.task == k)
                    R[at] += Q[at] @ own
        products = [blas.dsyrk(1.0, each.T, trans=1, lower=1).T for each in (Q, V)]
        _learn_in_block(policy, *products, Q, R, DenseRows(V), triplets, draws, taken)
        kept = _keep_steps(taken.steps, Q, V)
        Q, V = Q[:kept], V[:kept]
        if alone is not None:
            add_products(policy.own + policy.shared, Q, V, learnt)
            return
        if policy.shared:
            add_products(policy.shared, Q, V, self.shared)
        if policy.own:
            task = triplets.task[taken.steps != 0.0]
            for k, own in enumerate(self.own):
                at = np.flatnonzero(task == k)
                add_products(policy.own, Q[at], V[at], own)

    def _learn_alone(self, task: int, triplets: Triplets, draws: np.ndarray, taken: Taken) -> None:
        """Learn from triplets of a task of few examples, by these."""
        if self._among is None or self._alone != task:
            self.end()
            self._alone, self._among = task, self._among_examples(task)
        among = self._among
        query, first, second = (self._place[each] for each in triplets[:3])
        places = triplets._replace(query=query, first=first, second=second)
        kept = _learn_among(self.policy, among, places, draws, taken)
        add_products(1.0, among.left[:kept], among.right[:kept], among.scores)

    def _among_examples(self, task: int) -> Among:
        X = self._dense[self._few[task]]
        products = X @ X.T
        scores = products.copy()
        for _, part in self._parts(task):
            if part.any():
                scores += X @ part @ X.T
        room = np.empty((2, STRETCH, len(X)))
        return Among(X, products, scores, np.zeros_like(products), *room)

    def _parts(self, task: int) -> list[tuple[float, np.ndarray]]:
        """Return the matrices that a task's steps change, and how much of a step each gets."""
        policy = self.policy
        own = [(policy.own, self.own[task])] if policy.own else []
        return [*own, (policy.shared, self.shared)] if policy.shared else own

    def _begin(self, task: int) -> np.ndarray:
        """Return what the task has learnt, to be added to, as long as the others learn nothing."""
        if self._alone != task:
            self.end()
        if not self.policy.own:
            return self.shared
        if not self.policy.shared:
            return self.own[task]
        if self._alone != task:
            self._alone = task
            np.add(self.shared, self.own[task], out=self._learnt)
        return self._learnt

    def end(self) -> None:
        """Give all tasks their share of what one has learnt alone."""
        if self._alone is None:
            return
        policy, among = self.policy, self._among
        if among is not None:
            gained = among.X.T @ among.steps @ among.X
        else:
            gained = self._learnt
            gained -= self.shared
            gained -= self.own[self._alone]
            gained /= policy.own + policy.shared
        for weight, part in self._parts(self._alone):
            part += weight * gained
        self._alone = self._among = None


def stretches(task: np.ndarray) -> list[tuple[int, int, int | None]]:
    """Return the starts and ends of parts of a block with the task that all of a part are of.

    That is None where they are of many: tasks that alternate are not told apart.
    """
    starts = np.append(0, np.flatnonzero(task[1:] != task[:-1]) + 1)
    if starts.size > 1 + task.size // STRETCH:
        return [
            (first, min(first + BLOCK, task.size), None) for first in range(0, task.size, BLOCK)
        ]
    return [
        (first, min(first + STRETCH, stop), int(task[start]))
        for start, stop in zip(starts, [*starts[1:], task.size], strict=True)
        for first in range(start, stop, STRETCH)
    ]


def add_products(weight: float, A: np.ndarray, B: np.ndarray, total: np.ndarray) -> None:
    """Add weight Aᵀ B to a matrix, in place.

    Parameters
    ----------
    weight : float
    A, B : ndarray of shape (n, n_features)
    total : ndarray of shape (n_features, n_features)
        In C order.
    """
    blas.dgemm(weight, B.T, A.T, beta=1.0, c=total.T, trans_b=1, overwrite_c=1)
