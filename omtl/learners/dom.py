"""Learners on a network of nodes (Zhang et al., Machine Learning 2018, "DOM").

In each round every node combines its neighbours' vectors, predicts, and adapts to its own example.
Nodes work at the same time: an update takes effect only after the round, even for its own node.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from omtl.kernel.deferred import Pairs, Steps
from omtl.kernel.distributions import softmax_of_losses
from omtl.kernel.network import Net, Network
from omtl.kernel.rules import Example, Shape, rules_of


class NS(NamedTuple):
    """NS (Chen, Richard, Sayed 2014, as the DOM paper uses it): node i learns task i.

    Objective, the hinge losses of all nodes under one vector ("Pareto optimality", section 1):

        min_w Σ_t Σ_i ℓ(w; x_i, y_i),  ℓ(w; x, y) = max(0, 1 − y w·x)

    Update of node i, which combines its neighbours' vectors and, if it has a loss, takes a step:

        v_i = Σ_j a_ij w_j
        w_i = v_i + η y_i x_i

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.
    strength : float in (0, 1]
        How far a node goes to its neighbours' combination, above 0; 1, as in the DOM paper, is all
        the way, and less regularises as Chen, Richard and Sayed do.

    Estimator
    ---------
    defaults : eta = 0.1
    takes : network, rounds
    cites : chen2014multitask, zhang2018distributed
    """

    eta: float
    strength: float = 1.0

    def new_state(self, shape: Shape) -> Network:
        """Return zero weights, one slot per node."""
        shape.require_a_node_a_task("NS")
        mixing = (1.0 - self.strength) * np.eye(shape.n_tasks) + self.strength * shape.mixing
        return Network.zeros(shape._replace(mixing=mixing), 1)

    def open_round(self, state: Network, rows: Any) -> None:  # noqa: ARG002
        """Let each node combine its neighbours' vectors (eq. 14)."""
        state.combine()

    def score(self, state: Network, x: Example) -> float:
        """Return v_k·x at the node of task k."""
        return state.dot_sum(x.task, (0,), x)

    def update(self, state: Network, x: Example, y: float, score: float) -> bool:
        """Keep a hinge step until the end of the round."""
        if y * score >= 1.0:
            return False
        state.steps.later(self.eta * y, x)
        return True

    def close_round(self, state: Network, rows: Any) -> None:
        """Add the steps, at the node of each task (eq. 15)."""
        for k in range(state.steps.weight.size):
            a, x = state.steps.take(k, rows)
            if a != 0.0:
                state.add_to_slots(k, (0,), (a,), x)


@rules_of(NS)
class DST(NamedTuple):
    """DST (DOM paper, section 4.1): every node learns all tasks, without sharing between tasks.

    Objective, the hinge losses of each task k at all nodes:

        min_{w^k} Σ_t Σ_i ℓ(w^k; x_i, y_i),  ℓ(w; x, y) = max(0, 1 − y w·x)

    Update of node i, whose example has the task k, if it has a loss (eqs. 14 and 15):

        v_i^l = Σ_j a_ij w_j^l  for all tasks l
        w_i^k = v_i^k + η y x

    Cost per example: O(n_nodes · nonzeros).

    Parameters
    ----------
    eta : float in (0, inf)
        Learning rate η > 0.

    Estimator
    ---------
    defaults : eta = 0.1
    takes : network, rounds
    cites : zhang2018distributed
    """

    eta: float

    def new_state(self, shape: Shape) -> Network:
        """Return zero weights, one slot per task at every node."""
        return Network.zeros(shape, shape.n_tasks)

    def score(self, state: Network, x: Example) -> float:
        """Return v_i^k·x."""
        return state.dot_sum(x.node, (x.task,), x)

    def close_round(self, state: Network, rows: Any) -> None:
        """Add the steps to the task's own slot (eq. 15)."""
        for k in range(state.steps.weight.size):
            a, x = state.steps.take(k, rows)
            if a != 0.0:
                state.add_to_slots(x.node, (k,), (a,), x)


@rules_of(NS)
class DOM1(NamedTuple):
    """DOM-I (DOM paper, algorithm 1): a fixed relation between the tasks.

    Objective, the hinge losses of all m tasks at all nodes, in a norm that ties the tasks:

        min_w Σ_t Σ_i ℓ(w^k; x_i, y_i),  ‖w‖²_B = wᵀ (B ⊗ I) w

    Update of node i, whose example has the task k, for every task j (eqs. 9, 10 and 14):

        v_i^j = Σ_l a_il w_l^j
        w_i^j = v_i^j + η (B⁻¹)_{j,k} y x,  (B⁻¹)_{j,k} = (b + m δ_jk) / ((b + 1) m)

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
    cites : zhang2018distributed
    """

    eta: float
    b: float

    def new_state(self, shape: Shape) -> Network:
        """Return zero weights: one slot per task and a shared one at every node."""
        return Network.zeros(shape, shape.n_tasks + 1)

    def score(self, state: Network, x: Example) -> float:
        """Return v_i^k·x (line 9)."""
        m = state.steps.weight.size
        return state.dot_sum(x.node, (x.task, m), x)

    def close_round(self, state: Network, rows: Any) -> None:
        """Add η y B⁻¹ φ (line 13)."""
        state.add_related(state.steps, self.b, rows)


class Relations(NamedTuple):
    """The nodes' weight vectors, and each node's estimate of the tasks' relations.

    `believed[i]` is B̂_i. `learnt[k]` is the new row k of the node that met task k's last example.
    `scores` are the current example's scores that eq. 13 compares, and `passed_on[j]` is the weight
    with which task j learns from an example.
    """

    net: Net
    believed: np.ndarray
    learnt: np.ndarray
    passed_on: np.ndarray
    scores: np.ndarray

    def find_related(self, i, k, by_row):
        """Fill `passed_on` with Σ_l a_il (B̂_l)_{j,k} for all tasks j, or (B̂_l)_{k,j} by row."""
        self.passed_on[:] = 0.0
        for node in range(self.net.mixing.shape[0]):
            a, B_hat = self.net.mixing[i, node], self.believed[node]
            if a != 0.0:
                for j in range(self.passed_on.size):
                    self.passed_on[j] += a * (B_hat[k, j] if by_row else B_hat[j, k])


class DOM2(NamedTuple):
    """DOM-II (DOM paper, algorithm 2): each node learns the relation between the tasks.

    Objective, that of `DOM1`, with a relation B_i that each node learns:

        min_w Σ_t Σ_i ℓ(w^k; x_i, y_i)

    Update of node i, whose example has the task k, for every task j (eqs. 9, 13, 14, lines 6, 20):

        v_i^j = Σ_l a_il w_l^j,  B_i = Σ_l a_il B̂_l
        w_i^j = v_i^j + η (B_i)_{j,k} y x
        (P_i)_{k,j} ∝ exp(−ℓ(v_i^j; x, y)),  B̂_i = α I + (1 − α) P_i

    At first P_i = 0, but B₀ = I as in section 4.2.

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
    cites : zhang2018distributed
    """

    eta: float
    alpha: float
    by_node: bool = False
    by_row: bool = False

    def new_state(self, shape: Shape) -> Relations:
        """Return zero weights and B̂_i = α I."""
        m, n_nodes = shape.n_tasks, shape.mixing.shape[0]
        if self.by_node:
            shape.require_a_node_a_task("DOM-II by node")
        fixed = self.alpha * np.eye(m)
        return Relations(
            net=Network.of_many_slots(shape, m),
            believed=np.repeat(fixed[None], n_nodes, axis=0),
            learnt=fixed,
            passed_on=np.zeros(m),
            scores=np.zeros(m),
        )

    def open_round(self, state: Relations, rows: Any) -> None:  # noqa: ARG002
        """Let each node combine its neighbours' vectors (eq. 14)."""
        state.net.combine()

    def score(self, state: Relations, x: Example) -> float:
        """Return v_i^k·x (line 11), and keep the scores that eq. 13 compares."""
        if self.by_node:
            state.net.dot_each_node(x.task, x, state.scores)
            return state.scores[x.node]
        state.net.dot_each_slot(x.node, x, state.scores)
        return state.scores[x.task]

    def update(self, state: Relations, x: Example, y: float, score: float) -> bool:
        """Keep a hinge step (line 14) until the end of the round, and learn row k of P."""
        k = x.task
        softmax_of_losses(state.learnt[k], state.scores, y, 1.0 - self.alpha)  # eq. 13
        state.learnt[k, k] += self.alpha  # line 20
        learns = y * score < 1.0
        state.net.steps.later(self.eta * y if learns else 0.0, x)
        return learns

    def close_round(self, state: Relations, rows: Any) -> None:
        """Add η y B φ (line 15), and only then make the learnt rows visible."""
        node, m = state.net.steps.node, state.scores.size
        for k in range(m):
            a, x = state.net.steps.take(k, rows)
            if a != 0.0:
                state.find_related(x.node, k, self.by_row)  # row or column k of B_i (line 6)
                state.net.add_to_each_slot(x.node, a, state.passed_on, x)
        for k in range(m):
            for j in range(m):  # as before where task k had no example
                state.believed[node[k], k, j] = state.learnt[k, j]


class DualSum(NamedTuple):
    """The nodes' sums of gradients: the combined ones, the last round's and this round's.

    A node's own gradient counts in full at its next prediction, so the last round's gradients are
    stored separately until they are combined; this round's are in `net`.
    """

    net: Network
    rounds: np.ndarray
    last: Steps
    pairs: Pairs


class DA(NamedTuple):
    """DA (Duchi, Agarwal, Wainwright 2012) on many tasks (DOM paper, appendix F).

    Objective of node i after t rounds, with the gradients z_i that have reached it:

        min_w z_i·w + ψ(w) / α(t),  ψ(w) = ½ ‖w‖²_B,  α(t) = η / √t

    Update (eqs. 22, 23 and 25), with B⁻¹ as in DOM-I and φ the example in the place of its task:

        z_i ← Σ_j a_ij z_j + g_i,  g = −y B⁻¹ φ if the hinge loss is positive
        w_i = −α(t) z_i

    A node's own last gradient counts in full when it predicts; the neighbours' arrive with the next
    combination.

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
    cites : duchi2012dual, zhang2018distributed
    """

    eta: float
    b: float

    def in_common(self, shape: Shape) -> Pairs:
        """Return storage for products of rows, which depend only on the stream."""
        return Pairs.none(sum(shape.n_examples))

    def new_state(self, shape: Shape, in_common: Pairs | None = None) -> DualSum:
        """Return zero sums: one slot per task and a shared one at every node."""
        m, pairs = shape.n_tasks, in_common or Pairs.none(0)
        return DualSum(Network.zeros(shape, m + 1), np.zeros(1), Steps.none(m), pairs)

    def score(self, state: DualSum, x: Example) -> float:
        """Return w_i^k·x."""
        i, k, m = x.node, x.task, state.last.weight.size
        z = state.net.dot_sum(i, (k, m), x)
        for j in range(m):
            a, before = state.last.of_task(j, x.rows)
            if a != 0.0 and before.node == i:  # g_i of eq. 22, in full
                related = (self.b + (m if j == k else 0.0)) / ((1.0 + self.b) * m)
                z += a * related * state.pairs.dot(before, x)
        return self.eta / math.sqrt(max(1.0, state.rounds[0])) * z  # eq. 23

    def update(self, state: DualSum, x: Example, y: float, score: float) -> bool:
        """Keep the gradient until the end of the round."""
        if y * score >= 1.0:
            return False
        state.net.steps.later(y, x)
        return True

    def close_round(self, state: DualSum, rows: Any) -> None:
        """Combine all but this round's gradients (eq. 22)."""
        state.net.add_related(state.last, self.b, rows)
        for k in range(state.last.weight.size):
            step, x = state.net.steps.take(k, rows)
            if step != 0.0:
                state.last.later(step, x)
        state.net.combine()
        state.rounds[0] += 1.0
