"""Lifelong online learning (Shui, Hedhli, Gagné, "Accumulating knowledge for lifelong online
learning", "AKLO"): tasks come one after the other, and each has a base of past classifiers.

The classifier of a task learns by online gradient steps on ℓ(w) + ½ λ ‖w‖² with η_t = 1 / (λ t),
w ← (1 − η_t λ) w + η_t y x if y w·x < 1, and without the last term otherwise (algorithm 1, lines 8
to 13). From w = 0 this gives w_{t+1} = Σ y x / (λ t) over the examples that it learnt from up to t:
only the sum and its scale are stored, and a step costs O(nonzeros).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.distributions import exponential_weights
from omtl.kernel.products import axpy, dot
from omtl.kernel.random_numbers import drawn, seeded
from omtl.kernel.rules import Example, Shape
from omtl.kernel.side_by_side import SideBySide
from omtl.util.errors import UserError

CLIP_SUM, CLIP_EACH, CLIP_NONE, CLIP_SIGN = range(4)
"""What is clipped in the base's vote: the weighted sum (eq. 2), each classifier within it, nothing;
or each classifier votes with its sign."""

SQUARE, ZERO_ONE, HINGE = range(3)
"""Errors that weight past classifiers: (T(w·x) − y)² (algorithm 2, line 3), mistakes, the hinge
loss."""

LINEAR, HYPERBOLIC = range(2)
"""How the base's share α_t decreases from 1: 1 − (1 − last) (t − 1) / N, or 1 / (1 + (t − 1) /
N)."""


def check(lam: float, codes: dict[str, tuple[int, int]]) -> None:
    """Raise UserError if λ is not positive, or a code is out of range."""
    if not lam > 0.0:
        raise UserError(f"lam={lam} must be positive")
    for name, (code, most) in codes.items():
        if not 0 <= code <= most:
            raise UserError(f"{name}={code} is not known; choose from 0 to {most}")


class OwnSums(NamedTuple):
    """Classifiers, one per task or one for all: ``scale[k]`` times ``total[k]``, after
    ``seen[k]``."""

    total: np.ndarray
    scale: np.ndarray
    seen: np.ndarray


class OGD(NamedTuple):
    """Online gradient descent: the AKLO paper's ITOL (one classifier per task) and TOL (`pooled`).

    Objective, the regularised hinge losses:

        min_w Σ_t ℓ_t(w) + ½ λ ‖w‖²,  ℓ_t(w) = max(0, 1 − y_t w·x_t)

    Update after the t-th example, with η_t = 1 / (λ t); the last term only if y w·x < 1:

        w ← (1 − η_t λ) w + η_t y x

    ITOL learns each task from scratch; TOL continues with one classifier and one step counter.

    Cost per example: O(nonzeros).

    Parameters
    ----------
    lam : float in (0, inf)
        λ > 0 of ½ λ ‖w‖² and of η_t.
    pooled : bool
        Whether all tasks share a classifier.
    shift : int in [0, inf)
        η_t = 1 / (λ (t + shift)); 0 in the paper.
    margin : float
        A step is due if y w·x is below it; 1 in the paper, 0 for mistakes only.

    Estimator
    ---------
    defaults : lam = 1.0
    cites : shui2018accumulating, zinkevich2003online
    """

    lam: float
    pooled: bool = False
    shift: int = 0
    margin: float = 1.0

    def new_state(self, shape: Shape) -> OwnSums:
        """Return zero classifiers; raise UserError if λ is not positive."""
        check(self.lam, {})
        n = 1 if self.pooled else shape.n_tasks
        return OwnSums(np.zeros((n, shape.n_features)), np.zeros(n), np.zeros(n))

    def score(self, state: OwnSums, x: Example) -> float:
        """Return w·x."""
        k = 0 if self.pooled else x.task
        return state.scale[k] * dot(state.total[k], x)

    def update(self, state: OwnSums, x: Example, y: float, score: float) -> bool:
        """Take the gradient step; one that only shrinks w does not count."""
        k = 0 if self.pooled else x.task
        fired = y * score < self.margin or y * score <= 0.0
        if fired:
            axpy(y, x, state.total[k])
        state.seen[k] += 1.0
        state.scale[k] = 1.0 / (self.lam * (state.seen[k] + self.shift))
        return fired


class Knowledge(NamedTuple):
    """The knowledge base: one classifier per task, in columns in order of arrival.

    Task k has column ``column[k]`` (−1 until it begins), and the columns before it are its base. If
    c is the task's column, its classifier is ``scale[c]`` times vector c of `total`, after
    ``seen[c]`` examples; ``losses[c, j]`` is the loss of past classifier j on the task, and
    ``alpha_sum[c]`` the sum of α in its ε. ``horizon[k]`` is N_k, or 0 if unknown. `share` has the
    weights p of the base on the last scored example. `random` is the state of the generator for
    sampling.
    """

    total: SideBySide
    scale: np.ndarray
    seen: np.ndarray
    losses: np.ndarray
    alpha_sum: np.ndarray
    column: np.ndarray
    horizon: np.ndarray
    n_begun: np.ndarray
    share: np.ndarray
    random: np.ndarray

    @classmethod
    def empty(cls, shape: Shape, horizon: tuple[int, ...]) -> Knowledge:
        """Return a base without classifiers."""
        n = shape.n_tasks
        return cls(
            total=SideBySide.zeros(n, shape),
            scale=np.zeros(n),
            seen=np.zeros(n, dtype=np.int64),
            losses=np.zeros((n, n)),
            alpha_sum=np.zeros(n),
            column=np.full(n, -1, dtype=np.int64),
            horizon=np.array(horizon, dtype=np.int64),
            n_begun=np.zeros(1, dtype=np.int64),
            share=np.zeros(n),
            random=seeded(shape.seed),
        )

    def answer(self, j):
        """Return the score of classifier j on the last scored example."""
        return self.scale[j] * self.total.products[j]

    def said(self, j, clip):
        """Return the vote of classifier j: its answer cut to [−1, 1], as it is, or its sign."""
        value = self.answer(j)
        if clip == CLIP_NONE:
            return value
        if clip == CLIP_SIGN:
            return 1.0 if value > 0.0 else -1.0 if value < 0.0 else 0.0
        return min(1.0, max(-1.0, value))

    def weigh(self, c, uniform, factor):
        """Find the weights p of c past classifiers: algorithm 2, line 5, or equal ones."""
        share = self.share[:c]
        if uniform:
            share[:] = 1.0 / c
        else:
            epsilon = factor * math.sqrt(math.log(c) / (8.0 * self.alpha_sum[c]))
            exponential_weights(share, self.losses[c], epsilon)

    def vote(self, c, clip, sample):
        """Return O(x), the base's vote: eq. 3, or eq. 2 and its variants."""
        if sample:
            return self.said(drawn(self, self.share[:c]), clip)
        each = CLIP_NONE if clip == CLIP_SUM else clip
        total = 0.0
        for j in range(c):
            total += self.share[j] * self.said(j, each)
        return min(1.0, max(-1.0, total)) if clip == CLIP_SUM else total

    def error(self, j, y, loss):
        """Return e_t of past classifier j (algorithm 2, line 3, or a variant)."""
        if loss == ZERO_ONE:
            return 0.0 if y * self.answer(j) > 0.0 else 1.0
        if loss == HINGE:
            return max(0.0, 1.0 - y * self.answer(j))
        gap = self.said(j, CLIP_EACH) - y
        return gap * gap


class AKLO(NamedTuple):
    """AKLO Sum and AKLO Sample, Unif Sum and Unif Sample (AKLO paper, algorithms 1 and 2).

    Objective of a task's own classifier w, and of the weights p of the n past classifiers w^(i):

        min_w Σ_t ℓ_t(w) + ½ λ ‖w‖²,  ℓ_t(w) = max(0, 1 − y_t w·x_t)
        min_p Σ_t Σ_i p(i) (T(w^(i)·x_t) − y_t)²,  T clips to [−1, 1]

    Score of the t-th example of a task, where α_t falls from 1 (eq. 2):

        (1 − α_t) T(w·x) + α_t T(Σ_i p(i) w^(i)·x)

    Update, with η_t = 1 / (λ t) and the last term only if y w·x < 1 (algorithm 2, theorem 1):

        L(i) ← L(i) + (T(w^(i)·x) − y)²
        p(i) ∝ exp(−ε L(i)),  ε = √(log n / (8 Σ α))
        w ← (1 − η_t λ) w + η_t y x

    AKLO Sample has the vote T(w^(i)·x) of one i drawn from p (eq. 3). The first task has no base
    and is scored by its own classifier.

    If the horizon N is unknown, or `doubling` says not to use it, L is reset to 0 whenever t is a
    power of two, and ε = √(log n / (8 Σ_{j ≤ 2^m} α_j)) for t in [2^m, 2^(m+1)) (theorem 2). For
    this case the paper allows any non-increasing α_t with α_1 = 1, and names none; α_t = 1 / √t is
    ours.

    In a stream whose tasks alternate, the base of a task consists of the tasks that began before
    it, in their current state.

    Cost per example: O(nonzeros · n), for the products of the row with all past classifiers.

    Parameters
    ----------
    lam : float in (0, inf)
        λ > 0 of ½ λ ‖w‖² and of η_t.
    sample : bool
        Whether one past classifier, drawn from p, votes for the base (AKLO Sample, Unif Sample).
    uniform : bool
        Whether all p(i) are 1 / T (Unif Sum, Unif Sample).
    doubling : bool
        Whether to ignore the horizon.
    clip : int
        What is clipped in O: 0 the sum (eq. 2), 1 each past classifier within it, 2 nothing, 3 each
        votes with its sign.
    own_clip : int
        The vote of the task's own classifier: 0 or 1 T(w·x) (algorithm 1, line 3), 2 w·x, 3 its
        sign.
    fading : int
        α_t is 0 linear, 1 − (1 − alpha_last) (t − 1) / N (the paper's, with alpha_last 0);
        1 hyperbolic, 1 / (1 + (t − 1) / N).
    alpha_last : float in [0, 1]
        The limit of the linear α_t.
    loss : int
        L sums 0 the clipped square (algorithm 2, line 3), 1 mistakes, 2 hinge losses.
    epsilon_factor : float in [0, inf)
        Factor of ε; 1 in the paper.
    shift : int in [0, inf)
        η_t = 1 / (λ (t + shift)); 0 in the paper.
    margin : float
        The task's own classifier takes a step if y w·x is below it; 1 in the paper, 0 for mistakes.

    Estimator
    ---------
    defaults : lam = 1.0
    takes : n_examples, random_state
    drawn : alpha_sum, column, n_begun, random
    linear : no
    cites : shui2018accumulating
    """

    lam: float
    sample: bool = False
    uniform: bool = False
    doubling: bool = False
    clip: int = CLIP_SUM
    own_clip: int = CLIP_SUM
    fading: int = LINEAR
    alpha_last: float = 0.0
    loss: int = SQUARE
    epsilon_factor: float = 1.0
    shift: int = 0
    margin: float = 1.0

    def new_state(self, shape: Shape) -> Knowledge:
        """Return an empty base; raise UserError if a parameter is invalid."""
        codes = {"clip": CLIP_SIGN, "own_clip": CLIP_SIGN, "fading": HYPERBOLIC, "loss": HINGE}
        check(self.lam, {name: (getattr(self, name), most) for name, most in codes.items()})
        unknown = self.doubling or not shape.n_examples
        return Knowledge.empty(shape, shape.n_tasks * (0,) if unknown else shape.n_examples)

    def score(self, state: Knowledge, x: Example) -> float:
        """Return (1 − α_t) T(w·x) + α_t O(x)."""
        k = np.uint32(x.task)
        if state.column[k] < 0:
            self.begin(state, k)
        c = state.column[k]
        state.total.dot_slots(x, c + 1, (0,))
        own = state.said(c, self.own_clip)
        if c == 0:
            return own
        state.weigh(c, self.uniform, self.epsilon_factor)
        a = self.alpha(state.seen[c] + 1, state.horizon[k])
        return (1.0 - a) * own + a * state.vote(c, self.clip, self.sample)

    def update(self, state: Knowledge, x: Example, y: float, score: float) -> bool:  # noqa: ARG002
        """Reweight the past classifiers, then take the own classifier's gradient step."""
        k = np.uint32(x.task)
        c = np.uint32(state.column[k])
        for j in range(c):
            state.losses[c, j] += state.error(j, y, self.loss)
        own = y * state.answer(c)
        fired = own < self.margin or own <= 0.0
        if fired:
            axpy(y, x, state.total.vectors[c])
        state.seen[c] += 1
        t = state.seen[c]
        state.scale[c] = 1.0 / (self.lam * (t + self.shift))
        if state.horizon[k] == 0 and (t & (t + 1)) == 0:  # the next example starts an interval
            state.losses[c, :c] = 0.0
            for s in range((t + 1) // 2 + 1, t + 2):
                state.alpha_sum[c] += self.alpha(s, 0)
        return fired

    def alpha(self, t, horizon):
        """Return the base's share α_t on example t of a task; 1 / √t if its length is unknown."""
        if horizon == 0:
            return 1.0 / math.sqrt(t)
        gone = min(1.0, (t - 1.0) / horizon)
        if self.fading == HYPERBOLIC:
            return 1.0 / (1.0 + gone)
        return 1.0 - (1.0 - self.alpha_last) * gone

    def begin(self, state, k):
        """Assign the next column to task k; Σ α runs over the task, or the first interval I_0."""
        c = state.n_begun[0]
        state.column[k] = c
        state.n_begun[0] = c + 1
        for t in range(1, max(1, state.horizon[k]) + 1):
            state.alpha_sum[c] += self.alpha(t, state.horizon[k])
