"""Bounds for smoothed online multi-task learning, as proved (OSMTL paper, section 2.5).

Theorem 1, corollary 2 and equations are those of Murugesan et al., NIPS 2016 ("OSMTL"), and its
supplement. The proof shows, for every task k and any fixed w*_k, for weights that start at 0 and
take the steps of eq. 9 with the same C and α in every round:

Σ_t (ℓ_kk − ℓ*_kk) ≤ ‖w*_k‖²/(2Cα) + (1 − α)/α Σ_t (ℓ*_kk + max_{j≠k} ℓ*_kj) + C R² T/(2α).

Differences from the printed version:

1. Eq. 12 has T (ℓ*_kk^(t) + max ℓ*_kj^(t)) with a t that nothing binds; summing eq. 22 gives the
   sum over t. Corollary 2 has the same slip: there it is the mean over t.
2. Eq. 21 takes (1 − α) out of Σ_{j≠k} η_kj ℓ*_kj and leaves η_kj in it; what stays is p_kj, as
   η_kj = (1 − α) p_kj for j ≠ k. Eq. 22 follows from p_kj: Σ p_kj ℓ*_kj is at most the largest.
3. It requires ‖x_j‖ ≤ R for all tasks j, because task k learns from all of them.
4. A round without a step is left out ("any non-zero Δ"). That is right if it has no own loss: with
   steps if the margin is below 1 (algorithm 2), or if any task's is. A learner that learns from
   mistakes only ("passive", section 2.4) skips rounds with a loss between 0 and 1, so this does not
   bound its regret: with one x and one label, w = C η x after the first round is right ever after,
   and suffers 1 − C η_kk ‖x‖² each round. For it the sum on the left is over rounds with a step.
5. The proof does not require k to be in the active set: if ℓ_kk = 0 and other tasks' losses cause a
   step, the left side is at most 0, and −η_kk ℓ*_kk only lowers the right side of eq. 19.
6. Eq. 9 is not the minimiser of eq. 8: that would be half the step, C/2. The theorem is about eq.
   9.

It does not matter how p is learnt, only that η_kk ≥ α and that rows of P sum to 1: OSMTL-t has the
same bound. So do tasks that sit out some rounds, with sums over the existing rounds and tasks.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.data.streams import Stream, Tasks


class FixedLosses(NamedTuple):
    """Fixed weights of all tasks: their norms, and their losses round by round.

    Parameters
    ----------
    square_norm : ndarray of shape (n_tasks,)
        ‖w*_k‖².
    own : ndarray of shape (n_rounds, n_tasks)
        ℓ*_kk, 0 in rounds without an example of task k.
    others : ndarray of shape (n_rounds, n_tasks)
        max_{j≠k} ℓ*_kj, 0 in rounds without an example of another task.
    """

    square_norm: np.ndarray
    own: np.ndarray
    others: np.ndarray


def fixed_weights(tasks: Tasks, stream: Stream, U: np.ndarray) -> FixedLosses:
    """Return fixed weights with their losses on the examples of each round.

    Cost: O(n_tasks · nonzeros).

    Parameters
    ----------
    tasks : Tasks
    stream : Stream
        Rounds of at most one example of each task.
    U : ndarray of shape (n_tasks, n_features)
        w*_k of each task.
    """
    example = stream.example
    task = tasks.task[example]
    n_rounds, m = stream.start.size - 1, U.shape[0]
    t = np.repeat(np.arange(n_rounds), np.diff(stream.start))
    margins = tasks.y[example, None] * np.asarray(tasks.X[example] @ U.T)
    losses = np.zeros((n_rounds, m, m))  # by round, task k of the weights, task j of the example
    losses[t, :, task] = np.maximum(0.0, 1.0 - margins)
    every = np.arange(m)
    own = losses[:, every, every].copy()
    losses[:, every, every] = 0.0
    return FixedLosses(np.sum(U**2, axis=1), own, losses.max(axis=2))


def corollary2_rates(n_rounds: int) -> tuple[float, float]:
    """Return C = (1 + √T)/T and α = √T/(1 + √T) of corollary 2."""
    root = math.sqrt(n_rounds)
    return (1.0 + root) / n_rounds, root / (1.0 + root)


def theorem1_bound(
    n_rounds: np.ndarray, fixed: FixedLosses, *, C: float, alpha: float, largest_norm: float
) -> np.ndarray:
    """Return theorem 1's bound on each task's regret, as proved, after numbers of rounds.

    It holds if tasks learn whenever their margin is below 1, or more often, but not if they learn
    from mistakes only.

    Parameters
    ----------
    n_rounds : ndarray of shape (n,), int64
        T, such as the checkpoints of a stream.
    fixed : Fixed
        w*_k of all tasks.
    C, alpha : float
        C > 0 and α of all rounds, for any number of rounds considered.
    largest_norm : float
        R, the largest norm of an example of any task.

    Returns
    -------
    ndarray of shape (n_tasks, n)
        Infinite for α = 0.
    """
    if alpha == 0.0:
        return np.full((fixed.square_norm.size, n_rounds.size), math.inf)
    sums = np.cumsum(np.concatenate([np.zeros_like(fixed.own[:1]), fixed.own + fixed.others]), 0)
    return (
        fixed.square_norm[:, None] / (2.0 * C * alpha)
        + (1.0 - alpha) / alpha * sums[n_rounds].T
        + C * largest_norm**2 * n_rounds / (2.0 * alpha)
    )


def corollary2_bound(n_rounds: int, fixed: FixedLosses, largest_norm: float) -> np.ndarray:
    """Return corollary 2's bound on each task's regret after all T rounds, shape (n_tasks,).

    √T (‖w*_k‖²/2 + mean_t (ℓ*_kk + max_{j≠k} ℓ*_kj) + 2 R²), at the rates of `corollary2_rates`;
    theorem 1 with these is no more, as (1 + √T)² ≤ 4 T.
    """
    mean = (fixed.own + fixed.others)[:n_rounds].sum(axis=0) / n_rounds
    return math.sqrt(n_rounds) * (fixed.square_norm / 2.0 + mean + 2.0 * largest_norm**2)
