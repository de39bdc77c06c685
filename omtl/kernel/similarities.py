"""Task matrices that learn from triplets in rank-1 steps, in blocks.

Dense triplets are processed in blocks: their scores under the matrices before the block are matrix
products, the contributions of the block's own steps are inner products of the triplets, and the
steps are added to the matrices together. This changes only the order of sums, and replaces passes
over the matrices, which are limited by memory, with matrix products, which are not. As long as the
triplets belong to one task, only the sum of its two matrices is read and changed; the two get their
shares when another task's triplets arrive. If that task's examples X are known and fewer than the
features, the scores XMXᵀ of the examples with each other are used instead of the sum, because they
are fewer: a step changes them by rank 1 too, through the products XXᵀ. Sparse triplets touch few
entries of the matrices and are processed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.linalg import blas

from omtl.data.rows import DenseRows, rows_of
from omtl.data.triplets import BLOCK, Triplets
from omtl.kernel.triplet_steps import (
    STRETCH,
    Among,
    Policy,
    Taken,
    learn_among,
    learn_in_block,
    learn_sparse,
)


class Similarities:
    """The matrices of all tasks during learning: I + `shared` + `own[k]`.

    Parameters
    ----------
    policy : Policy
    X : ndarray or csr_array of shape (n_examples, n_features)
    n_tasks : int
    examples : sequence of ndarray of int64
        For triplets that arrive task by task: the rows of X used by each task. None if the tasks
        alternate, or the rows are not known.
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
            self._rows = rows_of(X)
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
        for _, part in reversed(self._parts(task)):
            whole += part
        return whole

    def learn(self, triplets: Triplets, draws: np.ndarray) -> Taken:
        """Learn from triplets in order.

        Parameters
        ----------
        triplets : Triplets
        draws : ndarray of shape (n,)
            Uniform random numbers that decide on queries.
        """
        n = triplets.y.size
        taken = Taken(np.zeros(n), np.zeros(n, dtype=np.bool_), np.zeros(n))
        if isinstance(self.X, sparse.csr_array):
            between = rows_of(self.X[triplets.first] - self.X[triplets.second], copy=False)
            matrices = self.own, self.shared
            learn_sparse(self.policy, self._rows, between, triplets, draws, *matrices, taken)
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
        """Learn from triplets of the task `alone`, or of many tasks if it is None."""
        if alone in self._few:
            self._learn_alone(alone, triplets, draws, taken)
            return
        policy, n = self.policy, triplets.y.size
        Q, V, R = (each[:n] for each in self._room)
        np.take(self._dense, triplets.query, axis=0, out=Q, mode="clip")
        np.take(self._dense, triplets.first, axis=0, out=V, mode="clip")
        np.take(self._dense, triplets.second, axis=0, out=R, mode="clip")
        V -= R
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
        learn_in_block(policy, *products, Q, R, DenseRows(V), triplets, draws, taken)
        kept = np.flatnonzero(taken.steps)
        Q, V = taken.steps[kept, None] * Q[kept], V[kept]
        if alone is not None:
            add_products(policy.own + policy.shared, Q, V, learnt)
            return
        if policy.shared:
            add_products(policy.shared, Q, V, self.shared)
        if policy.own:
            task = triplets.task[kept]
            for k, own in enumerate(self.own):
                at = np.flatnonzero(task == k)
                add_products(policy.own, Q[at], V[at], own)

    def _learn_alone(self, task: int, triplets: Triplets, draws: np.ndarray, taken: Taken) -> None:
        """Learn from triplets of a task with few examples, through their scores."""
        if self._among is None or self._alone != task:
            self.end()
            self._alone, self._among = task, self._among_examples(task)
        among = self._among
        query, first, second = (self._place[each] for each in triplets[:3])
        places = triplets._replace(query=query, first=first, second=second)
        kept = learn_among(self.policy, among, places, draws, taken)
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
        """Return the matrices that a task's steps change, and each one's share of a step."""
        policy = self.policy
        parts = (policy.own, self.own[task if policy.own else 0]), (policy.shared, self.shared)
        return [(share, part) for share, part in parts if share]

    def _begin(self, task: int) -> np.ndarray:
        """Return the task's matrix, to be updated as long as no other task learns."""
        if self._alone != task:
            self.end()
        parts = self._parts(task)
        if len(parts) == 1:
            return parts[0][1]
        if self._alone != task:
            self._alone = task
            np.add(self.shared, self.own[task], out=self._learnt)
        return self._learnt

    def end(self) -> None:
        """Give all tasks their share of what one task has learnt alone."""
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
    """Return the starts and ends of parts of a block, with the task of each part.

    The task is None if a part has several: alternating tasks are not separated.
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
