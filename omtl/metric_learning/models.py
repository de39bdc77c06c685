"""Models of metrics: how metrics of one or many tasks are composed of matrices in a cone.

A part M_t that starts at 0 stays in the span of its task's rows: if these are fewer than the
features, it is stored in a basis of that span.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from omtl.metric_learning.quadratic_forms import Edges, quadratic_form, squares, symmetric_product

Stack = np.ndarray
"""Symmetric matrices, shape (n_matrices, n_features, n_features)."""

Parts = tuple[np.ndarray, ...]
"""The solver's variables: symmetric matrices of different sizes."""


class Neighbours(NamedTuple):
    """A task's centred examples with their classes and target neighbours.

    Shapes: `X` (n, n_features), `y` (n,), `targets` (n, n_neighbors).
    """

    X: np.ndarray
    y: np.ndarray
    targets: np.ndarray


class Span(NamedTuple):
    """The r-dimensional span of a task's rows.

    Shapes: `basis` (n_features, r), orthonormal columns; `rows` (n, r), the rows in that basis.
    """

    basis: np.ndarray
    rows: np.ndarray


def span_of(X: np.ndarray) -> Span | None:
    """Return the span of centred rows, or None if it may be the whole space.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    """
    if len(X) > X.shape[1]:
        return None
    basis, _ = np.linalg.qr(X.T)
    return Span(basis, X @ basis)


class Model(NamedTuple):
    """How the solver's variables, all in the cone, form metrics, and their cost.

    Parameters
    ----------
    start : tuple of ndarray
    pace : ndarray of shape (n_matrices,)
        The step of each variable relative to the others'.
    metrics : callable
        From the variables to the tasks' metrics; linear.
    whole : callable
        From the variables to those in `Solution`.
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


def one_metric(tasks: list[Neighbours], gamma0: float) -> Model:
    """Return the model for one task with the metric M: gamma0 ‖M - I‖².

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

    M_t starts at 0, and its gradient consists of rows of task t: it is stored in a basis of their
    span if that is smaller than the space.

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
