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

from omtl.lanes import hear_lanes
from omtl.learners.diffusion import Diffusion, diffusion, hear, learn
from omtl.ops import BLOCK, BORROWED, DenseRows, Rows
from omtl.rules import Event, Shape

TERMS = tuple(1.0 / math.factorial(k) for k in range(13))
"""Coefficients of the exponential's series, of which no more is needed below `SMALL`."""

SMALL = 0.3
"""Norm of matrices whose series ends in rounding errors after 12 powers."""

GREAT = 100.0
"""Where an eigenvalue is so great and twice the others, the exponential has its vector alone."""

DOUBLINGS = 6
"""Squarings after which a power of such a matrix has that vector alone too."""

PURE = 1e-9
"""Share of the trace that the others may have before the last squaring, which squares it."""

FAINT = 1e-8
"""Where a task's share in the vector, squared, is less, the others are not neglected."""


class Relationships(NamedTuple):
    """The tasks' weight vectors (the slots of a single node) and their relation.

    Parameters
    ----------
    net : Diffusion
        The weight vectors, w^k in slot k.
    inverse : ndarray of shape (n_tasks, n_tasks or width)
        A⁻¹ as the next step uses it.
    learnt : ndarray of shape (n_tasks, n_tasks or width)
        What is learnt of it: A⁻¹ before it is normalised, or its logarithm. Where its exponential
        is taken, rows end with zeros, which makes them of a length that is fast.
    gram : ndarray of shape (n_tasks, n_tasks)
        WᵀW, which follows from the scores.
    sums : ndarray of shape (n_tasks,)
        Sums of the components of each weight vector.
    memory : ndarray of shape (4, n_tasks, width)
        What the exponential is worked out in.
    each : ndarray of shape (n_tasks,), int32
        The numbers of the tasks.
    together_from : ndarray of shape (1,), int64
        The round from which on the relation is learnt and used.
    """

    net: Diffusion
    inverse: np.ndarray
    learnt: np.ndarray
    gram: np.ndarray
    sums: np.ndarray
    memory: np.ndarray
    each: np.ndarray
    together_from: np.ndarray


def unrelated(shape: Shape, learnt: np.ndarray, epoch: float) -> Relationships:
    """Return zero weights of tasks that learn alone."""
    m, width = learnt.shape
    return Relationships(
        net=diffusion(shape._replace(mixing=np.ones((1, 1))), n_slots=m),
        inverse=np.eye(m, width),
        learnt=learnt,
        gram=np.zeros((m, m)),
        sums=np.zeros(m),
        memory=np.zeros((4, m, width)),
        each=np.arange(m, dtype=np.int32),
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


def multiply(left: np.ndarray, right: np.ndarray, product: np.ndarray, each: np.ndarray) -> None:
    """Put the product of two square matrices, whose rows end with zeros, in a third."""
    product[:] = left[:, : each.size] @ right


@overload(multiply, jit_options=BORROWED)
def _multiply(left, right, product, each):  # noqa: ARG001
    def by_row(left, right, product, each):
        n = each.size
        for i in range(n):
            for k in range(0, product.shape[1], BLOCK):
                hear_lanes(BLOCK, right, each, left[i], 0, n, k, (0,), product[i])

    return by_row


@register_jitable(**BORROWED)
def trace_of(a):
    """Return the sum of the diagonal."""
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i, i]
    return total


@register_jitable(**BORROWED)
def put(a, factor, source):
    """Let a matrix be `factor` times another."""
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            a[i, k] = factor * source[i, k]


@register_jitable(**BORROWED)
def square(a, doublings, memory, each):
    """Square a matrix so often, with trace 1; stop where it is a projection, and return whether.

    It projects on one eigenvector, in which every task has its share: in each column the others are
    less than a rounding error.
    """
    put(a, 1.0 / trace_of(a), a)
    for _ in range(doublings):
        multiply(a, a, memory, each)
        purity = trace_of(memory)
        put(a, 1.0 / purity, memory)
        least = 1.0
        for i in range(each.size):
            least = min(least, a[i, i])
        if 1.0 - purity < PURE and least > FAINT:
            return True
    return False


@register_jitable(**BORROWED)
def add_terms(total, first, powers):
    """Add three terms of the series, from `first` on, without their power of the cube."""
    one, two = powers[0], powers[1]
    for i in range(total.shape[0]):
        for k in range(total.shape[1]):
            total[i, k] += TERMS[first + 1] * one[i, k] + TERMS[first + 2] * two[i, k]
        total[i, i] += TERMS[first]


@register_jitable(**BORROWED)
def sum_series(a, powers, memory, each):
    """Put the exponential of a small matrix, the first of three powers, in `a`.

    Summed in powers of the cube (Paterson and Stockmeyer), it takes five products and not eleven.
    """
    for p in range(2):
        multiply(powers[0], powers[p], powers[p + 1], each)
    put(a, TERMS[12], powers[2])
    add_terms(a, 9, powers)
    for first in (6, 3, 0):
        multiply(a, powers[2], memory, each)
        put(a, 1.0, memory)
        add_terms(a, first, powers)


@register_jitable(**BORROWED)
def find_exponential(state):
    """Let the next steps use exp(`learnt`), made to have trace n_tasks, for A⁻¹.

    Where one eigenvalue is far above the others, the exponential projects on its eigenvector, and
    so does a power of `learnt`. Else it is a power of the exponential of a small matrix.
    """
    a, learnt, each = state.inverse, state.learnt, state.each
    powers, memory = state.memory[:3], state.memory[3]
    m = each.size
    mean = trace_of(learnt) / m
    squares = 0.0
    for i in range(m):
        for k in range(m):
            squares += learnt[i, k] * learnt[i, k]
    done = False
    if squares > GREAT * m * mean:
        put(a, 1.0, learnt)
        done = square(a, DOUBLINGS, memory, each)
    if not done:
        norm = math.sqrt(max(0.0, squares - m * mean * mean))
        doublings = max(0, math.frexp(norm / SMALL)[1])
        put(powers[0], math.ldexp(1.0, -doublings), learnt)
        for i in range(m):
            powers[0, i, i] -= math.ldexp(mean, -doublings)
        sum_series(a, powers, memory, each)
        square(a, doublings, memory, each)
    put(a, float(m), a)


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
        d = state.net.near.X.shape[1]
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

    Cost per example: O(nonzeros), and O(n_tasks · nonzeros + n_tasks³) where a step is taken, times
    the logarithm of the norm of log A at most.

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
        m = shape.n_tasks
        return unrelated(shape, np.zeros((m, -(-m // BLOCK) * BLOCK)), self.epoch)

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
            find_exponential(state)
        take(state, rows, event, event.round < state.together_from[0])
        return True
