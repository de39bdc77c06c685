"""Malformed matrices, models, tables and configs, by the thousand.

Each must end in a `UserError` (estimators raise `ValueError`, as those of scikit-learn do) or in
the number of its well-formed twin: no traceback, no hang, no wrong number without a word.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from omtl.util.errors import UserError

N, D = 10, 7
Y = np.tile([-1, 1], N // 2)

Rng = np.random.Generator


class WrongNumberError(Exception):
    """Something malformed was taken, and made another number than its well-formed twin."""


def csr(rng: Rng, folder: Path) -> None:  # noqa: ARG001
    """Compressed rows whose indices, pointers, values, kinds or shapes are wrong."""
    from omtl.sklearn import AROW, COML, OMTLCovariance, PassiveAggressive

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
        elif change == 4 and which == "data":
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
    _same(found, twin.decision_function(sparse.csr_array(dense), task))


def _mutated(content: bytes, rng: Rng) -> bytes:
    """Return bytes of which some are others, missing or twice."""
    changed = bytearray(content)
    for _ in range(1 + int(rng.integers(4))):
        place = int(rng.integers(max(1, len(changed))))
        size = int(rng.choice([1, 1, rng.integers(1, 40)]))
        part = [bytes(rng.integers(0, 256, size, dtype=np.uint8)), b"", changed[place:][:size] * 2]
        changed[place : place + size] = part[int(rng.integers(3))]
    return bytes(changed)


def _repacked(content: bytes, rng: Rng) -> bytes:
    """Return an archive of arrays, whole as such, of which one array is another."""
    with np.load(io.BytesIO(content)) as stored:
        found = {name: stored[name] for name in stored.files}
    name = str(rng.choice(list(found)))
    array = found[name]
    if array.dtype.kind in "iuf" and array.size:
        array.flat[int(rng.integers(array.size))] += 10 ** int(rng.integers(1, 18))
    elif array.dtype.kind == "U":
        text = str(array)
        place = int(rng.integers(len(text)))
        found[name] = np.array(text[:place] + str(rng.choice(list('0"{]-x'))) + text[place + 1 :])
    else:
        del found[name]
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **found)
    return out.getvalue()


def _spoilt(path: Path, rng: Rng) -> None:
    change = _mutated if rng.random() < 0.6 else _repacked
    path.write_bytes(change(path.read_bytes(), rng))


def models(rng: Rng, folder: Path) -> None:
    """Files of models, damaged or made up."""
    from omtl.sklearn import AKLO, ROMRDA, PassiveAggressive, load

    X, task = rng.standard_normal((N, D)), np.arange(N) % 3
    learner = [PassiveAggressive(C=1.0), AKLO(), ROMRDA()][int(rng.integers(3))].fit(X, Y, task)
    learner.save(folder / "model.npz")
    _spoilt(folder / "model.npz", rng)
    _same(load(folder / "model.npz").decision_function(X, task), learner.decision_function(X, task))


def forged_models(rng: Rng, folder: Path) -> None:
    """Files of models that a stranger has changed, with the right hash of what they are now.

    They may have other numbers, and are used: nothing may crash.
    """
    from omtl.sklearn import AKLO, COML, ROMRDA, PassiveAggressive, load
    from omtl.util.archives import read_sealed, write_sealed

    X, task = rng.standard_normal((N, D)), np.arange(N) % 3
    kinds = [PassiveAggressive(C=1.0), AKLO(), ROMRDA(), COML()]
    kinds[int(rng.integers(4))].fit(X, Y, task).save(folder / "model.npz")
    found = read_sealed(folder / "model.npz")
    for _ in range(1 + int(rng.integers(3))):
        name = str(rng.choice(list(found)))
        array = found[name].copy()
        change = int(rng.integers(5))
        if array.dtype.kind == "U":
            found[name] = np.array(_changed_json(str(array), rng))
        elif change == 0 and array.size:
            odd = [-1, 1, 10**6, 2**31, 2**32 - 1, 2**62, -(2**63)]
            array.flat[int(rng.integers(array.size))] = rng.choice(odd) if name else 0
            found[name] = array
        elif change == 1 and array.dtype.kind == "f" and array.size:
            array.flat[int(rng.integers(array.size))] = rng.choice([np.nan, np.inf, 1e308])
            found[name] = array
        elif change == 2:
            found[name] = np.resize(array, array.size + 1)
        elif change == 3:
            found[name] = array.astype(rng.choice(["f4", "i8", "u1"]))
        else:
            del found[name]
    write_sealed(folder / "forged.npz", found)
    model = load(folder / "forged.npz")
    for use in (model.decision_function, model.partial_fit):
        try:
            use(X, *([Y] if use == model.partial_fit else []), task)
        except ValueError as fault:  # as scikit-learn's refuse what does not fit them
            raise UserError(str(fault)) from fault


def _changed_json(text: str, rng: Rng) -> str:
    """Return a description in which one value is another."""
    import json

    about = json.loads(text)
    place = about
    while True:
        key = str(rng.choice(list(place)))
        if not isinstance(place[key], dict) or not place[key] or rng.random() < 0.2:
            break
        place = place[key]
    odd = [None, -1, 0, 10**30, 2**40, 1e308, "x", "", [], {}, [[]], {"array": "x"}, True]
    place[key] = odd[int(rng.integers(len(odd)))]
    return json.dumps(about)


TASKS = ["a", " a", "a ", "A", "é", "e\u0301", "7", "007", "7.0", "1e2", "100", "true", "True", "1"]
TASKS += [
    "18446744073709551001",
    "18446744073709551002",
    "NA",
    "nan",
    "2024-01-01",
    '"',
    "a,b",
    "=1",
]
QIDS = ["7", "007", "0", "12", "-3", "2147483648", "9223372036854775807", "99999999999999999999"]
VALUES = ["1", "-0.5", "1e308", "1e999", "nan", "", "x", "9007199254740993", "0x10", "1,5", "True"]
VALUES += ["1_000", "٣", "-inf", "\0", "1" * 400]


def odd_tables(rng: Rng, folder: Path) -> None:
    """Tables of one's own that are well-formed, and odd: the tasks are those that are written."""
    import csv
    import json

    import pyarrow
    import pyarrow.parquet

    import data_fetchers

    kind = str(rng.choice(["csv", "parquet", "json", "svmlight"]))
    known = QIDS if kind == "svmlight" and rng.random() < 0.9 else TASKS
    names = [str(name) for name in rng.choice(known, int(rng.integers(1, 6)), replace=False)]
    tasks = names * 2 * int(rng.integers(1, 3))
    labels = ["-1", "1"] if rng.random() < 0.8 else [" 1", "no"]
    columns: dict[str, list] = {
        "label": [labels[i // len(names) % 2] for i in range(len(tasks))],
        "task": list(tasks),
    }
    for name in rng.choice(["a", "b", "a ", "label ", "", "=x"], int(rng.integers(1, 4)), False):
        columns[str(name)] = [str(round(x, 3)) for x in rng.standard_normal(len(tasks))]
    if rng.random() < 0.5:
        column = columns[str(rng.choice(list(columns)))]
        column[int(rng.integers(len(column)))] = str(rng.choice(VALUES))
    path = folder / f"table.{kind}"
    typed: dict[str, object] = dict(columns)
    if kind == "csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, quoting=int(rng.integers(2)))
            rows.writerows([list(columns), *zip(*columns.values(), strict=True)])
    elif kind == "parquet":
        for name in columns.keys() - {"task"}:
            with contextlib.suppress(ValueError):
                typed[name] = [float(value) for value in columns[name]]
        odd = [None, {"a": 1}, [1, 2], b"x", 1.5, True, 2**62]
        if rng.random() < 0.5:
            value = odd[int(rng.integers(len(odd)))]
            typed[str(rng.choice(list(typed)))] = [value] * len(tasks)
        pyarrow.parquet.write_table(pyarrow.table(typed), path)
    elif kind == "json":
        path.write_text(json.dumps(columns), encoding="utf-8")
    else:
        lines = [
            f"{columns['label'][i]} qid:{columns['task'][i]} 1:{rng.choice(VALUES)} 2:0.5"
            for i in range(len(tasks))
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = data_fetchers.load("table_file", path=str(path), one_class="keep")
    written = {str(int(name)) if kind == "svmlight" else name for name in columns["task"]}
    is_text = kind != "parquet" or typed["task"] is columns["task"]
    if is_text and set(found.names) != written:
        raise WrongNumberError(f"tasks {found.names}, written {written}")
    if found.y.size != len(tasks) or not (np.abs(found.y) == 1.0).all():
        raise WrongNumberError("labels")


def tables(rng: Rng, folder: Path) -> None:
    """Tables of one's own, damaged."""
    import pyarrow
    import pyarrow.parquet

    import data_fetchers

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
    if not (np.abs(found.y) == 1.0).all() or found.task.max() >= len(found.names):
        raise WrongNumberError("labels or tasks")


def configs(rng: Rng, folder: Path) -> None:
    """Configs whose text or whose values are others."""
    from omtl.experiment.config import option_files, resolve_jobs
    from omtl.experiment.playing import new_learner
    from omtl.experiment.schema import read_yaml
    from omtl.experiment.specs import SPECS, AlgorithmSpec

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
    if group == "parallel":
        resolve_jobs({"jobs": 1, **found})
        return
    spec = SPECS[group].read(found)
    if isinstance(spec, AlgorithmSpec):
        for point in spec.points[:3]:
            new_learner(spec, point)


KINDS: dict[str, Callable[[Rng, Path], None]] = {
    one.__name__: one for one in (csr, models, forged_models, tables, odd_tables, configs)
}


REFUSALS: dict[str, type[Exception]] = {"csr": ValueError}
"""The exceptions that refuse malformed input, where these are not `UserError`."""


def _same(found: np.ndarray, expected: np.ndarray) -> None:
    if not np.allclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True):
        raise WrongNumberError(f"{found} is not {expected}")


def attempt(kind: str, seed: int) -> None:
    """Try a case; raise what is neither refused nor right."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        try:
            KINDS[kind](np.random.default_rng([seed, len(kind)]), Path(folder))
        except REFUSALS.get(kind, UserError):
            pass


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_malformed_input_is_refused_or_taken_right(kind: str, seed: int) -> None:
    attempt(kind, seed)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"odd_tables"}))
@settings(max_examples=2000, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_ten_thousand_malformed_inputs(kind: str, seed: int) -> None:
    attempt(kind, seed)


@pytest.mark.deep
@pytest.mark.timeout(3600)
@settings(max_examples=10_000, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_ten_thousand_odd_tables(seed: int) -> None:
    attempt("odd_tables", seed)
