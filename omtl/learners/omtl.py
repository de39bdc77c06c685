"""Online learning of multiple tasks and their relationships (Saha et al., AISTATS 2011, "OMTL").

A multi-task perceptron whose interaction matrix A is learnt with the weights W (one column a task):
where task k errs on (x, y), w^j ← w^j + y (A⁻¹)_{j,k} x for every task j, and then A is learnt from
WᵀW. The tasks learn alone (A = I) for a share of the rounds, the paper's EPOCH, and for the first
round at least: the relation is no better than the weights that it is learnt from.

The equations are from general knowledge of the paper, whose text was not at hand:

- the Bregman divergence of A to the last A, plus η tr(W A Wᵀ), is least at
  A_s⁻¹ = A_{s−1}⁻¹ + η WᵀW for the LogDet divergence, and at
  log A_s = log A_{s−1} − η WᵀW for von Neumann's;
- the third variant takes the covariance of the weights for A⁻¹, which is what A⁻¹ stands for: where
  the weights of two tasks are alike, each learns from the other's mistakes;
- W is that from before the step, and A₀ = I: another multiple of I is the same as another η, as a
  perceptron that learns from mistakes only does not see the scale of its weights;
- A⁻¹ is used with trace n_tasks, as in the tasks' learning alone: weights grow with A⁻¹ and A⁻¹
  with their squares, so that without it nothing but the last steps counts soon. Where `normalise`
  is there, it turns this off.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.learners.diffusion import Diffusion, diffusion, hear, learn
from omtl.ops import BORROWED, DenseRows, Rows
from omtl.rules import Event, Shape

MOST_SWEEPS = 40
"""Jacobi's method takes fewer than ten sweeps; numbers that are not finite would take forever."""

DIAGONAL = 1e-33
"""A matrix is diagonal when the squares beside its diagonal are less than this of those on it."""

NEGLIGIBLE = 1e-20
"""Components smaller than this, relative to the diagonal's, are not turned away."""


class Relationships(NamedTuple):
    """The tasks' weight vectors (the slots of a single node) and their relation.

    Parameters
    ----------
    net : Diffusion
        The weight vectors, w^k in slot k.
    inverse : ndarray of shape (n_tasks, n_tasks)
        A⁻¹ as the next step uses it.
    learnt : ndarray of shape (n_tasks, n_tasks)
        What is learnt of it: A⁻¹ before it is normalised, or its logarithm.
    gram : ndarray of shape (n_tasks, n_tasks)
        WᵀW, which follows from the scores.
    sums : ndarray of shape (n_tasks,)
        Sums of the components of each weight vector.
    axes, along : ndarray of shape (n_tasks, n_tasks)
        The eigenvectors of `learnt` as rows, and `learnt` along these.
    together_from : ndarray of shape (1,), int64
        The round from which on the relation is learnt and used.
    """

    net: Diffusion
    inverse: np.ndarray
    learnt: np.ndarray
    gram: np.ndarray
    sums: np.ndarray
    axes: np.ndarray
    along: np.ndarray
    together_from: np.ndarray


def unrelated(shape: Shape, learnt: np.ndarray, epoch: float) -> Relationships:
    """Return zero weights of tasks that learn alone."""
    m = shape.n_tasks
    return Relationships(
        net=diffusion(shape._replace(mixing=np.ones((1, 1))), n_slots=m),
        inverse=np.eye(m),
        learnt=learnt,
        gram=np.zeros((m, m)),
        sums=np.zeros(m),
        axes=np.eye(m),
        along=np.zeros((m, m)),
        together_from=np.array([max(1, math.ceil(epoch * shape.n_rounds))]),
    )


def row_sum(rows: Rows, i: int) -> float:
    """Return the sum of the components of row `i`."""
    if isinstance(rows, DenseRows):
        return float(rows.X[i].sum())
    return float(rows.values[rows.indptr[i] : rows.indptr[i + 1]].sum())


@overload(row_sum, jit_options=BORROWED)
def _row_sum(rows, i):  # noqa: ARG001
    def dense(rows, i):
        total = 0.0
        for k in range(rows.X.shape[1]):
            total += rows.X[i, k]
        return total

    def compressed(rows, i):
        total = 0.0
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            total += rows.values[k]
        return total

    return dense if rows.instance_class is DenseRows else compressed


@register_jitable(**BORROWED)
def slot_score(state, rows, event):
    """Return w^k·x."""
    hear(state.net, rows, event.example, event.task, event.task + 1)
    return state.net.products[event.task]


@register_jitable(**BORROWED)
def plan(state, rows, event, step):
    """Hear all tasks' scores, and plan what each learns: `step` (A⁻¹)_{j,k} times the example."""
    hear(state.net, rows, event.example, 0, state.sums.size)
    for j in range(state.sums.size):
        state.net.steps[j] = step * state.inverse[j, event.task]


@register_jitable(**BORROWED)
def take(state, rows, event, alone):
    """Take the steps that were planned: of the event's task if it is still alone, or of all."""
    m, k = state.sums.size, event.task
    scores, steps = state.net.products, state.net.steps
    for i in range(m):
        for j in range(m):
            product = steps[i] * scores[j] + steps[j] * scores[i]
            state.gram[i, j] += product + steps[i] * steps[j] * event.square_norm
    if alone:
        learn(state.net, rows, event.example, k, k + 1)
    else:
        learn(state.net, rows, event.example, 0, m)


@register_jitable(**BORROWED)
def use(state, source, normalise):
    """Let the next steps use a matrix for A⁻¹, with trace n_tasks if it is to be normalised."""
    m = state.sums.size
    factor = 1.0
    if normalise:
        trace = 0.0
        for i in range(m):
            trace += source[i, i]
        if not trace > 0.0:
            return
        factor = m / trace
    for i in range(m):
        for j in range(m):
            state.inverse[i, j] = factor * source[i, j]


@register_jitable(**BORROWED)
def turn(a, axes):
    """Turn a symmetric matrix, and its axes (rows), until it is diagonal: Jacobi's method."""
    n = a.shape[0]
    for _ in range(MOST_SWEEPS):
        off, on = 0.0, 0.0
        for p in range(n):
            on += a[p, p] * a[p, p]
            for q in range(p):
                off += a[p, q] * a[p, q]
        if not off > DIAGONAL * on:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if abs(a[p, q]) <= NEGLIGIBLE * (abs(a[p, p]) + abs(a[q, q])):
                    continue
                slope = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                tangent = 1.0 / (abs(slope) + math.sqrt(1.0 + slope * slope))
                if slope < 0.0:
                    tangent = -tangent
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                sine = tangent * cosine
                for k in range(n):
                    one, other = a[k, p], a[k, q]
                    a[k, p] = cosine * one - sine * other
                    a[k, q] = sine * one + cosine * other
                for k in range(n):
                    one, other = a[p, k], a[q, k]
                    a[p, k] = cosine * one - sine * other
                    a[q, k] = sine * one + cosine * other
                for k in range(n):
                    one, other = axes[p, k], axes[q, k]
                    axes[p, k] = cosine * one - sine * other
                    axes[q, k] = sine * one + cosine * other


@register_jitable(**BORROWED)
def use_exponential(state):
    """Let the next steps use exp(`learnt`), made to have trace n_tasks, for A⁻¹.

    Jacobi's method starts from the axes of last time, from which it takes a sweep or two.
    """
    m = state.sums.size
    a, axes, learnt = state.along, state.axes, state.learnt
    for i in range(m):
        for k in range(m):
            total = 0.0
            for j in range(m):
                total += axes[i, j] * learnt[j, k]
            state.inverse[i, k] = total
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            for k in range(m):
                total += state.inverse[i, k] * axes[j, k]
            a[i, j] = total
            a[j, i] = total
    turn(a, axes)
    top = a[0, 0]
    for i in range(m):
        top = max(top, a[i, i])
    trace = 0.0
    for i in range(m):
        a[i, i] = math.exp(a[i, i] - top)
        trace += a[i, i]
    for j in range(m):
        for k in range(m):
            total = 0.0
            for i in range(m):
                total += a[i, i] * axes[i, j] * axes[i, k]
            state.inverse[j, k] = m / trace * total


class OMTLCovariance(NamedTuple):
    """OMTL with A⁻¹ = cov(W) (Saha et al. 2011; see the module for what is known of it).

    (A⁻¹)_{j,k} = Σ_f (w^j_f − w̄^j)(w^k_f − w̄^k) / (d − 1) over the d features, of the weights from
    before the step; with ``normalise``, times what makes the trace n_tasks. A task whose weights
    are zero when A is first learnt keeps them for good, as it varies with no other.

    Cost per example: O(nonzeros), and O(n_tasks · (nonzeros + n_tasks)) where a step is taken.

    Parameters
    ----------
    epoch : float
        Share of the rounds in which the tasks learn alone (at least the first).
    rate : float
        Learning rate of the weights; with ``margin = 0`` and ``normalise`` it changes no
        prediction.
    margin : float
        Learn where y w^k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    normalise : bool
        Whether A⁻¹ is used with trace n_tasks. Without, steps grow with the square of the weights.
    """

    epoch: float
    rate: float = 1.0
    margin: float = 0.0
    normalise: bool = True

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights and A = I."""
        return unrelated(shape, np.eye(shape.n_tasks), self.epoch)

    def score(self, state: Relationships, rows: Any, event: Event) -> float:
        """Return w^k·x."""
        return slot_score(state, rows, event)

    def update(self, state: Relationships, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a step of all tasks where the margin is not reached, and learn their relation."""
        if y * score > self.margin:
            return False
        plan(state, rows, event, self.rate * y)
        m = state.sums.size
        d = state.net.vectors.size // m
        if event.round >= state.together_from[0]:
            for i in range(m):
                for j in range(m):
                    both = state.gram[i, j] - state.sums[i] * state.sums[j] / d
                    state.learnt[i, j] = both / max(1, d - 1)
            use(state, state.learnt, self.normalise)
        total = row_sum(rows, event.example)
        for j in range(m):
            state.sums[j] += state.net.steps[j] * total
        take(state, rows, event, event.round < state.together_from[0])
        return True


class OMTLLogDet(NamedTuple):
    """OMTL with the LogDet divergence (Saha et al. 2011; see the module for what is known of it).

    A⁻¹ ← A⁻¹ + η WᵀW with each step, of the weights from before the step.

    Cost per example: O(nonzeros), and O(n_tasks · (nonzeros + n_tasks)) where a step is taken.

    Parameters
    ----------
    eta : float
        Learning rate η ≥ 0 of the relation; 0 learns each task alone.
    epoch : float
        Share of the rounds in which the tasks learn alone (at least the first).
    rate : float
        Learning rate of the weights; with ``margin = 0``, the same as another η.
    margin : float
        Learn where y w^k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    normalise : bool
        Whether A⁻¹ is used with trace n_tasks. Without, steps grow without bound.
    """

    eta: float
    epoch: float
    rate: float = 1.0
    margin: float = 0.0
    normalise: bool = True

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights and A = I."""
        return unrelated(shape, np.eye(shape.n_tasks), self.epoch)

    def score(self, state: Relationships, rows: Any, event: Event) -> float:
        """Return w^k·x."""
        return slot_score(state, rows, event)

    def update(self, state: Relationships, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a step of all tasks where the margin is not reached, and learn their relation."""
        if y * score > self.margin:
            return False
        plan(state, rows, event, self.rate * y)
        m = state.sums.size
        if event.round >= state.together_from[0]:
            for i in range(m):
                for j in range(m):
                    state.learnt[i, j] += self.eta * state.gram[i, j]
            use(state, state.learnt, self.normalise)
        take(state, rows, event, event.round < state.together_from[0])
        return True


class OMTLVonNeumann(NamedTuple):
    """OMTL with von Neumann's divergence (Saha et al. 2011; see the module for what is known).

    log A ← log A − η WᵀW with each step, of the weights from before the step; A⁻¹ is used with
    trace n_tasks, without which its steps grow faster than the exponential of their own squares.

    Cost per example: O(nonzeros), and O(n_tasks · nonzeros + n_tasks³) where a step is taken.

    Parameters
    ----------
    eta : float
        Learning rate η ≥ 0 of the relation; 0 learns each task alone.
    epoch : float
        Share of the rounds in which the tasks learn alone (at least the first).
    rate : float
        Learning rate of the weights; with ``margin = 0``, the same as another η.
    margin : float
        Learn where y w^k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    """

    eta: float
    epoch: float
    rate: float = 1.0
    margin: float = 0.0

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights and log A = 0."""
        return unrelated(shape, np.zeros((shape.n_tasks, shape.n_tasks)), self.epoch)

    def score(self, state: Relationships, rows: Any, event: Event) -> float:
        """Return w^k·x."""
        return slot_score(state, rows, event)

    def update(self, state: Relationships, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a step of all tasks where the margin is not reached, and learn their relation."""
        if y * score > self.margin:
            return False
        plan(state, rows, event, self.rate * y)
        m = state.sums.size
        if event.round >= state.together_from[0]:
            for i in range(m):
                for j in range(m):
                    state.learnt[i, j] += self.eta * state.gram[i, j]
            use_exponential(state)
        take(state, rows, event, event.round < state.together_from[0])
        return True
