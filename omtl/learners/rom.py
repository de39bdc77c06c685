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

from omtl.fused import axpy_all, axpy_two, axpys_where, dot_three
from omtl.ops import (
    BORROWED,
    DenseRows,
    Rows,
    at_line,
    axpy,
    axpys,
    dot,
    dots,
    rescale,
    vector_of,
    zero_vectors,
)
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
    return Shared(
        at_line(1, shape.n_features)[0], np.ones(1), np.zeros(m), np.zeros(m, dtype=np.int64)
    )


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
    n = 0
    for i in range(shared.label.size):
        if shared.label[i] != 0.0:
            shared.label[n] = step * shared.label[i] / shared.scale[0]
            shared.example[n] = shared.example[i]
            n += 1
    axpy_all(shared.label, rows, shared.example, n, shared.vector)
    for i in range(shared.label.size):
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


class Pool(NamedTuple):
    """Copies of parts of states, for points of a grid that share them (`omtl.shared_play`).

    `shared` has one more axis in front, of copies; `own` is a state with copies in place of tasks,
    whose own `shared` is not used. ``rate[c]`` is the step of a copy of the shared vector, and
    ``factors[:, p]`` is what is the same in all tasks in a round of point `p`.
    """

    shared: Shared
    rate: np.ndarray
    own: Any
    factors: np.ndarray


def new_shared(shape: Shape, n_shared: int) -> Shared:
    """Return so many copies of a zero vector that has nothing to learn."""
    m = shape.n_tasks
    return Shared(
        vector=zero_vectors(n_shared, shape.n_features, shape.sparse),
        scale=np.ones((n_shared, 1)),
        label=np.zeros((n_shared, m)),
        example=np.zeros((n_shared, m), dtype=np.int64),
    )


@register_jitable(**BORROWED)
def copy_vector(w, new, features):
    """Copy these weights of a vector."""
    for e in range(features.size):
        j = np.uint32(features[e])
        new[j] = w[j]


@register_jitable(**BORROWED)
def copy_shared(shared, c, new, features):
    """Copy a vector that all tasks share, with what it is to learn."""
    copy_vector(shared.vector[c], shared.vector[new], features)
    shared.scale[new, 0] = shared.scale[c, 0]
    for k in range(shared.label.shape[1]):
        shared.label[new, k] = shared.label[c, k]
        shared.example[new, k] = shared.example[c, k]


def clear_shared(shared: Shared, first: int, last: int) -> None:
    """Make copies of a vector that all tasks share zero again."""
    shared.vector[first:last] = 0.0
    shared.scale[first:last] = 1.0
    shared.label[first:last] = 0.0


@register_jitable(**BORROWED)
def scaled(scale, dot, out):
    """Put products of scaled vectors in `out`."""
    for c in range(out.size):
        out[c] = scale[c] * dot[c]


@register_jitable(**BORROWED)
def keep_nonzero(square, out):
    """Put 0 in `out` where a vector is zero by its squared norm."""
    for c in range(out.size):
        out[c] = out[c] if square[c] != 0.0 else 0.0


@register_jitable(**BORROWED)
def learn_later(shared, c, event, y):
    """Note what a copy is to learn at the end of the round."""
    shared.label[c, event.task] = y
    shared.example[c, event.task] = event.example


def all_learn_together(
    shared: Shared,
    rows: Rows,
    rate: np.ndarray,
    first: int,
    last: int,
    steps: np.ndarray,  # noqa: ARG001
) -> None:
    """Let copies learn as in `learn_together`, by ``rate[c]``."""
    for c in range(first, last):
        vector = vector_of(shared.vector, c, rows)
        one = Shared(vector, shared.scale[c], shared.label[c], shared.example[c])
        learn_together(one, rows, rate[c])


@overload(all_learn_together, jit_options=BORROWED)
def _all_learn_together(shared, rows, rate, first, last, steps):  # noqa: ARG001
    def by_copy(shared, rows, rate, first, last, steps):  # noqa: ARG001
        for c in range(first, last):
            vector = shared.vector[c, : rows.X.shape[1]]
            one = Shared(vector, shared.scale[c], shared.label[c], shared.example[c])
            learn_together(one, rows, rate[c])

    def by_task(shared, rows, rate, first, last, steps):
        for i in range(shared.label.shape[1]):
            x = -1
            for c in range(first, last):
                steps[c] = 0.0
                if shared.label[c, i] != 0.0:
                    step = rate[c] * shared.label[c, i] / shared.scale[c, 0]
                    if x < 0:
                        x = shared.example[c, i]
                    if shared.example[c, i] == x:
                        steps[c] = step
                    else:  # the task had more than one example in the round
                        axpy(step, rows, shared.example[c, i], shared.vector[c])
                    shared.label[c, i] = 0.0
            if x >= 0:
                axpys(steps, rows, x, first, last, shared.vector)

    return by_copy if rows.instance_class is DenseRows else by_task


@register_jitable(**BORROWED)
def copy_norm(norms, c, new):
    """Copy what is known of a squared norm."""
    norms.square[new] = norms.square[c]
    norms.unseen[new] = norms.unseen[c]
    norms.error[new] = norms.error[c]


def clear_norms(norms: Norms, first: int, last: int) -> None:
    """Note that vectors are zero again."""
    for array in norms:
        array[first:last] = 0.0


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
def stays_zero(state, k, event, step, threshold):
    """Return whether q is zero, and would be after a step too."""
    norms = state.outlier_norms
    return norms.square[k] == 0.0 and abs(step) * math.sqrt(event.square_norm) <= threshold


@register_jitable(**BORROWED)
def follow_outlier_step(state, rows, k, event, step, threshold, product):
    """Shorten q, to which `step` times the example was added, by `threshold` (eqs. 8 and 10).

    `product` is q·x before the step.
    """
    x = event.example
    norms = state.outlier_norms
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
        product,
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
            own=at_line(m, d),
            own_scale=np.ones(m),
            outlier=at_line(m, d),
            outlier_scale=np.ones(m),
            outlier_norms=zero_norms(m),
            outlier_rows=np.zeros((m, 1 + d // FORGOTTEN_AT_ONCE), dtype=np.int64),
            outlier_n_rows=np.zeros(m, dtype=np.int64),
            outlier_product=np.zeros(1),
        )

    def score(self, state: Parts, rows: Any, event: Event) -> float:
        """Return (u + p^i + q^i)·x."""
        k, x = np.uint32(event.task), event.example
        if state.outlier_norms.square[k] != 0.0:
            shared, own, outlier = dot_three(
                state.shared.vector, state.own[k], state.outlier[k], rows, x
            )
            state.outlier_product[0] = state.outlier_scale[k] * outlier
        else:
            shared, own = dot(state.shared.vector, rows, x), dot(state.own[k], rows, x)
            state.outlier_product[0] = 0.0
        shared, own = state.shared.scale[0] * shared, state.own_scale[k] * own
        return shared + own + state.outlier_product[0]

    def update(self, state: Parts, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the steps of p and of q; keep that of u until the round is over."""
        if not y * score < 1.0:
            return False
        k, x = np.uint32(event.task), event.example
        step, threshold = self.eta * y, self.eta * self.gamma
        own_step = step / state.own_scale[k]
        if stays_zero(state, k, event, step, threshold):
            axpy(own_step, rows, x, state.own[k])
        else:
            outlier_step = step / state.outlier_scale[k]
            axpy_two(own_step, state.own[k], outlier_step, state.outlier[k], rows, x)
            product = state.outlier_product[0]
            follow_outlier_step(state, rows, k, event, step, threshold, product)
        shorten_own(state, k, 1.0 + self.beta * self.eta)
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

    # The parts that points of a grid share: u, p and q.

    def parts(self) -> tuple[tuple[float, ...], ...] | None:
        """Return what u, p and q depend on besides the examples learnt from.

        None with `every_round`, where p and q depend on the rounds without loss too.
        """
        if self.every_round:
            return None
        return (self.eta, self.alpha), (self.eta, self.beta), (self.eta, self.gamma)

    def new_pool(
        self, shape: Shape, n_own_features: int, n_shared: int, n_own: int, n_points: int
    ) -> Pool:
        """Return copies of zero weights."""
        own = self.new_state(shape._replace(n_tasks=n_own, n_features=n_own_features))
        own = own._replace(
            own=zero_vectors(n_own, n_own_features, shape.sparse),
            outlier=zero_vectors(n_own, n_own_features, shape.sparse),
        )
        factors = np.zeros((0, n_points))
        return Pool(new_shared(shape, n_shared), np.zeros(n_shared), own, factors)

    def at(self: Any, p: int) -> ROMPGD:
        """Return the learner of a point."""
        return ROMPGD(self.eta[p], self.alpha[p], self.beta[p], self.gamma[p])

    def begin(self, pool: Pool, t: int) -> None:
        """Do nothing: all that a score needs is in its products."""

    def products(
        self,
        pool: Pool,
        part: int,
        rows: Any,
        i: int,
        first: int,
        last: int,
        sums: Any,
        out: Any,
    ) -> None:
        """Take the products of a row with copies of u, p or q."""
        state = pool.own
        if part == 0:
            dots(pool.shared.vector, rows, i, first, last, sums)
            scaled(pool.shared.scale[first:last, 0], sums[0, first:last], out[first:last])
        elif part == 1:
            dots(state.own, rows, i, first, last, sums)
            scaled(state.own_scale[first:last], sums[0, first:last], out[first:last])
        else:
            dots(state.outlier, rows, i, first, last, sums)
            scaled(state.outlier_scale[first:last], sums[0, first:last], out[first:last])
            keep_nonzero(state.outlier_norms.square[first:last], out[first:last])

    def scores(
        self,
        pool: Pool,  # noqa: ARG002
        products: Any,
        of: Any,
        k: int,
        out: Any,
    ) -> None:
        """Put (u + p^i + q^i)·x of each point in `out`."""
        shared, own, outlier = of[0, 0], of[1, k], of[2, k]
        for p in range(out.size):
            out[p] = products[0, shared[p]] + products[1, own[p]] + products[2, outlier[p]]

    def step(self, pool: Pool, part: int, c: int, event: Event, y: float) -> float:
        """Return the step of p or of q; 0 where q stays zero."""
        step = self.eta * y
        if part == 1:
            return step / pool.own.own_scale[c]
        if part == 2 and not stays_zero(pool.own, c, event, step, self.eta * self.gamma):
            return step / pool.own.outlier_scale[c]
        return 0.0

    def axpys(
        self,
        pool: Pool,
        part: int,
        rows: Any,
        i: int,
        first: int,
        last: int,
        which: Any,
        steps: Any,
    ) -> None:
        """Take the steps of p or of q."""
        vectors = pool.own.own if part == 1 else pool.own.outlier
        axpys_where(steps, rows, i, first, last, which, vectors)

    def learn(
        self, pool: Pool, part: int, c: int, rows: Any, event: Event, y: float, product: float
    ) -> None:
        """Shorten p or q; keep the step of u until the round is over."""
        step, threshold = self.eta * y, self.eta * self.gamma
        if part == 0:
            learn_later(pool.shared, c, event, y)
        elif part == 1:
            shorten_own(pool.own, c, 1.0 + self.beta * self.eta)
        elif not stays_zero(pool.own, c, event, step, threshold):
            follow_outlier_step(pool.own, rows, c, event, step, threshold, product)

    def settle(
        self: Any, pool: Pool, part: int, a_point: Any, first: int, last: int, rows: Any, steps: Any
    ) -> None:
        """Take the step of u (eq. 6)."""
        if part > 0:
            return
        shared, rate = pool.shared, pool.rate
        for c in range(first, last):
            rate[c] = self.eta[a_point[c]] / shared.label.shape[1]
        all_learn_together(shared, rows, rate, first, last, steps)
        for c in range(first, last):
            shared.scale[c, 0] /= 1.0 + self.alpha[a_point[c]] * rate[c]
            if shared.scale[c, 0] < SMALLEST_SCALE:
                rescale(shared.vector[c], shared.scale[c, 0])
                shared.scale[c, 0] = 1.0

    def copy(self, pool: Pool, part: int, c: int, new: int, features: Any) -> None:
        """Copy u, p or q."""
        state = pool.own
        if part == 0:
            copy_shared(pool.shared, c, new, features)
        elif part == 1:
            state.own_scale[new] = state.own_scale[c]
            copy_vector(state.own[c], state.own[new], features)
        else:
            copy_norm(state.outlier_norms, c, new)
            state.outlier_scale[new] = state.outlier_scale[c]
            copy_vector(state.outlier[c], state.outlier[new], features)
            state.outlier_n_rows[new] = state.outlier_n_rows[c]
            for j in range(min(state.outlier_n_rows[c], state.outlier_rows.shape[1])):
                state.outlier_rows[new, j] = state.outlier_rows[c, j]

    def clear(self, pool: Pool, part: int, first: int, last: int) -> None:
        """Make copies of u, p or q zero again."""
        state = pool.own
        if part == 0:
            clear_shared(pool.shared, first, last)
        elif part == 1:
            state.own[first:last] = 0.0
            state.own_scale[first:last] = 1.0
        else:
            state.outlier[first:last] = 0.0
            state.outlier_scale[first:last] = 1.0
            state.outlier_n_rows[first:last] = 0
            clear_norms(state.outlier_norms, first, last)

    def findings_of(
        self,
        pool: Pool,
        t: int,  # noqa: ARG002
        of: np.ndarray,
    ) -> dict[str, np.ndarray]:
        """Return which tasks are outliers, as `findings`."""
        return {"outlier": pool.own.outlier_norms.square[of[2]] > 0.0}


class DualAverages(NamedTuple):
    """Sums of the negative gradients y x, and what they stand for since the last round.

    With S = `shared.vector` and S^i = ``own[i]``, u = ``shared.scale[0]`` S,
    p^i = ``own_factor[i]`` S^i and q^i = ``outlier_factor[i]`` S^i, which is exactly 0 where q^i is
    zero. `own_norms` are of S^i, `own_norm` is its norm at the end of the last round, and
    `product` is S^i·x of the example that was last scored.
    """

    shared: Shared
    own: np.ndarray
    own_norms: Norms
    own_norm: np.ndarray
    own_factor: np.ndarray
    outlier_factor: np.ndarray
    rounds: np.ndarray
    product: np.ndarray


@register_jitable(**BORROWED)
def dual_factor(weight, kappa, t):
    """Return what a sum of negative gradients is multiplied by after round t (eqs. 20 and 21)."""
    return 1.0 / (weight * t + kappa * math.sqrt(t)) if t > 0.0 else 0.0


@register_jitable(**BORROWED)
def dual_outlier_factor(gamma, kappa, t, norm):
    """Return what a sum of negative gradients, of this norm, is multiplied by (eq. 22)."""
    if norm > gamma * t:
        return (1.0 - gamma * t / norm) / (kappa * math.sqrt(t))
    return 0.0


@register_jitable(**BORROWED)
def follow_sum_step(state, rows, k, event, y, product):
    """Follow the norm of S^i, to which y x was added; `product` is S^i·x before that."""
    unseen = unseen_square_norm(rows, event.example, event.square_norm)
    keep_norm(state.own_norms, k, 1.0, state.own[k], y, product, event.square_norm, unseen)


@register_jitable(**BORROWED)
def settle_norm(state, k):
    """Note the norm of S^i at the end of a round."""
    state.own_norm[k] = math.sqrt(max(0.0, state.own_norms.square[k]))


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
            own_norm=np.zeros(m),
            own_factor=np.zeros(m),
            outlier_factor=np.zeros(m),
            rounds=np.zeros(1),
            product=np.zeros(1),
        )

    def score(self, state: DualAverages, rows: Any, event: Event) -> float:
        """Return (u + p^i + q^i)·x."""
        k, x = np.uint32(event.task), event.example
        state.product[0] = 0.0
        if state.own_norms.square[k] != 0.0:
            state.product[0] = dot(state.own[k], rows, x)
        common = state.shared.scale[0] * dot(state.shared.vector, rows, x)
        return common + (state.own_factor[k] + state.outlier_factor[k]) * state.product[0]

    def update(self, state: DualAverages, rows: Any, event: Event, y: float, score: float) -> bool:
        """Add the gradient to the task's own sum; keep it for the shared sum."""
        if not y * score < 1.0:
            return False
        k, x = np.uint32(event.task), event.example
        axpy(y, rows, x, state.own[k])
        follow_sum_step(state, rows, k, event, y, state.product[0])
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
        shared.scale[0] = 1.0
        learn_together(shared, rows, 1.0)
        shared.scale[0] = dual_factor(self.alpha, self.kappa, t)
        for i in range(shared.label.size):
            settle_norm(state, i)
            state.own_factor[i] = dual_factor(self.beta, self.kappa, t)
            state.outlier_factor[i] = dual_outlier_factor(
                self.gamma, self.kappa, t, state.own_norm[i]
            )

    # The parts that points of a grid share: the sums, which no hyper-parameter enters.

    def parts(self) -> tuple[tuple[float, ...], ...]:
        """Return that the sums depend on nothing but the examples learnt from."""
        return (), ()

    def new_pool(
        self, shape: Shape, n_own_features: int, n_shared: int, n_own: int, n_points: int
    ) -> Pool:
        """Return copies of sums of no gradients."""
        own = self.new_state(shape._replace(n_tasks=n_own, n_features=n_own_features))
        own = own._replace(own=zero_vectors(n_own, n_own_features, shape.sparse))
        factors = np.zeros((4, n_points))
        return Pool(new_shared(shape, n_shared), np.ones(n_shared), own, factors)

    def at(self: Any, p: int) -> ROMRDA:
        """Return the learner of a point."""
        return ROMRDA(self.kappa[p], self.alpha[p], self.beta[p], self.gamma[p])

    def begin(self: Any, pool: Pool, t: int) -> None:
        """Note what S and S^i are multiplied by."""
        for p in range(self.kappa.size):
            pool.factors[0, p] = dual_factor(self.alpha[p], self.kappa[p], float(t))
            pool.factors[1, p] = dual_factor(self.beta[p], self.kappa[p], float(t))
            pool.factors[2, p] = self.gamma[p] * float(t)
            pool.factors[3, p] = self.kappa[p] * math.sqrt(float(t))

    def products(
        self,
        pool: Pool,
        part: int,
        rows: Any,
        i: int,
        first: int,
        last: int,
        sums: Any,
        out: Any,
    ) -> None:
        """Take the products of a row with copies of S or of S^i."""
        dots(pool.own.own if part else pool.shared.vector, rows, i, first, last, sums)
        for c in range(first, last):
            out[c] = sums[0, c]
        if part:
            keep_nonzero(pool.own.own_norms.square[first:last], out[first:last])

    def scores(self, pool: Pool, products: Any, of: Any, k: int, out: Any) -> None:
        """Put (u + p^i + q^i)·x of each point in `out`, with the factors of `dual_outlier_factor`.

        `np.divide` does not ask whether it divides by zero, so that there is no branch.
        """
        shared, owns = of[0, 0], of[1, k]
        common, own = pool.factors[0], pool.factors[1]
        threshold, theta = pool.factors[2], pool.factors[3]
        for p in range(out.size):
            c = owns[p]
            norm = pool.own.own_norm[c]
            left = np.divide(1.0 - np.divide(threshold[p], norm), theta[p])
            outlier = left if norm > threshold[p] else 0.0
            out[p] = common[p] * products[0, shared[p]] + (own[p] + outlier) * products[1, c]

    def step(
        self,
        pool: Pool,  # noqa: ARG002
        part: int,  # noqa: ARG002
        c: int,  # noqa: ARG002
        event: Event,  # noqa: ARG002
        y: float,
    ) -> float:
        """Return the step of S^i."""
        return y

    def axpys(
        self,
        pool: Pool,
        part: int,  # noqa: ARG002
        rows: Any,
        i: int,
        first: int,
        last: int,
        which: Any,
        steps: Any,
    ) -> None:
        """Add the gradient to S^i."""
        axpys_where(steps, rows, i, first, last, which, pool.own.own)

    def learn(
        self, pool: Pool, part: int, c: int, rows: Any, event: Event, y: float, product: float
    ) -> None:
        """Follow the norm of S^i; keep the gradient for S."""
        if part == 0:
            learn_later(pool.shared, c, event, y)
        else:
            follow_sum_step(pool.own, rows, c, event, y, product)

    def settle(
        self,
        pool: Pool,
        part: int,
        a_point: Any,  # noqa: ARG002
        first: int,
        last: int,
        rows: Any,
        steps: Any,
    ) -> None:
        """Take in the gradients of the round."""
        if part == 0:
            all_learn_together(pool.shared, rows, pool.rate, first, last, steps)
        else:
            for c in range(first, last):
                settle_norm(pool.own, c)

    def copy(self, pool: Pool, part: int, c: int, new: int, features: Any) -> None:
        """Copy S or S^i."""
        state = pool.own
        if part == 0:
            copy_shared(pool.shared, c, new, features)
        else:
            copy_norm(state.own_norms, c, new)
            state.own_norm[new] = state.own_norm[c]
            copy_vector(state.own[c], state.own[new], features)

    def clear(self, pool: Pool, part: int, first: int, last: int) -> None:
        """Make copies of S or S^i zero again."""
        state = pool.own
        if part == 0:
            clear_shared(pool.shared, first, last)
        else:
            state.own[first:last] = 0.0
            state.own_norm[first:last] = 0.0
            clear_norms(state.own_norms, first, last)

    def findings_of(self, pool: Pool, t: int, of: np.ndarray) -> dict[str, np.ndarray]:
        """Return which tasks are outliers, as `findings`."""
        norms = pool.own.own_norm[of[1]]
        factors = [dual_outlier_factor(self.gamma, self.kappa, float(t), norm) for norm in norms]
        return {"outlier": np.array(factors) > 0.0}
