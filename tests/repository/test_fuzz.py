"""Malformed matrices, models, tables and configs, by the thousand.

Each must end in a `UserError` (estimators raise `ValueError`, as those of scikit-learn do) or in
the number of its well-formed twin: no traceback, no hang, no wrong number without a word.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from profiles import thorough
from scipy import sparse

import data_fetchers
from omtl.experiment.config import option_files
from omtl.experiment.playing import new_learner
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import SPECS, AlgorithmSpec, ParallelSpec
from omtl.sklearn import AKLO, AROW, COML, ROMRDA, OMTLCovariance, PassiveAggressive, load
from omtl.util.errors import UserError

N, D = 10, 7
Y = np.tile([-1, 1], N // 2)

Rng = np.random.Generator

same = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12)


def csr(rng: Rng, folder: Path) -> None:  # noqa: ARG001
    """Compressed rows whose indices, pointers, values, kinds or shapes are wrong."""
    X = sparse.random_array((N, D), density=0.6, format="csr", rng=rng)
    for _ in range(int(rng.integers(3))):
        which = str(rng.choice(["indices", "indptr", "data"]))
        array = getattr(X, which).copy()
        place = int(rng.integers(array.size))
        odd = [-1, 0, D - 1, D, N, array.size, 2**31 - 9, 2**31 - 1, -(2**31)]
        change = rng.integers(7)
        if change == 0:
            array = array.astype(np.int32) if array.itemsize < 4 else array
            array[place] = rng.choice(odd)
        elif change == 1:
            array = array[:place]
        elif change == 2:
            array = array.astype(rng.choice([np.int64, np.float32, np.uint64, np.int8]))
        elif change == 3:
            rng.shuffle(array)
        elif change == 4 and array.dtype.kind == "f":
            array[place] = rng.choice([np.nan, np.inf, 1e308, 5e-324])
        elif change == 5 and which == "indices":
            array[place] = array[place - 1]
        else:
            array = np.append(array, array[-1:])
        setattr(X, which, array)
    if rng.random() < 0.3:
        X.has_canonical_format = X.has_sorted_indices = bool(rng.integers(2))
    task = rng.integers(0, 2, N)
    learner = rng.choice(
        [PassiveAggressive(C=1.0), AROW(), COML(), OMTLCovariance()]  # type: ignore[arg-type]
    )
    found = learner.fit(X, Y, task, tasks=[0, 1]).decision_function(X, task)
    dense = np.zeros((N, D))
    for i in range(N):
        for e in range(X.indptr[i], X.indptr[i + 1]):
            dense[i, X.indices[e]] += X.data[e]
    twin = learner.fit(sparse.csr_array(dense), Y, task, tasks=[0, 1])
    same(found, twin.decision_function(sparse.csr_array(dense), task))


def _mutated(content: bytes, rng: Rng) -> bytes:
    """Return bytes of which some are others, missing or twice."""
    changed = bytearray(content)
    for _ in range(1 + int(rng.integers(4))):
        place = int(rng.integers(max(1, len(changed))))
        size = int(rng.choice([1, 1, rng.integers(1, 40)]))
        part = [bytes(rng.integers(0, 256, size, dtype=np.uint8)), b"", changed[place:][:size] * 2]
        changed[place : place + size] = part[int(rng.integers(3))]
    return bytes(changed)


def models(rng: Rng, folder: Path) -> None:
    """Files of models, damaged."""
    X, task = rng.standard_normal((N, D)), np.arange(N) % 3
    learner = [PassiveAggressive(C=1.0), AKLO(), ROMRDA()][int(rng.integers(3))].fit(X, Y, task)
    path = folder / "model.npz"
    learner.save(path)
    path.write_bytes(_mutated(path.read_bytes(), rng))
    same(load(path).decision_function(X, task), learner.decision_function(X, task))


def tables(rng: Rng, folder: Path) -> None:
    """Tables of one's own, damaged."""
    X = rng.standard_normal((N, 3)).round(2)
    tasks = [f"t{k}" for k in np.arange(N) // 2 % 2]
    columns = {"label": Y, "task": tasks, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    kind = str(rng.choice(["csv", "parquet", "svmlight", "npz"]))
    path = folder / f"table.{kind}"
    if kind == "parquet":
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    elif kind == "npz":
        save = [np.savez, np.savez_compressed][int(rng.integers(2))]
        save(path, X=X, y=Y, task=np.arange(N) // 2 % 2)
    else:
        forms = {"csv": "{},t{},{},{},{}", "svmlight": "{} qid:{} 1:{} 2:{} 3:{}"}
        lines = [",".join(columns)] * (kind == "csv")
        lines += [forms[kind].format(Y[i], i // 2 % 2, *X[i].tolist()) for i in range(N)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.write_bytes(_mutated(path.read_bytes(), rng))
    found = data_fetchers.load("table_file", path=str(path), one_class="keep")
    assert (np.abs(found.y) == 1.0).all()
    assert found.task.max() < len(found.names)


def configs(rng: Rng, folder: Path) -> None:
    """Configs whose text or whose values are others."""
    group = str(rng.choice(["algorithm", "dataset", "protocol", "parallel"]))
    files = option_files(group)
    path = folder / "config.yaml"
    content = files[str(rng.choice(list(files)))].read_bytes()
    if rng.random() < 0.5:
        path.write_bytes(_mutated(content, rng))
    else:
        values = yaml.safe_load(content)
        name = str(rng.choice(list(values)))
        values[name] = [None, [], {}, -1, 1e999, "x", {"a": None}, [[]]][int(rng.integers(8))]
        path.write_text(yaml.safe_dump(values), encoding="utf-8")
    found = read_yaml(path)
    spec = {**SPECS, "parallel": ParallelSpec}[group].read(found)
    if isinstance(spec, AlgorithmSpec):
        for point in spec.points[:3]:
            new_learner(spec, point)


KINDS: dict[str, Callable[[Rng, Path], None]] = {
    one.__name__: one for one in (csr, models, tables, configs)
}


REFUSALS: dict[str, type[Exception]] = {"csr": ValueError}
"""The exceptions that refuse malformed input, where these are not `UserError`."""


FEW = 10
MANY = pytest.param(2000, marks=[pytest.mark.deep, pytest.mark.timeout(3600)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_cases", [FEW, MANY])
@pytest.mark.parametrize("kind", KINDS)
def test_malformed_input_is_refused_or_taken_right(
    kind: str, n_cases: int, request: pytest.FixtureRequest
) -> None:
    """A few are learnt from in plain Python, the many in compiled code."""
    if n_cases == FEW:
        request.getfixturevalue("slowly")

    @thorough(n_cases)
    @given(seed=st.integers(0, 2**32))
    def attempt(seed: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                KINDS[kind](np.random.default_rng([seed, len(kind)]), Path(folder))
            except REFUSALS.get(kind, UserError):
                pass

    attempt()
