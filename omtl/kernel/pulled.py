"""Task vectors that are pulled towards a common one, at the cost of a row's nonzeros."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.inlining import in_forms
from omtl.kernel.products import axpy, rescale
from omtl.kernel.rules import Shape
from omtl.kernel.side_by_side import SideBySide
from omtl.kernel.vectors import SMALLEST_SCALE


def _dense_pull(state, k, mu, a, x):
    own, w = state.W.vectors[k], state.W.vectors[state.pull.size]
    for f in range(w.size):
        own[f] = (mu * w[f] + (1.0 - mu) * own[f]) + a * x.rows.X[x.i, f]


def _sparse_pull(state, k, mu, a, x):
    own = state.W.vectors[k]
    state.pull[k] = mu + (1.0 - mu) * state.pull[k]
    state.scale[k] *= 1.0 - mu
    if state.scale[k] < SMALLEST_SCALE:
        rescale(own, state.scale[k])
        state.scale[k] = 1.0
    if a != 0.0:
        axpy(a / state.scale[k], x, own)


def _dense_add_to_common(state, mu, a, x):  # noqa: ARG001
    axpy(a, x, state.W.vectors[state.pull.size])


def _sparse_add_to_common(state, mu, a, x):
    m = state.pull.size
    if mu == 0.0:
        axpy(a, x, state.W.vectors[m])
        return
    for j in range(m):
        state.W.steps[j] = -a * state.pull[j] / state.scale[j]
    state.W.steps[m] = a
    state.W.add_all(x)


class Pulled(NamedTuple):
    """A common vector w and each task's own, u^k = pull[k] · w + scale[k] · own[k].

    `W` has the tasks' own vectors and, last, w. On dense rows pull stays 0 and scale 1: own[k] is
    u^k. On sparse rows a pull changes two numbers, and each own vector compensates a step of w:
    nothing costs O(features) per example.
    """

    W: SideBySide
    pull: np.ndarray
    scale: np.ndarray

    @classmethod
    def zeros(cls, shape: Shape) -> Pulled:
        """Return zero vectors."""
        m = shape.n_tasks
        return cls(SideBySide.zeros(m + 1, shape), np.zeros(m), np.ones(m))

    def dot(self, k, x):
        """Return u^k·x; w·x is then the last of the products."""
        products, m = self.W.products, self.pull.size
        self.W.dot_slots(x, 1, (k, m))
        own = self.scale[k] * products[k]
        return own if self.pull[k] == 0.0 else own + self.pull[k] * products[m]

    @in_forms(_dense_pull, _sparse_pull)
    def pull_and_add(self, k, mu, a, x):
        """Set u^k to μ w + (1−μ) u^k plus `a` times `x`."""

    @in_forms(_dense_add_to_common, _sparse_add_to_common)
    def add_to_common(self, mu, a, x):
        """Add `a` times `x` to w, and keep all u^k unchanged."""
