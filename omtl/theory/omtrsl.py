"""Bounds for learning similarities of many tasks, as printed and as proved (OMTRSL, section 3.4).

‖M‖²_A = Σ_k ‖M^k‖² + b Σ_k ‖M^k - mean‖² (Frobenius norms) is the norm under A ⊗ I, A the inverse
of section 3.2's A⁻¹; it is `omtl.theory.dom.square_norm_B` of the matrices as vectors. K is the
number of tasks and R the largest norm of an example.

As printed, Theorem 1 has two errors. Its proof, which the authors omit, is that of Crammer et al.
(JMLR 2006, theorem 4). It gives twice the losses, as in Theorem 2 (which with δ = 1 and all labels
queried is Theorem 1 with twice the losses). And it involves the distance of M from the start of
learning: ‖M - I‖_A, because M_0^k = I (algorithm 1), not ‖M‖_A. The bounds here take both as
arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from omtl.data.triplets import Triplets
from omtl.theory.dom import square_norm_B

PRINTED, PROVED = 1.0, 2.0
"""Factor of the losses in Theorem 1: as printed, and as proved."""


def steepness(R: float, b: float, n_tasks: int, plain_step: bool = False) -> float:
    """Return the maximum of ‖φ‖², 4 (b + K) R⁴ / ((1 + b) K).

    If steps are measured by ‖X‖² alone, it is 4 R⁴.

    Parameters
    ----------
    R, b : float
    n_tasks : int
    plain_step : bool
    """
    return 4.0 * R**4 * (1.0 if plain_step else (b + n_tasks) / ((1.0 + b) * n_tasks))


def square_norm_A(M: np.ndarray, b: float, start: np.ndarray | None = None) -> float:  # noqa: N802 - the norm's own name
    """Return ‖M - start‖²_A.

    Parameters
    ----------
    M : ndarray of shape (n_tasks, d, d)
    b : float
    start : ndarray of shape (d, d), optional
        0 by default, as printed.
    """
    away = M if start is None else M - start
    return square_norm_B(away.reshape(len(away), -1), b)


def theorem1(
    losses: np.ndarray, *, square_norm: float, steep: float, C: float, times: float = PROVED
) -> np.ndarray:
    """Return the bound on the mistakes of OMTRSL: max(steep, 1/C) (‖M‖²_A + times C Σ ℓ).

    Parameters
    ----------
    losses : ndarray
        Σ ℓ(M; z_t) up to each point in time.
    square_norm, steep, C : float
        ‖M‖²_A, `steepness`, and the longest step.
    times : float
        `PRINTED` or `PROVED`.
    """
    return max(steep, 1.0 / C) * (square_norm + times * C * losses)


def theorem2(
    losses: np.ndarray, *, square_norm: float, steep: float, C: float, delta: float
) -> np.ndarray:
    """Return the bound on the expected mistakes of OMTRSL-Active.

    That is 1/δ max(steep, 1/C) (((δ + 1)/2)² ‖M‖²_A + (δ + 1) C Σ ℓ).

    Parameters
    ----------
    losses, square_norm, steep, C
        As in `theorem1`.
    delta : float
    """
    norms = ((delta + 1.0) / 2.0) ** 2 * square_norm
    return max(steep, 1.0 / C) / delta * (norms + (delta + 1.0) * C * losses)


def triplet_margins(M: np.ndarray, X: np.ndarray, stream: Iterable[Triplets]) -> np.ndarray:
    """Return y ⟨M^k, X_t⟩ of fixed matrices on each triplet of a stream.

    Parameters
    ----------
    M : ndarray of shape (n_tasks, d, d)
    X : ndarray of shape (n_examples, d)
    stream : iterable of Triplets
    """
    found = []
    for block in stream:
        left, right = X[block.query], X[block.first] - X[block.second]
        value = np.empty(block.y.size)
        for k in np.unique(block.task):
            at = block.task == k
            value[at] = np.einsum("ij,ij->i", left[at] @ M[k], right[at])
        found.append(block.y * value)
    return np.concatenate(found)


def within_classes(
    X: np.ndarray, label: np.ndarray, task: np.ndarray, n_tasks: int, ridge: float
) -> np.ndarray:
    """Return fixed matrices to compare with: each task's (S + ridge s I)⁻¹ s.

    S is the covariance within the task's classes and s its mean variance, so that a large ridge
    gives a multiple of I.

    Parameters
    ----------
    X : ndarray of shape (n_examples, d)
    label, task : ndarray of shape (n_examples,)
    n_tasks : int
    ridge : float
        Positive.

    Returns
    -------
    ndarray of shape (n_tasks, d, d)
    """
    d = X.shape[1]
    found = np.empty((n_tasks, d, d))
    for k in range(n_tasks):
        own, of = X[task == k], label[task == k]
        classes, number = np.unique(of, return_inverse=True)
        means = np.stack([own[number == c].mean(axis=0) for c in range(classes.size)])
        apart = own - means[number]
        S = apart.T @ apart / len(own)
        s = np.trace(S) / d
        found[k] = np.linalg.inv(S / s + ridge * np.eye(d))
    return found
