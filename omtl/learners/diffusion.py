"""The weight vectors of a network of nodes that combine, then adapt.

Every node holds weight vectors in *slots* (one a task, one shared by all tasks). In each round the
nodes first take a weighted mean of their neighbours' vectors, v_i = Σ_j a_ij u_j (eq. 14), then
each adapts by its own example (eq. 15). The vectors are kept in the modes of the combination
matrix (`omtl.networks.modes`), where combining multiplies each mode by one number: its cost does
not depend on the number of features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from omtl.networks import modes
from omtl.ops import BORROWED, axpy, dot, rescale
from omtl.rules import Shape

SMALLEST_SCALE = 1e-200
"""A mode whose scale falls below this is multiplied out: rarely, and long before underflow."""


class Diffusion(NamedTuple):
    """The nodes' weight vectors in the modes of the network.

    Slot s of node i is Σ_k to_nodes[i, k] · scale[k] · vectors[k, s].
    """

    vectors: np.ndarray
    scale: np.ndarray
    decay: np.ndarray
    to_nodes: np.ndarray
    from_nodes: np.ndarray


def diffusion(shape: Shape, n_slots: int) -> Diffusion:
    """Return zero vectors for all nodes of the network."""
    decay, to_nodes, from_nodes = modes(shape.mixing)
    return Diffusion(
        vectors=np.zeros((decay.size, n_slots, shape.n_features)),
        scale=np.ones(decay.size),
        decay=decay,
        to_nodes=to_nodes,
        from_nodes=from_nodes,
    )


@register_jitable(**BORROWED)
def combine(net: Any) -> None:
    """Replace each node's vectors by the weighted mean of its neighbours'."""
    for k in range(net.decay.size):
        net.scale[k] *= net.decay[k]
        if abs(net.scale[k]) < SMALLEST_SCALE:
            for s in range(net.vectors.shape[1]):
                rescale(net.vectors[k, s], net.scale[k])
            net.scale[k] = 1.0


@register_jitable(**BORROWED)
def node_dot(net: Any, node: int, slot: int, rows: Any, x: int) -> float:
    """Return the inner product of a node's slot and row `x`."""
    total = 0.0
    for k in range(net.decay.size):
        total += net.to_nodes[node, k] * net.scale[k] * dot(net.vectors[k, slot], rows, x)
    return total


@register_jitable(**BORROWED)
def node_axpy(a: float, rows: Any, x: int, net: Any, node: int, slot: int) -> None:
    """Add `a` times row `x` to a node's slot."""
    for k in range(net.decay.size):
        axpy(a * net.from_nodes[k, node] / net.scale[k], rows, x, net.vectors[k, slot])
