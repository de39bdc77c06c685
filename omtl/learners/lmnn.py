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
every few steps, and has none missing at the end. Gradients are XᵀLX with the Laplacian L of the
graph of targets and impostors. A part M_t that starts at 0 stays in the span of its task's rows:
where these are fewer than the features, it is kept in a basis of that span.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy import sparse
from scipy.linalg import lapack

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

FEW = 8
"""Up to this part of all eigenvectors, 1 / FEW, they are cheaper found one by one than together."""

BLOCK = 128
"""Columns of a symmetric product that are found together."""

DENSE = 8
"""From this part of all pairs, 1 / DENSE, on, it is cheaper to find the products of all."""

Stack = np.ndarray
"""Symmetric matrices, shape (n_matrices, n_features, n_features)."""

Parts = tuple[np.ndarray, ...]
"""The solver's variables: symmetric matrices, not all of one size."""


class Neighbours(NamedTuple):
    """A task's centred examples with their classes and target neighbours.

    Shapes: `X` (n, n_features), `y` (n,), `targets` (n, n_neighbors).
    """

    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray


class Span(NamedTuple):
    """The span of a task's rows, of r dimensions.

    Shapes: `basis` (n_features, r), orthonormal columns; `rows` (n, r), the rows in that basis.
    """

    basis: np.ndarray
    rows: np.ndarray


class Edges(NamedTuple):
    """A weighted graph of a task's n examples: edge e from start[e] to end[e].

    Shapes: `start` and `end` (n_edges,), int64; `weight` (n_edges,).
    """

    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray


class Distances(NamedTuple):
    """A task's squared distances, linear in its metric.

    Shapes: `targets` (n, n_neighbors), of each example to its target neighbours; `pairs`
    (n_pairs,), of the examples to the impostors in the working set.
    """

    targets: np.ndarray
    pairs: np.ndarray


class Point(NamedTuple):
    """The solver's variables, and the distances of all tasks that follow from them."""

    Z: Parts
    distances: tuple[Distances, ...]


class Model(NamedTuple):
    """How the solver's variables, all in the cone, make metrics, and what they cost.

    Parameters
    ----------
    start : tuple of ndarray
    pace : ndarray of shape (n_matrices,)
        The step of each variable relative to the others'.
    metrics : callable
        From the variables to the tasks' metrics; linear.
    whole : callable
        From the variables to those that `Solution` tells.
    images : callable
        From the variables and a task to two arrays A and B with A Bᵀ = X M Xᵀ, of the task's rows
        and metric.
    cost : callable
        From the variables to the regulariser.
    gradient : callable
        From the variables and the tasks' graphs to the objective's gradient.
    """

    start: Parts
    pace: np.ndarray
    metrics: Callable[[Parts], Stack]
    whole: Callable[[Parts], Stack]
    images: Callable[[Parts, int], tuple[np.ndarray, np.ndarray]]
    cost: Callable[[Parts], float]
    gradient: Callable[[Parts, list[Edges]], Parts]


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


def one_metric(tasks: list[Neighbours], gamma0: float) -> Model:
    """Return the model of one task with the metric M: gamma0 ‖M - I‖².

    Parameters
    ----------
    tasks : list of Neighbours
        One.
    gamma0 : float
    """
    X = tasks[0].X
    unit = np.eye(X.shape[1])
    return Model(
        start=(unit,),
        pace=np.ones(1),
        metrics=np.stack,
        whole=np.stack,
        images=lambda Z, t: (X @ Z[0], X),  # noqa: ARG005
        cost=lambda Z: gamma0 * squares(Z[0] - unit),
        gradient=lambda Z, graphs: (quadratic_form(X, graphs[0]) + 2.0 * gamma0 * (Z[0] - unit),),
    )


def each_in_cone(tasks: list[Neighbours], gamma: float, gamma0: float) -> Model:
    """Return mtLMNN's model whose variables are M_0, M_1, ..., each in the cone.

    M_t starts at 0, and its gradient is of rows of task t: it is kept in a basis of their span
    where that is smaller than all features.

    Parameters
    ----------
    tasks : list of Neighbours
    gamma, gamma0 : float
    """
    n_tasks, unit = len(tasks), np.eye(tasks[0].X.shape[1])
    spans = [span_of(known.X) for known in tasks]
    sizes = [len(unit) if span is None else span.basis.shape[1] for span in spans]

    def whole(Z: Parts) -> Stack:
        own = [
            part if span is None else symmetric_product(span.basis @ part, span.basis)
            for part, span in zip(Z[1:], spans, strict=True)
        ]
        return np.stack([Z[0], *own])

    def metrics(Z: Parts) -> Stack:
        parts = whole(Z)
        return parts[0] + parts[1:]

    def images(Z: Parts, t: int) -> tuple[np.ndarray, np.ndarray]:
        X, span = tasks[t].X, spans[t]
        if span is None:
            return X @ (Z[0] + Z[1 + t]), X
        metric = symmetric_product(span.basis.T @ Z[0], span.basis.T)
        metric += Z[1 + t]
        return span.rows @ metric, span.rows

    def gradient(Z: Parts, graphs: list[Edges]) -> Parts:
        common = 2.0 * gamma0 * (Z[0] - unit)
        own = []
        for known, span, part, graph in zip(tasks, spans, Z[1:], graphs, strict=True):
            if span is None:
                loss = quadratic_form(known.X, graph)
                common += loss
            else:
                loss = quadratic_form(span.rows, graph)
                common += symmetric_product(span.basis @ loss, span.basis)
            loss += 2.0 * gamma * part
            own.append(loss)
        return (common, *own)

    return Model(
        start=(unit, *(np.zeros((size, size)) for size in sizes)),
        pace=np.append(1.0 / n_tasks, np.ones(n_tasks)),
        metrics=metrics,
        whole=whole,
        images=images,
        cost=lambda Z: gamma0 * squares(Z[0] - unit) + gamma * sum(squares(part) for part in Z[1:]),
        gradient=gradient,
    )


def sum_in_cone(tasks: list[Neighbours], gamma: float, gamma0: float) -> Model:
    """Return mtLMNN's model whose variables are the sums M_0 + M_t, each in the cone.

    The best M_0 for given sums is (gamma0 I + gamma sum_t (M_0 + M_t)) / (gamma0 + n_tasks gamma),
    which is in the cone with them.

    Parameters
    ----------
    tasks : list of Neighbours
    gamma, gamma0 : float
    """
    n_tasks, unit = len(tasks), np.eye(tasks[0].X.shape[1])

    def shared(Z: Parts) -> np.ndarray:
        return (gamma0 * unit + gamma * sum(Z)) / (gamma0 + n_tasks * gamma)

    def cost(Z: Parts) -> float:
        common = shared(Z)
        apart = sum(squares(part - common) for part in Z)
        return gamma0 * squares(common - unit) + gamma * apart

    def gradient(Z: Parts, graphs: list[Edges]) -> Parts:
        common = shared(Z)
        return tuple(
            quadratic_form(known.X, graph) + 2.0 * gamma * (part - common)
            for known, part, graph in zip(tasks, Z, graphs, strict=True)
        )

    return Model(
        start=(unit,) * n_tasks,
        pace=np.ones(n_tasks),
        metrics=np.stack,
        whole=np.stack,
        images=lambda Z, t: (tasks[t].X @ Z[t], tasks[t].X),
        cost=cost,
        gradient=gradient,
    )


CONES = {"each": each_in_cone, "sum": sum_in_cone}


class MTLMNN(NamedTuple):
    """Batch learner of a metric for each of many tasks, as of the module's text.

    A step costs 1 + n_tasks eigendecompositions, O(n_features³), and for each task's n examples
    O(n n_features²) and for its P impostor pairs O(P n_features), or O(n² n_features) for all pairs
    where that is less. Every tenth step a search for impostors costs O(n² n_features) a task. With
    the cone "each" the decomposition of a task of n examples is O(n³) where that is less.

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

    def warm(self) -> None:
        """Have all that `fit` runs compiled, by problems with and without impostors."""
        y = np.repeat([0, 1], self.n_neighbors + 1)
        for apart in (0.0, 100.0):
            X = np.arange(float(y.size))[:, None] + apart * y[:, None]
            self._replace(max_iter=1).fit(X, y, np.zeros_like(y), 1)

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
        model = CONES[self.cone](tasks, self.gamma, self.gamma0)
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
        model = one_metric(tasks, self.gamma0)
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
    size = math.sqrt(sum(map(squares, slope)))
    step = math.sqrt(sum(map(squares, model.start))) / size if size > 0.0 else 1.0
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
        model.whole(here.Z),
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
        self.known = [np.zeros((len(known.X),) * 2, dtype=np.bool_) for known in self.tasks]
        """By task, whether an example and an impostor are in the working set, shape (n, n)."""
        self.pairs = [np.nonzero(known) for known in self.known]
        """By task, the examples and the impostors in the working set."""
        self.first = [np.zeros(len(known) + 1, dtype=np.int64) for known in self.known]
        """By task, where the pairs of each example start, and where the last one's end."""

    def search(self, Z: Parts) -> int:
        """Add all pairs with a loss, and return how many were missing."""
        missing = 0
        for t, task in enumerate(self.tasks):
            images, rows = self.model.images(Z, t)
            found = add_near(symmetric_product(images, rows), task.y, task.targets, self.known[t])
            if found:
                self.pairs[t] = np.nonzero(self.known[t])
                self.first[t][1:] = np.cumsum(self.known[t].sum(axis=1))
            missing += found
        return missing

    def at(self, Z: Parts) -> Point:
        """Return the point with the variables `Z`."""
        distances = []
        for t, (task, pairs) in enumerate(zip(self.tasks, self.pairs, strict=True)):
            images, rows = self.model.images(Z, t)
            n = len(rows)
            if DENSE * pairs[0].size > n * n:
                products = symmetric_product(images, rows)
                found = Distances(to_targets(products, task.targets), to_pairs(products, *pairs))
            else:
                own = np.einsum("nd,nd->n", images, rows)
                start = np.repeat(np.arange(n), task.targets.shape[1])
                target = some_distances(images, rows, own, start, task.targets.ravel())
                found = Distances(
                    target.reshape(task.targets.shape), some_distances(images, rows, own, *pairs)
                )
            distances.append(found)
        return Point(Z, tuple(distances))

    def value(self, point: Point, width: float) -> float:
        """Return the objective with the hinge's quadratic start of a width, which may be 0."""
        total = self.model.cost(point.Z)
        for found, first in zip(point.distances, self.first, strict=True):
            push = hinge(found.targets, found.pairs, first, width)
            total += (1.0 - self.mu) * found.targets.sum() + self.mu * push
        return float(total)

    def value_and_gradient(self, point: Point, width: float) -> tuple[float, Parts]:
        """Return `value` and its gradient; the width is not 0."""
        total, graphs = self.value(point, width), []
        for task, found, (start, end), first in zip(
            self.tasks, point.distances, self.pairs, self.first, strict=True
        ):
            n, n_neighbors = task.targets.shape
            pull, push = slopes(found.targets, found.pairs, first, width)
            pull *= self.mu
            pull += 1.0 - self.mu
            active = np.flatnonzero(push > 0.0)
            graphs.append(
                Edges(
                    np.concatenate([np.repeat(np.arange(n), n_neighbors), start[active]]),
                    np.concatenate([task.targets.ravel(), end[active]]),
                    np.concatenate([pull.ravel(), -self.mu * push[active]]),
                )
            )
        return total, self.model.gradient(point.Z, graphs)

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
        while True:
            parts, bound = [], value
            for part, slope, pace in zip(origin.Z, gradient, self.model.pace, strict=True):
                near = nearest_in_cone(part - (step * pace) * slope)
                moved = near - part
                bound += np.vdot(slope, moved) + squares(moved) / (2.0 * step * pace)
                parts.append(near)
            there = self.at(tuple(parts))
            found = self.value(there, width)
            if found <= bound + ROUNDING * abs(value):
                return there, found, step
            step *= SHORTER


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def hinge(targets, pairs, first, width):
    """Return the sum of [1 + d²(i, j) - d²(i, l)]_+ over pairs (i, l) and target neighbours j.

    The hinge is quadratic in a width from 0 on, and later lower by width / 2. The pairs of example
    i are those from first[i] to first[i + 1].
    """
    curve = 0.5 / width if width > 0.0 else 0.0
    total = 0.0
    for i in range(targets.shape[0]):
        for k in range(targets.shape[1]):
            reach = 1.0 + targets[i, k]
            of_target = 0.0
            for e in range(first[i], first[i + 1]):
                above = max(reach - pairs[e], 0.0)
                start = min(above, width)
                of_target += above - start + curve * (start * start)
            total += of_target
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def slopes(targets, pairs, first, width):
    """Return the slopes of `hinge` by the distance of each target, and less those by each pair's.

    Shapes: (n, n_neighbors) and (n_pairs,).
    """
    pull, push = np.zeros(targets.shape), np.zeros(pairs.size)
    for i in range(targets.shape[0]):
        for k in range(targets.shape[1]):
            reach = 1.0 + targets[i, k]
            of_target = 0.0
            for e in range(first[i], first[i + 1]):
                slope = min(max(reach - pairs[e], 0.0) / width, 1.0)
                of_target += slope
                push[e] += slope
            pull[i, k] = of_target
    return pull, push


@njit(cache=True, nogil=True)
def add_near(products, y, targets, known):
    """Mark the pairs of another class that are nearer than a target's margin; return how many."""
    added = 0
    for i in range(y.size):
        reach = -np.inf
        for k in range(targets.shape[1]):
            j = targets[i, k]
            reach = max(reach, 1.0 + products[i, i] + products[j, j] - 2.0 * products[i, j])
        for j in range(y.size):
            apart = products[i, i] + products[j, j] - 2.0 * products[i, j]
            if apart < reach and y[j] != y[i] and not known[i, j]:
                known[i, j] = True
                added += 1
    return added


@njit(cache=True, nogil=True)
def to_pairs(products, start, end):
    """Return d² between pairs of examples whose products with the metric between are given."""
    found = np.empty(start.size)
    for e in range(start.size):
        i, j = start[e], end[e]
        found[e] = products[i, i] + products[j, j] - 2.0 * products[i, j]
    return found


@njit(cache=True, nogil=True)
def to_targets(products, targets):
    """Return d² of each example to its target neighbours, as `to_pairs`."""
    found = np.empty(targets.shape)
    for i in range(targets.shape[0]):
        for k in range(targets.shape[1]):
            j = targets[i, k]
            found[i, k] = products[i, i] + products[j, j] - 2.0 * products[i, j]
    return found


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
        tuple(here * n - beyond * o for o, n in zip(old.Z, new.Z, strict=True)),
        tuple(
            Distances(here * n.targets - beyond * o.targets, here * n.pairs - beyond * o.pairs)
            for o, n in zip(old.distances, new.distances, strict=True)
        ),
    )


def nearest_in_cone(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix to a symmetric one.

    The matrix is made tridiagonal, its negative eigenvalues counted, and of those on the side that
    has fewer the vectors are found: all that is needed.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    """
    n = len(matrix)
    if n == 1:
        return np.maximum(matrix, 0.0)
    reflected, diagonal, beside, tau, _ = lapack.dsytrd(matrix.T, lower=1, lwork=64 * n)
    n_negative = below_zero(diagonal, beside)
    negative = 2 * n_negative <= n
    count = n_negative if negative else n - n_negative
    if count == 0:
        return matrix.copy() if negative else np.zeros_like(matrix)
    first = 0 if negative else n_negative
    values, vectors = eigenpairs(diagonal, beside, first, count)
    back, _, _ = lapack.dormqr("L", "N", reflected[1:, :-1], tau, vectors[1:], 64 * count)
    vectors[1:] = back
    vectors *= np.sqrt(np.abs(values))
    product = vectors @ vectors.T
    return matrix + product if negative else product


@njit(cache=True, nogil=True)
def below_zero(diagonal, beside):
    """Return how many eigenvalues of a tridiagonal matrix are negative, by Sylvester's law."""
    least = 1e-300
    count, pivot = 0, 1.0
    for i in range(diagonal.size):
        pivot = diagonal[i] - (beside[i - 1] * beside[i - 1] / pivot if i > 0 else 0.0)
        if abs(pivot) < least:
            pivot = least
        count += pivot < 0.0
    return count


def eigenpairs(
    diagonal: np.ndarray, beside: np.ndarray, first: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return some eigenvalues of a tridiagonal matrix, in ascending order, with their vectors.

    Parameters
    ----------
    diagonal : ndarray of shape (n,)
    beside : ndarray of shape (n - 1,)
    first, count : int
        Which are wanted, from 0.
    """
    if FEW * count <= diagonal.size:
        room = np.append(beside, 0.0)
        _, values, vectors, failed = lapack.dstemr(
            diagonal.copy(), room, 2, 0.0, 0.0, first + 1, first + count
        )
        if not failed:
            return values[:count], vectors[:, :count]
    values, vectors, failed = lapack.dstevd(diagonal, beside)
    assert not failed, "the solver of tridiagonal matrices converges"
    return values[first : first + count], vectors[:, first : first + count]


def span_of(X: np.ndarray) -> Span | None:
    """Return the span of centred rows, or None where it may be of all features.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    """
    if len(X) > X.shape[1]:
        return None
    basis, _ = np.linalg.qr(X.T)
    return Span(basis, X @ basis)


def symmetric_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A Bᵀ where that is symmetric, at little more than half the cost.

    Parameters
    ----------
    A, B : ndarray of shape (n, m)
    """
    n = len(A)
    product = np.empty((n, n))
    for first in range(0, n, BLOCK):
        block = slice(first, first + BLOCK)
        np.matmul(A[first:], B[block].T, out=product[first:, block])
    mirror(product)
    return product


@njit(cache=True, nogil=True)
def mirror(matrix):
    """Copy what is below the diagonal to what is above it, in small blocks."""
    n, block = matrix.shape[0], 16
    for rows in range(0, n, block):
        for columns in range(0, rows + 1, block):
            for i in range(rows, min(rows + block, n)):
                for j in range(columns, min(columns + block, i)):
                    matrix[j, i] = matrix[i, j]


def quadratic_form(X: np.ndarray, graph: Edges) -> np.ndarray:
    """Return XᵀLX: the sum over edges e of weight_e (x_start - x_end)(x_start - x_end)ᵀ.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    graph : Edges
    """
    n = len(X)
    if DENSE * graph.weight.size > n * n:
        return symmetric_product(X.T, (laplacian(*graph, n) @ X).T)
    shape = (n, n)
    one_way = sparse.coo_array((graph.weight, (graph.start, graph.end)), shape=shape).tocsr()
    degree = np.bincount(graph.start, graph.weight, n) + np.bincount(graph.end, graph.weight, n)
    images = degree[:, None] * X - one_way @ X - one_way.T @ X
    return symmetric_product(X.T, images.T)


@njit(cache=True, nogil=True)
def laplacian(start, end, weight, n):
    """Return the Laplacian of a graph, shape (n, n)."""
    found = np.zeros((n, n))
    for e in range(weight.size):
        i, j, w = start[e], end[e], weight[e]
        found[i, j] -= w
        found[j, i] -= w
        found[i, i] += w
        found[j, j] += w
    return found


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
    images: np.ndarray, X: np.ndarray, own: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Return d² between pairs of examples.

    Parameters
    ----------
    images : ndarray of shape (n, n_features)
        The examples times the metric.
    X : ndarray of shape (n, n_features)
    own : ndarray of shape (n,)
        Each example's product with its image.
    start, end : ndarray of int
    """
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
