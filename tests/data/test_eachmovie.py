"""EachMovie: what its R files parse to, how ratings become tasks, and the counts checked."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import data_fetchers
from data_fetchers import eachmovie
from data_fetchers.eachmovie import Ratings
from omtl.util.errors import UserError

SCORE = np.array(
    [
        [1, 6, 0, 0, 4],
        [0, 5, 2, 4, 0],
        [3, 3, 3, 0, 0],
        [6, 0, 1, 2, 5],
        [0, 0, 0, 4, 4],
    ]
)
USERS = ("7", "23", "24", "71", "74")
FILMS = ("1", "2", "3", "8", "1648")


def r_file(score: np.ndarray, users: Sequence[str], films: Sequence[str]) -> bytes:
    """Return the bytes of an R file with one matrix of integers, 0 being NA (R's XDR format)."""

    def ints(*numbers: int) -> bytes:
        return struct.pack(f">{len(numbers)}i", *numbers)

    def text(value: str) -> bytes:
        return ints(0x40009, len(value)) + value.encode()

    def symbol(value: str) -> bytes:
        return ints(1) + text(value)

    def texts(values: Sequence[str]) -> bytes:
        return ints(16, len(values)) + b"".join(map(text, values))

    end = ints(254)
    na = -(2**31)
    numbers = [int(one) or na for one in score.T.ravel()]
    matrix = ints(0x20D, len(numbers), *numbers)
    matrix += ints(0x402) + symbol("dim") + ints(13, 2, *score.shape)
    matrix += ints(0x402) + symbol("dimnames") + ints(19, 2) + texts(users) + texts(films) + end
    whole = b"RDX2\nX\n" + ints(2, 0x30000, 0x20300) + ints(0x402) + symbol("m") + matrix + end
    return gzip.compress(whole)


@pytest.fixture
def rdata() -> Any:
    return pytest.importorskip("rdata")


FIRST = np.array(
    [[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 0, 0, 1, 1], [0, 1, 1, 1, 0]]
)


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files whose bytes are the matrices alone, so that rdata is not needed."""
    parts = (SCORE * FIRST, SCORE * (1 - FIRST))
    paths = [file.path for file in eachmovie.FILES]
    put(
        eachmovie,
        {path: part.astype(np.int8).tobytes() for path, part in zip(paths, parts, strict=True)},
    )

    def parse(content: bytes) -> Ratings:
        return Ratings(np.frombuffer(content, dtype=np.int8).reshape(5, 5), USERS, FILMS)

    monkeypatch.setattr(eachmovie, "parse", parse)
    monkeypatch.setattr(eachmovie, "RATED", 3)
    monkeypatch.setattr(eachmovie, "N_USERS", 2)


scores = arrays(
    np.int8, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=st.integers(0, 6)
)


@pytest.mark.usefixtures("rdata")
@given(scores)
def test_an_r_file_parses_to_the_ratings_that_it_was_written_from(score: np.ndarray) -> None:
    users = [f"{23 * (at + 1)}" for at in range(score.shape[0])]
    films = [f"{at + 1}" for at in range(score.shape[1])]
    ratings = eachmovie.parse(r_file(score, users, films))
    assert ratings.score.tolist() == score.tolist()
    assert ratings.score.dtype == np.int8
    assert (ratings.users, ratings.films) == (tuple(users), tuple(films))


@pytest.mark.usefixtures("rdata")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"ratings",
        r_file(SCORE, USERS, FILMS)[:99],
        gzip.compress(
            gzip.decompress(r_file(SCORE, USERS, FILMS)).replace(b"dimnames", b"dimnemas")
        ),
    ],
    ids=["empty", "text", "cut off", "no names"],  # the bytes have the time of day in them
)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(UserError, match="eachmovie: the file must be an R file"):
        eachmovie.parse(content)


@pytest.mark.usefixtures("rdata")
@pytest.mark.parametrize("wrong", [-1, 7, 257])
def test_another_scale_is_refused(wrong: int) -> None:
    with pytest.raises(UserError, match="a rating is none of 1 to 6"):
        eachmovie.parse(r_file(np.array([[1, wrong]]), ["1"], ["1", "2"]))


def test_ratings_are_joined() -> None:
    parts = [Ratings((SCORE * part).astype(np.int8), USERS, FILMS) for part in (FIRST, 1 - FIRST)]
    whole = eachmovie.joined(parts)
    assert whole.score.tolist() == SCORE.tolist()
    assert whole.score.dtype == np.int8
    with pytest.raises(UserError, match="in two of the files"):
        eachmovie.joined([whole, parts[0]])
    with pytest.raises(UserError, match="not of the same users and films"):
        eachmovie.joined([parts[0], Ratings(parts[1].score, USERS, FILMS[::-1])])


@pytest.mark.parametrize(
    ("like_from", "expected"),
    [
        (2, [False, True, True, True, True]),
        (6, [False, False, False, False, True]),
        ("user_mean", [False, False, True, True, True]),
        ("user_median", [False, False, True, True, True]),
    ],
)
def test_what_is_liked(like_from: int | str, expected: list[bool]) -> None:
    assert eachmovie.liked(np.array([1, 2, 4, 4, 6]), like_from).tolist() == expected


@pytest.mark.usefixtures("tiny")
def test_users_with_the_right_number_of_ratings_become_tasks() -> None:
    seen = set()
    for seed in range(20):
        tasks = data_fetchers.load("eachmovie", sample_seed=seed)
        seen.add(tasks.names)
        users = [USERS.index(name.removeprefix("user ")) for name in tasks.names]
        assert users == sorted(users)
        others = [user for user in range(4) if user not in users]
        rows = [
            (SCORE[others, film], 1.0 if SCORE[user, film] >= 4 else -1.0)
            for user in users
            for film in np.flatnonzero(SCORE[user])
        ]
        assert tasks.X.tolist() == [row.tolist() for row, _ in rows]
        assert tasks.X.dtype == np.float64
        assert tasks.y.tolist() == [label for _, label in rows]
        assert tasks.task.tolist() == [0, 0, 0, 1, 1, 1]
        assert tasks.task.dtype == np.int64
    assert seen == {("user 7", "user 23"), ("user 7", "user 24"), ("user 23", "user 24")}


@pytest.mark.usefixtures("tiny")
def test_a_centred_rating_is_missing_where_it_was() -> None:
    plain = data_fetchers.load("eachmovie")
    centred = data_fetchers.load("eachmovie", features="centred", like_from="user_mean")
    assert centred.names == plain.names
    (other,) = {"user 7", "user 23", "user 24"} - set(plain.names)
    kept = [USERS.index(other.removeprefix("user ")), 3]
    means = [SCORE[user][SCORE[user] > 0].mean() for user in kept]
    assert np.allclose(centred.X, np.where(plain.X > 0, plain.X - means, 0.0))


@pytest.mark.usefixtures("tiny")
def test_likes_as_features() -> None:
    plain = data_fetchers.load("eachmovie")
    likes = data_fetchers.load("eachmovie", features="like")
    signs = np.where(plain.X >= 4, 1.0, -1.0)
    assert np.array_equal(likes.X, np.where(plain.X > 0, signs, 0.0))
    assert np.array_equal(likes.y, plain.y)
    own = data_fetchers.load("eachmovie", features="like", like_from="user_mean")
    centred = data_fetchers.load("eachmovie", features="centred", like_from="user_mean")
    rated = np.where(centred.X >= 0.0, 1.0, -1.0)  # at the mean: liked
    assert np.array_equal(own.X, np.where(plain.X > 0, rated, 0.0))


@pytest.mark.usefixtures("tiny")
def test_other_users_rated_more_films(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of their films only as many are examples as a task has."""
    monkeypatch.setattr(eachmovie, "N_USERS", 1)
    tasks = eachmovie.load(users="more")
    assert tasks.names == ("user 71",)
    assert tasks.y.size == 3
    assert tasks.X.shape[1] == 3  # the other users with so many ratings
    ratings = {(*SCORE[[0, 1, 2], film],): SCORE[3, film] for film in np.flatnonzero(SCORE[3])}
    assert [y > 0 for y in tasks.y] == [ratings[*map(int, x)] >= 4 for x in tasks.X]
