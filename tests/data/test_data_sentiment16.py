"""Sentiment of 14 and more domains: what its files parse to, and how domains become tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import dense, real

import data_fetchers
from data_fetchers import sentiment16
from omtl.util.errors import UserError

TEXTS = {
    "fdu-mtl/a.task.train": "1\tgood good , good\n0\tbad thing\n",
    "fdu-mtl/a.task.test": "1 \tthing\x85 good\n",
    "fdu-mtl/b.task.train": "0\tbad caf\xe9\n",
    "fdu-mtl/b.task.test": "1\t\n",
}
"""A label may have a space after it, a review a character that ends lines elsewhere, or nothing."""


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentiment16, "FOLDER", sentiment16.NAME)
    monkeypatch.setattr(sentiment16, "REVIEWS", {"a": (1, 2), "b": (1, 1)})
    monkeypatch.setattr(sentiment16, "AMAZON", ("a", "b"))
    put(sentiment16, {path: text.encode("latin-1") for path, text in TEXTS.items()})


@pytest.mark.usefixtures("tiny")
def test_domains_become_tasks(home: Path) -> None:
    tasks = sentiment16.load(home=home)
    assert tasks.names == ("a", "b")
    assert tasks.task.tolist() == [0, 0, 0, 1, 1]
    assert tasks.y.tolist() == [1.0, -1.0, 1.0, -1.0, 1.0]
    # The words: , bad café good thing
    assert dense(tasks) == [
        [1, 0, 0, 3, 0],
        [0, 1, 0, 0, 1],
        [0, 0, 0, 1, 1],
        [0, 1, 1, 0, 0],
        [0, 0, 0, 0, 0],
    ]


@pytest.mark.usefixtures("tiny")
def test_options(home: Path) -> None:
    present = sentiment16.load(home=home, value="presence", domains=["a"])
    assert dense(present) == [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 1]]
    pairs = sentiment16.load(home=home, ngrams=[2], domains=["a"])
    # The pairs: ,_good bad_thing good_, good_good thing_good
    assert dense(pairs) == [[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    both = sentiment16.load(home=home, ngrams=(1, 2))
    assert both.X.shape == (5, 5 + 6)
    for wrong in ({"value": "share"}, {"ngrams": 3}, {"domains": ["c"]}):
        with pytest.raises(UserError, match="sentiment16: "):
            sentiment16.load(home=home, **wrong)


@pytest.mark.parametrize("line", ["good", "2\tgood", "", "\tgood"])
def test_lines_of_another_format_are_named(line: str) -> None:
    with pytest.raises(UserError, match="line 2 of file 1 is not '0' or '1'"):
        sentiment16.parse([f"1\tgood\n{line}\n1\tgood\n"])


@pytest.mark.usefixtures("tiny")
def test_other_counts_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentiment16, "REVIEWS", {"a": (1, 2), "b": (2, 1)})
    with pytest.raises(UserError, match="b: negative 1 instead of 2"):
        sentiment16.load(home=home)


def test_the_folder_is_the_one_of_the_same_collection() -> None:
    assert data_fetchers.folder_of(sentiment16) == "sentiment"
    assert data_fetchers.folder_of(data_fetchers.data_set("spam")) == "spam"


def test_real_reviews(real_home: Path | None) -> None:
    tasks = real("sentiment16", real_home)
    assert len(tasks.names) == 14
    assert tasks.X.shape == (27780, 78817)
    assert np.bincount(tasks.task).min() >= 1900
