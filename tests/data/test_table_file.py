"""A user's own table: which tasks it has, and what its user is told."""

from __future__ import annotations

import csv
import datetime
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import data_fetchers
from data_fetchers.table_file import TasksOfTable
from omtl import datasets
from omtl.util.errors import UserError


def written(path: Path, tasks: list[str], **columns: list[Any]) -> Path:
    """Write a CSV with both labels for each of the tasks."""
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["task", "label", "x", *columns])
        for label in (-1, 1):
            for i, task in enumerate(tasks):
                rows.writerow([task, label, i, *(column[i] for column in columns.values())])
    return path


def loaded(path: Path, **options: Any) -> TasksOfTable:
    """Load a table."""
    tasks = data_fetchers.load("table_file", path=str(path), **options)
    assert isinstance(tasks, TasksOfTable)
    return tasks


def parquet(path: Path, task: Any = None, **columns: Any) -> Path:
    """Write a Parquet file of two tasks with both labels, with some columns replaced."""
    four = {"label": [-1, 1, -1, 1], "x": [1.0, 2.0, 3.0, 4.0]}
    four["task"] = ["a", "a", "b", "b"] if task is None else task
    pyarrow.parquet.write_table(pyarrow.table(four | columns), path)
    return path


NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
NUMBERS = st.one_of(st.integers(), st.floats(), st.decimals(), st.booleans()).map(str)


@settings(max_examples=60, deadline=None)
@example(["7", "007", "0070", "+7", "7.0"])
@example(["1.1", "1.10"])
@example(["1e2", "100", "10e1"])
@example(["true", "True", "1"])
@example(["18446744073709551001", "18446744073709551002", "18446744073709551003"])
@example(["2024-01-01", "2024-01-01 00:00:00"])
@example(["NA", "nan", "null"])
@example(["a", " a", "a "])
@given(st.lists(NAMES | NUMBERS, min_size=1, max_size=8, unique=True))
def test_different_names_are_different_tasks(names: list[str]) -> None:
    """In CSV and in Parquet, also if they could be read as equal numbers, dates or as missing."""
    with TemporaryDirectory() as folder:
        tasks = loaded(written(Path(folder) / "a.csv", names))
        assert [tasks.names[k] for k in tasks.task] == names * 2
        label = [-1] * len(names) + [1] * len(names)
        path = parquet(Path(folder) / "a.parquet", names * 2, label=label, x=label)
        tasks = loaded(path)
        assert [tasks.names[k] for k in tasks.task] == names * 2


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([2**62, 2**62, 2**62 + 1, 2**62 + 1], ("4611686018427387904", "4611686018427387905")),
        ([0.1, 0.1, np.nextafter(0.1, 1), np.nextafter(0.1, 1)], ("0.1", "0.10000000000000002")),
        ([7.0, 7.0, 10.0, 10.0], ("7", "10")),
        ([False, False, True, True], ("false", "true")),
        ([b"a", b"a", b"b", b"b"], ("a", "b")),
        ([datetime.date(2024, 1, k) for k in (1, 1, 2, 2)], ("2024-01-01", "2024-01-02")),
    ],
    ids=["integers", "floats", "whole floats", "booleans", "bytes", "dates"],
)
def test_typed_values_have_one_text_each(
    values: list[Any], names: tuple[str, ...], tmp_path: Path
) -> None:
    """A typed column names its tasks by its values without loss."""
    assert loaded(parquet(tmp_path / "a.parquet", values)).names == names


def test_whole_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    """So that tasks numbered in text have the order of their numbers."""
    assert loaded(written(tmp_path / "a.csv", ["10", "9", "-1"])).names == ("-1", "9", "10")


def test_chosen_tasks_are_text(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ["7", "007", "a"])
    tasks = loaded(path, tasks=["a", "007"])
    assert (tasks.names, tasks.X[:, 0].tolist()) == (("a", "007"), [1.0, 2.0, 1.0, 2.0])


LISTS = [[1], [1, 2], [1], [1]]
STRUCTS = [{"a": 1}] * 4


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"task": LISTS}, "task is of type ndarray, which cannot name tasks"),
        ({"task": STRUCTS}, "task is of type dict, which cannot name tasks"),
        ({"task": [b"\xff"] * 4}, "its text is not of UTF-8"),
        ({"task": ["a", "a", "a\0", "b"]}, "row 3 has "),  # NumPy would take it for the other
        ({"task": [1.0, float("nan"), 1.0, 1.0]}, "row 2 has no task"),
        ({"label": LISTS}, r"row 1 has the label \[1\]"),
        ({"label": STRUCTS}, r"row 1 has the label \{'a': 1\}"),
        ({"x": LISTS}, "'x' .*give each of its parts a column"),
        ({"x": STRUCTS}, "'x' .*give each of its parts a column"),
        ({"x": [datetime.date(2024, 1, 1)] * 4}, "'x' .*2024-01-01.*days since the first"),
        ({"x": ["f", "m", "f", "m"]}, "'x' .*'f'.*a column of 0 and 1 for each value"),
        ({"x": [None] * 4}, "row 1 has a feature that is missing"),
    ],
)
def test_what_is_no_table_is_told(columns: dict[str, Any], said: str, tmp_path: Path) -> None:
    """In one sentence that says where it is, and what to do."""
    with pytest.raises(UserError, match=said) as fault:
        loaded(parquet(tmp_path / "a.parquet", **columns))
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_real_targets_are_numbers(kind: str, tmp_path: Path) -> None:
    """All of a task may be equal."""
    frame = pd.DataFrame({"task": [*"aabb"], "label": [2.5, -1.0, 3.0, 3.0], "x": range(4)})
    path = tmp_path / f"a.{kind}"
    (frame.to_csv if kind == "csv" else frame.to_parquet)(path, index=False)
    tasks = loaded(path, real=True)
    assert (tasks.real, tasks.y.tolist()) == (True, frame["label"].tolist())


def test_labels_may_be_words(tmp_path: Path) -> None:
    path = parquet(tmp_path / "a.parquet", label=["no", "yes"] * 2)
    assert loaded(path, labels=["no", "yes"]).y.tolist() == [-1.0, 1.0] * 2
    parquet(path, label=["no", "yes", "no\0", "yes"])  # NumPy would take the third for the first
    with pytest.raises(UserError, match="row 3 has "):
        loaded(path, labels=["no", "yes"])


def test_notes_say_how_many_tasks_and_examples_there_are(tmp_path: Path) -> None:
    """Of the tasks in use."""
    (note,) = loaded(written(tmp_path / "a.csv", ["a", "b", "b", "c"]), tasks=["b", "a"]).notes
    assert note.endswith("a.csv: 2 tasks, 6 examples, 2 to 4 per task ('b' 4, 'a' 2)")


@pytest.mark.parametrize("names", [["a", "a "], ["a b", "a  b"], ["\u00e9", "e\u0301"]])
def test_notes_name_tasks_that_look_alike(names: list[str], tmp_path: Path) -> None:
    """They differ in spaces or Unicode forms only, and stay different tasks."""
    tasks = loaded(written(tmp_path / "a.csv", [*names, "other"]))
    assert len(tasks.names) == 3
    assert all(ascii(name) in tasks.notes[1] for name in names)
    assert "other" not in tasks.notes[1]


@pytest.mark.parametrize("n", [2**53 + 1, -(2**53) - 1, 2**70])
def test_notes_name_features_that_lose_digits(n: int, tmp_path: Path) -> None:
    """Identifiers, for example; smaller numbers are as in the file."""
    columns = {"id": [n, n + 1], "small": [2**53 - 1, 0]}
    tasks = loaded(written(tmp_path / "a.csv", ["a", "b"], **columns))
    assert "become equal: id;" in tasks.notes[1]
    assert tasks.X[0, 2] == 2**53 - 1


@pytest.mark.parametrize("suffix", ["csv", "parquet", "svmlight", "npz", "sparse.npz"])
def test_a_table_is_the_same_in_every_form(suffix: str, tmp_path: Path) -> None:
    """Its examples, in the file's order; features are numbered from 1 where they have no names."""
    path = tmp_path / f"a.{suffix}"
    X = np.array([[0.5, 0.0, 2.0**53], [1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [4.0, 1.0, 1.0]])
    y, task = np.array([1, -1, -1, 1]), np.array([7, 7, 10, 10])
    columns = {"task": task, "label": y, **{str(j + 1): X[:, j] for j in range(3)}}
    if suffix == "npz":
        np.savez(path, X=X, y=y, task=task)
    elif suffix == "sparse.npz":
        csr = sparse.csr_array(X)
        parts = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        np.savez(path, shape=csr.shape, y=y, task=task, **parts)
        np.savez(tmp_path / "b.npz", shape=(4, 2), y=y, task=task, **parts)
        with pytest.raises(UserError, match=r"sparse X is malformed .*column 2"):
            loaded(tmp_path / "b.npz")
    elif suffix == "svmlight":
        dump_svmlight_file(X, y, str(path), zero_based=False, query_id=task)
    elif suffix == "csv":
        pyarrow.csv.write_csv(pyarrow.table(columns), path)
    else:
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    found = loaded(path)
    rows = found.X.toarray() if isinstance(found.X, sparse.csr_array) else found.X
    np.testing.assert_array_equal(rows, X)
    assert (found.y.tolist(), found.task.tolist()) == (y.tolist(), [0, 0, 1, 1])
    assert found.names == ("7", "10")
    assert "become equal: 3;" in found.notes[1]


def test_frames_do_without_pyarrow_and_files_that_need_it_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pyarrow is the largest package that only tables of one's own need."""
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    rows = pd.DataFrame({"label": [0, 1, 0, 1], "task": [7.0, 7.0, 8.5, 8.5], "x": [1, 2, 3, None]})
    assert datasets.from_frame(rows.fillna(0.0)).task_names == ("7", "8.5")
    with pytest.raises(UserError, match="row 4 has a feature that is missing"):
        datasets.from_frame(rows)
    with pytest.raises(UserError, match=r"a\.csv: pyarrow reads such files"):
        loaded(written(tmp_path / "a.csv", ["a", "b"]))


@pytest.mark.parametrize("column", [[1.5, 2], [1, 2], [True, False]])
def test_numbers_may_be_objects(column: list[Any]) -> None:
    """As in a column that was put together from several tables."""
    frame = pd.DataFrame({"task": ["a", "a"], "label": [0, 1]})
    frame["x"] = pd.Series(column, dtype=object)
    assert np.ravel(datasets.from_frame(frame).X).tolist() == [*map(float, column)]
