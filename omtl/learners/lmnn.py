"""Large margin metrics, in batch: LMNN of one task and mtLMNN of many.

LMNN (Weinberger, Saul, JMLR 2009) learns a metric M, a positive semidefinite matrix, in which each
example's nearest examples of its own class, chosen beforehand, are near (pull), and in which
examples of other classes, its impostors, are farther off by a margin of 1 (push):

    loss(M) = (1 - mu) sum_{i, j of i} d²(i, j)
              + mu sum_{i, j of i} sum_{l of another class} [1 + d²(i, j) - d²(i, l)]_+,

where d²(i, j) = (x_i - x_j)ᵀ M (x_i - x_j), and j are the target neighbours of i: the `n_neighbors`
nearest by Euclidean distance of its class in its task.

mtLMNN (Parameswaran, Weinberger, NIPS 2010) gives task t the metric M_0 + M_t:

    gamma0 ‖M_0 - I‖² + sum_t [gamma ‖M_t‖² + loss_t(M_0 + M_t)]    (Frobenius norms).

The text of neither paper was at hand. What is here of LMNN is general knowledge, and agrees with
the package metric-learn 0.7.0; what is here of mtLMNN is general knowledge and its authors' program
as passed on in a public repository (haoshuji/OMTRSL@fddca79:mtLMNN/MTlmnn_sp.m). The paper weighs
pull and push alike, which is mu = 1/2 with its own gammas halved; the program has mu = 1/2. What
is semidefinite is told differently: as remembered from the paper M_0 and every M_t
(``cone="each"``); in the program M_0 and every sum M_0 + M_t (``cone="sum"``). The program starts
from M_t = I, which changes no optimum, and looks at a random part of the impostors only, which is
not done here.

Both are convex. The solver is a projected gradient method, as those of the authors, with
Nesterov's acceleration. The hinge has a quadratic start of some width, [u]_+ → u²/(2 width), so
that there is a gradient; the width is divided by ten until the objective that it hides is below
`tol`. The sums over triples are over a working set of impostor pairs, which gains all missing ones
every few steps, and has none missing at the end. Gradients are XᵀLX with the sparse Laplacian L of
the graph of targets and impostors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse

from omtl.errors import UserError

FIRST_WIDTH = 1.0
"""Of the hinge's quadratic start: the margin."""

NARROWER = 0.1
"""By what the width of the hinge's quadratic start is multiplied."""

SEARCH_EVERY = 10
"""Steps between two searches for impostors that are missing from the working set."""

PATIENCE = 5
"""Steps that together must lower the objective by the tolerance, or the descent ends."""

SHORTER, LONGER = 0.5, 1.05
"""By what the length of a step is multiplied that is too long, and of one that was taken."""

ROUNDING = 1e-12
"""Of the objective, relative: less is no rise."""

Stack = np.ndarray
"""Symmetric matrices, shape (n_matrices, n_features, n_features)."""


class Neighbours(NamedTuple):
    """A task's centred examples with their classes and target neighbours.

    Shapes: `X` (n, n_features), `y` (n,), `targets` (n, n_neighbors).
    """

    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray


class Distances(NamedTuple):
    """A task's squared distances, linear in its metric.

    Shapes: `targets` (n, n_neighbors), of each example to its target neighbours; `pairs`
    (n_pairs,), of the examples to the impostors in the working set.
    """

    targets: np.ndarray
    pairs: np.ndarray


class Point(NamedTuple):
    """The solver's variables, and the distances of all tasks that follow from them."""

    Z: Stack
    distances: tuple[Distances, ...]


class Model(NamedTuple):
    """How the solver's variables, all in the cone, make metrics, and what they cost.

    Parameters
    ----------
    start : Stack
    pace : ndarray of shape (n_matrices,)
        The step of each variable relative to the others'.
    metrics : callable
        From the variables to the tasks' metrics; linear.
    cost : callable
        From the variables to the regulariser.
    gradient : callable
        From the variables and the losses' gradients by task to the objective's gradient.
    """

    start: Stack
    pace: np.ndarray
    metrics: Callable[[Stack], Stack]
    cost: Callable[[Stack], float]
    gradient: Callable[[Stack, Stack], Stack]


class Solution(NamedTuple):
    """What the solver found.

    Parameters
    ----------
    metrics : ndarray of shape (n_tasks, n_features, n_features)
        The metric of each task.
    parts : Stack
        The solver's variables: M_0, M_1, ... if each is in the cone, else the metrics.
    objective : float
        Its value with the plain hinge over all triples.
    history : list of (float, float)
        At each search for impostors the hinge's width, and the objective with it over all triples,
        which never rises while the width stays.
    n_steps : int
    converged : bool
        Whether the steps sufficed.
    """

    metrics: Stack
    parts: Stack
    objective: float
    history: list[tuple[float, float]]
    n_steps: int
    converged: bool


def one_metric(n_features: int, gamma0: float) -> Model:
    """Return the model of one task with the metric M: gamma0 ‖M - I‖².

    Parameters
    ----------
    n_features : int
    gamma0 : float
    """
    unit = np.eye(n_features)[None]
    return Model(
        start=unit,
        pace=np.ones(1),
        metrics=lambda Z: Z,
        cost=lambda Z: gamma0 * squares(Z - unit),
        gradient=lambda Z, losses: losses + 2.0 * gamma0 * (Z - unit),
    )


def each_in_cone(n_features: int, n_tasks: int, gamma: float, gamma0: float) -> Model:
    """Return mtLMNN's model whose variables are M_0, M_1, ..., each in the cone.

    Parameters
    ----------
    n_features, n_tasks : int
    gamma, gamma0 : float
    """
    centre = np.zeros((1 + n_tasks, n_features, n_features))
    centre[0] = np.eye(n_features)
    weight = np.full(1 + n_tasks, gamma)
    weight[0] = gamma0

    def gradient(Z: Stack, losses: Stack) -> Stack:
        whole = 2.0 * weight[:, None, None] * (Z - centre)
        whole[0] += losses.sum(axis=0)
        whole[1:] += losses
        return whole

    return Model(
        start=centre,
        pace=np.append(1.0 / n_tasks, np.ones(n_tasks)),
        metrics=lambda Z: Z[0] + Z[1:],
        cost=lambda Z: float(sum(weight[m] * squares(Z[m] - centre[m]) for m in range(len(Z)))),
        gradient=gradient,
    )


def sum_in_cone(n_features: int, n_tasks: int, gamma: float, gamma0: float) -> Model:
    """Return mtLMNN's model whose variables are the sums M_0 + M_t, each in the cone.

    The best M_0 for given sums is (gamma0 I + gamma sum_t (M_0 + M_t)) / (gamma0 + n_tasks gamma),
    which is in the cone with them.

    Parameters
    ----------
    n_features, n_tasks : int
    gamma, gamma0 : float
    """
    unit = np.eye(n_features)

    def shared(Z: Stack) -> np.ndarray:
        return (gamma0 * unit + gamma * Z.sum(axis=0)) / (gamma0 + n_tasks * gamma)

    return Model(
        start=np.repeat(unit[None], n_tasks, axis=0),
        pace=np.ones(n_tasks),
        metrics=lambda Z: Z,
        cost=lambda Z: gamma0 * squares(shared(Z) - unit) + gamma * squares(Z - shared(Z)),
        gradient=lambda Z, losses: losses + 2.0 * gamma * (Z - shared(Z)),
    )


CONES = {"each": each_in_cone, "sum": sum_in_cone}


class MTLMNN(NamedTuple):
    """Batch learner of a metric for each of many tasks, as of the module's text.

    A step costs 1 + n_tasks eigendecompositions, O(n_features³), and for each task's n examples
    and P impostor pairs O(n n_features² + P n_features). Every tenth step a search for impostors
    costs O(n² n_features) a task.

    Parameters
    ----------
    gamma : float
        The price of each task's own part M_t; positive if the cone is "sum", else from 0.
    gamma0 : float
        The price of what the shared part M_0 has beyond the Euclidean metric; from 0.
    n_neighbors : int
        Target neighbours of each example.
    mu : float
        The share of push in the loss, between 0 and 1.
    max_iter : int
        The most steps.
    tol : float
        The relative fall of the objective in a few steps below which the descent ends, and the
        share of the objective that the hinge's quadratic start may hide.
    cone : {"each", "sum"}
        Whether each M_t is positive semidefinite, or each M_0 + M_t; M_0 is in any case.
    """

    gamma: float
    gamma0: float
    n_neighbors: int = 3
    mu: float = 0.5
    max_iter: int = 1000
    tol: float = 1e-4
    cone: str = "each"

    def solve(self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> Solution:
        """Learn the metrics, and tell how it went.

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
            A parameter is out of its range, the arrays do not fit together or are not finite, a
            task has no examples, or a class has too few in a task for its target neighbours.
        """
        if self.cone not in CONES:
            raise UserError(
                f"mtLMNN: cone={self.cone!r} is not known; choose from {', '.join(CONES)}."
            )
        if self.cone == "sum" and self.gamma == 0.0:
            raise UserError('mtLMNN: gamma must be more than 0 if cone is "sum".')
        _check_parameters(self)
        tasks = neighbours_of(X, y, task, n_tasks, self.n_neighbors)
        model = CONES[self.cone](tasks[0].X.shape[1], n_tasks, self.gamma, self.gamma0)
        return minimise(model, tasks, self.mu, self.max_iter, self.tol)

    def fit(self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
        """Return the metrics M_0 + M_t, shape (n_tasks, n_features, n_features), as `solve`."""
        return self.solve(X, y, task, n_tasks).metrics


class LMNN(NamedTuple):
    """Batch learner of one task's metric: mtLMNN's limit for one task and an infinite gamma.

    A step costs an eigendecomposition, and else what it costs `MTLMNN` for a task.

    Parameters
    ----------
    gamma0 : float
        The price of what the metric has beyond the Euclidean one; LMNN's own objective has 0.
    n_neighbors, mu, max_iter, tol
        As of `MTLMNN`.
    """

    gamma0: float = 0.0
    n_neighbors: int = 3
    mu: float = 0.5
    max_iter: int = 1000
    tol: float = 1e-4

    def solve(self, X: np.ndarray, y: np.ndarray) -> Solution:
        """Learn the metric, as `MTLMNN.solve` of one task.

        Parameters
        ----------
        X : ndarray of shape (n_examples, n_features)
        y : ndarray of shape (n_examples,)
        """
        _check_parameters(self)
        tasks = neighbours_of(X, y, np.zeros(len(y), dtype=np.int64), 1, self.n_neighbors)
        model = one_metric(tasks[0].X.shape[1], self.gamma0)
        return minimise(model, tasks, self.mu, self.max_iter, self.tol)

    def fit(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the metric, shape (n_features, n_features), as `solve`."""
        return self.solve(X, y).metrics[0]


def neighbours_of(
    X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int, n_neighbors: int
) -> list[Neighbours]:
    """Return each task's centred examples with their target neighbours, of ties the first.

    Parameters
    ----------
    X : ndarray of shape (n_examples, n_features)
    y, task : ndarray of shape (n_examples,)
    n_tasks, n_neighbors : int

    Raises
    ------
    UserError
        As of `MTLMNN.solve`.
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
                    f"LMNN: class {c} has {len(own)} examples in task {t}, and n_neighbors="
                    f"{n_neighbors} needs one more than these at least: leave the class out, or "
                    "take fewer neighbours."
                )
            apart = all_distances(rows[own], rows[own])
            np.fill_diagonal(apart, np.inf)
            targets[own] = own[np.argsort(apart, axis=1, kind="stable")[:, :n_neighbors]]
        tasks.append(Neighbours(rows, label, targets))
    return tasks


def minimise(
    model: Model, tasks: list[Neighbours], mu: float, max_iter: int, tol: float
) -> Solution:
    """Minimise a model's cost and its tasks' losses, the variables in the cone.

    A step goes from where the momentum leads, against the gradient, into the cone, and is halved
    until the objective is below its quadratic model there. If the objective would rise all the
    same, the step is not taken, and the momentum starts anew.

    Parameters
    ----------
    model : Model
    tasks : list of Neighbours
    mu : float
        As of `MTLMNN`, as are the next.
    max_iter : int
    tol : float
    """
    objective = Objective(model, tasks, mu)
    objective.search(model.start)
    here = objective.at(model.start)
    width = FIRST_WIDTH
    value, slope = objective.value_and_gradient(here, width)
    size = math.sqrt(squares(slope))
    step = math.sqrt(squares(model.start)) / size if size > 0.0 else 1.0
    searched, ahead, age = here, here, 1.0
    recent, history = [value], [(width, value)]
    interval, since, n_steps, converged = SEARCH_EVERY, 0, 0, False
    while n_steps < max_iter and not converged:
        n_steps += 1
        since += 1
        there, found, step = objective.step(ahead, width, step)
        if found > value:
            stuck = ahead is here
            ahead, age = here, 1.0
        else:
            stuck = False
            older, age = age, 0.5 + math.sqrt(0.25 + age * age)
            ahead = along(here, there, (older - 1.0) / age)
            here, value = there, found
            recent.append(value)
            step *= LONGER
        settled = stuck or (
            len(recent) > PATIENCE and recent[-1 - PATIENCE] - value <= tol * abs(value)
        )
        if settled or since >= interval or n_steps == max_iter:
            since = 0
            missed = value
            if objective.search(here.Z):
                here, searched = objective.at(here.Z), objective.at(searched.Z)
                value, before = objective.value(here, width), objective.value(searched, width)
                if before < value:
                    here, value = searched, before
                    ahead, age = here, 1.0
                else:
                    ahead = objective.at(ahead.Z)
                recent, interval = [value], SEARCH_EVERY
                settled = settled and abs(value - missed) <= tol * abs(value)
            else:
                interval *= 2
            searched = here
            history.append((width, value))
        if settled:
            hidden = objective.value(here, 0.0) - value
            if hidden <= tol * abs(value):
                converged = True
            else:
                width *= NARROWER
                objective.forget()
                objective.search(here.Z)
                here = searched = objective.at(here.Z)
                value = objective.value(here, width)
                ahead, age, recent = here, 1.0, [value]
                history.append((width, value))
    return Solution(
        model.metrics(here.Z),
        here.Z,
        objective.value(here, 0.0),
        history,
        n_steps,
        converged,
    )


class Objective:
    """A model's objective over the working set of impostor pairs.

    Parameters
    ----------
    model : Model
    tasks : list of Neighbours
    mu : float
    """

    def __init__(self, model: Model, tasks: list[Neighbours], mu: float):
        self.model = model
        self.tasks = tasks
        self.mu = mu
        self.forget()

    def forget(self) -> None:
        """Empty the working set."""
        self.pairs = [np.empty(0, dtype=np.int64) for _ in self.tasks]
        """By task, each pair of an example i and an impostor l as n i + l."""

    def search(self, Z: Stack) -> int:
        """Add all pairs with a loss, and return how many were missing."""
        missing = 0
        for t, (metric, known) in enumerate(zip(self.model.metrics(Z), self.tasks, strict=True)):
            apart = all_distances(known.X @ metric, known.X)
            reach = 1.0 + np.take_along_axis(apart, known.targets, axis=1).max(axis=1)
            near = (apart < reach[:, None]) & (known.y[:, None] != known.y)
            pairs = np.union1d(self.pairs[t], np.flatnonzero(near))
            missing += pairs.size - self.pairs[t].size
            self.pairs[t] = pairs
        return missing

    def at(self, Z: Stack) -> Point:
        """Return the point with the variables `Z`."""
        distances = []
        for metric, known, pairs in zip(self.model.metrics(Z), self.tasks, self.pairs, strict=True):
            n = len(known.X)
            images = known.X @ metric
            target = some_distances(
                images,
                known.X,
                np.repeat(np.arange(n), known.targets.shape[1]),
                known.targets.ravel(),
            )
            pair = some_distances(images, known.X, pairs // n, pairs % n)
            distances.append(Distances(target.reshape(known.targets.shape), pair))
        return Point(Z, tuple(distances))

    def excess(self, t: int, point: Point) -> np.ndarray:
        """Return 1 + d²(i, j) - d²(i, l) by pair (i, l) and target neighbour j."""
        found = point.distances[t]
        excess = found.targets[self.pairs[t] // len(self.tasks[t].X)]
        excess += 1.0 - found.pairs[:, None]
        return excess

    def value(self, point: Point, width: float) -> float:
        """Return the objective with the hinge's quadratic start of a width, which may be 0."""
        total = self.model.cost(point.Z)
        for t, found in enumerate(point.distances):
            push, _ = hinge(self.excess(t, point), width)
            total += (1.0 - self.mu) * found.targets.sum() + self.mu * push
        return float(total)

    def value_and_gradient(self, point: Point, width: float) -> tuple[float, Stack]:
        """Return `value` and its gradient; the width is not 0."""
        total, losses = self.model.cost(point.Z), []
        for t, known in enumerate(self.tasks):
            n, n_neighbors = known.targets.shape
            push, slope = hinge(self.excess(t, point), width)
            total += (1.0 - self.mu) * point.distances[t].targets.sum() + self.mu * push
            active = np.flatnonzero(slope[:, 0] if n_neighbors == 1 else slope.any(axis=1))
            i, j = self.pairs[t][active] // n, self.pairs[t][active] % n
            slope = self.mu * slope[active]
            pull = np.full((n, n_neighbors), 1.0 - self.mu)
            for k in range(n_neighbors):
                pull[:, k] += np.bincount(i, weights=slope[:, k], minlength=n)
            start = np.append(np.repeat(np.arange(n), n_neighbors), i)
            end = np.append(known.targets.ravel(), j)
            weight = np.append(pull.ravel(), -slope.sum(axis=1))
            losses.append(sum_of_outer_products(known.X, start, end, weight))
        return float(total), self.model.gradient(point.Z, np.stack(losses))

    def step(self, origin: Point, width: float, step: float) -> tuple[Point, float, float]:
        """Return the next point, its value, and the step's length that led there.

        Parameters
        ----------
        origin : Point
        width : float
        step : float
            The length that is tried first.
        """
        value, gradient = self.value_and_gradient(origin, width)
        pace = self.model.pace[:, None, None]
        while True:
            there = self.at(in_cone(origin.Z - step * pace * gradient))
            moved = there.Z - origin.Z
            bound = value + np.vdot(gradient, moved) + squares(moved / np.sqrt(pace)) / (2.0 * step)
            found = self.value(there, width)
            if found <= bound + ROUNDING * abs(value):
                return there, found, step
            step *= SHORTER


def hinge(excess: np.ndarray, width: float) -> tuple[float, np.ndarray]:
    """Return the sum of all [u]_+, and the slopes.

    The hinge is quadratic in a width from 0 on, and later lower by width / 2.

    Parameters
    ----------
    excess : ndarray
    width : float
    """
    above = np.maximum(excess, 0.0)
    if width == 0.0:
        return float(above.sum()), (above > 0.0).astype(np.float64)
    start = np.minimum(above, width)
    lower = float(start.sum()) - float(np.vdot(start, start)) / (2.0 * width)
    return float(above.sum()) - lower, start / width


def along(old: Point, new: Point, beyond: float) -> Point:
    """Return the point `beyond` times the way from old to new farther than new.

    Parameters
    ----------
    old, new : Point
    beyond : float
    """
    if beyond == 0.0:
        return new
    here = 1.0 + beyond
    return Point(
        here * new.Z - beyond * old.Z,
        tuple(
            Distances(here * n.targets - beyond * o.targets, here * n.pairs - beyond * o.pairs)
            for o, n in zip(old.distances, new.distances, strict=True)
        ),
    )


def in_cone(Z: Stack) -> Stack:
    """Return the nearest positive semidefinite matrices to symmetric ones.

    Parameters
    ----------
    Z : Stack
    """
    near = np.empty_like(Z)
    for m, matrix in enumerate(Z):
        values, vectors = np.linalg.eigh(matrix)
        n_negative = int(np.searchsorted(values, 0.0))
        kept = vectors[:, n_negative:]
        product = (kept * values[n_negative:]) @ kept.T
        near[m] = 0.5 * (product + product.T)
    return near


def sum_of_outer_products(
    X: np.ndarray, start: np.ndarray, end: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the sum over e of weight_e (x_start - x_end)(x_start - x_end)ᵀ, as XᵀLX.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    start, end : ndarray of int
    weight : ndarray
    """
    n = len(X)
    graph = sparse.coo_array((weight, (start, end)), shape=(n, n)).tocsr()
    graph = graph + graph.T
    laplacian = sparse.diags_array(np.asarray(graph.sum(axis=1)).ravel()) - graph
    product = X.T @ (laplacian @ X)
    return 0.5 * (product + product.T)


def all_distances(images: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return d² between all examples.

    Parameters
    ----------
    images : ndarray of shape (n, n_features)
        The examples times the metric.
    X : ndarray of shape (n, n_features)
    """
    products = images @ X.T
    own = products.diagonal()
    return own[:, None] + own - products - products.T


def some_distances(
    images: np.ndarray, X: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Return d² between pairs of examples.

    Parameters
    ----------
    images : ndarray of shape (n, n_features)
        The examples times the metric.
    X : ndarray of shape (n, n_features)
    start, end : ndarray of int
    """
    own = np.einsum("nd,nd->n", images, X)
    return own[start] + own[end] - 2.0 * products(images, X, start, end)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def products(A, B, start, end):
    """Return the products of rows of A with rows of B, by pair, without copies of the rows."""
    found = np.empty(start.size)
    for e in range(start.size):
        total = 0.0
        for f in range(A.shape[1]):
            total += A[start[e], f] * B[end[e], f]
        found[e] = total
    return found


def squares(matrices: np.ndarray) -> float:
    """Return the sum of all squared entries."""
    return float(np.vdot(matrices, matrices))


def _check(holds: bool, name: str, value: float, wanted: str) -> None:
    if not holds:
        raise UserError(f"LMNN: {name} must be {wanted}, not {value!r}.")


def _check_parameters(learner: MTLMNN | LMNN) -> None:
    for name in ("gamma", "gamma0"):
        price = getattr(learner, name, 0.0)
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
            "LMNN: X is sparse, and a metric has n_features² entries: reduce the features, "
            "as by principal components, and give a dense array."
        )
    X, y, task = np.asarray(X, dtype=np.float64), np.asarray(y), np.asarray(task)
    if X.ndim != 2 or y.shape != X.shape[:1] or task.shape != X.shape[:1]:
        raise UserError(
            "LMNN: X must have a row, and y and task a number, for each example; their shapes are "
            f"{X.shape}, {y.shape} and {task.shape}."
        )
    if not np.isfinite(X).all():
        raise UserError("LMNN: X has a value that is not finite: drop or mend its row.")
    _check(isinstance(n_tasks, int) and n_tasks >= 1, "n_tasks", n_tasks, "a whole number from 1")
    for t in range(n_tasks):
        if not (task == t).any():
            raise UserError(f"LMNN: task {t} of {n_tasks} has no examples: leave it out.")
    if not np.isin(task, np.arange(n_tasks)).all():
        raise UserError(f"LMNN: tasks must be from 0 to {n_tasks - 1}.")
    return X, y, task
