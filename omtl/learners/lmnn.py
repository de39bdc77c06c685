"""The batch learner of large-margin metrics of many tasks, mtLMNN (Parameswaran, Weinberger 2010).

LMNN (Weinberger, Saul, JMLR 2009) learns a metric M, a positive semidefinite matrix, in which each
example's nearest examples of its own class, chosen beforehand, are near (pull), and examples of
other classes, its impostors, are farther away by a margin of 1 (push):

    loss(M) = (1 - mu) sum_{i, j of i} d²(i, j)
              + mu sum_{i, j of i} sum_{l of another class} [1 + d²(i, j) - d²(i, l)]_+,

where d²(i, j) = (x_i - x_j)ᵀ M (x_i - x_j), and j are the target neighbours of i: the `n_neighbors`
nearest examples of its class and task by Euclidean distance.

mtLMNN (Parameswaran, Weinberger, NIPS 2010) gives task t the metric M_0 + M_t:

    gamma0 ‖M_0 - I‖² + sum_t [gamma ‖M_t‖² + loss_t(M_0 + M_t)]    (Frobenius norms).

We had the text of neither paper. One task with gamma0 = 0 is LMNN, and agrees with the package
metric-learn 0.7.0; mtLMNN follows general knowledge and its authors' program, copied in a public
repository (haoshuji/OMTRSL@fddca79:mtLMNN/MTlmnn_sp.m). The paper weights pull and push equally,
which is mu = 1/2 with its own gammas halved; the program has mu = 1/2. They differ in what must be
semidefinite: in the paper, as we remember it, M_0 and every M_t, as here; in the program M_0 and
every sum M_0 + M_t. The program starts from M_t = I, which changes no optimum, and uses only a
random part of the impostors, which we do not do.

The problem is convex; `omtl.metric_learning.descent` minimises it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from omtl.metric_learning.descent import Solution, minimise
from omtl.metric_learning.models import MetricModel, Neighbours
from omtl.metric_learning.quadratic_forms import all_distances
from omtl.util.errors import UserError


class MTLMNN(NamedTuple):
    """Batch learner of one metric per task, as described in the module's docstring.

    A step costs 1 + n_tasks eigendecompositions, O(n_features³), and for each task O(n n_features²)
    for its n examples and O(P n_features) for its P impostor pairs, or O(n² n_features) for all
    pairs if that is less. Every tenth step a search for impostors costs O(n² n_features) per task.
    The decomposition of a task of n examples is O(n³) if that is less.

    Parameters
    ----------
    gamma : float
        The penalty on each task's own part M_t; at least 0.
    gamma0 : float
        The penalty on the shared part M_0's distance from the Euclidean metric; at least 0.
    n_neighbors : int
        Number of target neighbours of each example.
    mu : float
        The share of push in the loss, between 0 and 1.
    max_iter : int
        Maximum number of steps.
    tol : float
        The descent ends when the objective falls by less than this share in a few steps; also the
        share of the objective that the hinge's quadratic start may hide.
    """

    gamma: float
    gamma0: float
    n_neighbors: int = 3
    mu: float = 0.5
    max_iter: int = 1000
    tol: float = 1e-4

    def warm(self) -> None:
        """Compile everything that `metrics` runs, on problems with and without impostors."""
        y = np.repeat([0, 1], self.n_neighbors + 1)
        for apart in (0.0, 100.0):
            X = np.repeat((np.arange(y.size) + apart * y)[:, None], 2, axis=1)
            self._replace(max_iter=1).solve(X, y, np.zeros_like(y), 1)

    def solve(self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> Solution:
        """Learn the metrics, and report on convergence.

        Parameters
        ----------
        X : ndarray of shape (n_examples, n_features)
        y : ndarray of shape (n_examples,)
            Each example's class.
        task : ndarray of shape (n_examples,)
            Each example's task, from 0 to ``n_tasks - 1``.
        n_tasks : int

        Returns
        -------
        Solution

        Raises
        ------
        UserError
            If a parameter is out of range, the arrays do not fit together or are not finite, a task
            has no examples, or a class has too few in a task for its target neighbours.
        """
        _check_parameters(self)
        tasks = neighbours_of(X, y, task, n_tasks, self.n_neighbors)
        model = MetricModel(tasks, self.gamma, self.gamma0)
        return minimise(model, self.mu, self.max_iter, self.tol)

    def metrics(self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
        """Return the metrics M_0 + M_t, shape (n_tasks, n_features, n_features), as `solve`."""
        return self.solve(X, y, task, n_tasks).metrics


def neighbours_of(
    X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int, n_neighbors: int
) -> list[Neighbours]:
    """Return each task's centred examples with their target neighbours; ties go to the first.

    Parameters
    ----------
    X : ndarray of shape (n_examples, n_features)
    y, task : ndarray of shape (n_examples,)
    n_tasks, n_neighbors : int

    Raises
    ------
    UserError
        As in `MTLMNN.solve`.
    """
    X, y, task = _checked(X, y, task, n_tasks)
    tasks = []
    for t in range(n_tasks):
        rows, label = X[task == t], y[task == t]
        rows = rows - rows.mean(axis=0)
        targets = np.empty((len(rows), n_neighbors), dtype=np.int64)
        for c in np.unique(label):
            own = np.flatnonzero(label == c)
            if len(own) <= n_neighbors:
                raise UserError(
                    f"mtLMNN: class {c} has {len(own)} examples in task {t}, and n_neighbors="
                    f"{n_neighbors} needs one more than these at least: leave the class out, or "
                    "take fewer neighbours."
                )
            apart = all_distances(rows[own], rows[own])
            np.fill_diagonal(apart, np.inf)
            targets[own] = own[np.argsort(apart, axis=1, kind="stable")[:, :n_neighbors]]
        tasks.append(Neighbours(rows, label, targets))
    return tasks


def _check(holds: bool, name: str, value: float, wanted: str) -> None:
    if not holds:
        raise UserError(f"mtLMNN: {name} must be {wanted}, not {value!r}.")


def _check_parameters(learner: MTLMNN) -> None:
    for name in ("gamma", "gamma0"):
        price = getattr(learner, name)
        _check(0.0 <= price < math.inf, name, price, "a number from 0")
    for name in ("n_neighbors", "max_iter"):
        count = getattr(learner, name)
        _check(isinstance(count, int) and count >= 1, name, count, "a whole number from 1")
    _check(0.0 < learner.mu < 1.0, "mu", learner.mu, "between 0 and 1")
    _check(0.0 < learner.tol < 1.0, "tol", learner.tol, "between 0 and 1")


def _checked(
    X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if sparse.issparse(X):
        raise UserError(
            "mtLMNN: X is sparse, and a metric has n_features² entries: reduce the features, "
            "as by principal components, and give a dense array."
        )
    X, y, task = np.asarray(X, dtype=np.float64), np.asarray(y), np.asarray(task)
    if X.ndim != 2 or y.shape != X.shape[:1] or task.shape != X.shape[:1]:
        raise UserError(
            "LMNN: X must have a row, and y and task a number, for each example; their shapes are "
            f"{X.shape}, {y.shape} and {task.shape}."
        )
    if not np.isfinite(X).all():
        raise UserError("LMNN: X has a value that is not finite: drop or correct its row.")
    _check(isinstance(n_tasks, int) and n_tasks >= 1, "n_tasks", n_tasks, "a whole number from 1")
    for t in range(n_tasks):
        if not (task == t).any():
            raise UserError(f"mtLMNN: task {t} of {n_tasks} has no examples: leave it out.")
    if not np.isin(task, np.arange(n_tasks)).all():
        raise UserError(f"mtLMNN: tasks must be from 0 to {n_tasks - 1}.")
    return X, y, task
