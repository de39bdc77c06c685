"""Reviews: parsing, tasks, and the counts that are checked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from data_sets import dense
from hypothesis import given
from hypothesis import strategies as st

import data_fetchers
from data_fetchers import sentiment
from omtl.util.errors import UserError

REVIEWS = {
    "processed_acl/books/negative.review": "a:2 a_b:1 b:1 #label#:negative\n",
    "processed_acl/books/positive.review": "b:3 c\x85d:1 #label#:positive\n"
    "z_:1 b:1 http://x:2 #label#:positive\n",
    "processed_acl/dvd/negative.review": "c:1 #label#:negative\n",
    "processed_acl/dvd/positive.review": "a:1 c:1 #label#:positive\n",
}

FEATURES = ("a", "a_b", "b", "c", "c\x85d", "http://x", "z_")


@pytest.fixture
def tiny_sentiment(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(sentiment, {path: text.encode() for path, text in REVIEWS.items()})
    monkeypatch.setattr(sentiment, "DOMAINS", ("books", "dvd"))
    monkeypatch.setattr(
        sentiment,
        "COUNTS",
        {
            "books: positive": 2,
            "books: negative": 1,
            "books: features": 6,
            "dvd: positive": 1,
            "dvd: negative": 1,
            "dvd: features": 2,
            "unigrams": 5,
            "bigrams": 2,
            "features in 2 or more reviews": 3,
        },
    )


def test_reviews_are_parsed() -> None:
    reviews = sentiment.parse(REVIEWS.values())
    assert reviews.features == FEATURES
    assert reviews.y.tolist() == [-1, 1, 1, -1, 1]
    assert reviews.text.tolist() == [0, 1, 1, 2, 3]
    assert reviews.words().tolist() == [1, 2, 1, 1, 1, 1, 2]
    assert reviews.X.toarray().tolist() == [
        [2, 1, 1, 0, 0, 0, 0],
        [0, 0, 3, 0, 1, 0, 0],
        [0, 0, 1, 0, 0, 2, 1],
        [0, 0, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0],
    ]


words = st.text(st.characters(exclude_characters=" \n"), min_size=1, max_size=4)


@given(
    st.lists(
        st.tuples(st.dictionaries(words, st.integers(1, 99)), st.sampled_from([-1.0, 1.0])),
        min_size=1,
        max_size=6,
    )
)
def test_reviews_parse_to_what_they_were_written_from(
    given: list[tuple[dict[str, int], float]],
) -> None:
    label_of = {label: name for name, label in sentiment.LABELS.items()}
    reviews = sentiment.parse(
        " ".join([f"{word}:{count}" for word, count in counts.items()] + [f"#label#:{label_of[y]}"])
        for counts, y in given
    )
    assert reviews.features == tuple(sorted({word for counts, _ in given for word in counts}))
    assert reviews.y.tolist() == [y for _, y in given]
    rows = reviews.X.toarray()
    for (counts, _), row in zip(given, rows, strict=True):
        assert {reviews.features[at]: row[at] for at in np.flatnonzero(row)} == counts


@pytest.mark.parametrize(
    "line",
    ["", "a:1", "a:1 #label#:neutral", "a #label#:positive", "a:x #label#:positive"],
)
def test_another_line_is_refused_by_its_number(line: str) -> None:
    with pytest.raises(UserError, match="line 2 of file 1 "):
        sentiment.parse([f"a:1 #label#:positive\n{line}\na:1 #label#:positive\n"])


@pytest.mark.usefixtures("tiny_sentiment")
def test_reviews_become_tasks() -> None:
    tasks = data_fetchers.load("sentiment", domains=("dvd", "books"))
    assert tasks.names == ("dvd", "books")
    assert tasks.task.tolist() == [0, 0, 1, 1, 1]
    assert tasks.task.dtype == np.int64
    assert tasks.y.tolist() == [-1.0, 1.0, -1.0, 1.0, 1.0]
    assert dense(tasks) == [
        [0, 0, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0, 0],
        [2, 1, 1, 0, 0, 0, 0],
        [0, 0, 3, 0, 1, 0, 0],
        [0, 0, 1, 0, 0, 2, 1],
    ]


@pytest.mark.usefixtures("tiny_sentiment")
@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"domains": ["dvd"]}, [[0, 1], [1, 1]]),
        ({"domains": ["dvd"], "min_reviews": 2}, [[1], [1]]),
        ({"min_reviews": 2}, [[2, 1, 0], [0, 3, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]),
        (
            {"min_reviews": 2, "value": "presence"},
            [[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]],
        ),
        ({"domains": ["books"], "ngrams": 2}, [[1, 0], [0, 0], [0, 1]]),
        ({"domains": ["books"], "ngrams": 1}, [[2, 1, 0, 0], [0, 3, 1, 0], [0, 1, 0, 2]]),
        ({"domains": ["books"], "ngrams": [1]}, [[2, 1, 0, 0], [0, 3, 1, 0], [0, 1, 0, 2]]),
        (
            {"numbering": "by_domain"},
            [
                [2, 1, 1, 0, 0, 0],
                [0, 0, 3, 1, 0, 0],
                [0, 0, 1, 0, 2, 1],
                [1, 0, 0, 0, 0, 0],
                [1, 1, 0, 0, 0, 0],
            ],
        ),
        ({"numbering": "by_domain", "domains": ["dvd"]}, [[1, 0], [1, 1]]),
        ({"numbering": "by_domain", "ngrams": 2}, [[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]]),
    ],
)
def test_features_are_chosen_within_the_domains(
    options: dict[str, object], rows: list[list[float]]
) -> None:
    assert dense(data_fetchers.load("sentiment", **options)) == rows


@pytest.mark.usefixtures("tiny_sentiment")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domains": ["music"]}, "'music' is not among books, dvd"),
        ({"domains": ["dvd", "dvd"]}, "each once"),
        ({"value": "tfidf"}, "'tfidf' is not among count, presence"),
        ({"numbering": "none"}, "'none' is not among shared, by_domain"),
        ({"min_reviews": 0}, "min_reviews must be 1 or more, not 0"),
        ({"ngrams": 3}, "3 is not among 1, 2"),
        ({"ngrams": ()}, "ngrams: choose one or more"),
    ],
)
def test_a_wrong_option_for_reviews_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("sentiment", **options)


@pytest.mark.usefixtures("tiny_sentiment")
@pytest.mark.parametrize("what", ["books: positive", "dvd: features", "unigrams", "bigrams"])
def test_reviews_are_checked_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right = sentiment.COUNTS[what]
    monkeypatch.setitem(sentiment.COUNTS, what, right + 1)
    with pytest.raises(UserError, match=f"{what} {right} instead of {right + 1}"):
        data_fetchers.load("sentiment", domains=["dvd"], ngrams=1)
