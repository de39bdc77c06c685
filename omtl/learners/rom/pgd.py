"""ROM-PGD: proximal gradient steps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.fused import axpy_two, axpys_where, dot_three
from omtl.learners.rom.copies import (
    Pool,
    all_learn_together,
    clear_norms,
    clear_shared,
    copy_norm,
    copy_shared,
    copy_vector,
    keep_nonzero,
    learn_later,
    new_shared,
    scaled,
)
from omtl.learners.rom.norms import (
    Norms,
    keep_norm,
    sum_of_squares,
    unseen_square_norm,
    zero_norms,
)
from omtl.learners.rom.shared_vector import Shared, learn_together, zero_shared
from omtl.ops import BORROWED, DenseRows, Rows, at_line, axpy, dot, dots, rescale, zero_vectors
from omtl.rules import Event, Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, whose squared norm is then still finite."""

FORGOTTEN_AT_ONCE = 64
"""Sparse vectors forget row by row what they learnt from up to one row for so many features."""


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


def forget(w: np.ndarray, rows: Rows, learnt: np.ndarray, n_learnt: int) -> None:  # noqa: ARG001
    """Set a vector to zero; `learnt` has the first rows, of `n_learnt`, that were added to it."""
    w[:] = 0.0


# The compiled twin. Numba wants the argument names of the function above, and no annotations.


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
