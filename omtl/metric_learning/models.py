"""The metrics of many tasks, composed of positive semidefinite matrices, and their cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.metric_learning.quadratic_forms import Edges, quadratic_form, squares, symmetric_product

Stack = np.ndarray
"""Symmetric matrices, shape (n_matrices, n_features, n_features)."""

Variables = tuple[np.ndarray, ...]
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


class MetricModel:
    """The solver's variables M_0, M_1, ..., all in the cone, the metrics M_0 + M_t, and their cost.

    M_t starts at 0, and its gradient consists of rows of task t: it is stored in a basis of their
    span if that is smaller than the space.

    Parameters
    ----------
    tasks : list of Neighbours
    gamma, gamma0 : float
        The costs of ‖M_t‖² and of ‖M_0 - I‖².
    """

    def __init__(self, tasks: list[Neighbours], gamma: float, gamma0: float) -> None:
        self.tasks, self.gamma, self.gamma0 = tasks, gamma, gamma0
        self.unit = np.eye(tasks[0].X.shape[1])
        self.spans = [span_of(known.X) for known in tasks]
        sizes = [len(self.unit) if span is None else span.basis.shape[1] for span in self.spans]
        self.start: Variables = (self.unit, *(np.zeros((size, size)) for size in sizes))
        self.pace = np.append(1.0 / len(tasks), np.ones(len(tasks)))
        """The step of each variable relative to the others'."""

    def whole(self, Z: Variables) -> Stack:
        """Return M_0, M_1, ... in the space of the features."""
        own = [
            part if span is None else symmetric_product(span.basis @ part, span.basis)
            for part, span in zip(Z[1:], self.spans, strict=True)
        ]
        return np.stack([Z[0], *own])

    def metrics(self, Z: Variables) -> Stack:
        """Return the tasks' metrics."""
        parts = self.whole(Z)
        return parts[0] + parts[1:]

    def images(self, Z: Variables, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays A and B with A Bᵀ = X M Xᵀ, of the task's rows and metric."""
        X, span = self.tasks[t].X, self.spans[t]
        if span is None:
            return X @ (Z[0] + Z[1 + t]), X
        metric = symmetric_product(span.basis.T @ Z[0], span.basis.T)
        metric += Z[1 + t]
        return span.rows @ metric, span.rows

    def cost(self, Z: Variables) -> float:
        """Return the regulariser."""
        own = sum(squares(part) for part in Z[1:])
        return self.gamma0 * squares(Z[0] - self.unit) + self.gamma * own

    def gradient(self, Z: Variables, graphs: list[Edges]) -> Variables:
        """Return the objective's gradient, from the variables and the tasks' graphs."""
        common = 2.0 * self.gamma0 * (Z[0] - self.unit)
        own = []
        for known, span, part, graph in zip(self.tasks, self.spans, Z[1:], graphs, strict=True):
            if span is None:
                loss = quadratic_form(known.X, graph)
                common += loss
            else:
                loss = quadratic_form(span.rows, graph)
                common += symmetric_product(span.basis @ loss, span.basis)
            loss += 2.0 * self.gamma * part
            own.append(loss)
        return (common, *own)
