"""What learners keep for later: the steps of a round until it is over, and products of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import inlined
from omtl.kernel.products import row_dot


class Steps(NamedTuple):
    """What the nodes learn in a round, by task: `weight` times an example, met at a node.

    Shape (n_tasks,) each. A weight of 0 stands for nothing learnt.
    """

    weight: np.ndarray
    example: np.ndarray
    node: np.ndarray


def no_steps(n_tasks: int) -> Steps:
    """Return a round in which nothing is learnt."""
    return Steps(
        np.zeros(n_tasks), np.zeros(n_tasks, dtype=np.int64), np.zeros(n_tasks, dtype=np.int64)
    )


@inlined
def defer_step(steps, weight, event):
    """Keep what is learnt from an example until the round is over."""
    steps.weight[event.task] = weight
    steps.example[event.task] = event.example
    steps.node[event.task] = event.node


class Pairs(NamedTuple):
    """Products of examples with one that came before, shape (n_examples,) each, or (0,) for none.

    `product[i]` is that of the rows `i` and `before[i]`, -1 where there is none yet. All points of
    a grid meet the same pairs; a play on its own meets each once, and keeps none.
    """

    before: np.ndarray
    product: np.ndarray


@inlined
def pair_dot(pairs, rows, before, x):
    """Return the inner product of two rows, taken once where it is kept."""
    if x >= pairs.before.size:
        return row_dot(rows, before, x)
    if pairs.before[x] != before:
        pairs.before[x] = before
        pairs.product[x] = row_dot(rows, before, x)
    return pairs.product[x]
