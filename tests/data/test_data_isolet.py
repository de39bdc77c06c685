"""Isolet: what its files parse to, and how groups become tasks with classes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import real
from scipy import sparse
from scipy.io import savemat

import data_fetchers
from data_fetchers import isolet
from data_fetchers.isolet import Classes
from omtl.data.preparation import prepare, prepared_data
from omtl.util.errors import UserError


def mat(**variables: object) -> bytes:
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


def group(number: int, letters: list[int]) -> bytes:
    """Return a file; recording i of group g has the features g and i / 10."""
    fea = np.array([[number, at / 10] for at in range(len(letters))])
    return mat(fea=fea, gnd=np.array(letters, dtype=np.uint8)[:, None])


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(isolet, {"Isolet1.mat": group(1, [1, 2, 2]), "isolet5.mat": group(5, [2, 1, 1, 2])})
    monkeypatch.setattr(isolet, "GROUPS", ("isolet1", "isolet5"))
    monkeypatch.setattr(isolet, "LETTERS", "AB")
    monkeypatch.setattr(isolet, "N_FEATURES", 2)
    monkeypatch.setattr(isolet, "PER_LETTER", 2)
    monkeypatch.setattr(isolet, "MISSING", {("isolet1", "A"): 1})


def test_a_group_is_parsed() -> None:
    X, label = isolet.parse(group(3, [26, 1]))
    assert X.tolist() == [[3, 0], [3, 0.1]]
    assert label.tolist() == [26, 1]
    assert (X.dtype, label.dtype) == (np.float64, np.int64)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", ""),
        (mat(gnd=np.ones((1, 1))), "'fea'"),
        (mat(fea=np.eye(2)), "'gnd'"),
        (mat(fea=np.eye(2), gnd=np.ones((3, 1))), "2 recordings have 3 letters"),
        (group(1, [0]), "not from 1 to 26"),
        (group(1, [27]), "not from 1 to 26"),
    ],
)
def test_another_file_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(UserError, match=f"isolet: the file must be .*{why}"):
        isolet.parse(content)


@pytest.mark.usefixtures("tiny")
def test_groups_become_tasks() -> None:
    classes = isolet.load(groups=["isolet5", "isolet1"])
    assert classes.names == ("isolet5", "isolet1")
    assert classes.task.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert classes.label.tolist() == [2, 1, 1, 2, 1, 2, 2]
    assert classes.label.dtype == classes.task.dtype == np.int64
    assert classes.X[:, 0].tolist() == [5, 5, 5, 5, 1, 1, 1]


@pytest.mark.usefixtures("tiny")
def test_letters_may_be_chosen() -> None:
    classes = isolet.load(letters="B")
    assert classes.label.tolist() == [2, 2, 2, 2]
    assert classes.task.tolist() == [0, 0, 1, 1]
    assert classes.X[:, 0].tolist() == [1, 1, 5, 5]
    with pytest.raises(UserError, match="'C' is not among A, B"):
        isolet.load(letters="AC")


@pytest.mark.usefixtures("tiny")
def test_rows_may_be_projected_on_their_principal_axes() -> None:
    whole, reduced = isolet.load().X, isolet.load(components=1).X
    _, _, axes = np.linalg.svd(whole - whole.mean(axis=0))
    np.testing.assert_allclose(np.abs(reduced[:, 0]), np.abs(whole @ axes[0]), rtol=1e-9)
    both = isolet.load(components=2).X
    np.testing.assert_allclose(both @ both.T, whole @ whole.T, rtol=1e-9)
    for wrong in (0, 3):
        with pytest.raises(UserError, match=f"components={wrong} must be from 1 to 2"):
            isolet.load(components=wrong)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("groups", "message"),
    [(["isolet2"], "'isolet2' is not among isolet1, isolet5"), ([], "choose one or more")],
)
def test_a_wrong_option_is_named(groups: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("isolet", groups=groups)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("table", "value", "message"),
    [
        ("N_FEATURES", 617, "isolet1: features 2 instead of 617"),
        ("MISSING", {}, "isolet1: A 1 instead of 2"),
    ],
)
def test_counts_are_checked_whatever_is_chosen(
    monkeypatch: pytest.MonkeyPatch, table: str, value: object, message: str
) -> None:
    monkeypatch.setattr(isolet, table, value)
    with pytest.raises(UserError, match=message):
        isolet.load(groups=["isolet5"])


@pytest.mark.parametrize("X", [np.eye(3), sparse.csr_array(np.eye(3))])
def test_classes_are_prepared_as_tasks_are_and_have_no_signs(X: object) -> None:
    classes = Classes(X, np.array([1, 2, 2]), np.array([0, 0, 1]), ("a", "b"))
    source = prepared_data(prepare(classes, "unit", bias=True))
    assert isinstance(source.tasks, Classes)
    assert source.tasks.label.tolist() == [1, 2, 2]
    with pytest.raises(UserError, match=r"a, b have classes instead of labels of -1 and \+1"):
        _ = source.tasks.y
    other = Classes(X, np.array([1, 2, 1]), classes.task, classes.names)
    assert classes.sha256 != other.sha256


def test_all_recordings(real_home: Path | None) -> None:
    classes = real("isolet", real_home)
    assert classes.X.shape == (7_797, 617)
    assert np.abs(classes.X).max() == 1.0
    assert np.bincount(classes.task).tolist() == [1560, 1560, 1560, 1558, 1559]
    assert set(classes.label) == set(range(1, 27))
    assert len(np.unique(classes.X, axis=0)) == 7_797
