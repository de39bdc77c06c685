"""The weight vectors of a network whose nodes combine, then adapt.

Every node holds weight vectors in *slots* (one per task, one shared by all). In each round the
nodes first take a weighted mean of their neighbours' vectors, v_i = Σ_j a_ij u_j (DOM, eq. 14),
then each adapts to its own example (eq. 15). The vectors are kept in the modes of the combination
matrix (`omtl.data.networks.modes`), where combining multiplies each mode by one number: its cost
does not depend on the number of features.

Nodes adapt at the same time: updates of a round must be added after all nodes have predicted. Until
the next combination, parts that no neighbour will ever see are in no mode.

On dense rows, a learner that reads all slots of a node may keep the nodes' own vectors instead and
combine them one by one: that costs less than half of reading every mode of every slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from omtl.data.networks import modes
from omtl.data.rows import Rows, rows_of
from omtl.kernel.deferred import Steps
from omtl.kernel.lanes import dot_columns
from omtl.kernel.rules import Shape, row_at
from omtl.kernel.side_by_side import SideBySide

SMALLEST_SCALE = 1e-200
"""When a scale falls below this, all are multiplied out: rarely, and long before underflow."""


class Network(NamedTuple):
    """The nodes' weight vectors, in the modes of the network.

    Vector s · n_modes + k of `W` is mode k of slot s; slot s of node i is the sum over k of
    to_nodes[i, k] · scale[k] times that vector. `known[i, s]` is whether slot s of node i is
    nonempty; if not, its score is exactly 0. If ``settled[s]`` is true, that of slot s no longer
    changes until a node learns something new. `steps` are what nodes add at the end of the round.
    """

    W: SideBySide
    scale: np.ndarray
    decay: np.ndarray
    to_nodes: np.ndarray
    from_nodes: np.ndarray
    mixing: np.ndarray
    known: np.ndarray
    known_before: np.ndarray
    settled: np.ndarray
    steps: Steps

    @classmethod
    def zeros(cls, shape: Shape, n_slots: int) -> Network:
        """Return zero vectors, `n_slots` per node."""
        mixing = np.ascontiguousarray(shape.mixing)
        decay, to_nodes, from_nodes = modes(mixing)
        n_nodes = len(mixing)
        return cls(
            W=SideBySide.zeros(n_slots * decay.size, shape),
            scale=np.ones(decay.size),
            decay=decay,
            to_nodes=to_nodes,
            from_nodes=np.ascontiguousarray(from_nodes.T),
            mixing=mixing,
            known=np.zeros((n_nodes, n_slots), dtype=np.bool_),
            known_before=np.zeros(n_nodes, dtype=np.bool_),
            settled=np.ones(n_slots, dtype=np.bool_),
            steps=Steps.none(shape.n_tasks),
        )

    @classmethod
    def of_many_slots(cls, shape: Shape, n_slots: int) -> Net:
        """Return zero vectors for a learner that reads all slots of a node.

        They are the nodes' own if rows are dense and the network has more than one mode.
        """
        vectors = cls.zeros(shape, n_slots)
        if shape.sparse or vectors.decay.size == 1:
            return vectors
        return NodeVectors.zeros(shape, n_slots)

    def combine(self):
        """Replace each node's vectors by the weighted mean of its neighbours'."""
        least = 1.0
        for k in range(self.decay.size):
            self.scale[k] *= self.decay[k]
            least = min(least, abs(self.scale[k]))
        if least < SMALLEST_SCALE:
            self.multiply_out_modes()
        for s in range(self.settled.size):
            if not self.settled[s]:
                self.pass_on_known(s)

    def pass_on_known(self, s):
        """Mark a slot as nonempty at each node with a neighbour where it is."""
        before = self.known_before
        self.settled[s] = True
        for i in range(before.size):
            before[i], self.known[i, s] = self.known[i, s], False
        for i in range(before.size):
            for j in range(before.size):
                self.known[i, s] |= before[j] and self.mixing[i, j] > 0.0
            self.settled[s] &= self.known[i, s] == before[i]

    def multiply_out_modes(self):
        """Multiply all vectors by their scales, which are 1 from then on; in one pass."""
        n = self.scale.size
        for f in range(self.W.vectors.shape[1]):
            for s in range(self.settled.size):
                for k in range(n):
                    self.W.vectors[s * n + k, f] *= self.scale[k]
        self.scale[:] = 1.0

    def slot_product(self, i, s):
        """Return the product of a node's slot with the last row."""
        total = 0.0
        if self.known[i, s]:
            n = self.decay.size
            for k in range(n):
                total += self.to_nodes[i, k] * self.scale[k] * self.W.products[s * n + k]
        return total

    def set_step(self, i, s, a):
        """Prepare to add `a` times the next row to a node's slot."""
        n = self.decay.size
        for k in range(n):
            self.W.steps[s * n + k] = a * self.from_nodes[i, k] / self.scale[k]
        if a != 0.0 and not self.known[i, s]:
            self.known[i, s] = True
            self.settled[s] = False

    def dot_sum(self, i, slots, x):
        """Return the sum of the products of `x` with some slots of node i."""
        self.W.dot_slots(x, self.decay.size, slots)
        total = 0.0
        for s in slots:
            total += self.slot_product(i, s)
        return total

    def add_to_slots(self, i, slots, steps, x):
        """Add `x`, scaled by each one's step, to some slots of node i."""
        for e in range(len(slots)):
            self.set_step(i, slots[e], steps[e])
        self.W.add_slots(x, self.decay.size, slots)

    def add_related(self, steps, b, rows):
        """Add B⁻¹ times each step (DOM, eq. 10): to its task's slot, and to the last, shared."""
        m = steps.weight.size
        for k in range(m):
            a, x = steps.take(k, rows)
            if a != 0.0:
                own = a / (1.0 + b)
                self.add_to_slots(x.node, (k, m), (own, own * b / m), x)

    def dot_each_slot(self, i, x, out):
        """Write the products of `x` with all slots of node i to `out`."""
        self.W.dot_all(x)
        for s in range(out.size):
            out[s] = self.slot_product(i, s)

    def dot_each_node(self, s, x, out):
        """Write the products of `x` with slot s of all nodes to `out`."""
        self.W.dot_slots(x, self.decay.size, (s,))
        for i in range(out.size):
            out[i] = self.slot_product(i, s)

    def add_to_each_slot(self, i, a, shares, x):
        """Add ``a * shares[s]`` times `x` to each slot s of node i."""
        for s in range(shares.size):
            self.set_step(i, s, a * shares[s])
        self.W.add_all(x)


class NodeVectors(NamedTuple):
    """The nodes' own weight vectors: vector i · n_slots + s of `W` is slot s of node i.

    `links` has each node's neighbours as a row, with their weights; `combined`, of shape (n_nodes,
    n_slots · n_features), is memory for their weighted means.
    """

    W: SideBySide
    mixing: np.ndarray
    links: Rows
    combined: np.ndarray
    steps: Steps

    @classmethod
    def zeros(cls, shape: Shape, n_slots: int) -> NodeVectors:
        """Return zero vectors, `n_slots` per node."""
        mixing = np.ascontiguousarray(shape.mixing)
        combined = np.zeros((len(mixing), n_slots * shape.n_features))
        W, links = SideBySide.zeros(len(mixing) * n_slots, shape), rows_of(sparse.csr_array(mixing))
        return cls(W, mixing, links, combined, Steps.none(shape.n_tasks))

    def combine(self):
        """Replace each node's vectors by the weighted mean of its neighbours'."""
        combined = self.combined
        own = self.W.vectors.reshape(combined.shape)
        for i in range(len(combined)):
            dot_columns(own, row_at(self.links, i), combined[i].size, (0,), combined[i])
        for i in range(len(combined)):
            for f in range(combined[i].size):
                own[i, f] = combined[i, f]

    def dot_each_slot(self, i, x, out):
        """Write the products of `x` with all slots of node i to `out`."""
        self.W.dot_slots(x, out.size, (i,))
        for s in range(out.size):
            out[s] = self.W.products[i * out.size + s]

    def dot_each_node(self, s, x, out):
        """Write the products of `x` with slot s of all nodes to `out`."""
        n_slots = self.W.products.size // out.size
        for i in range(out.size):
            self.W.dot_slots(x, 1, (i * n_slots + s,))
            out[i] = self.W.products[i * n_slots + s]

    def add_to_each_slot(self, i, a, shares, x):
        """Add ``a * shares[s]`` times `x` to each slot s of node i."""
        for s in range(shares.size):
            self.W.steps[i * shares.size + s] = a * shares[s]
        self.W.add_slots(x, shares.size, (i,))


Net = Network | NodeVectors
