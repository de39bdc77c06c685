"""Sentiment of 24 domains: what its files parse to, and how domains become tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import dense, real

from data_fetchers import sentiment25, sentiment25_capped
from omtl.util.errors import UserError

TEXTS = {
    "a.t2.train": "bad thing\t-1\nof three stars , perhaps\t1\n",
    "a.t4.dev": "good good , good\t1\nbad thing\t-1\nthing\x85 good\t1\n",
    "a.t5.test": "very good\t1\ngood , perhaps\t-1\n",
    "b.t4.test": "bad café\t-1\n\t1\n",
    "c.t4.test": "bad\t-1\n",
}
"""A text may come twice, have a character that ends lines elsewhere, or be empty."""


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentiment25, "REVIEWS", {"a": (1, 3), "b": (1, 1), "c": (1, 0)})
    monkeypatch.setattr(sentiment25, "OF_100", ("a", "b"))
    put(sentiment25, {path: text.encode() for path, text in TEXTS.items()})


@pytest.mark.usefixtures("tiny")
def test_reviews_that_surely_have_not_three_stars_become_tasks(home: Path) -> None:
    tasks = sentiment25.load(home=home)
    assert tasks.names == ("a", "b")
    assert tasks.task.tolist() == [0, 0, 0, 0, 1, 1]
    assert tasks.y.tolist() == [-1.0, 1.0, 1.0, 1.0, -1.0, 1.0]
    # The words: , bad café good thing very
    assert dense(tasks) == [
        [0, 1, 0, 0, 1, 0],
        [1, 0, 0, 3, 0, 0],
        [0, 0, 0, 1, 1, 0],
        [0, 0, 0, 1, 0, 1],
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
    ]


@pytest.mark.usefixtures("tiny")
def test_options(home: Path) -> None:
    assert dense(sentiment25.load(home=home, domains=["c"])) == [[1]]
    present = sentiment25.load(home=home, value="presence", domains=["a"])
    assert present.X.max() == 1.0
    both = sentiment25.load(home=home, ngrams=(1, 2))
    assert both.X.shape == (6, 6 + 7)
    for wrong in ({"value": "share"}, {"ngrams": 3}, {"domains": ["d"]}):
        with pytest.raises(UserError, match="sentiment25: "):
            sentiment25.load(home=home, **wrong)


@pytest.mark.parametrize("line", ["good", "good\t2", "", "good\t"])
def test_lines_of_another_format_are_named(line: str) -> None:
    with pytest.raises(UserError, match="line 2 of a file is not a review, a tab and '1' or '-1'"):
        sentiment25.parse(f"good\t1\n{line}\ngood\t1\n", ("1",))


@pytest.mark.usefixtures("tiny")
def test_other_counts_are_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentiment25, "REVIEWS", {"a": (1, 3), "b": (2, 1)})
    with pytest.raises(UserError, match="b: negative 1 instead of 2"):
        sentiment25.load(home=home)


def test_the_table_of_hashes_is_read() -> None:
    assert len(sentiment25.FILES) == 25 * 9 - 6
    assert len({file.sha256 for file in sentiment25.FILES}) == len(sentiment25.FILES)
    first = sentiment25.FILES[0]
    assert (first.path, first.n_bytes) == ("apparel.t2.dev", 72_322)
    assert "/Amazon_few_shot/apparel.t2.dev" in str(first.sources[0])


def test_real_reviews(real_home: Path | None) -> None:
    tasks = real("sentiment25", real_home)
    assert len(tasks.names) == 24
    assert tasks.X.shape == (52402, 112860)
    assert np.bincount(tasks.task).min() == 181


@pytest.mark.usefixtures("tiny")
def test_no_more_than_so_many_of_a_class(home: Path) -> None:
    every = sentiment25.load(home=home)
    first = sentiment25_capped.load(home=home, most=1)
    taken = [0, 1, 4, 5]  # of a one of each class, b has no more
    assert first.names == every.names
    assert first.y.tolist() == every.y[taken].tolist()
    assert first.task.tolist() == every.task[taken].tolist()
    assert dense(first) == [dense(every)[row] for row in taken]
    assert dense(sentiment25_capped.load(home=home)) == dense(every)
