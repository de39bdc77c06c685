"""Malformed models, tables and configs, by the thousand.

Each must end in a `UserError` or in the number of its well-formed twin: no traceback, no hang, no
wrong number without a word. Malformed rows of matrices are those of the estimators' own tests.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from profiles import thorough
from sklearn.datasets import dump_svmlight_file

import data_fetchers
from omtl.experiment.config import option_files
from omtl.experiment.playing import new_learner
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import SPECS, AlgorithmSpec, ParallelSpec
from omtl.sklearn import AKLO, ROMRDA, PassiveAggressive, load
from omtl.util.errors import UserError

N, D = 10, 7
Y = np.tile([-1, 1], N // 2)


Rng = np.random.Generator

same = partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12)


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
    X, task = rng.standard_normal((N, 3)).round(2), np.arange(N) // 2 % 2
    frame = pd.DataFrame(X, columns=[*"abc"]).assign(label=Y, task=[f"t{k}" for k in task])
    svmlight = partial(dump_svmlight_file, X, Y, zero_based=False, query_id=task)
    written: dict[str, Callable[[Path], object]] = {
        "csv": partial(frame.to_csv, index=False),
        "parquet": frame.to_parquet,
        "svmlight": lambda path: svmlight(str(path)),
        "npz": partial(np.savez, X=X, y=Y, task=task),
        "compressed.npz": partial(np.savez_compressed, X=X, y=Y, task=task),
    }
    kind = str(rng.choice([*written]))
    path = folder / f"table.{kind}"
    written[kind](path)
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
    one.__name__: one for one in (models, tables, configs)
}


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
        with tempfile.TemporaryDirectory() as folder, suppress(UserError):
            KINDS[kind](np.random.default_rng([seed, len(kind)]), Path(folder))

    attempt()
