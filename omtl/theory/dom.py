"""Bounds for learning many tasks on a network, as printed and as proved (DOM paper, section 3).

Equations, lemmas and remarks are those of Zhang et al., Machine Learning 2018 ("DOM"). With m
tasks and m nodes, B = (1 + b) I − (b/m) 1 1ᵀ is the inverse of eq. 10; its eigenvalues are 1, for
the tasks' common part, and 1 + b. ‖u‖_B is the norm of all tasks' weights under B ⊗ I.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

NO_SPREAD = 1e-12
"""Relative square norm of the differences between tasks that counts as 0."""

NEGLIGIBLE = 1e-15
"""Deviation from the mean below which further powers of a network are ignored."""

NORM_RATIO = 1.0
"""C of eq. 17 for B of eq. 10 with any b ≥ 0 (`theorem4_bound`)."""


# Relations between the tasks


def square_norm_B(U: np.ndarray, b: float) -> float:  # noqa: N802 - the norm's own name
    """Return ‖u‖²_B = Σ_k ‖u_k‖² + b Σ_k ‖u_k − ū‖² (remark 2 after theorem 4).

    Parameters
    ----------
    U : ndarray of shape (n_tasks, n_features)
        One vector per task.
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
    (`b_star`). C of eq. 17 is 1 for every b (`NORM_RATIO`) and Δ does not depend on b.

    Parameters
    ----------
    U : ndarray of shape (n_tasks, n_features)
        One vector per task.

    Returns
    -------
    b : float
        Infinite if all tasks have the same vector; 0 if there is one task or all weights are zero,
        so that b does not matter.
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
    ‖u_k‖² < m/(m − 1) ‖u_k − ū‖², which uses the formula if tasks are unrelated and b = 0 if they
    are alike. Here it is reversed, N > m/(m − 1) · V, which is where the derivative of L ‖u‖_B at b
    = 0 is negative. The printed formula then jumps from 0 to more than 1; the minimiser does not.

    Parameters
    ----------
    U : ndarray of shape (n_tasks, n_features)
        One vector per task.
    """
    least = b_minimiser(U)
    return least + 1.0 if least > 0.0 else 0.0


def gradient_bound(largest_norm: float, b: float, n_tasks: int) -> float:
    """Return L = max ‖x‖ √((B⁻¹)_kk) (section 3.1), (B⁻¹)_kk = (b + m)/((b + 1) m).

    Parameters
    ----------
    largest_norm : float
        Largest Euclidean norm D of an example.
    b : float
        Relation of the tasks, b ≥ 0.
    n_tasks : int
        Number of tasks m.
    """
    return largest_norm * math.sqrt((b + n_tasks) / ((b + 1.0) * n_tasks))


# The network


class Mixing(NamedTuple):
    """Constants of lemma 1, |(Aᵏ)_ij − 1/m| ≤ θ βᵏ, as printed.

    Parameters
    ----------
    theta, beta : float
        θ = (1 − ε/(4m²))⁻², β = (1 − ε/(4m²))^(1/Q) for Q = 1 (`lemma1`).
    smallest_weight : float
        ε: the smallest weight of a node for a neighbour.
    """

    theta: float
    beta: float
    smallest_weight: float


def is_doubly_stochastic(mixing: np.ndarray) -> bool:
    """Return whether rows and columns sum to 1 (assumption 2)."""
    return bool(np.allclose(mixing.sum(axis=0), 1.0) and np.allclose(mixing.sum(axis=1), 1.0))


def lemma1(mixing: np.ndarray) -> Mixing:
    """Return the constants of lemma 1 as they are printed.

    The paper does not say what Q is. In the lemma that it cites (Sundhar Ram, Nedić, Veeravalli
    2010, lemma 3.2) any Q consecutive rounds together link all nodes; every link is used in every
    round here, so Q = 1, its least value. That lemma also requires every node to keep a weight for
    itself; assumption 3 requires it of one node only.

    Parameters
    ----------
    mixing : ndarray of shape (n_nodes, n_nodes)
        Combination weights A.
    """
    m = mixing.shape[0]
    smallest = float(mixing[mixing > 0.0].min())
    base = 1.0 - smallest / (4.0 * m**2)
    return Mixing(base**-2, base, smallest)


def delta_of(mixing: Mixing, n_nodes: int) -> float:
    """Return Δ = m θ β/(1 − β) + 2 of lemma 2, as printed."""
    return n_nodes * mixing.theta * mixing.beta / (1.0 - mixing.beta) + 2.0


def exact_delta(mixing: np.ndarray) -> float:
    """Return Δ of lemma 2 with the network's own powers instead of lemma 1's bound on them.

    Δ = max_j Σ_{k ≥ 1} Σ_i |(Aᵏ)_ji − 1/m| + 2, which is what the proof of lemma 2 bounds.

    Parameters
    ----------
    mixing : ndarray of shape (n_nodes, n_nodes)
        Combination weights A.

    Returns
    -------
    delta : float
        Infinite if Aᵏ does not converge to 1/m: A is not doubly stochastic, or is periodic.
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


class Problem(NamedTuple):
    """What theorem 4's bound needs of a problem.

    Parameters
    ----------
    n_tasks : int
        m.
    gradient : float
        L (`gradient_bound`).
    """

    n_tasks: int
    gradient: float


def theorem4_bound(
    n_rounds: np.ndarray | float, problem: Problem, *, square_norm: float, eta: float, delta: float
) -> np.ndarray:
    """Return theorem 4's bound on the regret: m ‖u‖²_B/(2η) + η m T L² (½ + 2 C Δ).

    It holds for every fixed u, with one learning rate η for all rounds, and assumes a doubly
    stochastic A (assumption 2). Nodes without an example in a round count as if they had one.

    The theorem is about f(u_{i,t}), the losses of the vectors before they are combined. The
    algorithm predicts with v_{i,t} = Σ_j a_ij u_{j,t}, and for the losses f(v_{i,t}) that it
    suffers, the proof of lemma 3 shows more along the way: summing its display for ‖v_{i,t+1} −
    u‖²_B over t, before f(v) is replaced by f(z), gives m ‖u‖²_B/(2η) + η m T L²/2, on every doubly
    stochastic network. That is this bound with ``delta=0``, which corresponds to no vector of the
    network, and is the one to compare with a measured regret. Any Δ ≥ 0 only increases the bound.

    C of eq. 17 is the least with ‖v‖_{B⁻¹} ≤ C ‖v‖_B for all v. C² is the largest eigenvalue of
    B^(−½) B⁻¹ B^(−½) = B⁻², that is 1/λ², with λ = 1 the least eigenvalue of B: C = 1 for every
    b ≥ 0. On the gradients −y B⁻¹ φ alone a smaller ratio holds, √((B⁻³)_kk / (B⁻¹)_kk), but eq. 21
    would be wrong with it: f(u) − f(z) is bounded by ‖φ‖_{B⁻¹} ‖u − z‖_B, and ‖φ‖_{B⁻¹} =
    ‖∇f‖_B ≤ L is what C L = L gives.

    Remark 1 prints the bound at the best η, ‖u‖_B / (L √(T (1 + 4 C Δ))), as
    m L √((T + 4 C Δ) ‖u‖²_B); inserting that η gives m L √(T (1 + 4 C Δ) ‖u‖²_B).

    Parameters
    ----------
    n_rounds : ndarray or float
        T, the number of rounds, with m examples each.
    problem : Problem
    square_norm : float
        ‖u‖²_B (`square_norm_B`).
    eta : float
        The learning rate η of the play.
    delta : float
        Δ (`delta_of`, `exact_delta`), or 0 for the bound on the losses suffered.
    """
    m, L = problem
    per_round = eta * m * L**2 * (0.5 + 2.0 * NORM_RATIO * delta)
    return m * square_norm / (2.0 * eta) + per_round * np.asarray(n_rounds, dtype=float)


def best_eta(n_rounds: float, problem: Problem, square_norm: float) -> float:
    """Return remark 1's η = ‖u‖_B / (L √T) for Δ = 0, which minimises `theorem4_bound`."""
    return math.sqrt(square_norm / n_rounds) / problem.gradient
