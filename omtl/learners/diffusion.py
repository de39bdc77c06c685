"""The weight vectors of a network of nodes that combine, then adapt.

Every node holds weight vectors in *slots* (one a task, one shared by all tasks). In each round the
nodes first take a weighted mean of their neighbours' vectors, v_i = Σ_j a_ij u_j (DOM, eq. 14),
then each adapts by its own example (eq. 15). The vectors are kept in the modes of the combination
matrix (`omtl.networks.modes`), where combining multiplies each mode by one number: its cost does
not depend on the number of features.

Nodes adapt at the same time: what they learn in a round must be added after all have predicted.
Until it is combined, what no neighbour will ever see is in no mode.

Memory is laid out by the kind of rows: for dense rows each mode of each slot is one vector; for
sparse rows all that a feature has lies together, so that each nonzero reads memory in one place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.networks import modes
from omtl.ops import BORROWED, DenseRows, Rows, axpy, dot, rescale
from omtl.rules import Shape

SMALLEST_SCALE = 1e-200
"""When a scale falls below this all are multiplied out: rarely, and long before underflow."""


class Diffusion(NamedTuple):
    """The nodes' weight vectors in the modes of the network.

    Place s · n_modes + k is mode k of slot s; slot s of node i is the sum over k of
    to_nodes[i, k] · scale[k] times the vector in that place. `vectors` is of shape
    (n_places, n_features) for dense rows and (n_features, n_places) for sparse ones. `products` and
    `steps`, of shape (n_places,), belong to the row that is being heard or learnt. `known[i, s]`
    tells whether slot s of node i has anything in it: where it has not, its score is exactly 0.
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
    all_known: np.ndarray


def diffusion(shape: Shape, n_slots: int) -> Diffusion:
    """Return zero vectors for all nodes of the network."""
    decay, to_nodes, from_nodes = modes(shape.mixing)
    n_places, n_nodes = n_slots * decay.size, shape.mixing.shape[0]
    size = (shape.n_features, n_places) if shape.sparse else (n_places, shape.n_features)
    return Diffusion(
        vectors=np.zeros(size),
        scale=np.ones(decay.size),
        decay=decay,
        to_nodes=to_nodes,
        from_nodes=from_nodes,
        products=np.zeros(n_places),
        steps=np.zeros(n_places),
        mixing=np.ascontiguousarray(shape.mixing),
        known=np.zeros((n_nodes, n_slots), dtype=np.bool_),
        known_before=np.zeros((n_nodes, n_slots), dtype=np.bool_),
        all_known=np.zeros(1, dtype=np.bool_),
    )


@register_jitable(**BORROWED)
def combine(net, rows):
    """Replace each node's vectors by the weighted mean of its neighbours'."""
    least = 1.0
    for k in range(net.decay.size):
        net.scale[k] *= net.decay[k]
        least = min(least, abs(net.scale[k]))
    if least < SMALLEST_SCALE:
        multiply_out(net, rows)
    if not net.all_known[0]:
        pass_on_known(net)


@register_jitable(**BORROWED)
def pass_on_known(net):
    """Let each node know the slots that a neighbour knows."""
    n_nodes, n_slots = net.known.shape
    net.all_known[0] = True
    for i in range(n_nodes):
        for s in range(n_slots):
            net.known_before[i, s] = net.known[i, s]
    for i in range(n_nodes):
        for s in range(n_slots):
            net.known[i, s] = False
            for j in range(n_nodes):
                if net.mixing[i, j] > 0.0 and net.known_before[j, s]:
                    net.known[i, s] = True
            if not net.known[i, s]:
                net.all_known[0] = False


@register_jitable(**BORROWED)
def heard(net, node, slot):
    """Return the product of a node's slot with the row that was last heard."""
    total = 0.0
    if net.known[node, slot]:
        n_modes = net.decay.size
        for k in range(n_modes):
            total += net.to_nodes[node, k] * net.scale[k] * net.products[slot * n_modes + k]
    return total


@register_jitable(**BORROWED)
def plan_step(a, net, node, slot):
    """Set `steps` to add `a` times the row that is learnt next to a node's slot."""
    n_modes = net.decay.size
    for k in range(n_modes):
        net.steps[slot * n_modes + k] = a * net.from_nodes[k, node] / net.scale[k]
    if a != 0.0:
        net.known[node, slot] = True


@register_jitable(**BORROWED)
def node_dot(net, node, slot, rows, x):
    """Return the inner product of a node's slot and row `x`."""
    hear(net, rows, x, slot, slot + 1)
    return heard(net, node, slot)


@register_jitable(**BORROWED)
def node_axpy(a, rows, x, net, node, slot):
    """Add `a` times row `x` to a node's slot."""
    plan_step(a, net, node, slot)
    learn(net, rows, x, slot, slot + 1)


def multiply_out(net: Diffusion, rows: Rows) -> None:
    """Multiply all vectors by their scales, which are 1 from then on."""
    by_place = net.vectors if isinstance(rows, DenseRows) else net.vectors.T
    by_place *= np.tile(net.scale, len(by_place) // net.scale.size)[:, None]
    net.scale[:] = 1.0


def hear(net: Diffusion, rows: Rows, x: int, first: int, last: int) -> None:
    """Put the products of row `x` with slots `first` to `last` − 1 in `products`."""
    by_place = net.vectors if isinstance(rows, DenseRows) else net.vectors.T
    for p in range(first * net.decay.size, last * net.decay.size):
        net.products[p] = dot(by_place[p], rows, x)


def learn(net: Diffusion, rows: Rows, x: int, first: int, last: int) -> None:
    """Add row `x` to slots `first` to `last` − 1, as often as `steps` says."""
    by_place = net.vectors if isinstance(rows, DenseRows) else net.vectors.T
    for p in range(first * net.decay.size, last * net.decay.size):
        axpy(net.steps[p], rows, x, by_place[p])


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.
# By feature, four places are done at a time, in registers.


@overload(multiply_out, jit_options=BORROWED)
def _multiply_out(net, rows):  # noqa: ARG001
    def by_place(net, rows):  # noqa: ARG001
        for p in range(net.vectors.shape[0]):
            rescale(net.vectors[p], net.scale[p % net.scale.size])
        for k in range(net.scale.size):
            net.scale[k] = 1.0

    def by_feature(net, rows):  # noqa: ARG001
        n_places = net.steps.size
        for p in range(n_places):
            net.steps[p] = net.scale[p % net.scale.size]
        for i in range(net.vectors.shape[0]):
            for p in range(n_places):
                net.vectors[i, p] *= net.steps[p]
        for k in range(net.scale.size):
            net.scale[k] = 1.0

    return by_place if rows.instance_class is DenseRows else by_feature


@overload(hear, jit_options=BORROWED)
def _hear(net, rows, x, first, last):  # noqa: ARG001
    def by_place(net, rows, x, first, last):
        for p in range(first * net.decay.size, last * net.decay.size):
            net.products[p] = dot(net.vectors[p], rows, x)

    def by_feature(net, rows, x, first, last):
        begin, end = first * net.decay.size, last * net.decay.size
        whole = end - (end - begin) % 4
        start, stop = rows.indptr[x], rows.indptr[x + 1]
        for p in range(begin, whole, 4):
            s0 = s1 = s2 = s3 = 0.0
            for e in range(start, stop):
                i, value = np.uint32(rows.indices[e]), rows.values[e]
                s0 += value * net.vectors[i, p]
                s1 += value * net.vectors[i, p + 1]
                s2 += value * net.vectors[i, p + 2]
                s3 += value * net.vectors[i, p + 3]
            net.products[p] = s0
            net.products[p + 1] = s1
            net.products[p + 2] = s2
            net.products[p + 3] = s3
        for p in range(whole, end):
            whole_rows = stop - (stop - start) % 4
            s0 = s1 = s2 = s3 = 0.0
            for e in range(start, whole_rows, 4):
                s0 += rows.values[e] * net.vectors[np.uint32(rows.indices[e]), p]
                s1 += rows.values[e + 1] * net.vectors[np.uint32(rows.indices[e + 1]), p]
                s2 += rows.values[e + 2] * net.vectors[np.uint32(rows.indices[e + 2]), p]
                s3 += rows.values[e + 3] * net.vectors[np.uint32(rows.indices[e + 3]), p]
            for e in range(whole_rows, stop):
                s0 += rows.values[e] * net.vectors[np.uint32(rows.indices[e]), p]
            net.products[p] = (s0 + s2) + (s1 + s3)

    return by_place if rows.instance_class is DenseRows else by_feature


@overload(learn, jit_options=BORROWED)
def _learn(net, rows, x, first, last):  # noqa: ARG001
    def by_place(net, rows, x, first, last):
        for p in range(first * net.decay.size, last * net.decay.size):
            axpy(net.steps[p], rows, x, net.vectors[p])

    def by_feature(net, rows, x, first, last):
        begin, end = first * net.decay.size, last * net.decay.size
        whole = end - (end - begin) % 4
        for p in range(begin, whole, 4):
            s0, s1, s2, s3 = net.steps[p], net.steps[p + 1], net.steps[p + 2], net.steps[p + 3]
            for e in range(rows.indptr[x], rows.indptr[x + 1]):
                i, value = np.uint32(rows.indices[e]), rows.values[e]
                net.vectors[i, p] += value * s0
                net.vectors[i, p + 1] += value * s1
                net.vectors[i, p + 2] += value * s2
                net.vectors[i, p + 3] += value * s3
        for p in range(whole, end):
            step = net.steps[p]
            for e in range(rows.indptr[x], rows.indptr[x + 1]):
                net.vectors[np.uint32(rows.indices[e]), p] += rows.values[e] * step

    return by_place if rows.instance_class is DenseRows else by_feature
