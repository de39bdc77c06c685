"""ROM-RDA: regularised dual averaging."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from omtl.fused import axpys_where
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
)
from omtl.learners.rom.norms import (
    Norms,
    keep_norm,
    sum_of_squares,
    unseen_square_norm,
    zero_norms,
)
from omtl.learners.rom.shared_vector import Shared, learn_together, zero_shared
from omtl.ops import BORROWED, axpy, dot, dots, zero_vectors
from omtl.rules import Event, Shape


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
