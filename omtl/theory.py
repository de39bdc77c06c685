"""What is proved of learning many tasks on a network, in numbers (DOM paper, section 3).

Equations, lemmas and remarks are those of Zhang et al., Machine Learning 2018 ("DOM"). With m
tasks and m nodes, B = (1 + b) I − (b/m) 1 1ᵀ is the inverse of eq. 10; its eigenvalues are 1, for
what the tasks have in common, and 1 + b. ‖u‖_B is the norm of all tasks' weights under B ⊗ I.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse

from omtl.errors import UserError
from omtl.ops import square_norms
from omtl.streams import Stream, Tasks

VANISHING = 1e-6
"""Default ridge of `best_fixed`, in units of the examples' mean squared norm."""

GAP = 1e-10
"""Duality gap at which a comparator counts as found, relative to 1 + its objective."""

MOST_STEPS = 200
"""Newton steps after which `hinge_minimiser` gives up; 15 to 40 are usual."""

NO_SPREAD = 1e-12
"""Square norm of the differences between tasks, relative to that of the tasks, that counts as 0."""

NEGLIGIBLE = 1e-15
"""Deviation from the mean below which further powers of a network are not added."""


# Relations between the tasks


def relation_inverse(n_tasks: int, b: float) -> np.ndarray:
    """Return B⁻¹ of eq. 10, shape (n_tasks, n_tasks): (b + m δ_jk) / ((b + 1) m)."""
    return (b + n_tasks * np.eye(n_tasks)) / ((b + 1.0) * n_tasks)


def square_norm_B(U: np.ndarray, b: float) -> float:  # noqa: N802 - the norm's own name
    """Return ‖u‖²_B = Σ_k ‖u_k‖² + b Σ_k ‖u_k − ū‖² (remark 2 after theorem 4).

    Parameters
    ----------
    U : ndarray of shape (n_tasks, n_features)
        One vector a task.
    b : float
        Relation of the tasks, b ≥ 0.
    """
    return float(np.sum(U**2) + b * np.sum((U - U.mean(axis=0)) ** 2))


def b_minimiser(U: np.ndarray) -> float:
    """Return the b ≥ 0 that minimises L ‖u‖_B, and with it the bound of remark 1.

    With N = Σ‖u_k‖², V = Σ‖u_k − ū‖² and D the largest norm of an example,
    L² ‖u‖²_B = D² (b + m)/((b + 1) m) · (N + b V). Its derivative in b is 0 where
    (b + 1)² = (m − 1)(N − V)/V, so the minimiser is √((m − 1)(N − V)/V) − 1 where this is positive,
    that is where N > m/(m − 1) · V, and 0 otherwise. The paper prints it without the −1
    (`b_star`). C of eq. 17 is 1 for every b (`norm_ratio`) and Δ does not depend on b.

    Parameters
    ----------
    U : ndarray of shape (n_tasks, n_features)
        One vector a task.

    Returns
    -------
    b : float
        Infinite where all tasks have the same vector; 0 where there is one task, or none has
        weights, and b does not matter.
    """
    m = U.shape[0]
    norm, spread = float(np.sum(U**2)), float(np.sum((U - U.mean(axis=0)) ** 2))
    if m == 1 or norm == 0.0:
        return 0.0
    if spread <= NO_SPREAD * norm:
        return math.inf
    return max(0.0, math.sqrt((m - 1) * max(0.0, norm - spread) / spread) - 1.0)


def b_star(U: np.ndarray) -> float:
    """Return b* as remark 2 after theorem 4 prints it: √((m − 1)(N − V)/V), or 0.

    It is 1 more than the minimiser of L ‖u‖_B (`b_minimiser`). Its condition is printed as
    ‖u_k‖² < m/(m − 1) ‖u_k − ū‖², which asks for the formula where tasks are unrelated and for
    b = 0 where they are alike; it is taken the other way round here, N > m/(m − 1) · V, which is
    where the derivative of L ‖u‖_B at b = 0 is negative. The printed formula then jumps from 0 to
    more than 1, the minimiser does not.

    Parameters
    ----------
    U : ndarray of shape (n_tasks, n_features)
        One vector a task.
    """
    least = b_minimiser(U)
    return least + 1.0 if least > 0.0 else 0.0


def gradient_bound(largest_norm: float, b: float, n_tasks: int) -> float:
    """Return L = max ‖x‖ √((B⁻¹)_kk) (section 3.1), (B⁻¹)_kk = (b + m)/((b + 1) m).

    Parameters
    ----------
    largest_norm : float
        Largest Euclidean norm D of an example.
    """
    return largest_norm * math.sqrt((b + n_tasks) / ((b + 1.0) * n_tasks))


def norm_ratio(b: float) -> float:
    """Return C of eq. 17 for B of eq. 10: the least C with ‖v‖_{B⁻¹} ≤ C ‖v‖_B for all v.

    C² is the largest eigenvalue of B^(−½) B⁻¹ B^(−½) = B⁻², that is 1/λ², with λ = min(1, 1 + b)
    the least eigenvalue of B: C = 1 for every b ≥ 0.

    On the gradients −y B⁻¹ φ alone a smaller ratio holds, √((B⁻³)_kk / (B⁻¹)_kk), but eq. 21 would
    be wrong with it: f(u) − f(z) is bounded by ‖φ‖_{B⁻¹} ‖u − z‖_B, and ‖φ‖_{B⁻¹} =
    ‖∇f‖_B ≤ L is what C L = L gives.
    """
    if b < 0.0:
        raise ValueError(f"b = {b} is negative: B is then no norm that eq. 10 asks for")
    return 1.0


# The network


class Mixing(NamedTuple):
    """Constants of lemma 1, |(Aᵏ)_ij − 1/m| ≤ θ βᵏ, as printed.

    Parameters
    ----------
    theta, beta : float
        θ = (1 − ε/(4m²))⁻², β = (1 − ε/(4m²))^(1/Q).
    smallest_weight : float
        ε: the smallest weight that a node gives to a neighbour.
    period : int
        Q: in how many rounds all links have been used at least once.
    """

    theta: float
    beta: float
    smallest_weight: float
    period: int


def is_doubly_stochastic(mixing: np.ndarray) -> bool:
    """Return whether rows and columns sum to 1 (assumption 2)."""
    return bool(np.allclose(mixing.sum(axis=0), 1.0) and np.allclose(mixing.sum(axis=1), 1.0))


def lemma1(mixing: np.ndarray, period: int = 1) -> Mixing:
    """Return the constants of lemma 1 as they are printed.

    The paper does not say what Q is. In the lemma that it cites (Sundhar Ram, Nedić, Veeravalli
    2010, lemma 3.2) any Q consecutive rounds together link all nodes; every link is used in every
    round here, so Q = 1, its least value. That lemma also asks that every node keeps a weight for
    itself, where assumption 3 asks it of one node only.

    Parameters
    ----------
    mixing : ndarray of shape (n_nodes, n_nodes)
        Combination weights A.
    period : int
        Q.
    """
    m = mixing.shape[0]
    smallest = float(mixing[mixing > 0.0].min())
    base = 1.0 - smallest / (4.0 * m**2)
    return Mixing(base**-2, base ** (1.0 / period), smallest, period)


def deviation(mixing: np.ndarray, power: int) -> float:
    """Return max_ij |(Aᵏ)_ij − 1/m|, which lemma 1 bounds by θ βᵏ."""
    m = mixing.shape[0]
    return float(np.max(np.abs(np.linalg.matrix_power(mixing, power) - 1.0 / m)))


def delta_of(mixing: Mixing, n_nodes: int) -> float:
    """Return Δ = m θ β/(1 − β) + 2 of lemma 2, as printed."""
    return n_nodes * mixing.theta * mixing.beta / (1.0 - mixing.beta) + 2.0


def exact_delta(mixing: np.ndarray) -> float:
    """Return Δ of lemma 2 with the network's own powers in the place of lemma 1's bound on them.

    Δ = max_j Σ_{k ≥ 1} Σ_i |(Aᵏ)_ji − 1/m| + 2, which is what the proof of lemma 2 bounds.

    Parameters
    ----------
    mixing : ndarray of shape (n_nodes, n_nodes)
        Combination weights A.

    Returns
    -------
    delta : float
        Infinite where Aᵏ does not go to 1/m: A is not doubly stochastic, or has a period.
    """
    m = mixing.shape[0]
    rest = mixing - 1.0 / m
    if not is_doubly_stochastic(mixing) or np.abs(np.linalg.eigvals(rest)).max() > 1.0 - 1e-9:
        return math.inf
    # (A − 11ᵀ/m)ᵏ = Aᵏ − 11ᵀ/m for doubly stochastic A.
    total, power = np.zeros(m), rest
    while np.abs(power).max() > NEGLIGIBLE:
        total += np.abs(power).sum(axis=1)
        power = power @ rest
    return float(total.max() + 2.0)


# The regret


def theorem4_bound(
    n_rounds: np.ndarray | float,
    *,
    square_norm: float,
    eta: float,
    gradient: float,
    ratio: float,
    delta: float,
    n_tasks: int,
) -> np.ndarray:
    """Return theorem 4's bound on the regret: m ‖u‖²_B/(2η) + η m T L² (½ + 2 C Δ).

    It holds for every fixed u, of one learning rate η for all rounds, and supposes a doubly
    stochastic A (assumption 2). Nodes without an example in a round count as if they had one.

    The theorem is about f(u_{i,t}), the losses of the vectors before they are combined. The
    algorithm predicts by v_{i,t} = Σ_j a_ij u_{j,t}, and of the losses f(v_{i,t}) that it suffers
    the proof of lemma 3 shows more on its way: summing its display for ‖v_{i,t+1} − u‖²_B over t,
    before f(v) is replaced by f(z), gives m ‖u‖²_B/(2η) + η m T L²/2, on every doubly stochastic
    network alike. That is this bound with ``delta=0``, which stands for no vector of the network,
    and is the one to hold against a measured regret. With any Δ ≥ 0 the bound only grows.

    Remark 1 prints the bound at the best η, ‖u‖_B / (L √(T (1 + 4 C Δ))), as
    m L √((T + 4 C Δ) ‖u‖²_B); inserting that η gives m L √(T (1 + 4 C Δ) ‖u‖²_B).

    Parameters
    ----------
    n_rounds : ndarray or float
        T, the rounds that were played; m examples each.
    square_norm : float
        ‖u‖²_B (`square_norm_B`).
    eta : float
        The learning rate η that was played.
    gradient : float
        L (`gradient_bound`).
    ratio : float
        C (`norm_ratio`).
    delta : float
        Δ (`delta_of`, `exact_delta`), or 0 for the bound on the losses that were suffered.
    n_tasks : int
        m.
    """
    per_round = eta * n_tasks * gradient**2 * (0.5 + 2.0 * ratio * delta)
    return n_tasks * square_norm / (2.0 * eta) + per_round * np.asarray(n_rounds, dtype=float)


def best_eta(
    n_rounds: float, *, square_norm: float, gradient: float, ratio: float, delta: float
) -> float:
    """Return remark 1's η = ‖u‖_B / (L √(T (1 + 4 C Δ))), which minimises `theorem4_bound`."""
    return math.sqrt(square_norm / (n_rounds * (1.0 + 4.0 * ratio * delta))) / gradient


# The comparator


@dataclass(frozen=True)
class Comparator:
    """Fixed weights of all tasks that a learner is compared with.

    Parameters
    ----------
    weights : ndarray of shape (n_tasks, n_features)
    losses : ndarray of shape (n_examples,)
        Hinge loss on each example.
    ridge : ndarray of shape (n_tasks,)
        λ of the objective that the weights minimise, hinge loss + λ/2 ‖u‖².
    gap : ndarray of shape (n_tasks,)
        Duality gap of that objective: by no more than this can other weights do better.
    """

    weights: np.ndarray
    losses: np.ndarray
    ridge: np.ndarray
    gap: np.ndarray


def hinge_losses(tasks: Tasks, U: np.ndarray) -> np.ndarray:
    """Return each example's hinge loss under fixed weights, shape (n_examples,)."""
    losses = np.empty(tasks.y.size)
    for k in range(U.shape[0]):
        mine = np.flatnonzero(tasks.task == k)
        losses[mine] = np.maximum(0.0, 1.0 - tasks.y[mine] * (tasks.X[mine] @ U[k]))
    return losses


def at_checkpoints(losses: np.ndarray, stream: Stream) -> np.ndarray:
    """Return the sum of losses up to each checkpoint of a stream, shape (n_checkpoints,).

    Parameters
    ----------
    losses : ndarray of shape (n_examples,)
        Of each example, such as `Comparator.losses`.
    stream : Stream
        The order in which the examples come.
    """
    lost = np.concatenate([[0.0], np.cumsum(losses[stream.example])])
    return lost[stream.start[stream.checkpoint]]


def best_fixed(tasks: Tasks, ridge: float = VANISHING) -> Comparator:
    """Return for each task the best fixed weights in hindsight, u_* of theorem 4.

    The weights with the least hinge loss need not be unique: on separable data all of a cone have
    none, and the bound grows with the norm. Asked for is therefore the minimum of
    hinge loss + λ/2 ‖u‖², λ being `ridge` times the task's mean squared norm of an example, small
    enough to matter only among weights of (nearly) equal loss. For λ → 0 its solution goes to the
    shortest of the minimisers of the hinge loss; for any λ no vector of the same norm or less has a
    smaller hinge loss, up to the duality gap. Larger ridges give a path of comparators, and the
    bounds hold for each of them.

    Cost: O(steps · (nonzeros · d + d³)) a task for d features.

    Parameters
    ----------
    tasks : Tasks
    ridge : float
        Ridge > 0, in units of the mean squared norm of the task's examples.

    Raises
    ------
    UserError
        If the ridge is not positive, or a task has no examples.
    """
    if not ridge > 0.0:
        raise UserError(f"ridge={ridge} must be positive, such as {VANISHING}")
    square_norm = square_norms(tasks.X)
    found = []
    for k, name in enumerate(tasks.names):
        mine = np.flatnonzero(tasks.task == k)
        if mine.size == 0:
            raise UserError(f"{name} has no examples, so no weights are best for it")
        scaled = ridge * (float(square_norm[mine].mean()) or 1.0)
        w, gap = hinge_minimiser(tasks.X[mine], tasks.y[mine], scaled)
        found.append((w, scaled, gap))
    U, ridges, gaps = (np.array(part) for part in zip(*found, strict=True))
    return Comparator(U, hinge_losses(tasks, U), ridges, gaps)


def hinge_minimiser(
    X: np.ndarray | sparse.csr_array, y: np.ndarray, ridge: float
) -> tuple[np.ndarray, float]:
    """Return argmin_w Σ_i max(0, 1 − y_i x_i·w) + ridge/2 ‖w‖², and its duality gap.

    A primal-dual interior point method with Mehrotra's predictor and corrector (Nocedal, Wright
    2006, section 16.6) on the constraints y_i x_i·w + ξ_i − s_i = 1, ξ, s ≥ 0, whose multipliers
    are 0 ≤ α ≤ 1; each step solves d linear equations. It needs as many steps for a vanishing ridge
    as for a large one, and the gap to the dual objective Σα − ‖Σ α_i y_i x_i‖²/(2 ridge) certifies
    the solution.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features)
    y : ndarray of shape (n_examples,)
        Labels, −1 or +1.
    ridge : float
        Ridge > 0.

    Raises
    ------
    ArithmeticError
        If the gap stays above `GAP`.
    """
    Z = sparse.csr_array(sparse.diags_array(y) @ X) if sparse.issparse(X) else y[:, None] * X
    n, d = Z.shape
    half, ones = np.full(n, 0.5), np.ones(n)
    at = _Point(np.zeros(d), half, half, ones, 2.0 * ones)
    for _ in range(MOST_STEPS):
        margins, pull = Z @ at.w, Z.T @ at.alpha
        primal = float(np.maximum(0.0, 1.0 - margins).sum() + ridge / 2.0 * (at.w @ at.w))
        gap = primal - float(at.alpha.sum() - (pull @ pull) / (2.0 * ridge))
        if gap <= GAP * (1.0 + primal):
            return at.w, max(gap, 0.0)
        newton = _Newton(Z, at, ridge)
        still = np.zeros(n)
        ahead = newton.step(still, still)
        mu = (at.alpha @ at.surplus + at.beta @ at.slack) / (2 * n)
        near = at.moved(ahead, min(1.0, at.longest(ahead)))
        centre = (near.alpha @ near.surplus + near.beta @ near.slack) ** 3 / (2 * n) ** 3 / mu**2
        corrected = newton.step(
            centre - ahead.alpha * ahead.surplus, centre - ahead.beta * ahead.slack
        )
        at = at.moved(corrected, min(1.0, 0.995 * at.longest(corrected)))
    raise ArithmeticError(f"the duality gap of the comparator stays at {gap:.3g}")


class _Point(NamedTuple):
    """An interior point: the weights, α, 1 − α, s, ξ; or a step from one to another."""

    w: np.ndarray
    alpha: np.ndarray
    beta: np.ndarray
    surplus: np.ndarray
    slack: np.ndarray

    def moved(self, step: _Point, length: float) -> _Point:
        """Return the point after a part of a step."""
        return _Point(*(x + length * dx for x, dx in zip(self, step, strict=True)))

    def longest(self, step: _Point) -> float:
        """Return which part of a step keeps all but the weights non-negative."""
        return min(
            float(np.min(-x[dx < 0.0] / dx[dx < 0.0], initial=math.inf))
            for x, dx in zip(self[1:], step[1:], strict=True)
        )


class _Newton:
    """The linear equations for a step from an interior point, factorised once."""

    def __init__(self, Z: np.ndarray | sparse.csr_array, at: _Point, ridge: float) -> None:
        self.Z, self.at = Z, at
        self.weight = at.surplus / at.alpha + at.slack / at.beta
        inverse = 1.0 / self.weight
        normal = Z.T @ (
            sparse.diags_array(inverse) @ Z if sparse.issparse(Z) else inverse[:, None] * Z
        )
        normal = normal.toarray() if sparse.issparse(normal) else normal
        normal[np.diag_indices(at.w.size)] += ridge
        self.factor = linalg.cho_factor(normal, lower=True, overwrite_a=True, check_finite=False)
        self.off = 1.0 - Z @ at.w - at.slack + at.surplus
        self.force = Z.T @ at.alpha - ridge * at.w

    def step(self, to_surplus: np.ndarray, to_slack: np.ndarray) -> _Point:
        """Return the step that brings the products α s and (1 − α) ξ to these values."""
        _, alpha, beta, surplus, slack = self.at
        more_surplus = to_surplus / alpha - surplus
        more_slack = to_slack / beta - slack
        target = (self.off - more_slack + more_surplus) / self.weight
        dw = linalg.cho_solve(self.factor, self.force + self.Z.T @ target, check_finite=False)
        dalpha = target - (self.Z @ dw) / self.weight
        return _Point(
            dw,
            dalpha,
            -dalpha,
            more_surplus - surplus / alpha * dalpha,
            more_slack + slack / beta * dalpha,
        )
