"""Estimators, and small data that they learn from."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import numpy as np
from scipy import sparse

from omtl.data.streams import Tasks
from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.classes import ESTIMATORS
from omtl.sklearn.parameters import declared_entries
from omtl.sklearn.stream import arrays_of

VARIANTS = {
    **{name: (name, {}) for name in declared_entries()},
    "OMTLCovariance-epoch": ("OMTLCovariance", {"epoch": 0.5}),
    "OSMTLExponential-by_horizon": ("OSMTLExponential", {"by_horizon": True}),
    "ROMPGD-outliers": ("ROMPGD", {"gamma": 2.0, "every_round": True}),
    "DOM2-by_node": ("DOM2", {"by_node": True}),
    "AKLO-sample": ("AKLO", {"sample": True, "random_state": 7}),
}
"""Every estimator at its defaults, and those that take another way through their rules."""


COMPILED = [
    ("PassiveAggressive", "dense"),
    ("PassiveAggressive", "sparse"),
    ("ROMPGD-outliers", "dense"),
    ("NS", "dense"),
    ("AKLO-sample", "dense"),
]
"""Those whose compiled code is tested: one that looks at rows once, one that lists them, one that
looks back, one that draws."""

NAMES = ("ham", "eggs", 3)


def in_turn(names: Iterable[str], *others: Any) -> list[tuple[str, Any]]:
    """Return each name with one of the others, which take turns."""
    return list(zip(names, cycle(others), strict=False))


def estimator(variant: str) -> MultiTaskClassifier:
    """Return a new estimator of a variant."""
    name, params = VARIANTS[variant]
    return ESTIMATORS[name](**params)


def data(layout: str) -> Tasks:
    """Return examples of three tasks, one of which ends early; one row is empty."""
    rng = np.random.default_rng(0)
    task = rng.permutation(np.repeat([0, 1, 2], [14, 9, 12]))
    X = rng.normal(size=(task.size, 37)) * (rng.random((task.size, 37)) < 0.4)
    X[5] = 0.0
    y = np.where(X @ rng.normal(size=37) + 0.3 * rng.normal(size=task.size) > 0.0, 1.0, -1.0)
    names = tuple(map(str, NAMES))
    return Tasks(sparse.csr_array(X) if layout == "sparse" else X, y, task, names)


SCRATCH = {"products", "product", "scores", "share"}
"""Names of arrays that belong to the example that was last scored."""


def same_bits(
    model: MultiTaskClassifier, expected: dict[str, np.ndarray], looked_ahead: bool = False
) -> None:
    """Assert that all that an estimator has learnt is what the harness's play left.

    Numbers of rows are left out, as its rows are elsewhere; and what was last scored, where that
    was not learnt from.
    """
    arrays = arrays_of(model._stream.feed.state)
    assert arrays.keys() == expected.keys()
    elsewhere = {"example", "n_rows", "rows"}
    left_out = elsewhere | (SCRATCH if looked_ahead else set())
    for path, array in arrays.items():
        if path.rpartition("/")[2] not in left_out:
            np.testing.assert_array_equal(array, expected[path], err_msg=path, strict=True)


def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 120 examples of four related tasks, in rounds."""
    rng = np.random.default_rng(3)
    ways = rng.normal(size=6) + 0.3 * rng.normal(size=(4, 6))
    task = np.tile(np.arange(4), 30)
    X = rng.normal(size=(120, 6))
    return X, (np.einsum("ij,ij->i", X, ways[task]) > 0.0).astype(int), task
