"""The weight vectors of a network whose nodes combine, then adapt.

Every node holds weight vectors in *slots* (one per task, one shared by all). In each round the
nodes first take a weighted mean of their neighbours' vectors, v_i = Σ_j a_ij u_j (DOM, eq. 14),
then each adapts to its own example (eq. 15). The vectors are kept in the modes of the combination
matrix (`omtl.data.networks.modes`), where combining multiplies each mode by one number: its cost
does not depend on the number of features.

Nodes adapt at the same time: updates of a round must be added after all nodes have predicted. Until
the next combination, parts that no neighbour will ever see are in no mode.

Memory layout depends on the kind of rows: for dense rows each mode of each slot is one vector; for
sparse rows all numbers of a feature lie together, so that each nonzero reads memory in one place.

For dense rows, a learner that reads all slots of a node may keep the nodes' own vectors instead and
combine them one by one: that costs less than reading every mode of every slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.networks import modes
from omtl.data.rows import DenseRows, Rows, SparseRows
from omtl.kernel.inlining import by_rows, inlined
from omtl.kernel.lanes import axpy_columns, dot_columns
from omtl.kernel.products import axpy, dense_row_dots, dot, rescale
from omtl.kernel.rules import Example, Shape, row_at

SMALLEST_SCALE = 1e-200
"""When a scale falls below this, all are multiplied out: rarely, and long before underflow."""


class Network(NamedTuple):
    """The nodes' weight vectors, in the modes of the network or one by one.

    Place s · n_modes + k is mode k of slot s; slot s of node i is the sum over k of
    to_nodes[i, k] · scale[k] times the vector in that place. `vectors` is of shape
    (n_places, n_features) for dense rows, and (n_features, n_places) for sparse ones. `products`
    and `steps`, of shape (n_places,), belong to the current row. `known[i, s]` is whether slot s of
    node i is nonempty; if not, its score is exactly 0. If `settled`, of shape (1,), is true,
    `known` no longer changes until a node learns something new.

    If `mixed` has rows, the vectors are the nodes' own: place i · n_slots + s is slot s of node i,
    and the modes are not used. `mixed` is memory for the weighted sums of a slot, with weights
    `links`, over a node's neighbours in groups of three; `summed_at[g]` is the node of group g.
    `places`, with one number per link, is memory for the places of their slots.
    """

    vectors: np.ndarray
    scale: np.ndarray
    decay: np.ndarray
    to_nodes: np.ndarray
    from_nodes: np.ndarray
    products: np.ndarray
    steps: np.ndarray
    mixing: np.ndarray
    known: np.ndarray
    known_before: np.ndarray
    settled: np.ndarray
    mixed: np.ndarray
    links: SparseRows
    summed_at: np.ndarray
    places: np.ndarray


def network(shape: Shape, n_slots: int, by_node: bool = False) -> Network:
    """Return zero vectors for all nodes of the network.

    Parameters
    ----------
    shape : Shape
    n_slots : int
        Number of weight vectors per node.
    by_node : bool
        Whether to keep the nodes' own vectors if rows are dense and the network has more than one
        mode; use `dot_node` and `axpy_node` with them.
    """
    decay, to_nodes, from_nodes = modes(shape.mixing)
    n_nodes = shape.mixing.shape[0]
    by_node = by_node and not shape.sparse and decay.size > 1
    n_places = n_slots * (n_nodes if by_node else decay.size)
    links, summed_at = threes_of(shape.mixing if by_node else np.empty((0, 0)))
    return Network(
        vectors=(
            np.zeros((shape.n_features, n_places))
            if shape.sparse
            else np.zeros((n_places, shape.n_features))
        ),
        scale=np.ones(decay.size),
        decay=decay,
        to_nodes=to_nodes,
        from_nodes=np.ascontiguousarray(from_nodes.T),
        products=np.zeros(n_places),
        steps=np.zeros(n_places),
        mixing=np.ascontiguousarray(shape.mixing),
        known=np.zeros((n_nodes, n_slots), dtype=np.bool_),
        known_before=np.zeros((n_nodes, n_slots), dtype=np.bool_),
        settled=np.ones(1, dtype=np.bool_),
        mixed=np.zeros((summed_at.size, shape.n_features)),
        links=links,
        summed_at=summed_at,
        places=np.zeros_like(links.indices),
    )


@inlined
def combine(net, rows):
    """Replace each node's vectors by the weighted mean of its neighbours'."""
    if net.mixed.shape[0]:
        mix(net, rows)
        return
    least = 1.0
    for k in range(net.decay.size):
        net.scale[k] *= net.decay[k]
        least = min(least, abs(net.scale[k]))
    if least < SMALLEST_SCALE:
        multiply_out(net, rows)
    if not net.settled[0]:
        pass_on_known(net)


@inlined
def pass_on_known(net):
    """Mark each node's slots as nonempty if a neighbour's are."""
    n_nodes, n_slots = net.known.shape
    net.settled[0] = True
    for i in range(n_nodes):
        for s in range(n_slots):
            net.known_before[i, s] = net.known[i, s]
    for i in range(n_nodes):
        for s in range(n_slots):
            net.known[i, s] = False
            for j in range(n_nodes):
                if net.mixing[i, j] > 0.0 and net.known_before[j, s]:
                    net.known[i, s] = True
            if net.known[i, s] != net.known_before[i, s]:
                net.settled[0] = False


@inlined
def slot_dot(net, node, slot):
    """Return the product of a node's slot with the last row read."""
    total = 0.0
    if net.mixed.shape[0]:
        total = net.products[node * net.known.shape[1] + slot]
    elif net.known[node, slot]:
        n_modes = net.decay.size
        for k in range(n_modes):
            total += net.to_nodes[node, k] * net.scale[k] * net.products[slot * n_modes + k]
    return total


@inlined
def set_step(a, net, node, slot):
    """Set `steps` to add `a` times the next row to a node's slot."""
    if net.mixed.shape[0]:
        net.steps[node * net.known.shape[1] + slot] = a
        return
    n_modes = net.decay.size
    for k in range(n_modes):
        net.steps[slot * n_modes + k] = a * net.from_nodes[node, k] / net.scale[k]
    if a != 0.0 and not net.known[node, slot]:
        net.known[node, slot] = True
        net.settled[0] = False


def place(net: Network, rows: Rows, p: int) -> np.ndarray:
    """Return the vector in a place."""
    return net.vectors[p] if isinstance(rows, DenseRows) else net.vectors[:, p]


@inlined
def axpy_places(net, x, first, end):
    """Add a dense row, scaled by `steps`, to the vectors of some places."""
    for p in range(first, end):
        axpy(net.steps[p], x, net.vectors[p])


def _mix_by_node(net, rows):  # noqa: ARG001
    n_slots, links, at = net.known.shape[1], net.links, net.summed_at
    for s in range(n_slots):
        for e in range(net.places.size):
            net.places[e] = links.indices[e] * n_slots + s
        threes = SparseRows(links.indptr, net.places, links.values)
        for g in range(at.size):
            dot_columns(net.vectors, row_at(threes, g), net.mixed.shape[1], (0,), net.mixed[g])
        for g in range(at.size):
            total, part = net.vectors[at[g] * n_slots + s], net.mixed[g]
            more = g > 0 and at[g - 1] == at[g]
            if more:
                for f in range(part.size):
                    total[f] += part[f]
            else:
                for f in range(part.size):
                    total[f] = part[f]


def _mix_nowhere(net, rows):
    pass


@by_rows(dense=_mix_by_node, sparse=_mix_nowhere)
def mix(net: Network, rows: Rows) -> None:  # noqa: ARG001
    """Replace the nodes' own vectors by the weighted means of their neighbours'."""
    by_node = net.vectors.reshape(len(net.mixing), -1)
    by_node[:] = net.mixing @ by_node


def _multiply_out_by_place(net, rows):  # noqa: ARG001
    for p in range(net.vectors.shape[0]):
        rescale(net.vectors[p], net.scale[p % net.scale.size])
    for k in range(net.scale.size):
        net.scale[k] = 1.0


def _multiply_out_by_feature(net, rows):  # noqa: ARG001
    n_places = net.steps.size
    for p in range(n_places):
        net.steps[p] = net.scale[p % net.scale.size]
    for i in range(net.vectors.shape[0]):
        for p in range(n_places):
            net.vectors[i, p] *= net.steps[p]
    for k in range(net.scale.size):
        net.scale[k] = 1.0


@by_rows(dense=_multiply_out_by_place, sparse=_multiply_out_by_feature)
def multiply_out(net: Network, rows: Rows) -> None:
    """Multiply all vectors by their scales, which are 1 from then on."""
    for p in range(net.steps.size):
        place(net, rows, p)[:] *= net.scale[p % net.scale.size]
    net.scale[:] = 1.0


def _dot_slots_by_place(net, x, first, last):
    n, n_slots = net.decay.size, net.known.shape[1]
    if net.mixed.shape[0]:
        for begin in range(0, net.products.size, n_slots):
            dense_row_dots(net.vectors, x.rows.X[x.i], begin + first, begin + last, net.products)
    elif (last - first) * n < 3:  # groups of three would cost time here without a gain
        for p in range(first * n, last * n):
            net.products[p] = dot(net.vectors[p], x)
    else:
        dense_row_dots(net.vectors, x.rows.X[x.i], first * n, last * n, net.products)


def _dot_slots_by_feature(net, x, first, last):
    n = net.decay.size
    dot_columns(net.vectors, x, (last - first) * n, (first * n,), net.products)


@by_rows(dense=_dot_slots_by_place, sparse=_dot_slots_by_feature)
def dot_slots(net: Network, x: Example, first: int, last: int) -> None:
    """Write the products of `x` with slots `first` to `last` − 1 to `products`."""
    n, n_slots = net.decay.size, net.known.shape[1]
    for slot in range(first, last):
        own = range(slot, net.products.size, n_slots)
        for p in own if len(net.mixed) else range(slot * n, slot * n + n):
            net.products[p] = dot(place(net, x.rows, p), x)


def _axpy_slots_by_place(net, x, first, last):
    n = net.decay.size
    axpy_places(net, x, first * n, last * n)


def _axpy_slots_by_feature(net, x, first, last):
    n = net.decay.size
    axpy_columns(net.vectors, x, (last - first) * n, (first * n,), net.steps)


@by_rows(dense=_axpy_slots_by_place, sparse=_axpy_slots_by_feature)
def axpy_slots(net: Network, x: Example, first: int, last: int) -> None:
    """Add `x`, scaled by `steps`, to slots `first` to `last` − 1, stored by mode."""
    n = net.decay.size
    for p in range(first * n, last * n):
        axpy(net.steps[p], x, place(net, x.rows, p))


def _dot_pair_by_feature(net, x, slot, other):
    n = net.decay.size
    dot_columns(net.vectors, x, n, (slot * n, other * n), net.products)


@by_rows(sparse=_dot_pair_by_feature)
def dot_pair(net: Network, x: Example, slot: int, other: int) -> None:
    """Write the products of `x` with two slots to `products`."""
    dot_slots(net, x, slot, slot + 1)
    dot_slots(net, x, other, other + 1)


def _axpy_pair_by_feature(net, x, slot, other):
    n = net.decay.size
    axpy_columns(net.vectors, x, n, (slot * n, other * n), net.steps)


@by_rows(sparse=_axpy_pair_by_feature)
def axpy_pair(net: Network, x: Example, slot: int, other: int) -> None:
    """Add `x`, scaled by `steps`, to two slots."""
    axpy_slots(net, x, slot, slot + 1)
    axpy_slots(net, x, other, other + 1)


def _dot_node_by_either(net, node, x, first, last):
    n_nodes = net.mixed.shape[0]
    if n_nodes:
        n = net.known.shape[1]
        dense_row_dots(net.vectors, x.rows.X[x.i], node * n + first, node * n + last, net.products)
    else:
        dot_slots(net, x, first, last)


def _dot_node_by_mode(net, node, x, first, last):  # noqa: ARG001
    dot_slots(net, x, first, last)


@by_rows(dense=_dot_node_by_either, sparse=_dot_node_by_mode)
def dot_node(net: Network, node: int, x: Example, first: int, last: int) -> None:
    """Write the products of `x` with a node's slots `first` to `last` − 1 to `products`."""
    if len(net.mixed):
        n_slots = net.known.shape[1]
        for p in range(node * n_slots + first, node * n_slots + last):
            net.products[p] = dot(place(net, x.rows, p), x)
    else:
        dot_slots(net, x, first, last)


def _axpy_node_by_either(net, node, x, first, last):
    n_nodes = net.mixed.shape[0]
    if n_nodes:
        n = net.known.shape[1]
        axpy_places(net, x, node * n + first, node * n + last)
    else:
        axpy_slots(net, x, first, last)


def _axpy_node_by_mode(net, node, x, first, last):  # noqa: ARG001
    axpy_slots(net, x, first, last)


@by_rows(dense=_axpy_node_by_either, sparse=_axpy_node_by_mode)
def axpy_node(net: Network, node: int, x: Example, first: int, last: int) -> None:
    """Add `x` to a node's slots `first` to `last` − 1, with the planned steps."""
    if len(net.mixed):
        n_slots = net.known.shape[1]
        for p in range(node * n_slots + first, node * n_slots + last):
            axpy(net.steps[p], x, place(net, x.rows, p))
    else:
        axpy_slots(net, x, first, last)


def threes_of(mixing: np.ndarray) -> tuple[SparseRows, np.ndarray]:
    """Return each node's neighbours and their weights, three per row, and the node of each row.

    If a node has exactly four, they are in one row: their sum is bit-identical.
    """
    node, neighbour = np.nonzero(mixing)
    rank = np.arange(node.size) - np.searchsorted(node, node)
    of_four = np.bincount(node)[node] == 4
    begin = np.flatnonzero((rank % 3 == 0) & ~(of_four & (rank == 3)))
    weights = mixing[node, neighbour]
    links = SparseRows(np.append(begin, node.size), neighbour.astype(np.int32), weights)
    return links, node[begin]
