"""Rows feature by feature: plain and compiled, dense and sparse, and learners written so."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from omtl.data.streams import Tasks, rounds
from omtl.kernel.inlining import loop
from omtl.learners.adagrad import AdaGrad
from omtl.learners.arow import AROW
from omtl.ops import nonzeros, row_at, rows_of
from omtl.reference.problems import Case, recorded
from omtl.util.paths import ROOT

X = np.array([[0.0, 2.0, 0.0, -1.0], [0.0] * 4, [1.0, 2.0, 3.0, 4.0]])


@loop
def written(x, features, values):
    """Write what compiled code meets into two arrays; return how many there are."""
    n = 0
    for f, value in nonzeros(x):
        features[n], values[n] = f, value
        n += 1
    return n


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
@pytest.mark.parametrize("i", range(len(X)))
def test_nonzeros_are_those_of_the_row(kind: Any, i: int) -> None:
    """In plain Python and compiled; a zero that a sparse matrix stores is left out."""
    matrix = kind(X)
    if kind is sparse.csr_array:
        matrix.data[-1] = 0.0
    expected = [(f, v) for f, v in enumerate(sparse.csr_array(matrix).toarray()[i]) if v]
    x = row_at(rows_of(matrix), i)
    assert list(nonzeros(x)) == expected
    features, values = np.empty(4, dtype=np.int64), np.empty(4)
    n = written(x, features, values)
    assert list(zip(features[:n], values[:n], strict=True)) == expected


@pytest.mark.parametrize(
    ("module", "name", "ours"),
    [("own_adagrad", "OwnAdaGrad", AdaGrad(0.3)), ("own_arow", "OwnAROW", AROW(0.3))],
)
def test_the_examples_are_the_algorithms_of_their_names(
    module: str, name: str, ours: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their scores are those of the learners that come with the package."""
    monkeypatch.syspath_prepend(ROOT / "examples" / "feature_by_feature")
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.5)
    tasks = Tasks(
        dense, np.sign(dense @ rng.normal(size=8) + 0.1), np.arange(60) % 3, ("a", "b", "c")
    )
    stream = rounds(tasks, np.random.default_rng(1), np.random.default_rng(2))
    case = Case(tasks, stream, np.eye(1))
    theirs = getattr(import_module(module), name)(0.3)
    for given in (case, case.with_rows(sparse.csr_array(dense))):
        expected = recorded(ours, given, compiled=True).scores
        np.testing.assert_allclose(recorded(theirs, given, compiled=True).scores, expected)
        assert np.abs(expected).max() > 0.1
