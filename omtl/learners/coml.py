"""Collaborative online multi-task learning (Li, Hoi, Chang, Liu, Jain, TKDE 2014)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from omtl.lanes import hear_columns, learn_columns
from omtl.ops import BORROWED, DenseRows, Rows, SparseRows, axpy, axpys, dot, rescale
from omtl.rules import Event, Shape

SMALLEST_SCALE = 1e-100
"""A scale below this is multiplied into its vector, long before it could underflow."""


class Collaboration(NamedTuple):
    """A global vector and each task's own, u^k = lean[k] · w + scale[k] · own[k].

    `vectors` has the tasks' own and, last, w: in rows for dense rows, and in columns for sparse
    ones, so that what is read of a feature lies together. On dense rows lean stays 0 and scale 1:
    own[k] is u^k. On sparse rows leaning on w is a change of two numbers, and a step of w is undone
    in each own vector: nothing costs O(features) an example.

    `products` are those of the vectors that the example last scored was heard by, and `steps`
    belong to the example that is learnt, shape (n_tasks + 1,) both.
    """

    vectors: np.ndarray
    lean: np.ndarray
    scale: np.ndarray
    products: np.ndarray
    steps: np.ndarray


def approach(state: Collaboration, rows: Rows, i: int, k: int, mu: float, a: float) -> None:
    """Let u^k be μ w + (1−μ) u^k and `a` times row `i`."""
    if isinstance(rows, DenseRows):
        w, own = state.vectors[-1], state.vectors[k]
        own[:] = (mu * w + (1.0 - mu) * own) + a * rows.X[i]
    else:
        lean_on(state, rows, i, k, mu, a)


def hold(state: Collaboration, rows: Rows, i: int, mu: float, a: float) -> None:
    """Let w take `a` times row `i`, and keep all u^k as they are."""
    if isinstance(rows, DenseRows):
        axpy(a, rows, i, state.vectors[-1])
    else:
        undo(state, rows, i, mu, a)


@register_jitable(**BORROWED)
def lean_on(state, rows, i, k, mu, a):
    """As `approach`, of sparse rows."""
    own = state.vectors.T[k]
    state.lean[k] = mu + (1.0 - mu) * state.lean[k]
    state.scale[k] *= 1.0 - mu
    if state.scale[k] < SMALLEST_SCALE:
        rescale(own, state.scale[k])
        state.scale[k] = 1.0
    if a != 0.0:
        axpy(a / state.scale[k], rows, i, own)


@register_jitable(**BORROWED)
def undo(state, rows, i, mu, a):
    """As `hold`, of sparse rows."""
    n_tasks = state.lean.size
    if mu == 0.0:
        axpy(a, rows, i, state.vectors.T[n_tasks])
        return
    for j in range(n_tasks):
        state.steps[j] = -a * state.lean[j] / state.scale[j]
    state.steps[n_tasks] = a
    add_to_all(state, rows, i)


def hear(state: Collaboration, rows: Rows, i: int, k: int) -> None:
    """Put own[k]·x and w·x in `products`, of row `i`; each is to the bit what `dot` returns."""
    vectors = state.vectors if isinstance(rows, DenseRows) else state.vectors.T
    for j in (k, -1):
        state.products[j] = dot(vectors[j], rows, i)


def add_to_all(state: Collaboration, rows: SparseRows, i: int) -> None:
    """Add a sparse row to all vectors, each as often as `steps` says."""
    axpys(state.steps, rows, i, 0, state.steps.size, state.vectors.T)


# The compiled twins. Numba wants the argument names of the functions above, and no annotations.


@overload(approach, jit_options=BORROWED)
def _approach(state, rows, i, k, mu, a):  # noqa: ARG001
    def dense(state, rows, i, k, mu, a):
        own, w = state.vectors[k], state.vectors[state.lean.size]
        for f in range(w.size):
            own[f] = (mu * w[f] + (1.0 - mu) * own[f]) + a * rows.X[i, f]

    return dense if rows.instance_class is DenseRows else lean_on


@overload(hold, jit_options=BORROWED)
def _hold(state, rows, i, mu, a):  # noqa: ARG001
    def dense(state, rows, i, mu, a):  # noqa: ARG001
        axpy(a, rows, i, state.vectors[state.lean.size])

    return dense if rows.instance_class is DenseRows else undo


@overload(hear, jit_options=BORROWED)
def _hear(state, rows, i, k):  # noqa: ARG001
    def dense(state, rows, i, k):
        state.products[k] = dot(state.vectors[k], rows, i)
        state.products[state.lean.size] = dot(state.vectors[state.lean.size], rows, i)

    def compressed(state, rows, i, k):
        hear_columns(state.vectors, rows, i, 1, (k, state.lean.size), state.products)

    return dense if rows.instance_class is DenseRows else compressed


@overload(add_to_all, jit_options=BORROWED)
def _add_to_all(state, rows, i):  # noqa: ARG001
    def by_feature(state, rows, i):
        learn_columns(state.vectors, rows, i, state.steps.size, (0,), state.steps)

    return by_feature


class COML(NamedTuple):
    """COML: a global vector w and a personal u^k, which predicts for task k.

    On (x, y) of task k, where u^k has a positive hinge loss,
    u^k ← argmin_u  (μ/2)‖u − w‖² + ((1−μ)/2)‖u − u^k‖² + C ℓ(u),
    which is a passive-aggressive step (τ at most C) from the point μ w + (1−μ) u^k. Then w takes a
    PA-I step of its own with its own loss. μ = λ₁ / (λ₁ + λ₂) of the original's two weights, and C
    is counted in units of their sum. The accounts of it in the ROM and DOM papers, from which this
    is written, do not say whether u^k is left alone where it has no loss; with ``every_round`` it
    is not, and then leans on w by μ.

    Cost per example: O(nonzeros) on dense rows, O(n_tasks · nonzeros) on sparse ones.

    Parameters
    ----------
    C : float
        Aggressiveness of both steps, C > 0.
    mu : float in [0, 1)
        How much a personal vector leans on the global one at each step.
    every_round : bool
        Whether a personal vector leans on the global one where it has no loss too.
    """

    C: float
    mu: float
    every_round: bool = False

    def new_state(self, shape: Shape) -> Collaboration:
        """Return zero weights."""
        n_vectors = shape.n_tasks + 1
        return Collaboration(
            vectors=np.zeros(
                (shape.n_features, n_vectors) if shape.sparse else (n_vectors, shape.n_features)
            ),
            lean=np.zeros(shape.n_tasks),
            scale=np.ones(shape.n_tasks),
            products=np.zeros(n_vectors),
            steps=np.zeros(n_vectors),
        )

    def score(self, state: Collaboration, rows: Any, event: Event) -> float:
        """Return u^k·x."""
        k = event.task
        x = event.example
        hear(state, rows, x, k)
        personal = state.scale[k] * state.products[k]
        if state.lean[k] == 0.0:
            return personal
        return personal + state.lean[k] * state.products[state.lean.size]

    def update(self, state: Collaboration, rows: Any, event: Event, y: float, score: float) -> bool:
        """Take the personal step, then the global one."""
        x = event.example
        global_score = state.products[state.lean.size]
        changed = False
        if self.every_round or y * score < 1.0:
            loss = 1.0 - y * (self.mu * global_score + (1.0 - self.mu) * score)
            step = min(self.C, loss / event.square_norm) if loss > 0.0 else 0.0
            changed = y * score < 1.0 or self.mu > 0.0
            approach(state, rows, x, event.task, self.mu, y * step)
        global_loss = 1.0 - y * global_score
        if global_loss > 0.0:
            changed = True
            step = y * min(self.C, global_loss / event.square_norm)
            hold(state, rows, x, self.mu, step)
        return changed
