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
from omtl.ops import BLOCK, BORROWED, DenseRows, Rows, inner
from omtl.rules import Event, Shape

MOST_SWEEPS = 40
"""Jacobi's method takes fewer than ten sweeps; numbers that are not finite would take forever."""

DIAGONAL = 1e-33
"""A matrix is diagonal when the squares beside its diagonal are less than this of those on it."""

NEGLIGIBLE = 1e-20
"""Components smaller than this, relative to the diagonal's, are not turned away."""

SMALL_TURN = 1e-7
"""Angles of which nothing but the first and second order is left in a float."""

SMALLER_TURN = 1e-9
"""Angles that are turned away where second orders are too large for that."""

SMALL_BEND = 1e-9
"""Second orders whose product with a small angle is nothing in a float."""

STRAIGHTEN = 16
"""Rounds after which the axes are made orthonormal anew, to some 1e-14."""


class Relationships(NamedTuple):
    """The tasks' weight vectors (the slots of a single node) and their relation.

    Parameters
    ----------
    net : Diffusion
        The weight vectors, w^k in slot k.
    inverse : ndarray of shape (n_tasks, n_tasks)
        A⁻¹ as the next step uses it, but for von Neumann's divergence, which has it by its axes.
    learnt : ndarray of shape (n_tasks, n_tasks)
        What is learnt of it: A⁻¹ before it is normalised, or its logarithm.
    gram : ndarray of shape (n_tasks, n_tasks)
        WᵀW, which follows from the scores.
    sums : ndarray of shape (n_tasks,)
        Sums of the components of each weight vector.
    axes, along : ndarray of shape (n_tasks, width)
        The eigenvectors of `learnt` as rows, and `learnt` along these. Rows end with zeros, which
        makes them of a length that is fast.
    spread : ndarray of shape (n_tasks,)
        The eigenvalues of A⁻¹ as the next step uses it, along `axes`.
    memory : ndarray of shape (2 n_tasks + 1, width)
        What is worked in.
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
    spread: np.ndarray
    memory: np.ndarray
    together_from: np.ndarray


def unrelated(shape: Shape, learnt: np.ndarray, epoch: float) -> Relationships:
    """Return zero weights of tasks that learn alone."""
    m = shape.n_tasks
    width = -(-m // BLOCK) * BLOCK
    return Relationships(
        net=diffusion(shape._replace(mixing=np.ones((1, 1))), n_slots=m),
        inverse=np.eye(m),
        learnt=learnt,
        gram=np.zeros((m, m)),
        sums=np.zeros(m),
        axes=np.eye(m, width),
        along=np.zeros((m, width)),
        spread=np.ones(m),
        memory=np.zeros((2 * m + 1, width)),
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
def plan_along(state, rows, event, step):
    """As `plan`, with the A⁻¹ that `axes` and `spread` make."""
    hear(state.net, rows, event.example, 0, state.sums.size)
    steps, m = state.net.steps, state.sums.size
    for j in range(m):
        steps[j] = 0.0
    for i in range(m):
        share = state.spread[i] * state.axes[i, event.task]
        for j in range(m):
            steps[j] += share * state.axes[i, j]
    for j in range(m):
        steps[j] *= step


@register_jitable(**BORROWED)
def rotate(one, other, cosine, sine):
    """Rotate two vectors in their plane."""
    for k in range(one.size):
        before, beside = one[k], other[k]
        one[k] = cosine * before - sine * beside
        other[k] = sine * before + cosine * beside


@register_jitable(**BORROWED)
def add_rows(total, factors, rows):
    """Add to a vector `factors` times the rows of a matrix, four rows at a time."""
    n = rows.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        f0, f1, f2, f3 = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
        r0, r1, r2, r3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        for k in range(total.size):
            total[k] = total[k] + f0 * r0[k] + f1 * r1[k] + f2 * r2[k] + f3 * r3[k]
    for i in range(whole, n):
        axis, factor = rows[i], factors[i]
        for k in range(total.size):
            total[k] += factor * axis[k]


@register_jitable(**BORROWED)
def negligible(a, p, q):
    """Return whether a symmetric matrix is as good as diagonal between two axes."""
    return abs(a[p, q]) <= NEGLIGIBLE * (abs(a[p, p]) + abs(a[q, q]))


@register_jitable(**BORROWED)
def is_diagonal(a):
    """Return whether nothing is left beside the diagonal of a symmetric matrix."""
    off, on = 0.0, 0.0
    for p in range(a.shape[0]):
        on += a[p, p] * a[p, p]
        for q in range(p):
            off += a[p, q] * a[p, q]
    return not off > DIAGONAL * on


@register_jitable(**BORROWED)
def turn(a, axes, memory):
    """Turn a symmetric matrix, and its axes (rows), until it is diagonal: Jacobi's method.

    Small angles are left for the end, where all are turned at once.

    Parameters
    ----------
    a, axes : ndarray of shape (n, width)
        Beyond column n there are zeros.
    memory : ndarray of shape (2 n + 1, width)
        What is worked in.
    """
    least = SMALL_TURN
    for _ in range(MOST_SWEEPS):
        if is_diagonal(a):
            return
        if not sweep(a, axes, least):
            if turn_a_little(a, axes, memory):
                return
            least = SMALLER_TURN if least > SMALLER_TURN else 0.0


@register_jitable(**BORROWED)
def sweep(a, axes, least):
    """Turn away the components with angles of `least` or more; return whether there were any."""
    n = a.shape[0]
    any_far = False
    for p in range(n - 1):
        for q in range(p + 1, n):
            along, gap = a[p, q], a[q, q] - a[p, p]
            if abs(along) <= least * abs(gap) or negligible(a, p, q):
                continue
            any_far = True
            slope = gap / (2.0 * along)
            tangent = 1.0 / (abs(slope) + math.sqrt(1.0 + slope * slope))
            if slope < 0.0:
                tangent = -tangent
            cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
            sine = tangent * cosine
            at_p, at_q = a[p, p] - tangent * along, a[q, q] + tangent * along
            rotate(a[p], a[q], cosine, sine)
            rotate(axes[p], axes[q], cosine, sine)
            a[p, p], a[p, q], a[q, p], a[q, q] = at_p, 0.0, 0.0, at_q
            for k in range(n):
                a[k, p] = a[p, k]
                a[k, q] = a[q, k]
    return any_far


@register_jitable(**BORROWED)
def turn_a_little(a, axes, memory):
    """Turn away all components at once, by perturbation theory of the second order.

    Eigenvalues d and eigenvectors become, of components a_pq that are small beside the gaps,
    d_p + Σ_q t_pq a_pq and v_p + Σ_q (t_pq + s_pq) v_q, with t_pq = a_pq / (d_p − d_q) and
    s_pq = Σ_l t_pl a_lq / (d_p − d_q), s_pp = −½ Σ_q t_pq². Returns whether that is enough: where
    s is not small either, nothing is changed.
    """
    n = a.shape[0]
    angles, others, d = memory[:n], memory[n : 2 * n], memory[2 * n]
    for p in range(n):
        d[p] = a[p, p]
        for q in range(n):
            angles[p, q] = 0.0 if p == q or negligible(a, p, q) else a[p, q] / (d[p] - a[q, q])
    for p in range(n):
        a[p, p] = 0.0
    fits = True
    for p in range(n):
        for k in range(others.shape[1]):
            others[p, k] = 0.0
        add_rows(others[p], angles[p], a)
        for q in range(n):
            gap = abs(d[p] - d[q])
            small = abs(others[p, q]) <= NEGLIGIBLE * (abs(d[p]) + abs(d[q]))
            fits &= p == q or small or abs(others[p, q]) <= SMALL_BEND * gap
    if not fits:
        for p in range(n):
            a[p, p] = d[p]
        return False
    for p in range(n):
        shift, square = others[p, p], 0.0
        for q in range(n):
            square += angles[p, q] * angles[p, q]
            small = abs(others[p, q]) <= NEGLIGIBLE * (abs(d[p]) + abs(d[q]))
            a[p, q] = angles[p, q] + (0.0 if small or p == q else others[p, q] / (d[p] - d[q]))
        a[p, p] = -0.5 * square
        angles[p, p] = shift
    for p in range(n):
        for k in range(axes.shape[1]):
            others[p, k] = axes[p, k]
    for p in range(n):
        add_rows(axes[p], a[p], others)
        for q in range(n):
            a[p, q] = 0.0
        a[p, p] = d[p] + angles[p, p]
    return True


@register_jitable(**BORROWED)
def straighten(axes, memory):
    """Make rows that are orthonormal but for rounding more so: V ← V + ½ (1 − V Vᵀ) V."""
    n = axes.shape[0]
    factors, before = memory[:n], memory[n : 2 * n]
    for p in range(n):
        for k in range(axes.shape[1]):
            before[p, k] = axes[p, k]
        for q in range(n):
            factors[p, q] = 0.5 * ((p == q) - inner(axes[p], axes[q]))
    for p in range(n):
        add_rows(axes[p], factors[p], before)


@register_jitable(**BORROWED)
def find_exponential(state, t):
    """Let the next steps use exp(`learnt`), made to have trace n_tasks, for A⁻¹.

    Jacobi's method starts from the axes of last time, from which few angles are not small. `t` is
    the round's number.
    """
    m = state.sums.size
    if t % STRAIGHTEN == 0:
        straighten(state.axes, state.memory)
    a, axes, learnt, memory = state.along, state.axes, state.learnt, state.memory
    for i in range(m):
        for k in range(memory.shape[1]):
            memory[i, k] = 0.0
        add_rows(memory[i], axes[i], learnt)
    for i in range(m):
        for j in range(i + 1):
            a[i, j] = inner(memory[i], axes[j])
            a[j, i] = a[i, j]
    turn(a, axes, memory)
    top = a[0, 0]
    for i in range(m):
        top = max(top, a[i, i])
    trace = 0.0
    for i in range(m):
        state.spread[i] = math.exp(a[i, i] - top)
        trace += state.spread[i]
    for i in range(m):
        state.spread[i] *= m / trace


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
        alone = unrelated(shape, np.zeros((0, 0)), self.epoch)
        return alone._replace(learnt=np.zeros(alone.axes.shape))

    def score(self, state: Relationships, rows: Any, event: Event) -> float:
        """Return w^k·x."""
        return slot_score(state, rows, event)

    def update(self, state: Relationships, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a step of all tasks where the margin is not reached, and learn their relation."""
        if y * score > self.margin:
            return False
        plan_along(state, rows, event, self.rate * y)
        m = state.sums.size
        if event.round >= state.together_from[0]:
            for i in range(m):
                for j in range(m):
                    state.learnt[i, j] += self.eta * state.gram[i, j]
            find_exponential(state, event.round)
        take(state, rows, event, event.round < state.together_from[0])
        return True
