"""Oracles of the learners on a network (DOM paper), with every node's vectors written out.

All nodes work at the same time: a node's prediction depends on the state before the round (eq. 14),
never on another node's update in the same round.
"""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.reference import Rounds, Steps, transcribes
from omtl.reference.vocabulary import (
    compound,
    hinge_step,
    inverse_relation,
    weights_of_losses,
    zero_weights,
)


@transcribes(NS)
def ns(learner: NS, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of NS: node k goes to its neighbours' mean, then takes task k's step."""
    eta, strength = learner
    u = zero_weights(shape)
    for given in rounds:
        u = u + strength * (shape.mixing @ u - u)
        for x, y, k, _ in given:
            step = hinge_step(u[k] @ x, x, y)
            if step.fired:
                u[k] += eta * y * x
            yield step


@transcribes(DST)
def dst(learner: DST, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of DST: every node learns all tasks, which share nothing (B = I)."""
    return _fixed_relation(rounds, shape, learner.eta, np.eye(shape.n_tasks))


@transcribes(DOM1)
def dom1(learner: DOM1, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of DOM-I (algorithm 1, B⁻¹ by eq. 10)."""
    eta, b = learner
    return _fixed_relation(rounds, shape, eta, inverse_relation(shape.n_tasks, b))


@transcribes(DOM2)
def dom2(learner: DOM2, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of DOM-II (algorithm 2)."""
    n_tasks, n_features, A = shape.n_tasks, shape.n_features, shape.mixing
    eta, alpha, by_node, by_row = learner
    n_nodes = A.shape[0]
    identity = np.eye(n_features)
    u = np.zeros((n_nodes, n_tasks * n_features))
    P = np.zeros((n_nodes, n_tasks, n_tasks))
    believed = np.array([alpha * np.eye(n_tasks) for _ in range(n_nodes)])
    for given in rounds:
        v = A @ u
        B = np.array([sum(A[i, j] * believed[j] for j in range(n_nodes)) for i in range(n_nodes)])
        u = v.copy()
        for x, y, k, i in given:
            phi = compound(x, k, n_tasks)
            step = hinge_step(v[i] @ phi, x, y)
            if by_node:
                compared = np.array([v[j] @ phi for j in range(n_nodes)])
            else:
                compared = np.array([v[i] @ compound(x, j, n_tasks) for j in range(n_tasks)])
            losses = np.maximum(0.0, 1.0 - y * compared)
            if step.fired:
                relation = B[i].T if by_row else B[i]
                u[i] = u[i] + eta * y * np.kron(relation, identity) @ phi
            if x.any():
                P[i, k] = weights_of_losses(losses)  # eq. 13
            yield step
        believed = np.array(
            [alpha * np.eye(n_tasks) + (1.0 - alpha) * P[i] for i in range(n_nodes)]
        )


@transcribes(DA)
def da(learner: DA, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of DA on many tasks (appendix F).

    z_i(t+1) = Σ_j a_ij z_j(t) + g_i(t) (eq. 22) with g = −y B⁻¹ φ (eq. 25), and in round
    t = 1, 2, … node i predicts with w_i(t) = −α(t − 1) z_i(t), where α(t) = η/√t (eq. 23).
    """
    n_tasks, n_features, A = shape.n_tasks, shape.n_features, shape.mixing
    eta, b = learner
    spread = np.kron(inverse_relation(n_tasks, b), np.eye(n_features))
    z = np.zeros((A.shape[0], n_tasks * n_features))
    for t, given in enumerate(rounds, start=1):
        w = -(eta / np.sqrt(max(1, t - 1))) * z  # z is 0 in round 1, where α(0) has no value
        g = np.zeros_like(z)
        for x, y, k, i in given:
            phi = compound(x, k, n_tasks)
            step = hinge_step(w[i] @ phi, x, y)
            if step.fired:
                g[i] += -y * spread @ phi
            yield step
        z = A @ z + g


def _fixed_relation(rounds: Rounds, shape: Shape, eta: float, inverse: np.ndarray) -> Steps:
    """Yield the steps of algorithm 1 with a given B⁻¹."""
    n_tasks, n_features, A = shape.n_tasks, shape.n_features, shape.mixing
    spread = np.kron(inverse, np.eye(n_features))
    u = np.zeros((A.shape[0], n_tasks * n_features))
    for given in rounds:
        v = A @ u
        u = v.copy()
        for x, y, k, i in given:
            phi = compound(x, k, n_tasks)
            step = hinge_step(v[i] @ phi, x, y)
            if step.fired:
                u[i] = u[i] + eta * y * spread @ phi
            yield step
