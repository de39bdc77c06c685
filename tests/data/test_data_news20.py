"""News20: what its file parses to, and how hierarchies become tasks with classes."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import dense, real
from hypothesis import given
from hypothesis import strategies as st

import data_fetchers
from data_fetchers import news20
from omtl.util.errors import UserError

TEXT = "1 2:3\n3 1:1 4:2 \n2 4:1\n1\n4 1:5\n"


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(news20, {"news20.bz2": bz2.compress(TEXT.encode())})
    monkeypatch.setattr(news20, "TASKS", ("comp", "sci"))
    monkeypatch.setattr(news20, "NEWSGROUPS", ("comp.a", "sci.a", "comp.b", "alt.comp.c"))
    monkeypatch.setattr(news20, "MESSAGES", (2, 1, 1, 1))
    counts = {"messages": 5, "words": 4, "words that occur": 3, "nonzeros": 5}
    monkeypatch.setattr(news20, "COUNTS", counts)


def test_messages_are_parsed() -> None:
    messages = news20.parse(TEXT)
    assert messages.label.tolist() == [1, 3, 2, 1, 4]
    assert messages.X.toarray().tolist() == [
        [0, 3, 0, 0],
        [1, 0, 0, 2],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
        [5, 0, 0, 0],
    ]


words = st.dictionaries(st.integers(1, 9), st.integers(1, 99), max_size=5)


@given(st.lists(st.tuples(st.integers(1, 20), words), max_size=6))
def test_messages_parse_to_what_they_were_written_from(
    given: list[tuple[int, dict[int, int]]],
) -> None:
    lines = [
        " ".join([str(label), *(f"{word}:{counts[word]}" for word in sorted(counts))])
        for label, counts in given
    ]
    messages = news20.parse("\n".join(lines))
    assert messages.label.tolist() == [label for label, _ in given]
    assert messages.X.shape[1] == max((word for _, counts in given for word in counts), default=0)
    for (_, counts), row in zip(given, messages.X.toarray(), strict=True):
        assert {int(at) + 1: row[at] for at in np.flatnonzero(row)} == counts


@pytest.mark.parametrize("line", ["", "x 1:1", "1 1", "1 1:x", "1 0:1", "1 2:1 1:1", "1 1:1 1:1"])
def test_another_line_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(UserError, match="news20: line 2 is not"):
        news20.parse(f"1 1:1\n{line}\n1 1:1\n")


@pytest.mark.usefixtures("tiny")
def test_hierarchies_become_tasks() -> None:
    classes = data_fetchers.load("news20", tasks=["sci", "comp"])
    assert classes.names == ("sci", "comp")
    assert classes.task.tolist() == [0, 1, 1, 1]
    assert classes.label.tolist() == [2, 1, 3, 1]
    assert classes.label.dtype == classes.task.dtype == np.int64
    rows = [[0, 0, 0, 1], [0, 3, 0, 0], [1, 0, 0, 2], [0, 0, 0, 0]]
    assert dense(classes) == rows
    presence = data_fetchers.load("news20", tasks=["sci", "comp"], value="presence")
    assert dense(presence) == np.minimum(rows, 1).tolist()


@pytest.mark.usefixtures("tiny")
def test_messages_and_words_may_be_fewer() -> None:
    first = data_fetchers.load("news20", per_newsgroup=1)
    assert first.label.tolist() == [1, 3, 2]
    assert dense(first) == [[0, 3, 0, 0], [1, 0, 0, 2], [0, 0, 0, 1]]
    # Word 4 is in two of the messages, 1 and 2 in one each, and 3 in none.
    assert dense(data_fetchers.load("news20", words=2)) == [[0, 0], [2, 1], [0, 0], [1, 0]]


@pytest.mark.usefixtures("tiny")
def test_rows_may_be_projected_on_their_principal_axes() -> None:
    whole = data_fetchers.load("news20", tasks=["comp"]).X.toarray()
    _, _, axes = np.linalg.svd(whole - whole.mean(axis=0))
    reduced = data_fetchers.load("news20", tasks=["comp"], components=2).X
    np.testing.assert_allclose(np.abs(reduced), np.abs(whole @ axes[:2].T), atol=1e-9)
    with pytest.raises(UserError, match="components=3 must be from 1 to 2"):
        data_fetchers.load("news20", tasks=["comp"], components=3)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per_newsgroup": 0}, "per_newsgroup=0 must be a positive number"),
        ({"words": 0}, "words=0 must be a positive number"),
        ({"tasks": ["alt"]}, "'alt' is not among comp, sci"),
        ({"tasks": []}, "choose one or more"),
        ({"value": "tfidf"}, "'tfidf' is not among count, presence"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("news20", **options)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("what", ["messages", "words", "words that occur", "nonzeros"])
def test_counts_are_checked_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right = news20.COUNTS[what]
    monkeypatch.setitem(news20.COUNTS, what, right + 1)
    with pytest.raises(UserError, match=f"{what} {right} instead of {right + 1}"):
        data_fetchers.load("news20", tasks=["sci"])


@pytest.mark.usefixtures("tiny")
def test_each_newsgroup_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news20, "NEWSGROUPS", ("comp.a", "sci.a", "comp.b"))
    monkeypatch.setattr(news20, "MESSAGES", (2, 2, 1))
    with pytest.raises(UserError, match=r"sci\.a 1 instead of 2; .*number 4 1 instead of 0"):
        data_fetchers.load("news20", tasks=["comp"])


def test_the_four_hierarchies(real_home: Path | None) -> None:
    classes = real("news20", real_home)
    assert classes.X.shape == (13_547, 62_061)
    assert np.bincount(classes.task).tolist() == [3966, 3191, 3193, 3197]
    of_task = [set(classes.label[classes.task == k].tolist()) for k in range(4)]
    assert of_task == [{1, 2, 3, 4, 5}, {11, 12, 13, 14}, {6, 7, 8, 9}, {15, 16, 17, 18}]
