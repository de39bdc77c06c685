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

from omtl.data.networks import modes
from omtl.data.rows import SparseRows
from omtl.kernel.deferred import Steps
from omtl.kernel.inlining import by_kind, inlined
from omtl.kernel.lanes import dot_columns
from omtl.kernel.products import rescale
from omtl.kernel.rules import Shape, row_at
from omtl.kernel.side_by_side import (
    SideBySide,
    add_all,
    axpy_slots,
    dot_all,
    dot_slots,
)
from omtl.util.errors import UserError

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


class NodeVectors(NamedTuple):
    """The nodes' own weight vectors: vector i · n_slots + s of `W` is slot s of node i.

    `links` has each node's neighbours as a row, with their weights; `combined`, of shape (n_nodes,
    n_slots · n_features), is memory for their weighted means.
    """

    W: SideBySide
    mixing: np.ndarray
    links: SparseRows
    combined: np.ndarray
    steps: Steps


Net = Network | NodeVectors


def network(shape: Shape, n_slots: int, by_node: bool = False) -> Net:
    """Return zero vectors for all nodes of the network.

    Parameters
    ----------
    shape : Shape
    n_slots : int
        Number of weight vectors per node.
    by_node : bool
        Whether to keep the nodes' own vectors if rows are dense and the network has more than one
        mode.
    """
    mixing = np.ascontiguousarray(shape.mixing)
    decay, to_nodes, from_nodes = modes(mixing)
    n_nodes, steps = len(mixing), Steps.none(shape.n_tasks)
    if by_node and not shape.sparse and decay.size > 1:
        node, neighbour = np.nonzero(mixing)
        begin = np.searchsorted(node, np.arange(n_nodes + 1))
        links = SparseRows(begin, neighbour.astype(np.int32), mixing[node, neighbour])
        combined = np.zeros((n_nodes, n_slots * shape.n_features))
        return NodeVectors(
            SideBySide.zeros(n_nodes * n_slots, shape), mixing, links, combined, steps
        )
    return Network(
        W=SideBySide.zeros(n_slots * decay.size, shape),
        scale=np.ones(decay.size),
        decay=decay,
        to_nodes=to_nodes,
        from_nodes=np.ascontiguousarray(from_nodes.T),
        mixing=mixing,
        known=np.zeros((n_nodes, n_slots), dtype=np.bool_),
        known_before=np.zeros(n_nodes, dtype=np.bool_),
        settled=np.ones(n_slots, dtype=np.bool_),
        steps=steps,
    )


def require_a_node_a_task(learner: str, shape: Shape) -> None:
    """Raise UserError unless the network has as many nodes as there are tasks."""
    if shape.mixing.shape[0] != shape.n_tasks:
        raise UserError(
            f"{learner}: one node a task is needed, but the network has {shape.mixing.shape[0]} "
            f"nodes for {shape.n_tasks} tasks; set network.n_nodes={shape.n_tasks}"
        )


@by_kind
def combine(net):
    """Replace each node's vectors by the weighted mean of its neighbours'."""
    least = 1.0
    for k in range(net.decay.size):
        net.scale[k] *= net.decay[k]
        least = min(least, abs(net.scale[k]))
    if least < SMALLEST_SCALE:
        multiply_out_modes(net)
    for s in range(net.settled.size):
        if not net.settled[s]:
            pass_on_known(net, s)


@combine.of(NodeVectors)
def _combine_vectors(net):
    own = net.W.vectors.reshape(net.combined.shape)
    for i in range(own.shape[0]):
        dot_columns(own, row_at(net.links, i), own.shape[1], (0,), net.combined[i])
    for i in range(own.shape[0]):
        for f in range(own.shape[1]):
            own[i, f] = net.combined[i, f]


@inlined
def pass_on_known(net, s):
    """Mark a slot as nonempty at each node with a neighbour where it is."""
    n_nodes = net.known_before.size
    for i in range(n_nodes):
        net.known_before[i] = net.known[i, s]
        net.known[i, s] = False
    lacking = n_nodes
    for j in range(n_nodes):
        if net.known_before[j] and lacking > 0:
            for i in range(n_nodes):
                if net.mixing[i, j] > 0.0 and not net.known[i, s]:
                    net.known[i, s] = True
                    lacking -= 1
    net.settled[s] = True
    for i in range(n_nodes):
        if net.known[i, s] != net.known_before[i]:
            net.settled[s] = False


@inlined
def multiply_out_modes(net):
    """Multiply all vectors by their scales, which are 1 from then on."""
    for p in range(net.W.steps.size):
        rescale(net.W.vectors[p], net.scale[p % net.scale.size])
    net.scale.fill(1.0)


@inlined
def slot_product(net, i, s):
    """Return the product of a node's slot with the last row."""
    total = 0.0
    if net.known[i, s]:
        n = net.decay.size
        for k in range(n):
            total += net.to_nodes[i, k] * net.scale[k] * net.W.products[s * n + k]
    return total


@inlined
def set_step(net, i, s, a):
    """Prepare to add `a` times the next row to a node's slot."""
    n = net.decay.size
    for k in range(n):
        net.W.steps[s * n + k] = a * net.from_nodes[i, k] / net.scale[k]
    if a != 0.0 and not net.known[i, s]:
        net.known[i, s] = True
        net.settled[s] = False


@inlined
def node_dot(net, i, slots, x):
    """Return the sum of the products of `x` with some slots of node i."""
    dot_slots(net.W, x, net.decay.size, slots)
    total = 0.0
    for s in slots:
        total += slot_product(net, i, s)
    return total


@inlined
def node_add(net, i, slots, steps, x):
    """Add `x`, scaled by each one's step, to some slots of node i."""
    for e in range(len(slots)):
        set_step(net, i, slots[e], steps[e])
    axpy_slots(net.W, x, net.decay.size, slots)


@by_kind
def dot_node(net, i, x, out):
    """Write the products of `x` with all slots of node i to `out`."""
    dot_all(net.W, x)
    for s in range(out.size):
        out[s] = slot_product(net, i, s)


@dot_node.of(NodeVectors)
def _dot_node_vectors(net, i, x, out):
    dot_slots(net.W, x, out.size, (i,))
    for s in range(out.size):
        out[s] = net.W.products[i * out.size + s]


@by_kind
def dot_nodes(net, s, x, out):
    """Write the products of `x` with slot s of all nodes to `out`."""
    dot_slots(net.W, x, net.decay.size, (s,))
    for i in range(out.size):
        out[i] = slot_product(net, i, s)


@dot_nodes.of(NodeVectors)
def _dot_nodes_vectors(net, s, x, out):
    n_slots = net.W.products.size // out.size
    for i in range(out.size):
        dot_slots(net.W, x, 1, (i * n_slots + s,))
        out[i] = net.W.products[i * n_slots + s]


@by_kind
def add_node(net, i, a, shares, x):
    """Add ``a * shares[s]`` times `x` to each slot s of node i."""
    for s in range(shares.size):
        set_step(net, i, s, a * shares[s])
    add_all(net.W, x)


@add_node.of(NodeVectors)
def _add_node_vectors(net, i, a, shares, x):
    for s in range(shares.size):
        net.W.steps[i * shares.size + s] = a * shares[s]
    axpy_slots(net.W, x, shares.size, (i,))


@inlined
def neighbours_mean(out, net, i, values):
    """Fill in Σ_j a_ij ``values[j]``, the weighted mean of what node i's neighbours hold."""
    for e in range(out.size):
        out[e] = 0.0
    for j in range(net.mixing.shape[0]):
        a = net.mixing[i, j]
        if a != 0.0:
            for e in range(out.size):
                out[e] += a * values[j, e]
