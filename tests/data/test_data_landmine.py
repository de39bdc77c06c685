"""Landmines: what their file parses to, and how fields become tasks."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import real
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import savemat

import data_fetchers
from data_fetchers import landmine, landmine_first
from omtl.util.errors import UserError

LABELS = ([0, 1, 0], [1], [1, 0])


def cells(arrays: list[np.ndarray]) -> np.ndarray:
    row = np.empty((1, len(arrays)), dtype=object)
    row[0, :] = arrays
    return row


def mat(**variables: object) -> bytes:
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


def fields(labels: tuple[list[int], ...]) -> bytes:
    """Return a file; place i of field k has the features k + i / 10 and 1."""
    seen = [
        np.array([[k + i / 10, 1.0] for i in range(len(field))])
        for k, field in enumerate(labels, start=1)
    ]
    said = [np.array(field, dtype=np.uint8)[:, None] for field in labels]
    return mat(feature=cells(seen), label=cells(said))


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(landmine, {"LandmineData.mat": fields(LABELS)})
    monkeypatch.setattr(landmine, "N_FEATURES", 2)
    monkeypatch.setattr(landmine, "EXAMPLES", (3, 1, 2))
    monkeypatch.setattr(landmine, "LANDMINES", (1, 1, 1))
    monkeypatch.setattr(landmine, "FIRST_DESERT", 3)
    monkeypatch.setattr(landmine, "SUBSETS", {"all": (1, 2, 3), "osmtl19": (1, 3)})


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), min_size=1, max_size=5))
def test_fields_parse_to_what_they_were_written_from(labels: list[list[int]]) -> None:
    places = landmine.parse(fields(tuple(labels)))
    flat = [(k, i, label) for k, field in enumerate(labels, 1) for i, label in enumerate(field)]
    assert places.task.tolist() == [k - 1 for k, _, _ in flat]
    assert places.y.tolist() == [2 * label - 1 for _, _, label in flat]
    assert places.X.tolist() == [[k + i / 10, 1.0] for k, i, _ in flat]


SEEN = cells([np.ones((2, 2))])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", ""),
        (mat(X=1), "'feature'"),
        (mat(feature=SEEN), "'label'"),
        (mat(feature=SEEN, label=cells([np.array([0, 1, 1])])), "more labels than places"),
        (mat(feature=SEEN, label=cells([np.array([-1, 1])])), "neither 0 nor 1"),
    ],
)
def test_another_file_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(UserError, match=f"landmine: the file must be .*{why}"):
        landmine.parse(content)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("tasks", "names", "y"),
    [
        ("all", (1, 2, 3), [-1, 1, -1, 1, 1, -1]),
        ("osmtl19", (1, 3), [-1, 1, -1, 1, -1]),
        ([3, 2], (3, 2), [1, -1, 1]),
    ],
)
def test_fields_become_tasks(tasks: object, names: tuple[int, ...], y: list[float]) -> None:
    loaded = data_fetchers.load("landmine", tasks=tasks)
    assert loaded.names == tuple(map(landmine.task_name, names))
    assert loaded.y.tolist() == y
    assert loaded.X[:, 0].astype(int).tolist() == [names[k] for k in loaded.task]
    assert loaded.task.dtype == np.int64


@pytest.mark.usefixtures("tiny")
def test_the_first_places_of_each_field() -> None:
    first = landmine_first.load(tasks=[1, 3], per_task=2)
    assert first.names == (landmine.task_name(1), landmine.task_name(3))
    assert first.X[:, 0].tolist() == [1.0, 1.1, 3.0, 3.1]
    assert first.y.tolist() == [-1, 1, 1, -1]
    assert first.task.tolist() == [0, 0, 1, 1]
    for wrong in (0, 2):
        with pytest.raises(UserError, match="landmine_first: field"):
            landmine_first.load(per_task=wrong)


@pytest.mark.usefixtures("tiny")
def test_a_task_says_its_ground() -> None:
    assert landmine.task_name(2) == "field 2 (foliated)"
    assert landmine.task_name(3) == "field 3 (desert)"


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("osmtl", "'osmtl' is not among all, osmtl19"),
        ([0], "0 is not among 1, 2, 3"),
        ([1, 1], "each once"),
        ([], "choose one or more"),
    ],
)
def test_a_wrong_option_is_named(tasks: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("landmine", tasks=tasks)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("table", "value", "message"),
    [
        ("N_FEATURES", 9, "features 2 instead of 9"),
        ("EXAMPLES", (3, 2, 2), "field 2: places 1 instead of 2"),
        ("LANDMINES", (1, 1, 2), "field 3: landmines 1 instead of 2"),
    ],
)
def test_counts_are_checked_whatever_is_chosen(
    monkeypatch: pytest.MonkeyPatch, table: str, value: object, message: str
) -> None:
    monkeypatch.setattr(landmine, table, value)
    with pytest.raises(UserError, match=message):
        landmine.load(tasks=[1])


@pytest.mark.parametrize(
    ("tasks", "n_places", "n_mines", "n_foliated"),
    [("all", 14_820, 904, 15), ("osmtl19", 9_674, 585, 10)],
)
def test_the_fields(
    real_home: Path | None, tasks: str, n_places: int, n_mines: int, n_foliated: int
) -> None:
    loaded = real("landmine", real_home, tasks=tasks)
    assert loaded.X.shape == (n_places, 9)
    assert np.sum(loaded.y > 0) == n_mines
    assert sum("foliated" in name for name in loaded.names) == n_foliated
    assert loaded.names[-1].endswith("(desert)")
