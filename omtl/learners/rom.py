"""Robust online multi-task learning (Zhang, Zhao, Hao, Soh, Lee, ICDM 2016, "ROM").

The weights of task i are w^i = u + p^i + q^i: what all tasks share, what is the task's own, and an
outlier part that a group lasso keeps at zero where it can (section II.B). Each round has one
example of each task; u is fixed while they are predicted, and learns from all of them at its end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.ops import BORROWED, DenseRows, Rows, axpy, dot, rescale
from omtl.rules import Event, Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, whose squared norm is then still finite."""

ROUNDING = 1e-15
"""Bound of the relative error with which one step changes a squared norm."""

WORST_ERROR = 1e-11
"""A squared norm whose relative error may be larger than this is summed up anew."""

FORGOTTEN_AT_ONCE = 64
"""Sparse vectors forget row by row what they learnt from up to one row for so many features."""


class Norms(NamedTuple):
    """Squared norms of vectors that rows are added to, by task.

    They follow from the products with the rows that are added, in O(1) a step; where cancellation
    may have cost digits (`error` bounds it) they are summed up anew, of which `unseen` is the part
    in features that the rows no longer have (each is of one example only, so that it never
    cancels).
    """

    square: np.ndarray
    unseen: np.ndarray
    error: np.ndarray


class Shared(NamedTuple):
    """The vector that all tasks share, and what it learns at the end of the round.

    The vector is ``scale[0]`` times `vector`. By task, ``label[i]`` is the label of the example
    ``example[i]`` that it learns from, or 0.
    """

    vector: np.ndarray
    scale: np.ndarray
    label: np.ndarray
    example: np.ndarray


def zero_norms(n_tasks: int) -> Norms:
    """Return the norms of zero vectors."""
    return Norms(np.zeros(n_tasks), np.zeros(n_tasks), np.zeros(n_tasks))


def zero_shared(shape: Shape) -> Shared:
    """Return a zero vector that has nothing to learn."""
    m = shape.n_tasks
    return Shared(np.zeros(shape.n_features), np.ones(1), np.zeros(m), np.zeros(m, dtype=np.int64))


@register_jitable(**BORROWED)
def sum_of_squares(w):
    """Return the squared norm of a vector."""
    total = 0.0
    for e in range(w.size):
        total += w[e] * w[e]
    return total


@register_jitable(**BORROWED)
def learn_together(shared, rows, step):
    """Add `step` times the label times the example of every task that has a loss."""
    for i in range(shared.label.size):
        if shared.label[i] != 0.0:
            axpy(step * shared.label[i] / shared.scale[0], rows, shared.example[i], shared.vector)
            shared.label[i] = 0.0


@register_jitable(**BORROWED)
def keep_norm(norms, k, scale, w, step, product, square_norm, unseen):
    """Follow the squared norm of scale · w = v + step · x, where `product` is v·x.

    `square_norm` is that of x, and `unseen` the part of it in features that the rows do not have.
    """
    cross = 2.0 * step * product
    fresh = step * step * square_norm
    norms.unseen[k] += step * step * unseen
    norms.error[k] += ROUNDING * (norms.square[k] + abs(cross) + fresh)
    norms.square[k] += cross + fresh
    if norms.error[k] > WORST_ERROR * norms.square[k]:
        norms.square[k] = scale * scale * sum_of_squares(w) + norms.unseen[k]
        norms.error[k] = ROUNDING * norms.square[k]


def unseen_square_norm(rows: Rows, i: int, square_norm: float) -> float:
    """Return the part of a row's squared norm that is in features which the rows do not have."""
    if isinstance(rows, DenseRows):
        return 0.0
    values = rows.values[rows.indptr[i] : rows.indptr[i + 1]]
    rest = square_norm - float(values @ values)
    return rest if rest > WORST_ERROR * square_norm else 0.0


def forget(w: np.ndarray, rows: Rows, learnt: np.ndarray, n_learnt: int) -> None:  # noqa: ARG001
    """Set a vector to zero; `learnt` has the first rows, of `n_learnt`, that were added to it."""
    w[:] = 0.0


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(unseen_square_norm, jit_options=BORROWED)
def _unseen_square_norm(rows, i, square_norm):  # noqa: ARG001
    def dense(rows, i, square_norm):  # noqa: ARG001
        return 0.0

    def compressed(rows, i, square_norm):
        rest = square_norm
        for k in range(rows.indptr[i], rows.indptr[i + 1]):
            rest -= rows.values[k] * rows.values[k]
        return rest if rest > WORST_ERROR * square_norm else 0.0

    return dense if rows.instance_class is DenseRows else compressed


@overload(forget, jit_options=BORROWED)
def _forget(w, rows, learnt, n_learnt):  # noqa: ARG001
    def dense(w, rows, learnt, n_learnt):  # noqa: ARG001
        for k in range(w.size):
            w[k] = 0.0

    def compressed(w, rows, learnt, n_learnt):
        if n_learnt > learnt.size:
            for k in range(w.size):
                w[k] = 0.0
        else:
            for e in range(n_learnt):
                for k in range(rows.indptr[learnt[e]], rows.indptr[learnt[e] + 1]):
                    w[np.uint32(rows.indices[k])] = 0.0

    return dense if rows.instance_class is DenseRows else compressed


class Parts(NamedTuple):
    """The parts of the weights: u, and by task p^i and q^i, each a scale times a vector.

    ``outlier_norms.square[i]`` is ‖q^i‖², and exactly 0 where q^i is zero; `outlier_rows` and
    `outlier_n_rows` tell which rows were added to q^i since it last was. `outlier_product` is q·x
    of the example that was last scored.
    """

    shared: Shared
    own: np.ndarray
    own_scale: np.ndarray
    outlier: np.ndarray
    outlier_scale: np.ndarray
    outlier_norms: Norms
    outlier_rows: np.ndarray
    outlier_n_rows: np.ndarray
    outlier_product: np.ndarray


@register_jitable(**BORROWED)
def shorten_own(state, k, factor):
    """Divide p of a task by `factor` (eq. 7)."""
    state.own_scale[k] /= factor
    if state.own_scale[k] < SMALLEST_SCALE:
        rescale(state.own[k], state.own_scale[k])
        state.own_scale[k] = 1.0


@register_jitable(**BORROWED)
def shorten_outlier(state, rows, k, threshold):
    """Shorten q of a task, which is not zero, by `threshold` (eq. 10)."""
    norms = state.outlier_norms
    norm = math.sqrt(max(0.0, norms.square[k]))
    if norm <= threshold:
        forget(state.outlier[k], rows, state.outlier_rows[k], state.outlier_n_rows[k])
        state.outlier_n_rows[k] = 0
        state.outlier_scale[k] = 1.0
        norms.square[k] = 0.0
        norms.unseen[k] = 0.0
        norms.error[k] = 0.0
        return
    left = 1.0 - threshold / norm
    state.outlier_scale[k] *= left
    norms.square[k] *= left * left
    norms.unseen[k] *= left * left
    norms.error[k] *= left * left
    if state.outlier_scale[k] < SMALLEST_SCALE:
        rescale(state.outlier[k], state.outlier_scale[k])
        state.outlier_scale[k] = 1.0


@register_jitable(**BORROWED)
def outlier_step(state, rows, event, step, threshold):
    """Add `step` times the example to q, and shorten it by `threshold` (eqs. 8 and 10)."""
    k, x = event.task, event.example
    norms = state.outlier_norms
    if norms.square[k] == 0.0 and abs(step) * math.sqrt(event.square_norm) <= threshold:
        return
    axpy(step / state.outlier_scale[k], rows, x, state.outlier[k])
    n_rows = state.outlier_n_rows[k]
    if n_rows < state.outlier_rows.shape[1]:
        state.outlier_rows[k, n_rows] = x
    state.outlier_n_rows[k] = n_rows + 1
    keep_norm(
        norms,
        k,
        state.outlier_scale[k],
        state.outlier[k],
        step,
        state.outlier_product[0],
        event.square_norm,
        unseen_square_norm(rows, x, event.square_norm),
    )
    shorten_outlier(state, rows, k, threshold)


class ROMPGD(NamedTuple):
    """ROM-PGD (ROM paper, section II.C, algorithm 1): proximal gradient steps.

    Where task i has a positive hinge loss on (x, y),
    p^i ← (p^i + η y x) / (1 + β η) (eq. 7), and q̂ = q^i + η y x is shortened by η γ,
    q^i ← max(0, 1 − η γ / ‖q̂‖) q̂ (eqs. 8 and 10); where it has none, both stay as they are. At the
    end of each round u ← (u + (η / m) Σ y x) / (1 + α η / m) (eq. 6), a sum over the tasks with a
    loss; u shrinks in every round, and m is the number of all tasks. With `every_round`, p^i and
    q^i take these steps in every round too, with gradient 0 where there is no loss: so they do in
    eqs. 3 to 5, of which lemma 2 is, but not in algorithm 1.

    Cost per example: O(nonzeros), amortised; per round: O(n_tasks).

    Parameters
    ----------
    eta : float
        Learning rate η > 0.
    alpha, beta : float
        Weights α, β ≥ 0 of ½‖u‖² and of ½‖p^i‖².
    gamma : float
        Weight γ ≥ 0 of the group lasso ‖q^i‖.
    every_round : bool
        Whether p and q shrink in rounds without loss too.
    """

    eta: float
    alpha: float
    beta: float
    gamma: float
    every_round: bool = False

    def new_state(self, shape: Shape) -> Parts:
        """Return zero weights."""
        m, d = shape.n_tasks, shape.n_features
        return Parts(
            shared=zero_shared(shape),
            own=np.zeros((m, d)),
            own_scale=np.ones(m),
            outlier=np.zeros((m, d)),
            outlier_scale=np.ones(m),
            outlier_norms=zero_norms(m),
            outlier_rows=np.zeros((m, 1 + d // FORGOTTEN_AT_ONCE), dtype=np.int64),
            outlier_n_rows=np.zeros(m, dtype=np.int64),
            outlier_product=np.zeros(1),
        )

    def score(self, state: Parts, rows: Any, event: Event) -> float:
        """Return (u + p^i + q^i)·x."""
        k, x = event.task, event.example
        state.outlier_product[0] = 0.0
        if state.outlier_norms.square[k] != 0.0:
            product = state.outlier_scale[k] * dot(state.outlier[k], rows, x)
            state.outlier_product[0] = product
        shared = state.shared.scale[0] * dot(state.shared.vector, rows, x)
        own = state.own_scale[k] * dot(state.own[k], rows, x)
        return shared + own + state.outlier_product[0]

    def update(self, state: Parts, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the steps of p and of q; keep that of u until the round is over."""
        if not y * score < 1.0:
            return False
        k, x = event.task, event.example
        step = self.eta * y
        axpy(step / state.own_scale[k], rows, x, state.own[k])
        shorten_own(state, k, 1.0 + self.beta * self.eta)
        outlier_step(state, rows, event, step, self.eta * self.gamma)
        state.shared.label[k] = y
        state.shared.example[k] = x
        return True

    def findings(self, state: Parts) -> dict[str, np.ndarray]:
        """Return which tasks are outliers: those whose q is not zero, shape (n_tasks,)."""
        return {"outlier": state.outlier_norms.square > 0.0}

    def penalty(self, state: Parts) -> float:
        """Return r_1(W) = α/2 ‖u‖² + β/2 Σ‖p^i‖² + γ Σ‖q^i‖, in O(n_tasks · n_features)."""
        shared = state.shared
        total = 0.5 * self.alpha * shared.scale[0] ** 2 * sum_of_squares(shared.vector)
        for i in range(state.own_scale.size):
            total += 0.5 * self.beta * state.own_scale[i] ** 2 * sum_of_squares(state.own[i])
            total += self.gamma * math.sqrt(max(0.0, state.outlier_norms.square[i]))
        return total

    def close_round(self, state: Parts, rows: Any) -> None:
        """Take the step of u (eq. 6)."""
        shared = state.shared
        if self.every_round:
            for i in range(shared.label.size):
                if shared.label[i] == 0.0:
                    shorten_own(state, i, 1.0 + self.beta * self.eta)
                    if state.outlier_norms.square[i] != 0.0:
                        shorten_outlier(state, rows, i, self.eta * self.gamma)
        rate = self.eta / shared.label.size
        learn_together(shared, rows, rate)
        shared.scale[0] /= 1.0 + self.alpha * rate
        if shared.scale[0] < SMALLEST_SCALE:
            rescale(shared.vector, shared.scale[0])
            shared.scale[0] = 1.0


class DualAverages(NamedTuple):
    """Sums of the negative gradients y x, and what they stand for since the last round.

    With S = `shared.vector` and S^i = ``own[i]``, u = ``shared.scale[0]`` S,
    p^i = ``own_factor[i]`` S^i and q^i = ``outlier_factor[i]`` S^i, which is exactly 0 where q^i is
    zero. `own_norms` are of S^i, and `product` is S^i·x of the example that was last scored.
    """

    shared: Shared
    own: np.ndarray
    own_norms: Norms
    own_factor: np.ndarray
    outlier_factor: np.ndarray
    rounds: np.ndarray
    product: np.ndarray


class ROMRDA(NamedTuple):
    """ROM-RDA (ROM paper, section II.D, algorithm 2): regularised dual averaging.

    After round t, with θ = κ √t and the means ḡ of all gradients so far (eqs. 14 to 16; those of
    p^i and q^i are the same, and that of u is of the sum over the tasks),
    u = −ḡ_u / (α + θ / t) (eq. 20), p^i = −ḡ^i / (β + θ / t) (eq. 21) and
    q^i = −max(0, 1 − γ / ‖ḡ^i‖) ḡ^i t / θ (eq. 22). An example without hinge loss, or a task
    without an example in the round, has gradient 0.

    Cost per example: O(nonzeros), amortised; per round: O(n_tasks).

    Parameters
    ----------
    kappa : float
        κ > 0 of θ_t = κ √t.
    alpha, beta : float
        Weights α, β ≥ 0 of ½‖u‖² and of ½‖p^i‖².
    gamma : float
        Weight γ ≥ 0 of the group lasso ‖q^i‖.
    """

    kappa: float
    alpha: float
    beta: float
    gamma: float

    def new_state(self, shape: Shape) -> DualAverages:
        """Return sums of no gradients."""
        m = shape.n_tasks
        return DualAverages(
            shared=zero_shared(shape),
            own=np.zeros((m, shape.n_features)),
            own_norms=zero_norms(m),
            own_factor=np.zeros(m),
            outlier_factor=np.zeros(m),
            rounds=np.zeros(1),
            product=np.zeros(1),
        )

    def score(self, state: DualAverages, rows: Any, event: Event) -> float:
        """Return (u + p^i + q^i)·x."""
        k, x = event.task, event.example
        state.product[0] = 0.0
        if state.own_norms.square[k] != 0.0:
            state.product[0] = dot(state.own[k], rows, x)
        shared = state.shared.scale[0] * dot(state.shared.vector, rows, x)
        return shared + (state.own_factor[k] + state.outlier_factor[k]) * state.product[0]

    def update(self, state: DualAverages, rows: Any, event: Event, y: float, score: float) -> bool:
        """Add the gradient to the task's own sum; keep it for the shared sum."""
        if not y * score < 1.0:
            return False
        k, x = event.task, event.example
        axpy(y, rows, x, state.own[k])
        unseen = unseen_square_norm(rows, x, event.square_norm)
        keep_norm(
            state.own_norms, k, 1.0, state.own[k], y, state.product[0], event.square_norm, unseen
        )
        state.shared.label[k] = y
        state.shared.example[k] = x
        return True

    def findings(self, state: DualAverages) -> dict[str, np.ndarray]:
        """Return which tasks are outliers: those whose q is not zero, shape (n_tasks,)."""
        return {"outlier": state.outlier_factor > 0.0}

    def penalty(self, state: DualAverages) -> float:
        """Return r_1(W) = α/2 ‖u‖² + β/2 Σ‖p^i‖² + γ Σ‖q^i‖, in O(n_tasks + n_features)."""
        shared = state.shared
        total = 0.5 * self.alpha * shared.scale[0] ** 2 * sum_of_squares(shared.vector)
        for i in range(state.own_factor.size):
            square = max(0.0, state.own_norms.square[i])
            total += 0.5 * self.beta * state.own_factor[i] ** 2 * square
            total += self.gamma * state.outlier_factor[i] * math.sqrt(square)
        return total

    def proximity(self, state: DualAverages) -> float:
        """Return θ_t/(2t) ‖W‖² of eq. 12, t being the round that is played."""
        shared = state.shared
        square = shared.scale[0] ** 2 * sum_of_squares(shared.vector)
        for i in range(state.own_factor.size):
            factors = state.own_factor[i] ** 2 + state.outlier_factor[i] ** 2
            square += factors * max(0.0, state.own_norms.square[i])
        return 0.5 * self.kappa / math.sqrt(state.rounds[0] + 1.0) * square

    def close_round(self, state: DualAverages, rows: Any) -> None:
        """Take in the round's gradients (eqs. 14 and 20 to 22)."""
        shared = state.shared
        state.rounds[0] += 1.0
        t = state.rounds[0]
        theta = self.kappa * math.sqrt(t)
        shared.scale[0] = 1.0
        learn_together(shared, rows, 1.0)
        shared.scale[0] = 1.0 / (self.alpha * t + theta)
        for i in range(shared.label.size):
            state.own_factor[i] = 1.0 / (self.beta * t + theta)
            norm = math.sqrt(max(0.0, state.own_norms.square[i]))
            state.outlier_factor[i] = 0.0
            if norm > self.gamma * t:
                state.outlier_factor[i] = (1.0 - self.gamma * t / norm) / theta
