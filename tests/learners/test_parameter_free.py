"""Parameter-free learning errs as the authors' program does; losses and their slopes agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omtl.data.examples import Examples
from omtl.data.networks import mixing_matrix
from omtl.data.rows import rows_of, square_norms
from omtl.data.streams import Stream
from omtl.kernel.losses import ABSOLUTE, HINGE, SQUARE, loss_of, slope
from omtl.kernel.rules import Shape
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.protocols.heldout import HeldOutPart
from omtl.protocols.regression import measure_errors

T, N, D = 40, 25, 10

PROGRAM = {
    ParameterFree(loss=ABSOLUTE): (
        [3.56160515117, 2.57119211227, 2.23023095915, 2.0096223209, 1.85960165943],
        [1.75050353542, 1.67614010634, 1.62913646706, 1.56870678482, 1.52849703664],
        1.17843130455,
    ),
    ParameterFree(loss=ABSOLUTE, refined=True): (
        [2.83508973052, 2.29612689452, 2.0570789365, 1.90646305814, 1.82653022249],
        [1.74361419277, 1.6780333774, 1.64521273843, 1.59695458036, 1.57505320693],
        1.08326259467,
    ),
    ParameterFree(loss=ABSOLUTE, wealth=100.0, bias_wealth=20.0): (
        [3.06676134168, 2.70152980053, 2.40242898889, 2.21921478318, 2.10537110325],
        [2.03559626398, 1.97136367424, 1.93886492009, 1.91039610935, 1.8727044246],
        1.34938009165,
    ),
    ParameterFree(loss=ABSOLUTE, refined=True, wealth=100.0, bias_wealth=20.0): (
        [5.21149224081, 4.72571068507, 4.40731078665, 4.3431542276, 4.18264437121],
        [4.15643560229, 4.03400580971, 3.96876602239, 3.94198225114, 3.88595116155],
        1.80788601422,
    ),
    LazyParameterFree(loss=ABSOLUTE): (
        [3.83818702991, 3.63947030747, 3.69111009686, 3.64115126516, 3.64573340571],
        [3.60825885416, 3.46922858518, 3.39173366897, 3.33763010297, 3.36523089563],
        3.09403624681,
    ),
    LazyParameterFree(loss=ABSOLUTE, refined=True): (
        [3.6989720534, 3.50081480037, 3.47359542994, 3.3704621608, 3.26849081601],
        [3.13645693329, 2.90706412627, 2.709254518, 2.53853871371, 2.40271062451],
        2.15573073247,
    ),
}
"""Mean absolute errors of the first 100, 200, ... examples, and the last mean test error.

``fit`` of ParameterFreeAggressiveClassic, -AggressiveVariation, -LazyClassic and -LazyVariation
(dstamos/Parameter-free-MTL at 75e27e0, src/parameter_free_aggressive_mtl.py, SHA-256 a9e0e3dc…, and
src/parameter_free_lazy_mtl.py, f893de5f…) was run on the stream of the test below, task after task,
with the first 5 examples of each task as its test examples; where initial wealths are named, with
these as its ``inner_wealth_range`` and ``meta_wealth_range``.
"""


@pytest.mark.parametrize("learner", PROGRAM, ids=str)
def test_errors_are_those_of_the_authors_program(learner: Any) -> None:
    """Regression with the absolute loss: 40 tasks of 25 examples about a common weight vector."""
    rng = np.random.default_rng(20)
    X = rng.standard_normal((T, N, D))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    W = 4.0 + rng.standard_normal((T, D))
    y = (np.einsum("tnd,td->tn", X, W) + rng.standard_normal((T, N))).ravel()
    rows = np.ascontiguousarray(X.reshape(T * N, D))
    task = np.repeat(np.arange(T), N)
    examples = Examples(rows_of(rows), y, task, square_norms(rows))
    stream = Stream(
        start=np.arange(T * N + 1),
        example=np.arange(T * N),
        node=np.zeros(T * N, dtype=np.int64),
        checkpoint=np.arange(100, T * N + 1, 100),
    )
    held_out = np.flatnonzero(np.arange(T * N) % N < 5)
    part = HeldOutPart(examples, stream, Shape(T, D, mixing_matrix(T)), held_out)
    found = measure_errors(learner, part)
    *means, test = PROGRAM[learner]
    np.testing.assert_allclose(
        found.checkpoint_absolute / stream.checkpoint, np.concatenate(means), rtol=1e-9
    )
    errors = np.abs(found.sums / N - y[found.held_out])
    assert errors.mean() == pytest.approx(test, rel=1e-9)
    np.testing.assert_allclose(found.absolute.sum(), found.checkpoint_absolute[-1])
    slow = measure_errors(learner, part, compiled=False)
    for name in ("absolute", "square", "sums"):
        np.testing.assert_allclose(getattr(slow, name), getattr(found, name), rtol=1e-9)


@pytest.mark.parametrize("which", [HINGE, ABSOLUTE, SQUARE])
def test_slope_is_that_of_the_loss(which: int) -> None:
    """By finite differences, away from corners."""
    for y, z in ((1.0, 0.3), (1.0, 1.7), (-1.0, 0.4), (-1.0, -2.0)):
        h = 1e-6
        found = (loss_of(which, y, z + h) - loss_of(which, y, z - h)) / (2 * h)
        assert slope(which, y, z) == pytest.approx(found, abs=1e-6)
