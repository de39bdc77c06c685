"""Learners on a network of nodes (Zhang et al., Machine Learning 2018, "DOM").

In each round every node combines what its neighbours know, then adapts by its own example
(`omtl.learners.diffusion`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.errors import UserError
from omtl.learners.diffusion import Diffusion, combine, diffusion, node_axpy, node_dot
from omtl.ops import row_dot
from omtl.rules import Event, Shape


def require_a_node_a_task(learner: str, shape: Shape) -> None:
    """Raise UserError unless the network has as many nodes as there are tasks."""
    if shape.mixing.shape[0] != shape.n_tasks:
        raise UserError(
            f"{learner}: one node a task is needed, but the network has {shape.mixing.shape[0]} "
            f"nodes for {shape.n_tasks} tasks; set network.n_nodes={shape.n_tasks}"
        )


class NS(NamedTuple):
    """NS (Chen, Richard, Sayed 2014, as the DOM paper uses it): node i learns task i.

    Neighbours combine their vectors, then each takes a hinge step by its own task's example; the
    network is pulled to one vector for all tasks ("Pareto optimality", section 1).

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float
        Learning rate η > 0.
    """

    eta: float

    def new_state(self, shape: Shape) -> Diffusion:
        """Return zero weights, one slot a node."""
        require_a_node_a_task("NS", shape)
        return diffusion(shape, n_slots=1)

    def open_round(self, state: Diffusion) -> None:
        """Combine."""
        combine(state)

    def score(self, state: Diffusion, rows: Any, event: Event) -> float:
        """Return v_k·x at the node of task k."""
        return node_dot(state, event.task, 0, rows, event.example)

    def update(self, state: Diffusion, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a hinge step at the node of the task."""
        if y * score >= 1.0:
            return False
        node_axpy(self.eta * y, rows, event.example, state, event.task, 0)
        return True


class DST(NamedTuple):
    """DST (DOM paper, section 4.1): every node learns all tasks, which share nothing.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float
        Learning rate η > 0.
    """

    eta: float

    def new_state(self, shape: Shape) -> Diffusion:
        """Return zero weights, a slot a task at every node."""
        return diffusion(shape, n_slots=shape.n_tasks)

    def open_round(self, state: Diffusion) -> None:
        """Combine."""
        combine(state)

    def score(self, state: Diffusion, rows: Any, event: Event) -> float:
        """Return v_i^k·x."""
        return node_dot(state, event.node, event.task, rows, event.example)

    def update(self, state: Diffusion, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take a hinge step by the task's own slot."""
        if y * score >= 1.0:
            return False
        node_axpy(self.eta * y, rows, event.example, state, event.node, event.task)
        return True


class DOM1(NamedTuple):
    """DOM-I (DOM paper, algorithm 1): a fixed relation between the tasks.

    w_i^j ← w_i^j + η (B⁻¹)_{j,k} y x for every task j (eq. 9), where x is of task k and
    (B⁻¹)_{j,k} = (b + m δ_jk) / ((b + 1) m) (eq. 10). The part that is the same for all j goes to
    one shared slot.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float
        Learning rate η > 0.
    b : float
        Relation of the tasks: 0 for none, ∞ for one common vector.
    """

    eta: float
    b: float

    def new_state(self, shape: Shape) -> Diffusion:
        """Return zero weights: a slot a task and a shared one at every node."""
        return diffusion(shape, n_slots=shape.n_tasks + 1)

    def open_round(self, state: Diffusion) -> None:
        """Combine (line 5)."""
        combine(state)

    def score(self, state: Diffusion, rows: Any, event: Event) -> float:
        """Return v_i^k·x (line 9)."""
        x = event.example
        shared = state.vectors.shape[1] - 1
        return node_dot(state, event.node, event.task, rows, x) + node_dot(
            state, event.node, shared, rows, x
        )

    def update(self, state: Diffusion, rows: Any, event: Event, y: float, score: float) -> bool:
        """Add η y B⁻¹ φ (line 13)."""
        if y * score >= 1.0:
            return False
        x = event.example
        m = state.vectors.shape[1] - 1
        step = self.eta * y / (1.0 + self.b)
        node_axpy(step, rows, x, state, event.node, event.task)
        node_axpy(step * self.b / m, rows, x, state, event.node, m)
        return True


class Relations(NamedTuple):
    """The nodes' weight vectors, and what each node believes of the tasks' relations.

    `believed[i]` is B̂_i. `pending[k]` is the row k that node `learnt_at[k]` has learnt in this
    round and that all see in the next (−1 where there is none). `scores` are the scores of the
    present example that eq. 13 compares.
    """

    net: Diffusion
    mixing: np.ndarray
    believed: np.ndarray
    learnt_at: np.ndarray
    pending: np.ndarray
    scores: np.ndarray


class DOM2(NamedTuple):
    """DOM-II (DOM paper, algorithm 2): each node learns the relation between the tasks.

    B̂_i = α I + (1 − α) P_i (line 20, B₀ = I as in section 4.2), and node i updates by the weighted
    mean B_i of its neighbours' B̂ (line 6): w_i^j ← w_i^j + η (B_i)_{j,k} y x. Row k of P_i is the
    softmax of the negative losses on (x, y) (eq. 13); P_i = 0 at first.

    Cost per example: O(n_tasks · n_nodes · nonzeros).

    Parameters
    ----------
    eta : float
        Learning rate η > 0.
    alpha : float in [0, 1]
        Weight of the fixed part; 1 learns each task alone.
    by_node : bool
        Whose losses eq. 13 compares: task j's vector at this node, as its text has it, or task k's
        vector at node j, as its notation has it.
    by_row : bool
        Whether task j takes (B_i)_{k,j} of an example of task k instead of (B_i)_{j,k} (eq. 9).
    """

    eta: float
    alpha: float
    by_node: bool = False
    by_row: bool = False

    def new_state(self, shape: Shape) -> Relations:
        """Return zero weights and B̂_i = α I."""
        m, n_nodes = shape.n_tasks, shape.mixing.shape[0]
        if self.by_node:
            require_a_node_a_task("DOM-II by node", shape)
        return Relations(
            net=diffusion(shape, n_slots=m),
            mixing=np.ascontiguousarray(shape.mixing),
            believed=np.repeat(self.alpha * np.eye(m)[None], n_nodes, axis=0),
            learnt_at=np.full(m, -1),
            pending=np.zeros((m, m)),
            scores=np.zeros(m),
        )

    def open_round(self, state: Relations) -> None:
        """Combine the vectors (line 5); the relations are combined where they are read."""
        combine(state.net)

    def score(self, state: Relations, rows: Any, event: Event) -> float:
        """Return v_i^k·x (line 11), and keep the scores that eq. 13 compares."""
        x = event.example
        for j in range(state.scores.size):
            if self.by_node:
                state.scores[j] = node_dot(state.net, j, event.task, rows, x)
            else:
                state.scores[j] = node_dot(state.net, event.node, j, rows, x)
        return state.scores[event.node if self.by_node else event.task]

    def update(self, state: Relations, rows: Any, event: Event, y: float, score: float) -> bool:
        """Add η y B φ (line 15), then learn row k of P (lines 19 and 20)."""
        i, k = event.node, event.task
        m = state.scores.size
        learns = y * score < 1.0
        if learns:
            x = event.example
            for j in range(m):
                weight = 0.0
                for n in range(state.mixing.shape[0]):
                    believed = state.believed[n, k, j] if self.by_row else state.believed[n, j, k]
                    weight += state.mixing[i, n] * believed
                if weight != 0.0:
                    node_axpy(self.eta * y * weight, rows, x, state.net, i, j)
        total = 0.0
        for j in range(m):
            loss = max(0.0, 1.0 - y * state.scores[j])
            state.pending[k, j] = math.exp(-loss)
            total += state.pending[k, j]
        for j in range(m):
            # Where all losses are so large that each exp(−loss) is 0, no task is preferred.
            share = state.pending[k, j] / total if total > 0.0 else 1.0 / m
            state.pending[k, j] = (1.0 - self.alpha) * share
        state.pending[k, k] += self.alpha
        state.learnt_at[k] = i
        return learns

    def close_round(self, state: Relations, rows: Any) -> None:  # noqa: ARG002
        """Let the rows learnt in this round be seen in the next."""
        for k in range(state.learnt_at.size):
            if state.learnt_at[k] >= 0:
                for j in range(state.learnt_at.size):
                    state.believed[state.learnt_at[k], k, j] = state.pending[k, j]
                state.learnt_at[k] = -1


class Gradients(NamedTuple):
    """One round's gradients, by task: −`weight` · B⁻¹ times an example, met at a node."""

    weight: np.ndarray
    example: np.ndarray
    node: np.ndarray


class DualSum(NamedTuple):
    """The nodes' sums of gradients: those that have been combined, the last round's, this round's.

    A node's own gradient counts in full when it next predicts. Its part that no neighbour will
    ever see is not in the modes of the network, so the last round's are kept apart until then.
    """

    net: Diffusion
    rounds: np.ndarray
    last: Gradients
    fresh: Gradients


class DA(NamedTuple):
    """DA (Duchi, Agarwal, Wainwright 2012) on many tasks (DOM paper, appendix F).

    z_i ← Σ_j a_ij z_j + g_i (eq. 22), w_i = −(η/√t) z_i (eq. 23 with ψ = ½‖·‖²_B), and the gradient
    of an example of task k is g = −y B⁻¹ φ (eq. 25), with B⁻¹ as in DOM-I. A node's own last
    gradient counts in full when it predicts; the neighbours' come with the next combination.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float
        Step size η > 0 of α(t) = η/√t.
    b : float
        Relation of the tasks, as in DOM-I.
    """

    eta: float
    b: float

    def new_state(self, shape: Shape) -> DualSum:
        """Return zero sums: a slot a task and a shared one at every node."""
        m = shape.n_tasks

        def none() -> Gradients:
            return Gradients(np.zeros(m), np.zeros(m, dtype=np.int64), np.zeros(m, dtype=np.int64))

        return DualSum(diffusion(shape, n_slots=m + 1), np.zeros(1), none(), none())

    def open_round(self, state: DualSum) -> None:
        """Count the round."""
        state.rounds[0] += 1.0

    def score(self, state: DualSum, rows: Any, event: Event) -> float:
        """Return w_i^k·x, w = −α(t) z."""
        i, k = event.node, event.task
        x = event.example
        m = state.last.weight.size
        total = node_dot(state.net, i, k, rows, x) + node_dot(state.net, i, m, rows, x)
        for j in range(m):
            if state.last.weight[j] != 0.0 and state.last.node[j] == i:
                related = (self.b + (m if j == k else 0.0)) / ((1.0 + self.b) * m)
                seen = row_dot(rows, state.last.example[j], event.example)
                total += state.last.weight[j] * related * seen
        return self.eta / math.sqrt(state.rounds[0]) * total

    def update(self, state: DualSum, rows: Any, event: Event, y: float, score: float) -> bool:  # noqa: ARG002
        """Keep the gradient until the round is over."""
        if y * score >= 1.0:
            return False
        state.fresh.weight[event.task] = y
        state.fresh.example[event.task] = event.example
        state.fresh.node[event.task] = event.node
        return True

    def close_round(self, state: DualSum, rows: Any) -> None:
        """Combine all but this round's gradients (eq. 22)."""
        m = state.last.weight.size
        for k in range(m):
            if state.last.weight[k] != 0.0:
                x = state.last.example[k]
                step = state.last.weight[k] / (1.0 + self.b)
                node_axpy(step, rows, x, state.net, state.last.node[k], k)
                node_axpy(step * self.b / m, rows, x, state.net, state.last.node[k], m)
            state.last.weight[k] = state.fresh.weight[k]
            state.last.example[k] = state.fresh.example[k]
            state.last.node[k] = state.fresh.node[k]
            state.fresh.weight[k] = 0.0
        combine(state.net)
