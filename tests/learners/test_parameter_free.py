"""Parameter-free learning errs as the authors' program does; losses and their slopes agree."""

from __future__ import annotations

import numpy as np
import pytest

from omtl.data.networks import mixing_matrix
from omtl.data.rows import rows_of
from omtl.kernel.losses import ABSOLUTE, HINGE, SQUARE, loss_of, slope
from omtl.kernel.rules import Event, Shape
from omtl.learners.parameter_free import ParameterFree

PROGRAM = [
    *(3.56160515117, 2.57119211227, 2.23023095915, 2.0096223209, 1.85960165943),
    *(1.75050353542, 1.67614010634, 1.62913646706, 1.56870678482, 1.52849703664),
]
"""Mean absolute errors of the first 100, 200, ... examples (dstamos/Parameter-free-MTL, 75e27e0).

``ParameterFreeAggressiveClassic().fit`` of src/parameter_free_aggressive_mtl.py (SHA-256 a9e0e3dc…)
was run on the stream of the test below, task after task, and its second result read.
"""


def test_errors_are_those_of_the_authors_program() -> None:
    """Regression with the absolute loss: 40 tasks of 25 examples about a common weight vector."""
    rng = np.random.default_rng(20)
    T, n, d = 40, 25, 10
    X = rng.standard_normal((T, n, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    W = 4.0 + rng.standard_normal((T, d))
    y = (np.einsum("tnd,td->tn", X, W) + rng.standard_normal((T, n))).ravel()
    rows = rows_of(np.ascontiguousarray(X.reshape(T * n, d)))
    learner = ParameterFree(loss=ABSOLUTE)
    state = learner.new_state(Shape(T, d, mixing_matrix(T)))
    errors = []
    for e in range(T * n):
        event = Event(e, e, e // n, 0, 1.0)
        score = learner.score(state, rows, event)
        errors.append(abs(score - y[e]))
        learner.update(state, rows, event, y[e], score)
    means = np.cumsum(errors) / np.arange(1, T * n + 1)
    np.testing.assert_allclose(means[99::100], PROGRAM, rtol=1e-9)


@pytest.mark.parametrize("which", [HINGE, ABSOLUTE, SQUARE])
def test_slope_is_that_of_the_loss(which: int) -> None:
    """By finite differences, away from corners."""
    for y, z in ((1.0, 0.3), (1.0, 1.7), (-1.0, 0.4), (-1.0, -2.0)):
        h = 1e-6
        found = (loss_of(which, y, z + h) - loss_of(which, y, z - h)) / (2 * h)
        assert slope(which, y, z) == pytest.approx(found, abs=1e-6)
