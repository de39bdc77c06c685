"""Bounds on AKLO's errors on one task, as printed and as proved (AKLO paper, theory).

Theorems and corollaries are those of Shui, Hedhli, Gagné, "Accumulating knowledge for lifelong
online learning" ("AKLO"). Task T + 1 has N examples with ‖x‖ ≤ X; T past classifiers w^(j) have the
errors e_t(w) = (T_[−1,1](w·x) − y)² on it, and ℓ_t is the hinge loss. w** is the past classifier
with the least Σ e_t, w* has the least Σ ℓ_t of all ‖w‖ ≤ R. The proofs are in a supplement that we
do not have; below is what can be proved, and why the printed version cannot.

The printed bound of theorem 1 is Σ α_t e_t(w**) + Σ (1 − α_t) ℓ_t(w*) + 4 √(2 log T Σ α_t) +
λ R² Σ (1 − α_t), for λ = (X + R)/R · √((log N + 1)/N) makes R (X + R) √((log N + 1)/N) = λ R². It
fails for three reasons, each of which is sufficient.

1. Eq. 2 clips the weighted sum. Then one past classifier with a large w·x outvotes the others as
   long as its weight p is above their sum of p w·x, although its e_t is at most 4. The bound holds
   if each past classifier is clipped before the sum, and for eq. 3.
2. α e + (1 − α) ℓ may be less than 1 for a mistake, because e is a square and ℓ is not. With a base
   that is right with confidence u = (1 − α)/α and an own classifier that is wrong with confidence
   1, it is α (1 − u)² + 2 (1 − α), which is 2 √2 − 2 for α = 1/√2. With 3/2 ℓ instead of ℓ it is at
   least 1 for every α; no smaller factor suffices.
3. 1 − α_t rises, and all the regret against w*, which is best for the whole task, may come at its
   end. The own classifier's regret weighted by b_t = 1 − α_t is not a part of its regret. What
   holds, with W the largest ‖w_t‖ and any u, is (`own_regret`) Σ b_t (ℓ_t(w_t) − ℓ_t(u)) ≤ λ/2 ‖u‖²
   Σ b_t + λ/2 (‖u‖ + W)² Σ (b_t − b_{t−1}) (t − 1) + X²/(2 λ) (b_1 + Σ_{t ≥ 2} b_t / (t − 1)). It
   is the sum over t of b_t times the step's inequality for a λ-strongly convex loss, with ‖g + λ
   w‖² ≤ X² + 2 λ X ‖w‖ + λ² ‖w‖² and λ/2 ‖w_t‖² of the loss set against its last two terms.

If "‖w‖ ≤ R" is to hold for all own classifiers on any data, R ≥ X/λ is needed, and then
ℓ_t(w*) + λ R² ≥ 1 − R X + R X = 1: the own classifier's part of the bound is at least Σ (1 − α_t),
as if every example counted.

The part of the base holds as printed, with room: from (log T)/ε + 2 ε s for the regret after any s
examples (Hoeffding's lemma for losses in [0, 4]) follows (log T)/ε + 2 ε Σ α_t, as α_t falls. This
is (5/√2) √(log T Σ α_t) at the printed ε, and 2 √2 √(log T Σ α_t) at twice that, for the printed
4 √2 √(log T Σ α_t).

Corollary 1 requires K ≥ (1 + X R)/(γ ζ), where ζ is a sum over N examples. Its own reasoning gives
N/(γ ζ), because Σ ℓ_t(w*) is at most N, and a factor √(log N + 1) is missing in its other
condition. If each past classifier is clipped, K ≥ 3 N/(γ ζ) alone suffices: whatever the own
classifier predicts, α e + 3 (1 − α) is at least 1 for a mistake. Corollary 2's √(8 Σ α_t² log 1/δ)
is right. Theorem 2 has log N for the number of the intervals, which is ⌊log₂ N⌋ + 1: for N = 1 it
has no regret at all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

MISTAKE = 1.5
"""Factor of the own hinge loss with which a mistake never counts less than 1."""

LARGEST_ERROR = 4.0
"""Largest error e_t."""


def horizon_rate(n: int, *, known: bool = True) -> float:
    """Return √((log N + 1)/N), or 1 for an unknown horizon; λ is (X + R)/R times this.

    Parameters
    ----------
    n : int
        N, 1 or more.
    known : bool
        Whether the learner knows N (theorem 1) or not (theorem 2).
    """
    return math.sqrt((math.log(n) + 1.0) / n) if known else 1.0


def theorem_lam(n: int, *, radius: float, largest_norm: float, known: bool = True) -> float:
    """Return λ as set by theorem 1 or 2.

    Parameters
    ----------
    n, known
        As in `horizon_rate`.
    radius, largest_norm : float
        R and X.
    """
    return (largest_norm + radius) / radius * horizon_rate(n, known=known)


def radius_of(lam: float, n: int, *, largest_norm: float, known: bool = True) -> float:
    """Return the R for which a theorem sets λ to `lam`; infinity if there is none.

    Parameters
    ----------
    lam : float
        λ of the play. The theorems always set it above `horizon_rate`.
    n, largest_norm, known
        As in `theorem_lam`.
    """
    least = horizon_rate(n, known=known)
    return largest_norm * least / (lam - least) if lam > least else math.inf


class Bound(NamedTuple):
    """A bound on the errors of a task, the sum of its parts.

    Parameters
    ----------
    base, own : float
        The losses of w**, Σ α_t e_t(w**), and of w*, Σ (1 − α_t) ℓ_t(w*) times its factor.
    base_regret, own_regret : float
    deviation : float
        The addition for sampling, with probability 1 − δ (corollary 2).
    """

    base: float
    own: float
    base_regret: float
    own_regret: float
    deviation: float = 0.0


# The base


def base_regret_printed(shares: np.ndarray, n_experts: int, *, known: bool = True) -> float:
    """Return 4 √(2 log T Σ α_t), times log N in theorem 2.

    Parameters
    ----------
    shares : ndarray of shape (N,)
        α_t.
    n_experts : int
        T, 1 or more.
    known : bool
        As in `horizon_rate`.
    """
    regret = 4.0 * math.sqrt(2.0 * math.log(n_experts) * float(shares.sum()))
    return regret if known else regret * math.log(shares.size)


def base_regret(shares: np.ndarray, n_experts: int, *, known: bool = True) -> float:
    """Return (log T)/ε + 2 ε Σ α_t at the printed ε; in theorem 2 α_{2^m} (log T)/ε + 2 ε Σ α_t of
    each interval, summed. Parameters as of `base_regret_printed`; α_t must not rise.
    """
    if n_experts == 1:
        return 0.0
    log = math.log(n_experts)

    def of_interval(part: np.ndarray, tuned_to: float) -> float:
        epsilon = math.sqrt(log / (8.0 * tuned_to))
        return float(part[0] * log / epsilon + epsilon * LARGEST_ERROR**2 / 8.0 * part.sum())

    if known:
        return of_interval(shares, float(shares.sum()))
    starts = 2 ** np.arange(int(math.log2(shares.size)) + 1)
    return sum(
        of_interval(shares[start - 1 : 2 * start - 1], float(shares[:start].sum()))
        for start in starts
    )


def sampling_deviation(shares: np.ndarray, delta: float) -> float:
    """Return √(8 Σ α_t² log(1/δ)), the excess of sampled errors over their mean (corollary 2).

    Parameters
    ----------
    shares : ndarray of shape (N,)
        α_t.
    delta : float
        δ, the probability of a larger excess.
    """
    return math.sqrt(8.0 * float(np.sum(shares**2)) * math.log(1.0 / delta))


# The own classifier


def own_regret_printed(shares: np.ndarray, *, lam: float, radius: float) -> float:
    """Return λ R² Σ (1 − α_t), which is R (X + R) √((log N + 1)/N) Σ (1 − α_t) in theorem 1 and
    R (X + R) Σ (1 − α_t) in theorem 2.

    Parameters
    ----------
    shares : ndarray of shape (N,)
        α_t.
    lam, radius : float
        λ as the theorem sets it for R (`theorem_lam`), and R.
    """
    return lam * radius**2 * float(np.sum(1.0 - shares))


def own_regret(
    shares: np.ndarray, *, lam: float, norm: float, longest: float, largest_norm: float
) -> float:
    """Return a bound on Σ (1 − α_t) (ℓ_t(w_t) − ℓ_t(u)) for any λ, η_t = 1/(λ t) and w_1 = 0.

    Parameters
    ----------
    shares : ndarray of shape (N,)
        α_t, which must not rise.
    lam : float
        λ of the play.
    norm : float
        ‖u‖.
    longest : float
        W, the largest ‖w_t‖ of t = 1 … N.
    largest_norm : float
        X.
    """
    b = 1.0 - shares
    before = np.arange(b.size)  # t − 1
    rising = float(np.diff(b, prepend=0.0) @ before)
    steps = float(b[0] + np.sum(b[1:] / before[1:]))
    return (
        0.5 * lam * norm**2 * float(b.sum())
        + 0.5 * lam * (norm + longest) ** 2 * rising
        + 0.5 * largest_norm**2 / lam * steps
    )


# Corollary 1


def least_gammas(
    shares: np.ndarray, n_experts: int, *, least_error: float, radius: float, largest_norm: float
) -> tuple[float, float]:
    """Return the least γ for which some K meets corollary 1's conditions; infinity if none does.

    That is at the K of N = t_0, K/(1 + K) = α_N. The first γ is for the conditions as printed,
    K ≥ max{(1 + X R)/(γ ζ), R (X + R)/(4 γ √(2 log T))}, the second for those that theorem 1 as
    printed would give, K ≥ max{N/(γ ζ), R (X + R) √(log N + 1)/(4 γ √(2 log T))}.

    Parameters
    ----------
    shares : ndarray of shape (N,)
        α_t.
    n_experts : int
        T.
    least_error : float
        ζ = Σ e_t(w**).
    radius, largest_norm : float
        R and X.
    """
    last, n = float(shares[-1]), shares.size
    if last >= 1.0:
        return 0.0, 0.0
    if last <= 0.0 or least_error <= 0.0 or n_experts == 1:
        return math.inf, math.inf
    K = last / (1.0 - last)
    lost, learnt = 1.0 + largest_norm * radius, radius * (largest_norm + radius)
    of_base = 4.0 * math.sqrt(2.0 * math.log(n_experts))
    printed = max(lost / least_error, learnt / of_base) / K
    return printed, max(n / least_error, learnt * math.sqrt(math.log(n) + 1.0) / of_base) / K


def corollary1(base: float, shares: np.ndarray, n_experts: int, gamma: float) -> float:
    """Return (1 + γ) (Σ α_t e_t(w**) + 4 √(2 log T Σ α_t)).

    Parameters
    ----------
    base : float
        Σ α_t e_t(w**).
    shares, n_experts
        As in `base_regret_printed`.
    gamma : float
        γ.
    """
    return (1.0 + gamma) * (base + base_regret_printed(shares, n_experts))
