"""Bounds for ROM's two algorithms, as printed and as proved (ROM paper, section III).

Lemmas, theorems and equations are those of Zhang et al., ICDM 2016 ("ROM"). The regret is eq. 1's,
of hinge losses plus r_1(W) = α/2 ‖u‖² + β/2 ‖P‖² + γ ‖Q‖_{2,1}, and G_t is the gradient of round
t's losses alone, by (u, P, Q): both algorithms take the regulariser exactly, not by its gradient.

Each bound is given as printed and as it can be proved. There are three differences.

Lemma 2 assumes one step size. The paper has U of shape (d, 1), but eq. 6 steps u by η/m, that is,
in the norm ‖W‖²_m = m ‖u‖² + ‖P‖² + ‖Q‖², whose dual is ‖Σ g^i‖²/m + 2 Σ ‖g^i‖². With the proof of
composite mirror descent in that norm, R_T ≤ ‖W‖²_m/(2η) + r_1(W_0) + (η/2) Σ ‖G_t‖²_{m*}. As
printed, with ‖W‖²/η and ‖G_t‖², it follows only for m ≤ 2, and is false for m = 5. It holds for any
m if U is read as (d, m), with u repeated for every task, which gives the weighted norm.

Lemma 2 is about eqs. 6, 7 and 10 in every round, but algorithm 1 leaves p^i and q^i unchanged if
task i has no loss: then it may pay for r_1 of weights that are no longer needed in each round, and
the regret can grow linearly.

Lemma 5 sums 1/θ_τ for τ = 1 … T. Round t uses weights computed with θ_{t−1}, so the term has to be
1/θ_{t−1}, with θ_1 instead of θ_0, as in Xiao (2009). Theorem 6 is not affected, because 1 +
Σ_{τ<T} 1/√τ is at most 2 √T. Lemmas 4 and 5 have r_2 where Xiao has r_1: including the term
θ_t/(2t) ‖W_t‖² of r_2, they are false too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from omtl.theory.comparators import FixedWeights

Numbers = Any
"""A number of a play, or an array with those of several plays, for which bounds are arrays too."""


def square_norm(weights: FixedWeights) -> float:
    """Return ‖W‖² = ‖u‖² + ‖P‖² + ‖Q‖², with U of shape (d, 1) as in section II.B."""
    return sum(weights.squares)


def weighted_square_norm(weights: FixedWeights) -> float:
    """Return ‖W‖²_m = m ‖u‖² + ‖P‖² + ‖Q‖², in which eqs. 6, 7 and 10 are one step of size η."""
    u, p, q = weights.squares
    return weights.P.shape[0] * u + p + q


# ROM-PGD


def lemma2_printed(*, eta: Numbers, square: float, gradients: Numbers) -> Numbers:
    """Return lemma 2's bound ‖W‖²/η + (η/2) Σ ‖G_t‖² for weights that start at 0.

    Parameters
    ----------
    eta : float
        The learning rate η of the play.
    square : float
        ‖W‖² (`square_norm`).
    gradients : float
        Σ_t ‖G_t‖² over the rounds.
    """
    return square / eta + 0.5 * eta * gradients


def lemma2(*, eta: Numbers, square: float, gradients: Numbers) -> Numbers:
    """Return the corrected lemma 2, ‖W‖²_m/(2η) + (η/2) Σ ‖G_t‖²_{m*}, for initial weights 0.

    It holds for every fixed W if p and q take their steps in every round.

    Parameters
    ----------
    eta : float
        The learning rate η of the play.
    square : float
        ‖W‖²_m (`weighted_square_norm`).
    gradients : float
        Σ_t (‖Σ g^i‖²/m + 2 Σ ‖g^i‖²).
    """
    return 0.5 * square / eta + 0.5 * eta * gradients


def theorem3_eta(n_rounds: float, *, square: float, gradient: Numbers) -> Numbers:
    """Return η = √2 ‖W_*‖/(G_* √T), with which `lemma2_printed` gives theorem 3; it is not printed.

    Parameters
    ----------
    n_rounds : float
        T.
    square, gradient : float
        ‖W_*‖² and G_*².
    """
    return np.sqrt(2.0 * square / (gradient * n_rounds))


def theorem3_printed(n_rounds: float, *, square: float, gradient: Numbers) -> Numbers:
    """Return theorem 3's bound G_* √(2 ‖W_*‖²) √T; parameters as in `theorem3_eta`."""
    return np.sqrt(2.0 * square * gradient * n_rounds)


# ROM-RDA


def inverse_thetas(n_rounds: int, kappa: Numbers) -> np.ndarray:
    """Return 1/θ_τ = 1/(κ √τ) for τ = 1 … T along the last axis."""
    return 1.0 / (np.asarray(kappa)[..., None] * np.sqrt(np.arange(1, n_rounds + 1)))


def lemma5_printed(n_rounds: int, *, kappa: Numbers, square: float, gradient: Numbers) -> Numbers:
    """Return lemma 5's bound θ_T D² + (G_*²/2) Σ_{τ=1}^T 1/θ_τ, for θ_τ = κ √τ.

    Parameters
    ----------
    n_rounds : int
        T.
    kappa : float
        κ of the play.
    square : float
        ‖W‖² (`square_norm`) of the comparator, the least that D² ≥ ‖W‖²/2 allows.
    gradient : float
        G_*², the largest ‖G_t‖².
    """
    thetas = inverse_thetas(n_rounds, kappa).sum(axis=-1)
    return 0.5 * kappa * math.sqrt(n_rounds) * square + 0.5 * gradient * thetas


def lemma5(n_rounds: int, *, kappa: Numbers, square: float, gradient: Numbers) -> Numbers:
    """Return the corrected lemma 5, θ_T ‖W‖²/2 + (G_*²/2) (1/θ_1 + Σ_{τ=1}^{T−1} 1/θ_τ).

    It bounds the regret with r_1; parameters as in `lemma5_printed`.
    """
    inverse = inverse_thetas(n_rounds, kappa)
    thetas = inverse[..., 0] + inverse[..., :-1].sum(axis=-1)
    return 0.5 * kappa * math.sqrt(n_rounds) * square + 0.5 * gradient * thetas


def theorem6(n_rounds: float, *, kappa: Numbers, square: float, gradient: Numbers) -> Numbers:
    """Return theorem 6's bound (κ D² + G_*²/κ) √T; parameters as in `lemma5_printed`."""
    return (0.5 * kappa * square + gradient / kappa) * math.sqrt(n_rounds)


def best_kappa(*, square: float, gradient: Numbers) -> Numbers:
    """Return κ = G_*/D, which minimises `theorem6` and makes it 2 G_* D √T (section III.C)."""
    return np.sqrt(2.0 * gradient / square)


def proximities(n_rounds: int, kappa: float, square: float) -> float:
    """Return Σ_t θ_t/(2t) ‖W‖², the excess of r_2 over r_1, for fixed weights over T rounds."""
    return 0.5 * kappa * square * float(np.sum(1.0 / np.sqrt(np.arange(1, n_rounds + 1))))
