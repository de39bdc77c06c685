"""The best fixed weights in hindsight, the comparators of regret: computed, not guessed.

Each is the solution of a conic programme, which Clarabel (an interior point method) solves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from omtl.data.rows import square_norms
from omtl.data.streams import Stream, Tasks
from omtl.util.errors import UserError

VANISHING = 1e-6
"""Default ridge of `best_weights`, in units of the examples' mean squared norm."""

SMALL = 1e-4
"""Default ridge of `least_losses`: at less, the gap stays open on scores of schools."""

TOLERANCE = 1e-11
"""Duality gap and violation of constraints that the solver aims at, relative."""

SHORT = 1e-5
"""Weight of ‖w‖²/(2 R²) in `best_within`, which tells weights of equal loss apart."""

GAP = 1e-7
"""Duality gap up to which weights are accepted, relative to 1 + the objective."""


def losses_under(tasks: Tasks, U: np.ndarray) -> np.ndarray:
    """Return each example's hinge loss under fixed weights, shape (n_examples,)."""
    losses = np.empty(tasks.y.size)
    for k in range(U.shape[0]):
        mine = np.flatnonzero(tasks.task == k)
        losses[mine] = hinge_losses(tasks.X[mine], tasks.y[mine], U[k])
    return losses


def hinge_losses(X: np.ndarray | sparse.csr_array, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return max(0, 1 − y w·x) of each example, shape (n_examples,)."""
    return np.maximum(0.0, 1.0 - y * (X @ w))


def least_losses(tasks: Tasks, ridge: float = SMALL) -> np.ndarray:
    """Return each example's hinge loss under the best fixed weights of its task.

    They are those of `best_weights`. A task without examples is left out, and one of more features
    than examples is solved in the space that its rows span.

    Parameters
    ----------
    tasks : Tasks
    ridge : float
        As in `best_weights`.

    Returns
    -------
    ndarray of shape (n_examples,)
    """
    losses = np.empty(tasks.y.size)
    for k in np.unique(tasks.task):
        mine = np.flatnonzero(tasks.task == k)
        X, y = in_their_span(tasks.X[mine]), tasks.y[mine]
        losses[mine] = hinge_losses(X, y, ridge_weights(X, y, ridge))
    return losses


def in_their_span(X: np.ndarray | sparse.csr_array) -> np.ndarray | sparse.csr_array:
    """Return rows with the same inner products and no more features than there are rows."""
    if X.shape[0] >= X.shape[1]:
        return X
    products = X @ X.T
    dense = products.toarray() if sparse.issparse(products) else products
    squares, directions = np.linalg.eigh(dense)
    kept = squares > squares[-1] * X.shape[0] * np.finfo(float).eps
    return directions[:, kept] * np.sqrt(squares[kept])


def at_checkpoints(losses: np.ndarray, stream: Stream) -> np.ndarray:
    """Return the sum of losses up to each checkpoint of a stream, shape (n_checkpoints,).

    Parameters
    ----------
    losses : ndarray of shape (n_examples,)
        Loss of each example (`losses_under`).
    stream : Stream
        The order of the examples.
    """
    lost = np.concatenate([[0.0], np.cumsum(losses[stream.example])])
    return lost[stream.start[stream.checkpoint]]


class Cone(NamedTuple):
    """A constraint on variables v: the first entry of b − A v is at least the others' norm."""

    A: sparse.sparray
    b: np.ndarray


def least_hinge(
    margins: sparse.sparray, square: sparse.sparray, linear: np.ndarray, *cones: Cone
) -> tuple[np.ndarray, float]:
    """Return argmin_v ½ vᵀ S v + cᵀ v + Σ_i max(0, 1 − m_i·v), and its duality gap.

    Parameters
    ----------
    margins : sparse array of shape (n_examples, n_variables)
        The rows m_i.
    square : sparse array of shape (n_variables, n_variables)
        S, symmetric.
    linear : ndarray of shape (n_variables,)
        c.
    *cones : Cone

    Raises
    ------
    ArithmeticError
        If the gap stays above `GAP`.
    """
    n, d = margins.shape
    one = sparse.eye_array(n)
    rows = [[-margins, -one], [None, -one], *([cone.A, None] for cone in cones)]
    bounds = np.concatenate([-np.ones(n), np.zeros(n), *(cone.b for cone in cones)])
    kinds = [clarabel.NonnegativeConeT(2 * n)]
    kinds += [clarabel.SecondOrderConeT(cone.b.size) for cone in cones]
    curved = sparse.block_diag([sparse.triu(square), sparse.csc_array((n, n))])
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = TOLERANCE
    found = clarabel.DefaultSolver(
        sparse.csc_matrix(curved),
        np.concatenate([linear, np.ones(n)]),
        sparse.csc_matrix(sparse.block_array(rows)),
        bounds,
        kinds,
        settings,
    ).solve()
    gap = abs(found.obj_val - found.obj_val_dual)
    if not gap <= GAP * (1.0 + abs(found.obj_val)):
        raise ArithmeticError(f"the duality gap of the comparator stays at {gap:.3g}")
    return np.array(found.x[:d]), gap


def signed(X: np.ndarray | sparse.csr_array, y: np.ndarray) -> sparse.csr_array:
    """Return examples times their labels."""
    return sparse.csr_array(sparse.diags_array(y) @ sparse.csr_array(X))


def best_weights(tasks: Tasks, ridge: float = VANISHING) -> np.ndarray:
    """Return for each task the best fixed weights in hindsight, u_* of theorem 4.

    The weights with the least hinge loss need not be unique: on separable data a whole cone has
    zero loss, and the bound grows with the norm. So we minimise hinge loss + λ/2 ‖u‖², where λ is
    `ridge` times the task's mean squared norm of an example, small enough to matter only among
    weights of (nearly) equal loss. For λ → 0 the solution tends to the shortest minimiser of the
    hinge loss; for any λ no vector of the same norm or less has a smaller hinge loss, up to the
    duality gap. Larger ridges give a path of comparators, and the bounds hold for each of them.

    Parameters
    ----------
    tasks : Tasks
    ridge : float
        Ridge > 0, in units of the mean squared norm of the task's examples.

    Returns
    -------
    ndarray of shape (n_tasks, n_features)

    Raises
    ------
    UserError
        If the ridge is not positive, or a task has no examples.
    """
    if not ridge > 0.0:
        raise UserError(f"ridge={ridge} must be positive, such as {VANISHING}")
    U = np.empty((len(tasks.names), tasks.X.shape[1]))
    for k, name in enumerate(tasks.names):
        mine = np.flatnonzero(tasks.task == k)
        if mine.size == 0:
            raise UserError(f"{name} has no examples, so no weights are best for it")
        U[k] = ridge_weights(tasks.X[mine], tasks.y[mine], ridge)
    return U


def ridge_weights(X: np.ndarray | sparse.csr_array, y: np.ndarray, ridge: float) -> np.ndarray:
    """Return the weights of one task with the least hinge loss + λ/2 ‖w‖² (`best_weights`)."""
    square = ridge * (float(square_norms(X).mean()) or 1.0) * sparse.eye_array(X.shape[1])
    return least_hinge(signed(X, y), square, np.zeros(X.shape[1]))[0]


def best_within(
    X: np.ndarray | sparse.csr_array, y: np.ndarray, radius: float
) -> tuple[np.ndarray, float]:
    """Return w* = argmin Σ max(0, 1 − y w·x) over ‖w‖ ≤ R, and its maximum excess loss.

    Of weights with nearly equal losses it is the shortest, with which bounds are least.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_examples, n_features)
    y : ndarray of shape (n_examples,)
        Labels, −1 or +1.
    radius : float
        R > 0.
    """
    d = X.shape[1]
    # In units of R: the solver's tolerances are of numbers of about 1.
    ball = Cone(-sparse.eye_array(d + 1, d, k=-1), np.eye(1, d + 1)[0])
    w, gap = least_hinge(radius * signed(X, y), SHORT * sparse.eye_array(d), np.zeros(d), ball)
    return radius * w / max(1.0, float(np.linalg.norm(w))), gap + 0.5 * SHORT


# ROM's objective


class FixedWeights(NamedTuple):
    """Fixed weights: u of shape (n_features,), P and Q of shape (n_tasks, n_features)."""

    u: np.ndarray
    P: np.ndarray
    Q: np.ndarray

    @property
    def squares(self) -> tuple[float, float, float]:
        """‖u‖², ‖P‖²_F and ‖Q‖²_F."""
        return float(self.u @ self.u), float(np.sum(self.P**2)), float(np.sum(self.Q**2))


class Regulariser(NamedTuple):
    """r_1(W) = α/2 ‖u‖² + β/2 ‖P‖²_F + γ Σ ‖q^i‖ (ROM paper, section II.C)."""

    alpha: float
    beta: float
    gamma: float

    def of(self, weights: FixedWeights) -> float:
        """Return r_1 of these weights."""
        u, p, _ = weights.squares
        lasso = float(np.linalg.norm(weights.Q, axis=1).sum())
        return 0.5 * self.alpha * u + 0.5 * self.beta * p + self.gamma * lasso

    def split(self, u: np.ndarray, V: np.ndarray) -> FixedWeights:
        """Return the weights with the least r_1 for given p^i + q^i, one row per task."""
        norm = np.linalg.norm(V, axis=1, keepdims=True)
        bound = self.gamma / self.beta
        left = np.where(norm > bound, 1.0 - bound / np.where(norm > 0.0, norm, 1.0), 0.0)
        return FixedWeights(u, V - left * V, left * V)


@dataclass(frozen=True)
class Best:
    """The best fixed weights in hindsight.

    Parameters
    ----------
    weights : FixedWeights
    objective : float
        The sum of their hinge losses plus T r_1.
    gap : float
        Duality gap: other weights can be better by at most this.
    """

    weights: FixedWeights
    objective: float
    gap: float


def best_fixed(tasks: Tasks, n_rounds: int, r: Regulariser) -> Best:
    """Return argmin_W Σ hinge + n_rounds · r_1(W) of ROM's eq. 1, with its duality gap.

    The variables are u, v^i = p^i + q^i, q^i and s^i ≥ ‖q^i‖.

    Parameters
    ----------
    tasks : Tasks
        The examples of the rounds; a task may have none.
    n_rounds : int
        T.
    r : Regulariser

    Raises
    ------
    UserError
        If α, β or γ is not positive, because the weights are then not unique or unbounded.
    """
    if not min(r) > 0.0:
        raise UserError(f"alpha, beta and gamma of {r} must be positive for a best W in hindsight")
    m, d = len(tasks.names), tasks.X.shape[1]
    alpha, beta, gamma = (n_rounds * weight for weight in r)
    rows = signed(tasks.X, tasks.y)
    own = [rows[tasks.task == k] for k in range(m)]
    parts = (
        sparse.vstack(own),
        sparse.block_diag(own),
        sparse.csr_array((len(tasks.y), m * (d + 1))),
    )
    differences = sparse.kron([[beta, -beta], [-beta, beta]], sparse.eye_array(m * d))
    square = sparse.block_diag([alpha * sparse.eye_array(d), differences, sparse.csr_array((m, m))])
    first, last = d * (1 + m), d * (1 + 2 * m)  # of q^1 and of s^1
    linear = np.concatenate([np.zeros(last), np.full(m, gamma)])
    one = -sparse.eye_array(last + m, format="csr")
    of_tasks = [[last + k, *range(first + k * d, first + k * d + d)] for k in range(m)]
    cones = (Cone(one[numbers], np.zeros(d + 1)) for numbers in of_tasks)
    v, gap = least_hinge(sparse.hstack(parts), square, linear, *cones)
    weights = r.split(v[:d], v[d:first].reshape(m, d))
    loss = losses_under(tasks, weights.u + weights.P + weights.Q).sum()
    return Best(weights, float(loss) + n_rounds * r.of(weights), gap)
