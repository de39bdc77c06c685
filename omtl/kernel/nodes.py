"""The nodes of a network at work: products of a row with their slots, and steps after a round."""

from __future__ import annotations

from typing import NamedTuple

from omtl.kernel.deferred import Steps, no_steps
from omtl.kernel.inlining import inlined
from omtl.kernel.network import (
    Network,
    axpy_node,
    axpy_pair,
    axpy_slots,
    dot_node,
    dot_pair,
    dot_slots,
    network,
    set_step,
    slot_dot,
)
from omtl.kernel.rules import Shape, row_at
from omtl.util.errors import UserError


class Nodes(NamedTuple):
    """The nodes' weight vectors, and the steps that they take at the end of the round."""

    net: Network
    steps: Steps


def nodes(shape: Shape, n_slots: int) -> Nodes:
    """Return zero vectors in this many slots of each node, and no steps."""
    return Nodes(network(shape, n_slots), no_steps(shape.n_tasks))


def require_a_node_a_task(learner: str, shape: Shape) -> None:
    """Raise UserError unless the network has as many nodes as there are tasks."""
    if shape.mixing.shape[0] != shape.n_tasks:
        raise UserError(
            f"{learner}: one node a task is needed, but the network has {shape.mixing.shape[0]} "
            f"nodes for {shape.n_tasks} tasks; set network.n_nodes={shape.n_tasks}"
        )


@inlined
def node_dot(net, node, slot, x):
    """Return the inner product of a node's slot and `x`."""
    dot_slots(net, x, slot, slot + 1)
    return slot_dot(net, node, slot)


@inlined
def node_dots(net, node, slot, other, x):
    """Return the sum of the inner products of two of a node's slots and `x`."""
    dot_pair(net, x, slot, other)
    return slot_dot(net, node, slot) + slot_dot(net, node, other)


@inlined
def all_slots_dot(net, node, x, out):
    """Write the inner products of all of a node's slots and `x` to `out`."""
    dot_node(net, node, x, 0, out.size)
    for s in range(out.size):
        out[s] = slot_dot(net, node, s)


@inlined
def all_nodes_dot(net, slot, x, out):
    """Write the inner products of a slot of all nodes and `x` to `out`."""
    dot_slots(net, x, slot, slot + 1)
    for i in range(out.size):
        out[i] = slot_dot(net, i, slot)


@inlined
def all_slots_axpy(a, shares, x, net, node):
    """Add ``a * shares[s]`` times `x` to each slot s of a node."""
    for s in range(shares.size):
        set_step(a * shares[s], net, node, s)
    axpy_node(net, node, x, 0, shares.size)


@inlined
def add_step(steps, k, rows, net, node, slot):
    """Add the step from task k's example, if there is one, to a node's slot."""
    if steps.weight[k] != 0.0:
        set_step(steps.weight[k], net, node, slot)
        axpy_slots(net, row_at(rows, steps.example[k]), slot, slot + 1)


@inlined
def share_step(steps, k, own, shared, rows, net):
    """Add task k's example to two slots, if there is a step from it.

    It is added `own` times to the task's slot at the node that met it, and `shared` times to the
    slot after those of all tasks, which they share.
    """
    if steps.weight[k] != 0.0:
        m = steps.weight.size
        set_step(own, net, steps.node[k], k)
        set_step(shared, net, steps.node[k], m)
        axpy_pair(net, row_at(rows, steps.example[k]), k, m)


@inlined
def neighbours_mean(out, net, node, values):
    """Fill in Σ_j a_ij ``values[j]``, the weighted mean of what a node's neighbours hold."""
    for e in range(out.size):
        out[e] = 0.0
    for j in range(net.mixing.shape[0]):
        a = net.mixing[node, j]
        if a != 0.0:
            for e in range(out.size):
                out[e] += a * values[j, e]
