"""Spam: what its file parses to, and how inboxes become tasks."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from data_sets import dense, real
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.io import savemat

import data_fetchers
from data_fetchers import spam, spam_first
from omtl.util.errors import UserError

INBOXES = (
    np.array([[1, 3, 0, 0], [0, 0, 2, 0]]),
    np.array([[0, 1, 1, 0], [4, 0, 0, 0]]),
)
LABELS = ([0, 1], [1, 0])


def cells(held: list[object]) -> np.ndarray:
    row = np.empty((1, len(held)), dtype=object)
    for at, one in enumerate(held):
        row[0, at] = one
    return row


def mat(**variables: object) -> bytes:
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


def inboxes(X: tuple[np.ndarray, ...], Y: tuple[list[int], ...]) -> bytes:
    words = [sparse.csc_array(one, dtype=np.float64) for one in X]
    return mat(X=cells(words), Y=cells([np.array(one, dtype=np.uint8)[:, None] for one in Y]))


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(spam, {"emails.mat": inboxes(INBOXES, LABELS)})
    monkeypatch.setattr(spam, "EMAILS_AND_SPAM", (2, 1))
    monkeypatch.setattr(spam, "NONZEROS", (3, 3))
    monkeypatch.setattr(spam, "COUNTS", {"words": 4, "words that occur": 3})


@given(
    st.lists(arrays(np.int64, (2, 3), elements=st.integers(0, 9)), min_size=1, max_size=4),
)
def test_inboxes_parse_to_what_they_were_written_from(given: list[np.ndarray]) -> None:
    emails = spam.parse(inboxes(tuple(given), ([0, 1],) * len(given)))
    assert emails.X.toarray().tolist() == np.concatenate(given).tolist()
    assert emails.X.has_canonical_format
    assert emails.y.tolist() == [-1, 1] * len(given)
    assert emails.task.tolist() == np.repeat(np.arange(len(given)), 2).tolist()


WORDS = cells([sparse.csc_array(np.eye(2))])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", ""),
        (mat(feature=1), "'X'"),
        (mat(X=WORDS), "'Y'"),
        (mat(X=WORDS, Y=cells([np.array([0, 1, 1])])), "more labels than e-mails"),
        (mat(X=WORDS, Y=cells([np.array([-1, 1])])), "neither 0 nor 1"),
    ],
)
def test_another_file_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(UserError, match=f"spam: the file must be .*{why}"):
        spam.parse(content)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("value", "rows"),
    [
        ("count", [[0, 1, 1, 0], [4, 0, 0, 0], [1, 3, 0, 0], [0, 0, 2, 0]]),
        ("presence", [[0, 1, 1, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]]),
        ("frequency", [[0, 0.5, 0.5, 0], [1, 0, 0, 0], [0.25, 0.75, 0, 0], [0, 0, 1, 0]]),
    ],
)
def test_inboxes_become_tasks(value: str, rows: list[list[float]]) -> None:
    tasks = data_fetchers.load("spam", users=["u01", "u00"], value=value)
    assert tasks.names == ("u01", "u00")
    assert tasks.task.tolist() == [0, 0, 1, 1]
    assert tasks.task.dtype == np.int64
    assert tasks.y.tolist() == [1, -1, -1, 1]
    assert dense(tasks) == rows


@pytest.mark.usefixtures("tiny")
def test_the_first_emails_of_each_inbox() -> None:
    first = spam_first.load(users=["u01", "u00"], per_task=1)
    assert first.names == ("u01", "u00")
    assert dense(first) == [[0, 1, 1, 0], [1, 3, 0, 0]]
    assert first.y.tolist() == [1, -1]
    with pytest.raises(UserError, match="spam_first: sample_seed=0"):
        spam_first.load(sample_seed=0)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"users": ["u02"]}, "'u02' is not among u00, u01"),
        ({"users": ["u00", "u00"]}, "each once"),
        ({"users": []}, "choose one or more"),
        ({"value": "tfidf"}, "'tfidf' is not among count, presence, frequency"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("spam", **options)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("table", "value", "message"),
    [
        ("EMAILS_AND_SPAM", (2, 2), "u00: spam 1 instead of 2"),
        ("EMAILS_AND_SPAM", (3, 1), "u01: e-mails 2 instead of 3"),
        ("NONZEROS", (3, 4), "u01: nonzeros 3 instead of 4"),
        ("COUNTS", {"words": 5, "words that occur": 3}, "words 4 instead of 5"),
        ("COUNTS", {"words": 4, "words that occur": 4}, "words that occur 3 instead of 4"),
    ],
)
def test_counts_are_checked_whatever_is_chosen(
    monkeypatch: pytest.MonkeyPatch, table: str, value: object, message: str
) -> None:
    monkeypatch.setattr(spam, table, value)
    with pytest.raises(UserError, match=message):
        spam.load(users=["u00"])


@pytest.mark.parametrize("value", spam.VALUES)
def test_all_inboxes(real_home: Path | None, value: str) -> None:
    tasks = real("spam", real_home, value=value)
    assert tasks.X.shape == (6_000, 152_543)
    assert tasks.X.nnz == 922_884
    assert np.bincount(tasks.task).tolist() == [400] * 15
    assert np.bincount(tasks.task, weights=tasks.y).tolist() == [0] * 15
    assert np.diff(tasks.X.indptr).min() > 0
    if value == "frequency":
        assert np.allclose(tasks.X.sum(axis=1), 1.0)
