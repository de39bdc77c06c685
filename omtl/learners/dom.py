"""Learners on a network of nodes (Zhang et al., Machine Learning 2018, "DOM").

In each round every node combines its neighbours' vectors, predicts, and adapts to its own example.
Nodes work at the same time: an update takes effect only after the round, even for its own node.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.deferred import Pairs, Steps, defer_step, no_steps, pair_dot
from omtl.kernel.inlining import inlined
from omtl.kernel.losses import softmax_of_losses
from omtl.kernel.network import (
    Network,
    axpy_node,
    combine,
    dot_node,
    dot_slots,
    network,
    node_axpy,
    node_axpys,
    node_dot,
    node_dots,
    set_step,
    slot_dot,
)
from omtl.kernel.rules import Event, Shape, rules_of
from omtl.util.errors import UserError


def require_a_node_a_task(learner: str, shape: Shape) -> None:
    """Raise UserError unless the network has as many nodes as there are tasks."""
    if shape.mixing.shape[0] != shape.n_tasks:
        raise UserError(
            f"{learner}: one node a task is needed, but the network has {shape.mixing.shape[0]} "
            f"nodes for {shape.n_tasks} tasks; set network.n_nodes={shape.n_tasks}"
        )


class Nodes(NamedTuple):
    """The nodes' weight vectors, and their updates of this round."""

    net: Network
    steps: Steps


@inlined
def hinge_step(steps, eta, event, y, score):
    """Keep the step η y x if the hinge loss is not 0 (eq. 15); return whether it is not."""
    if y * score >= 1.0:
        return False
    defer_step(steps, eta * y, event)
    return True


class NS(NamedTuple):
    """NS (Chen, Richard, Sayed 2014, as the DOM paper uses it): node i learns task i.

    Neighbours combine their vectors, then each takes a hinge step on its own task's example; this
    pulls the network towards one vector for all tasks ("Pareto optimality", section 1). Chen,
    Richard and Sayed regularise: a node goes only part of the way to its neighbours' combination.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    strength : float in (0, 1]
        How far a node goes to its neighbours' combination in a round, above 0; 1 is all the way.

    Estimator
    ---------
    defaults : eta = 0.1
    takes : network, rounds
    """

    eta: float
    strength: float = 1.0

    def new_state(self, shape: Shape) -> Nodes:
        """Return zero weights, one slot per node."""
        require_a_node_a_task("NS", shape)
        kept = (1.0 - self.strength) * np.eye(shape.n_tasks)
        partly = shape._replace(mixing=kept + self.strength * shape.mixing)
        return Nodes(network(partly, n_slots=1), no_steps(shape.n_tasks))

    def open_round(self, state: Nodes, rows: Any) -> None:
        """Let each node combine its neighbours' vectors (eq. 14)."""
        combine(state.net, rows)

    def score(self, state: Nodes, rows: Any, event: Event) -> float:
        """Return v_k·x at the node of task k."""
        return node_dot(state.net, event.task, 0, rows, event.example)

    def update(self, state: Nodes, rows: Any, event: Event, y: float, score: float) -> bool:  # noqa: ARG002
        """Take a hinge step."""
        return hinge_step(state.steps, self.eta, event, y, score)

    def close_round(self, state: Nodes, rows: Any) -> None:
        """Add the steps, at the node of each task."""
        for k in range(state.steps.weight.size):
            if state.steps.weight[k] != 0.0:
                node_axpy(state.steps.weight[k], rows, state.steps.example[k], state.net, k, 0)
                state.steps.weight[k] = 0.0


@rules_of(NS)
class DST(NamedTuple):
    """DST (DOM paper, section 4.1): every node learns all tasks, without sharing between tasks.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.

    Estimator
    ---------
    defaults : eta = 0.1
    takes : network, rounds
    """

    eta: float

    def new_state(self, shape: Shape) -> Nodes:
        """Return zero weights, one slot per task at every node."""
        return Nodes(network(shape, n_slots=shape.n_tasks), no_steps(shape.n_tasks))

    def score(self, state: Nodes, rows: Any, event: Event) -> float:
        """Return v_i^k·x."""
        return node_dot(state.net, event.node, event.task, rows, event.example)

    def close_round(self, state: Nodes, rows: Any) -> None:
        """Add the steps to the task's own slot."""
        steps = state.steps
        for k in range(steps.weight.size):
            if steps.weight[k] != 0.0:
                node_axpy(steps.weight[k], rows, steps.example[k], state.net, steps.node[k], k)
                steps.weight[k] = 0.0


@inlined
def add_related(net, rows, steps, b):
    """Add B⁻¹ times each step: to its task's slot and to the last one, which all tasks share."""
    m = steps.weight.size
    for k in range(m):
        if steps.weight[k] != 0.0:
            part = steps.weight[k] / (1.0 + b)
            node_axpys(part, part * b / m, rows, steps.example[k], net, steps.node[k], k, m)


@rules_of(NS)
class DOM1(NamedTuple):
    """DOM-I (DOM paper, algorithm 1): a fixed relation between the tasks.

    w_i^j ← w_i^j + η (B⁻¹)_{j,k} y x for every task j (eq. 9), where x belongs to task k and
    (B⁻¹)_{j,k} = (b + m δ_jk) / ((b + 1) m) (eq. 10). The part that is the same for all j goes to
    one shared slot.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    b : float in [0, inf)
        Strength of the relation between tasks: 0 for none, ∞ for one common vector.

    Estimator
    ---------
    defaults : eta = 0.1, b = 4.0
    takes : network, rounds
    """

    eta: float
    b: float

    def new_state(self, shape: Shape) -> Nodes:
        """Return zero weights: one slot per task and a shared one at every node."""
        return Nodes(network(shape, n_slots=shape.n_tasks + 1), no_steps(shape.n_tasks))

    def score(self, state: Nodes, rows: Any, event: Event) -> float:
        """Return v_i^k·x (line 9)."""
        shared = state.steps.weight.size
        return node_dots(state.net, event.node, event.task, shared, rows, event.example)

    def close_round(self, state: Nodes, rows: Any) -> None:
        """Add η y B⁻¹ φ (line 13)."""
        add_related(state.net, rows, state.steps, self.b)
        for k in range(state.steps.weight.size):
            state.steps.weight[k] = 0.0


class Relations(NamedTuple):
    """The nodes' weight vectors, and each node's estimate of the tasks' relations.

    `believed[i]` is B̂_i. For task k of this round's examples, `learnt[k]` is the new row k of the
    node that met it, and `passed_on[k, j]` the weight with which task j learns from it. `scores`
    are the current example's scores that eq. 13 compares.
    """

    net: Network
    steps: Steps
    believed: np.ndarray
    learnt: np.ndarray
    passed_on: np.ndarray
    scores: np.ndarray


@inlined
def mix_relations(out, mixing, believed, k, by_row):
    """Fill in column or row `k` of the weighted mean B_i = Σ_n a_in B̂_n (line 6)."""
    for j in range(out.size):
        out[j] = 0.0
    for n in range(mixing.size):
        if mixing[n] != 0.0:
            for j in range(out.size):
                out[j] += mixing[n] * (believed[n, k, j] if by_row else believed[n, j, k])


@rules_of(NS)
class DOM2(NamedTuple):
    """DOM-II (DOM paper, algorithm 2): each node learns the relation between the tasks.

    B̂_i = α I + (1 − α) P_i (line 20, B₀ = I as in section 4.2), and node i updates by the weighted
    mean B_i of its neighbours' B̂ (line 6): w_i^j ← w_i^j + η (B_i)_{j,k} y x. Row k of P_i is the
    softmax of the negative losses on (x, y) (eq. 13); P_i = 0 at first.

    Cost per example: O(n_tasks · n_nodes · nonzeros); for dense rows O(n_tasks · n_features), and
    O(n_tasks · n_links · n_features) per round to combine.

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    alpha : float in [0, 1]
        Weight of the fixed part; 1 learns each task alone.
    by_node : bool
        Which losses eq. 13 compares: those of task j's vector at this node, as its text says, or
        those of task k's vector at node j, as its notation says.
    by_row : bool
        Whether task j learns from task k's example by (B_i)_{k,j} instead of (B_i)_{j,k} (eq. 9).

    Estimator
    ---------
    defaults : eta = 0.1, alpha = 0.4
    takes : network, rounds
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
            net=network(shape, n_slots=m, by_node=True),
            steps=no_steps(m)._replace(example=np.full(m, -1)),
            believed=np.repeat(self.alpha * np.eye(m)[None], n_nodes, axis=0),
            learnt=np.zeros((m, m)),
            passed_on=np.zeros((m, m)),
            scores=np.zeros(m),
        )

    def score(self, state: Relations, rows: Any, event: Event) -> float:
        """Return v_i^k·x (line 11), and keep the scores that eq. 13 compares."""
        m, i, k = state.scores.size, event.node, event.task
        if self.by_node:
            dot_slots(state.net, rows, event.example, k, k + 1)
            for j in range(m):
                state.scores[j] = slot_dot(state.net, j, k)
            return state.scores[i]
        dot_node(state.net, i, rows, event.example, 0, m)
        for j in range(m):
            state.scores[j] = slot_dot(state.net, i, j)
        return state.scores[k]

    def update(self, state: Relations, rows: Any, event: Event, y: float, score: float) -> bool:  # noqa: ARG002
        """Take a hinge step (line 14), and learn row k of P (lines 19 and 20)."""
        i, k = event.node, event.task
        softmax_of_losses(state.learnt[k], state.scores, y, 1.0 - self.alpha)  # eq. 13
        state.learnt[k, k] += self.alpha  # line 20
        learns = y * score < 1.0
        defer_step(state.steps, self.eta * y if learns else 0.0, event)
        if learns:  # row or column k of B_i (line 6)
            passed_on = state.passed_on[k]
            mix_relations(passed_on, state.net.mixing[i], state.believed, k, self.by_row)
        return learns

    def close_round(self, state: Relations, rows: Any) -> None:
        """Add η y B φ (line 15), and make the learnt rows visible."""
        m = state.scores.size
        for k in range(m):
            if state.steps.example[k] < 0:
                continue
            i = state.steps.node[k]
            if state.steps.weight[k] != 0.0:
                for j in range(m):
                    set_step(state.steps.weight[k] * state.passed_on[k, j], state.net, i, j)
                axpy_node(state.net, i, rows, state.steps.example[k], 0, m)
            for j in range(m):
                state.believed[i, k, j] = state.learnt[k, j]
            state.steps.example[k] = -1


class DualSum(NamedTuple):
    """The nodes' sums of gradients: the combined ones, the last round's and this round's.

    A node's own gradient counts in full at its next prediction, so the last round's gradients are
    stored separately until they are combined.
    """

    net: Network
    rounds: np.ndarray
    last: Steps
    fresh: Steps
    pairs: Pairs


class DA(NamedTuple):
    """DA (Duchi, Agarwal, Wainwright 2012) on many tasks (DOM paper, appendix F).

    z_i ← Σ_j a_ij z_j + g_i (eq. 22), w_i(t + 1) = −α(t) z_i(t + 1) with α(t) = η/√t (eq. 23,
    ψ = ½‖·‖²_B), and the gradient of an example of task k is g = −y B⁻¹ φ (eq. 25), with B⁻¹ as in
    DOM-I. A node's own last gradient counts in full when it predicts; the neighbours' arrive with
    the next combination.

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Step size η > 0.
    b : float in [0, inf)
        Relation of the tasks, as in DOM-I.

    Estimator
    ---------
    defaults : eta = 0.1, b = 4.0
    takes : network, rounds
    """

    eta: float
    b: float

    def in_common(self, shape: Shape) -> Pairs:
        """Return storage for products of rows, which depend only on the stream."""
        n = sum(shape.n_examples)
        return Pairs(np.full(n, -1, np.int64), np.zeros(n))

    def new_state(self, shape: Shape, in_common: Pairs | None = None) -> DualSum:
        """Return zero sums: one slot per task and a shared one at every node."""
        m = shape.n_tasks
        return DualSum(
            net=network(shape, n_slots=m + 1),
            rounds=np.zeros(1),
            last=no_steps(m),
            fresh=no_steps(m),
            pairs=in_common or Pairs(np.zeros(0, np.int64), np.zeros(0)),
        )

    def score(self, state: DualSum, rows: Any, event: Event) -> float:
        """Return w_i^k·x."""
        i, k, x = event.node, event.task, event.example
        m = state.last.weight.size
        total = node_dots(state.net, i, k, m, rows, x)
        for j in range(m):
            if state.last.weight[j] != 0.0 and state.last.node[j] == i:  # g_i of eq. 22, in full
                product = pair_dot(state.pairs, rows, state.last.example[j], x)
                related = (self.b + (m if j == k else 0.0)) / ((1.0 + self.b) * m)  # eq. 25
                total += state.last.weight[j] * related * product
        return self.eta / math.sqrt(max(1.0, state.rounds[0])) * total  # eq. 23

    def update(self, state: DualSum, rows: Any, event: Event, y: float, score: float) -> bool:  # noqa: ARG002
        """Keep the gradient until the end of the round."""
        if y * score >= 1.0:
            return False
        defer_step(state.fresh, y, event)
        return True

    def close_round(self, state: DualSum, rows: Any) -> None:
        """Combine all but this round's gradients (eq. 22)."""
        add_related(state.net, rows, state.last, self.b)
        for k in range(state.last.weight.size):
            state.last.weight[k] = state.fresh.weight[k]
            state.last.example[k] = state.fresh.example[k]
            state.last.node[k] = state.fresh.node[k]
            state.fresh.weight[k] = 0.0
        combine(state.net, rows)
        state.rounds[0] += 1.0
