"""Batch learners of many tasks (Murugesan, Liu, Carbonell, Yang, NIPS 2016, "OSMTL", section 2.3).

A batch learner is a ``NamedTuple`` of its hyper-parameters with the one method

``fit(self, examples, rng)``
    which learns from all examples of a training set (`omtl.data.streams.Tasks`) at once and returns
    a `Fit`.

It is not an online learner (`omtl.kernel.rules`): it has no state, and only its solver is compiled.

All of them minimise, over the weights w_m of one or more models, Σ_m Σ_i c_mi ℓ(y_i w_m·x_i) +
ridge/2 ‖w_m‖², where the learners differ in the weights c, which some of them choose. The paper
leaves the minimisation to "off-the-shelf solvers"; here `omtl.kernel.smooth_hinge` does it. We add
two things to the printed objective. One is the ridge: on data with few positives a minimiser of the
bare hinge loss predicts negative for everything, with a margin of 1, and ranks nothing. The other
is that module's smooth corner of the loss, with a small `width`. The relations between tasks use
the same ℓ, so that each step of an alternation minimises the same objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from omtl.data.streams import Tasks
from omtl.kernel.smooth_hinge import minimisers, smooth_hinge
from omtl.util.errors import UserError

WIDTH = 0.1
"""Default width of the parabola at the corner of the hinge loss, in units of the margin."""


class Fit(NamedTuple):
    """The result of a batch learner.

    Parameters
    ----------
    weights : ndarray of shape (n_tasks, n_features)
        w_k, the weights of task k.
    eta : ndarray of shape (n_tasks, n_tasks)
        Weight of task j's examples in what task k learns; rows sum to 1.
    objective : ndarray of shape (n_rounds,)
        The objective after each round of the alternation.
    """

    weights: np.ndarray
    eta: np.ndarray
    objective: np.ndarray


class Training:
    """A training set, laid out for the solver.

    Parameters
    ----------
    examples : Tasks
        At least one example of each task.
    ridge : float
        Ridge ≥ 0 of each model.
    width : float
        Width > 0 of the smoothing (`smooth_hinge`).

    Raises
    ------
    UserError
        If a task has no examples, or a value is out of its range.
    """

    def __init__(self, examples: Tasks, ridge: float, width: float) -> None:
        if not (ridge >= 0.0 and width > 0.0):
            raise UserError(f"ridge={ridge} must not be negative, and width={width} positive")
        self.examples, self.ridge, self.width = examples, ridge, width
        self.n_tasks = len(examples.names)
        self.counts = np.bincount(examples.task, minlength=self.n_tasks).astype(float)
        if not self.counts.all():
            name = examples.names[int(np.argmin(self.counts))]
            raise UserError(f"{name} has no training examples; ask for more of each task")
        if sparse.issparse(examples.X):
            self.signed = (sparse.diags_array(examples.y) @ examples.X).tocsr()
        else:
            self.signed = np.asfortranarray(examples.y[:, None] * examples.X, dtype=float)
        self.to_task = np.eye(self.n_tasks)[examples.task] / self.counts[examples.task, None]

    def per_example(self, eta: np.ndarray) -> np.ndarray:
        """Return the weight c of each example for each model, shape (n_models, n_examples).

        It is η_mj / N_j for an example of task j, so that Σ_i c_mi ℓ_i = Σ_j η_mj L_j(w_m).
        """
        return np.take(eta / self.counts, self.examples.task, axis=1)

    def losses(self, W: np.ndarray) -> np.ndarray:
        """Return L_j(w_m), each task's mean loss under each model, shape (n_models, n_tasks)."""
        loss, _ = smooth_hinge(np.asarray(self.signed @ W.T), self.width)
        return (self.to_task.T @ loss).T

    def norms(self, W: np.ndarray) -> np.ndarray:
        """Return ridge/2 ‖w_m‖² of each model, shape (n_models,)."""
        return 0.5 * self.ridge * np.einsum("md,md->m", W, W)

    def value(self, W: np.ndarray, losses: np.ndarray, eta: np.ndarray) -> float:
        """Return Σ_m Σ_j η_mj L_j(w_m) + ridge/2 ‖w_m‖², of `losses` L_j(w_m)."""
        return float(np.vdot(eta, losses) + self.norms(W).sum())

    def minimise(self, eta: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
        """Return argmin_W Σ_m Σ_j η_mj L_j(w_m) + ridge/2 ‖w_m‖², shape (n_models, n_features).

        Parameters
        ----------
        eta : ndarray of shape (n_models, n_tasks)
        start : ndarray of shape (n_models, n_features), optional
            Where to start; the result is no worse.
        """
        return minimisers(self.signed, self.per_example(eta), self.ridge, self.width, start)


class ITL(NamedTuple):
    """Independent task learning: each task learns from its own examples (section 3.2).

    w_k = argmin L_k(w) + ridge/2 ‖w‖², which is eq. 1 with η = I.

    Cost: O(nonzeros) per step of Newton's method, because each model sees only its task's examples.

    Parameters
    ----------
    ridge : float
        Ridge ≥ 0, in units of the mean loss.
    width : float
        Width of the smoothing.
    """

    ridge: float
    width: float = WIDTH

    def fit(self, examples: Tasks, rng: np.random.Generator) -> Fit:  # noqa: ARG002
        """Learn each task on its own."""
        training = Training(examples, self.ridge, self.width)
        eta = np.eye(training.n_tasks)
        W = training.minimise(eta)
        return Fit(W, eta, np.array([training.value(W, training.losses(W), eta)]))


class STL(NamedTuple):
    """Single task learning: one model of all tasks' examples, pooled (section 3.2).

    Cost: O(nonzeros) per step of the solver.

    Parameters
    ----------
    ridge : float
        Ridge ≥ 0, in units of the mean loss over all examples.
    width : float
        Width of the smoothing.
    """

    ridge: float
    width: float = WIDTH

    def fit(self, examples: Tasks, rng: np.random.Generator) -> Fit:  # noqa: ARG002
        """Learn all tasks as one."""
        training = Training(examples, self.ridge, self.width)
        eta = training.counts[None, :] / training.counts.sum()
        W = training.minimise(eta)
        m = training.n_tasks
        return Fit(
            np.tile(W, (m, 1)),
            np.tile(eta, (m, 1)),
            np.array([training.value(W, training.losses(W), eta)]),
        )


class SHAMO(NamedTuple):
    """Shared hypotheses: each task uses one of M models (Crammer, Mansour, NIPS 2012).

    Like k-means: each model is learnt from the pooled examples of the tasks that use it, then each
    task switches to the model with the least loss on its examples, until no task changes. Neither
    step raises the objective Σ_k N_k (L_k(w_m(k)) + ridge/2 ‖w_m(k)‖²) / Σ_k N_k, because a task's
    choice also takes the model's norm into account. A model that no task uses stays unchanged.
    Tasks are first assigned to the models at random. Written from the OSMTL paper's description
    (section 1.1); the analysis of the original learns and chooses on two halves of the examples.

    Cost: O(M · nonzeros) per step of the solver, for several rounds.

    Parameters
    ----------
    M : int
        Number of models.
    ridge : float
        Ridge ≥ 0, in units of the mean loss over a model's examples.
    width : float
        Width of the smoothing.
    rounds : int
        Maximum number of rounds.
    """

    M: int
    ridge: float
    width: float = WIDTH
    rounds: int = 50

    def fit(self, examples: Tasks, rng: np.random.Generator) -> Fit:
        """Learn the models and the tasks' choices.

        Raises
        ------
        UserError
            If there are fewer tasks than models, or no model.
        """
        training = Training(examples, self.ridge, self.width)
        m, counts = training.n_tasks, training.counts
        if not 1 <= self.M <= m:
            raise UserError(f"M={self.M} must be at least 1 and at most the {m} tasks")
        model = rng.permutation(m) % self.M
        W = np.zeros((self.M, examples.X.shape[1]))
        values: list[float] = []
        for _ in range(self.rounds):
            shares = np.zeros((self.M, m))
            shares[model, np.arange(m)] = counts
            has = shares.sum(axis=1) > 0.0
            shares[has] /= shares[has].sum(axis=1, keepdims=True)
            W[has] = training.minimise(shares[has], W[has])
            cost = training.losses(W) + training.norms(W)[:, None]
            last, model = model, np.argmin(cost, axis=0)
            # In a tie the task keeps its model.
            model = np.where(cost[model, np.arange(m)] < cost[last, np.arange(m)], model, last)
            values.append(float(counts @ cost[model, np.arange(m)] / counts.sum()))
            if np.array_equal(model, last):
                break
        together = (model[:, None] == model[None, :]) * counts
        return Fit(W[model], together / together.sum(axis=1, keepdims=True), np.array(values))


class SMTLExponential(NamedTuple):
    """SMTL-e: learn weights and relations of tasks alternately (algorithm 1; eqs. 3 to 6).

    With η = α I + (1 − α) P, from uniform rows p_k: w_k = argmin Σ_j η_kj L_j(w) + ridge/2 ‖w‖²,
    then p_kj ∝ exp(−(1 − α) L_j(w_k) / λ), until P changes by no more than `tolerance`. Neither
    step raises the objective (eq. 4 plus the ridge), summed over k.

    Cost: O(n_tasks · nonzeros) per step of the solver, for several rounds.

    Parameters
    ----------
    alpha : float
        Concentration 0 ≤ α ≤ 1 on the task itself.
    lam : float
        Smoothness λ > 0 of the attentions.
    ridge : float
        Ridge ≥ 0, in units of the mean loss.
    width : float
        Width of the smoothing.
    rounds : int
        Maximum number of rounds.
    tolerance : float
        Largest change of P that counts as convergence.
    """

    alpha: float
    lam: float
    ridge: float
    width: float = WIDTH
    rounds: int = 20
    tolerance: float = 1e-3

    def attend(self, losses: np.ndarray, P: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return the attention to tasks with these losses (eq. 6)."""
        logit = -(1.0 - self.alpha) / self.lam * losses
        raised = np.exp(logit - logit.max(axis=1, keepdims=True))
        return raised / raised.sum(axis=1, keepdims=True)

    def fit(self, examples: Tasks, rng: np.random.Generator) -> Fit:  # noqa: ARG002
        """Learn weights and relations."""
        return _alternate(self, examples)


class SMTLThreshold(NamedTuple):
    """SMTL-t: as SMTL-e, with p_kj ∝ (λ − L_j(w_k))_+ instead of eq. 6 (section 3.2).

    If no L_j(w_k) is below λ, this is 0 / 0; the paper does not mention this case, and p_k stays
    unchanged.

    Cost: as SMTL-e.

    Parameters
    ----------
    alpha, ridge, width, rounds, tolerance
        As in `SMTLExponential`.
    lam : float
        Threshold λ > 0 of the losses.
    """

    alpha: float
    lam: float
    ridge: float
    width: float = WIDTH
    rounds: int = 20
    tolerance: float = 1e-3

    def attend(self, losses: np.ndarray, P: np.ndarray) -> np.ndarray:
        """Return the attention to tasks with these losses."""
        left = np.maximum(0.0, self.lam - losses)
        total = left.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, left / np.where(total > 0.0, total, 1.0), P)

    def fit(self, examples: Tasks, rng: np.random.Generator) -> Fit:  # noqa: ARG002
        """Learn weights and relations."""
        return _alternate(self, examples)


def _alternate(learner: SMTLExponential | SMTLThreshold, examples: Tasks) -> Fit:
    """Alternate between learning weights and learning relations until the relations converge.

    The returned weights belong to the returned relations.

    Raises
    ------
    UserError
        If α or λ is out of its range.
    """
    alpha, lam = learner.alpha, learner.lam
    if not (0.0 <= alpha <= 1.0 and lam > 0.0):
        raise UserError(f"alpha={alpha} must be between 0 and 1, and lam={lam} positive")
    training = Training(examples, learner.ridge, learner.width)
    m = training.n_tasks
    P, W = np.full((m, m), 1.0 / m), None
    values: list[float] = []
    for _ in range(learner.rounds):
        eta = alpha * np.eye(m) + (1.0 - alpha) * P
        W = training.minimise(eta, W)
        losses = training.losses(W)
        values.append(training.value(W, losses, eta) - lam * _entropy(P))
        last, P = P, learner.attend(losses, P)
        if np.abs(P - last).max() <= learner.tolerance:
            break
    assert W is not None, "there is a first round"
    return Fit(W, eta, np.array(values))


def _entropy(P: np.ndarray) -> float:
    """Return Σ_k H(p_k), in nats."""
    return float(-np.sum(P * np.log(np.where(P > 0.0, P, 1.0))))
