"""Copies of what states are made of, for points of a grid that share them (`omtl.shared_play`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.learners.rom.norms import Norms
from omtl.learners.rom.shared_vector import Shared, learn_together
from omtl.ops import BORROWED, DenseRows, Rows, axpy, axpys, vector_of, zero_vectors
from omtl.rules import Shape


class Pool(NamedTuple):
    """Copies of parts of states, for points of a grid that share them (`omtl.shared_play`).

    `shared` has one more axis in front, of copies; `own` is a state with copies in place of tasks,
    whose own `shared` is not used. ``rate[c]`` is the step of a copy of the shared vector, and
    ``factors[:, p]`` is what is the same in all tasks in a round of point `p`.
    """

    shared: Shared
    rate: np.ndarray
    own: Any
    factors: np.ndarray


@register_jitable(**BORROWED)
def copy_vector(w, new, features):
    """Copy these weights of a vector."""
    for e in range(features.size):
        j = np.uint32(features[e])
        new[j] = w[j]


def new_shared(shape: Shape, n_shared: int) -> Shared:
    """Return so many copies of a zero vector that has nothing to learn."""
    m = shape.n_tasks
    return Shared(
        vector=zero_vectors(n_shared, shape.n_features, shape.sparse),
        scale=np.ones((n_shared, 1)),
        label=np.zeros((n_shared, m)),
        example=np.zeros((n_shared, m), dtype=np.int64),
    )


@register_jitable(**BORROWED)
def copy_shared(shared, c, new, features):
    """Copy a vector that all tasks share, with what it is to learn."""
    copy_vector(shared.vector[c], shared.vector[new], features)
    shared.scale[new, 0] = shared.scale[c, 0]
    for k in range(shared.label.shape[1]):
        shared.label[new, k] = shared.label[c, k]
        shared.example[new, k] = shared.example[c, k]


def clear_shared(shared: Shared, first: int, last: int) -> None:
    """Make copies of a vector that all tasks share zero again."""
    shared.vector[first:last] = 0.0
    shared.scale[first:last] = 1.0
    shared.label[first:last] = 0.0


@register_jitable(**BORROWED)
def learn_later(shared, c, event, y):
    """Note what a copy is to learn at the end of the round."""
    shared.label[c, event.task] = y
    shared.example[c, event.task] = event.example


def all_learn_together(
    shared: Shared,
    rows: Rows,
    rate: np.ndarray,
    first: int,
    last: int,
    steps: np.ndarray,  # noqa: ARG001
) -> None:
    """Let copies learn as in `learn_together`, by ``rate[c]``."""
    for c in range(first, last):
        vector = vector_of(shared.vector, c, rows)
        one = Shared(vector, shared.scale[c], shared.label[c], shared.example[c])
        learn_together(one, rows, rate[c])


@register_jitable(**BORROWED)
def copy_norm(norms, c, new):
    """Copy what is known of a squared norm."""
    norms.square[new] = norms.square[c]
    norms.unseen[new] = norms.unseen[c]
    norms.error[new] = norms.error[c]


def clear_norms(norms: Norms, first: int, last: int) -> None:
    """Note that vectors are zero again."""
    for array in norms:
        array[first:last] = 0.0


@register_jitable(**BORROWED)
def scaled(scale, dot, out):
    """Put products of scaled vectors in `out`."""
    for c in range(out.size):
        out[c] = scale[c] * dot[c]


@register_jitable(**BORROWED)
def keep_nonzero(square, out):
    """Put 0 in `out` where a vector is zero by its squared norm."""
    for c in range(out.size):
        out[c] = out[c] if square[c] != 0.0 else 0.0


# The compiled twin. Numba wants the argument names of the function above, and no annotations.


@overload(all_learn_together, jit_options=BORROWED)
def _all_learn_together(shared, rows, rate, first, last, steps):  # noqa: ARG001
    def by_copy(shared, rows, rate, first, last, steps):  # noqa: ARG001
        for c in range(first, last):
            vector = shared.vector[c, : rows.X.shape[1]]
            one = Shared(vector, shared.scale[c], shared.label[c], shared.example[c])
            learn_together(one, rows, rate[c])

    def by_task(shared, rows, rate, first, last, steps):
        for i in range(shared.label.shape[1]):
            x = -1
            for c in range(first, last):
                steps[c] = 0.0
                if shared.label[c, i] != 0.0:
                    step = rate[c] * shared.label[c, i] / shared.scale[c, 0]
                    if x < 0:
                        x = shared.example[c, i]
                    if shared.example[c, i] == x:
                        steps[c] = step
                    else:  # the task had more than one example in the round
                        axpy(step, rows, shared.example[c, i], shared.vector[c])
                    shared.label[c, i] = 0.0
            if x >= 0:
                axpys(steps, rows, x, first, last, shared.vector)

    return by_copy if rows.instance_class is DenseRows else by_task
