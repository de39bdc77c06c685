"""Minimising the objective of large-margin metrics: a projected gradient method.

It uses Nesterov's acceleration. The hinge has a quadratic start of some width, [u]_+ → u²/(2
width), so that it has a gradient; the width is divided by ten until the objective that it hides is
below `tol`. The sums over triples run over a working set of impostor pairs. All missing pairs are
added every few steps, and none is missing at the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.metric_learning.models import MetricModel, Stack, Variables
from omtl.metric_learning.quadratic_forms import (
    DENSE,
    Edges,
    nearest_in_cone,
    some_distances,
    squares,
    symmetric_product,
    to_pairs,
)
from omtl.util.compile_cache import kept

FIRST_WIDTH = 1.0
"""Initial width of the hinge's quadratic start: the margin."""

NARROWER = 0.1
"""Factor that shrinks the width of the hinge's quadratic start."""

SEARCH_EVERY = 10
"""Number of steps between searches for impostors missing from the working set."""

PATIENCE = 5
"""The descent ends if this many steps do not lower the objective by the tolerance."""

SHORTER, LONGER = 0.5, 1.05
"""Factors of the step length after a step that was too long, and after one that was taken."""

ROUNDING = 1e-12
"""Relative change of the objective below which it does not count as a rise."""


class Distances(NamedTuple):
    """A task's squared distances, linear in its metric.

    Shapes: `targets` (n, n_neighbors), from each example to its target neighbours; `pairs`
    (n_pairs,), from the examples to the impostors in the working set.
    """

    targets: np.ndarray
    pairs: np.ndarray


class Point(NamedTuple):
    """The solver's variables, and the resulting distances of all tasks."""

    Z: Variables
    distances: tuple[Distances, ...]


class Solution(NamedTuple):
    """The solver's result.

    Parameters
    ----------
    metrics : ndarray of shape (n_tasks, n_features, n_features)
        The metric of each task.
    parts : Stack
        M_0, M_1, ...
    objective : float
        Its value with the plain hinge over all triples.
    converged : bool
        Whether the steps sufficed.
    """

    metrics: Stack
    parts: Stack
    objective: float
    converged: bool


def minimise(model: MetricModel, mu: float, max_iter: int, tol: float) -> Solution:
    """Minimise a model's cost and its tasks' losses, with the variables in the cone.

    A step starts where the momentum leads, goes against the gradient and is projected onto the
    cone. It is halved until the objective is below its quadratic model. If the objective would
    still rise, the step is not taken, and the momentum is reset.

    Parameters
    ----------
    model : Model
    mu : float
        As in `MTLMNN`, like the following.
    max_iter : int
    tol : float
    """
    objective = Objective(model, mu)
    objective.search(model.start)
    here = objective.at(model.start)
    width = FIRST_WIDTH
    value, slope = objective.value_and_gradient(here, width)
    size = math.sqrt(sum(map(squares, slope)))
    step = math.sqrt(sum(map(squares, model.start))) / size if size > 0.0 else 1.0
    searched, ahead, age = here, here, 1.0
    recent = [value]
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
    value = objective.value(here, 0.0)
    return Solution(model.metrics(here.Z), model.whole(here.Z), value, converged)


class Objective:
    """A model's objective over the working set of impostor pairs.

    Parameters
    ----------
    model : Model
    mu : float
    """

    def __init__(self, model: MetricModel, mu: float):
        self.model = model
        self.tasks = model.tasks
        self.mu = mu
        self.forget()

    def forget(self) -> None:
        """Empty the working set."""
        self.known = [np.zeros((len(known.X),) * 2, dtype=np.bool_) for known in self.tasks]
        """Whether an example and an impostor are in the working set, by task, shape (n, n)."""
        self.pairs = [np.nonzero(known) for known in self.known]
        """The examples and the impostors in the working set, by task."""
        self.first = [np.zeros(len(known) + 1, dtype=np.int64) for known in self.known]
        """The start of each example's pairs, and the end of the last one's, by task."""

    def search(self, Z: Variables) -> int:
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

    def at(self, Z: Variables) -> Point:
        """Return the point with the variables `Z`."""
        distances = []
        for t, (task, pairs) in enumerate(zip(self.tasks, self.pairs, strict=True)):
            images, rows = self.model.images(Z, t)
            n, n_neighbors = task.targets.shape
            start, target = np.repeat(np.arange(n), n_neighbors), task.targets.ravel()
            if DENSE * pairs[0].size > n * n:
                products = symmetric_product(images, rows)
                near, far = to_pairs(products, start, target), to_pairs(products, *pairs)
            else:
                own = np.einsum("nd,nd->n", images, rows)
                near = some_distances(images, rows, own, start, target)
                far = some_distances(images, rows, own, *pairs)
            distances.append(Distances(near.reshape(n, n_neighbors), far))
        return Point(Z, tuple(distances))

    def value(self, point: Point, width: float) -> float:
        """Return the objective with a hinge whose start is quadratic over a width, possibly 0."""
        total = self.model.cost(point.Z)
        for found, first in zip(point.distances, self.first, strict=True):
            push = hinge_sum(found.targets, found.pairs, first, width)
            total += (1.0 - self.mu) * found.targets.sum() + self.mu * push
        return float(total)

    def value_and_gradient(self, point: Point, width: float) -> tuple[float, Variables]:
        """Return `value` and its gradient; the width is not 0."""
        total, graphs = self.value(point, width), []
        for task, found, (start, end), first in zip(
            self.tasks, point.distances, self.pairs, self.first, strict=True
        ):
            n, n_neighbors = task.targets.shape
            pull, push = hinge_slopes(found.targets, found.pairs, first, width)
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
            The length to try first.
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


@kept(nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def hinge_sum(targets, pairs, first, width):
    """Return the sum of [1 + d²(i, j) - d²(i, l)]_+ over pairs (i, l) and target neighbours j.

    The hinge is quadratic from 0 to the width, and lower by width / 2 beyond. The pairs of example
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


@kept(nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def hinge_slopes(targets, pairs, first, width):
    """Return the slopes of `hinge_sum` in each target's distance, and minus those in each pair's.

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


def add_near(products: np.ndarray, y: np.ndarray, targets: np.ndarray, known: np.ndarray) -> int:
    """Mark pairs of different classes nearer than a target's margin; return their number."""
    own = products.diagonal()
    apart = own[:, None] + own - 2.0 * products
    to_targets = 2.0 * np.take_along_axis(products, targets, axis=1)
    reach = (1.0 + own[:, None] + own[targets] - to_targets).max(axis=1, keepdims=True)
    added = (apart < reach) & (y != y[:, None]) & ~known
    known |= added
    return int(np.count_nonzero(added))


def along(old: Point, new: Point, beyond: float) -> Point:
    """Return the point beyond new, by `beyond` times the way from old to new.

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
