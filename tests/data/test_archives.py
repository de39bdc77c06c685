"""Files and arguments that are damaged, strange or hostile end in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from estimator_cases import blobs
from scipy import sparse

from omtl import datasets
from omtl.data.networks import mixing_matrix, modes
from omtl.data.preparation import prepare
from omtl.data.streams import Tasks
from omtl.data.triplets import Sampler, Triplets
from omtl.data.validation import WIDEST
from omtl.experiment.schema import read_yaml
from omtl.learners.lmnn import MTLMNN
from omtl.sklearn import PassiveAggressive
from omtl.util.archives import SEAL, read_arrays, read_sealed, write_sealed
from omtl.util.errors import UserError


@pytest.mark.parametrize(
    "other", [{"w": np.array([1, 3])}, {"w": np.array([1, 2], np.uint64)}, {"v": np.array([1, 2])}]
)
def test_a_sealed_file_has_the_arrays_of_its_hash(
    other: dict[str, np.ndarray], tmp_path: Path
) -> None:
    """Another value, type or name under the same hash is refused."""
    path = tmp_path / "file.npz"
    write_sealed(path, {"w": np.array([1, 2])})
    assert read_sealed(path)["w"].tolist() == [1, 2]
    seal = read_arrays(path)[SEAL]
    np.savez(path, allow_pickle=False, **other, **{SEAL: seal})
    with pytest.raises(UserError, match="not those that its hash is of"):
        read_sealed(path)


N, D = 12, 6


def good(seed: int = 0) -> sparse.csr_array:
    """Return a small sparse matrix, canonical."""
    return sparse.random_array((N, D), density=0.6, format="csr", rng=np.random.default_rng(seed))


def spoilt(form: str = "csr", **arrays: Any) -> Any:
    """Return it in a form with other arrays, which SciPy takes without a look."""
    X = good().asformat(form)
    for name, array in arrays.items():
        setattr(X, name, array)
    return X


def beyond(index: int, dtype: type = np.int32) -> np.ndarray:
    """Return its indices, one of them another."""
    indices = good().indices.astype(dtype)
    indices[3] = index
    return indices


MALFORMED: dict[str, Callable[[], Any]] = {
    "one beyond": lambda: spoilt(indices=beyond(D)),
    "far beyond": lambda: spoilt(indices=beyond(2**31 - 9)),
    "negative": lambda: spoilt(indices=beyond(-1)),
    "64 bits": lambda: spoilt(indices=beyond(2**32, np.int64)),
    "fractions": lambda: spoilt(indices=good().indices + 0.5),
    "indptr descends": lambda: spoilt(indptr=good().indptr[[0, 5, 4, *range(3, N + 1)]]),
    "indptr ends at 0": lambda: spoilt(indptr=np.append(good().indptr[:-1], 0)),
    "indptr too long": lambda: spoilt(indptr=np.append(good().indptr, 99)),
    "indptr begins late": lambda: spoilt(indptr=good().indptr + 1),
    "indptr beyond": lambda: spoilt(indptr=good().indptr * 9),
    "fewer values": lambda: spoilt(data=good().data[:-2]),
    "columns": lambda: sparse.csc_array(spoilt(indices=beyond(D)).T),
    "coordinates": lambda: spoilt("coo", coords=(good().tocoo().row, beyond(D))),
    "wide": lambda: sparse.csr_array((N, WIDEST + 1)),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_rows_are_refused(name: str) -> None:
    """By every way in: learning, going on, one example, prediction, and data sets."""
    X = MALFORMED[name]()
    y, task = np.tile([-1, 1], N // 2), np.zeros(N, dtype=np.int64)
    ready = PassiveAggressive(C=1.0).fit(good(), y)
    before = ready.decision_function(good())
    ways: list[Callable[[], Any]] = [
        lambda: PassiveAggressive(C=1.0).fit(X, y),
        lambda: PassiveAggressive(C=1.0).partial_fit(X, y),
        lambda: ready.decision_function(X),
        lambda: ready.partial_fit(X, y),
        lambda: ready.learn_one(X, 1),
    ]
    for way in ways:
        with pytest.raises(ValueError, match=r"X|x has|row|column"):
            way()
    np.testing.assert_array_equal(ready.decision_function(good()), before)
    with pytest.raises(UserError, match="malformed"):
        prepare(Tasks(X, y.astype(float), task, ("a",)))


@pytest.mark.parametrize("noted", [True, False])
def test_order_and_duplicates_of_indices_change_no_bit(noted: bool) -> None:
    """Unsorted rows and duplicates count as their canonical form, whatever the matrix says."""
    rng = np.random.default_rng(3)
    size = 9
    indices = rng.integers(0, D, N * size).astype(np.int32)
    indptr = np.arange(0, N * size + 1, size)
    X = sparse.csr_array((rng.standard_normal(N * size), indices, indptr), shape=(N, D))
    canonical = X.copy()
    canonical.sum_duplicates()
    if noted:
        X.has_canonical_format = X.has_sorted_indices = True  # a lie
    before = X.indices.copy(), X.data.copy()
    y, task = np.where(rng.random(N) < 0.5, -1, 1), np.arange(N) % 2
    learner = PassiveAggressive(C=1.0)
    expected = learner.fit(canonical, y, task).decision_function(canonical, task)
    found = learner.fit(X, y, task).decision_function(X, task)
    assert found.tobytes() == expected.tobytes()
    np.testing.assert_array_equal(before[0], X.indices)
    np.testing.assert_array_equal(before[1], X.data)


def test_duplicates_of_a_data_set_are_added_up() -> None:
    """So the harness plays, normalises and counts the canonical rows."""
    X = sparse.csr_array((np.ones(4), np.array([20, 3, 3, 1]), np.array([0, 3, 4])), shape=(2, 40))
    found = prepare(Tasks(X, np.array([1.0, -1.0]), np.zeros(2, dtype=np.int64), ("a",)), "unit")
    assert isinstance(found.X, sparse.csr_array)
    np.testing.assert_allclose(found.X.toarray()[0, [3, 20]], np.array([2.0, 1.0]) / np.sqrt(5.0))
    assert found.X.nnz == 3


LABEL, TASK_OF = np.array([1, 1, 2, 2, 2, 3, 3, 1, 1, 4, 4, 4]), np.repeat([0, 1], [7, 5])


def triplets(rows: Sequence[int], per_example: float, order: str) -> list[Triplets]:
    """Draw triplets of some of the examples of two tasks with classes of unequal sizes."""
    sampler = Sampler(LABEL, TASK_OF, np.array(rows), ("a", "b"))
    return list(sampler.stream(per_example, order, np.random.default_rng(0)))


REFUSED = read_yaml(Path(__file__).parents[1] / "golden" / "refused.yaml")
"""Calls with arguments that cannot be used, by what is said of them."""

SCOPE = {
    **dict(zip(("X", "Y", "TASK"), blobs(), strict=True)),
    **{"np": np, "sparse": sparse, "datasets": datasets, "triplets": triplets},
    **{each.__name__: each for each in (MTLMNN, Tasks, mixing_matrix, modes, prepare)},
}
"""What a call may name."""


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=text):
        eval(REFUSED[text], SCOPE)
