"""The vector that all tasks share, which learns from a whole round at its end."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from omtl.fused import axpy_all
from omtl.ops import BORROWED, at_line
from omtl.rules import Shape


class Shared(NamedTuple):
    """The vector that all tasks share, and what it learns at the end of the round.

    The vector is ``scale[0]`` times `vector`. By task, ``label[i]`` is the label of the example
    ``example[i]`` that it learns from, or 0.
    """

    vector: np.ndarray
    scale: np.ndarray
    label: np.ndarray
    example: np.ndarray


def zero_shared(shape: Shape) -> Shared:
    """Return a zero vector that has nothing to learn."""
    m = shape.n_tasks
    return Shared(
        at_line(1, shape.n_features)[0], np.ones(1), np.zeros(m), np.zeros(m, dtype=np.int64)
    )


@register_jitable(**BORROWED)
def learn_together(shared, rows, step):
    """Add `step` times the label times the example of every task that has a loss."""
    n = 0
    for i in range(shared.label.size):
        if shared.label[i] != 0.0:
            shared.label[n] = step * shared.label[i] / shared.scale[0]
            shared.example[n] = shared.example[i]
            n += 1
    axpy_all(shared.label, rows, shared.example, n, shared.vector)
    for i in range(shared.label.size):
        shared.label[i] = 0.0
