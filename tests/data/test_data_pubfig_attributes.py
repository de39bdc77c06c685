"""Attributes of faces: what their file parses to, and how attributes become tasks."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import real
from scipy.io import savemat

import data_fetchers
from data_fetchers import pubfig_attributes
from omtl.util.errors import UserError

FEAT = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
HELD = {
    "feat": FEAT,
    "class_labels": np.array([[1], [2], [2]], dtype=np.uint8),
    "binary_predicates": np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8),
    "attribute_names": np.array([["Male", "Young", "Smiling"]], dtype=object),
}


def mat(**variables: object) -> bytes:
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(pubfig_attributes, {"pubfig_data.mat": mat(**HELD)})
    monkeypatch.setattr(pubfig_attributes, "N_FEATURES", 2)
    monkeypatch.setattr(pubfig_attributes, "IMAGES_BY_PERSON", (1, 2))
    monkeypatch.setattr(pubfig_attributes, "POSITIVES", {"Male": 1, "Young": 2, "Smiling": 3})


def test_images_are_parsed() -> None:
    images = pubfig_attributes.parse(mat(**HELD))
    assert images.X.tolist() == FEAT.tolist()
    assert images.person.tolist() == [0, 1, 1]
    assert images.has.tolist() == [[True, False, True], [False, True, True]]
    assert images.attributes == ("Male", "Young", "Smiling")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"feat": np.eye(2)}, "people or names are missing"),
        ({"attribute_names": np.array([["Male"]], dtype=object)}, "people or names are missing"),
        ({"class_labels": np.array([[1], [2], [3]])}, "a person has no attributes"),
        ({"class_labels": np.array([[1], [2], [0]])}, "a person has no attributes"),
    ],
)
def test_another_file_is_refused(change: dict[str, object], why: str) -> None:
    with pytest.raises(UserError, match=f"pubfig_attributes: the file must be .*{why}"):
        pubfig_attributes.parse(mat(**HELD | change))


@pytest.mark.parametrize("content", [b"", mat(feat=FEAT)])
def test_a_file_without_them_is_refused(content: bytes) -> None:
    with pytest.raises(UserError, match="pubfig_attributes: the file must be"):
        pubfig_attributes.parse(content)


@pytest.mark.usefixtures("tiny")
def test_attributes_become_tasks_on_the_same_images() -> None:
    tasks = data_fetchers.load("pubfig_attributes", attributes=["Young", "Male"])
    assert tasks.names == ("Young", "Male")
    assert tasks.task.tolist() == [0, 0, 0, 1, 1, 1]
    assert tasks.task.dtype == np.int64
    assert tasks.y.tolist() == [-1, 1, 1, 1, -1, -1]
    assert tasks.X.tolist() == [*FEAT.tolist(), *FEAT.tolist()]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("attributes", "message"),
    [(["Shiny"], "'Shiny' is not among Male, Young, Smiling"), ([], "choose one or more")],
)
def test_a_wrong_option_is_named(attributes: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("pubfig_attributes", attributes=attributes)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("table", "value", "message"),
    [
        ("N_FEATURES", 3, "features 2 instead of 3"),
        ("IMAGES_BY_PERSON", (1, 3), "images of person 2 2 instead of 3"),
        ("POSITIVES", {"Male": 1, "Young": 2, "Smiling": 2}, "with Smiling 3 instead of 2"),
    ],
)
def test_counts_are_checked_whatever_is_chosen(
    monkeypatch: pytest.MonkeyPatch, table: str, value: object, message: str
) -> None:
    monkeypatch.setattr(pubfig_attributes, table, value)
    with pytest.raises(UserError, match=message):
        pubfig_attributes.load(attributes=["Male"])


def test_all_attributes(real_home: Path | None) -> None:
    tasks = real("pubfig_attributes", real_home)
    assert tasks.X.shape == (11 * 772, 542)
    assert len(tasks.names) == 11
    of_task = np.bincount(tasks.task, weights=tasks.y > 0)
    assert of_task.tolist() == list(pubfig_attributes.POSITIVES.values())
