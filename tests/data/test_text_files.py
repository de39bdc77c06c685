"""Data sets of texts: what their lines parse to, how they become tasks, and what is refused."""

from __future__ import annotations

import bz2
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from data_sets import dense
from hypothesis import given
from hypothesis import strategies as st

import data_fetchers
from data_fetchers import _catalogue, _checks, mhc, news20, sentiment, sentiment16, sentiment25
from omtl.util.errors import UserError

PEPTIDES = "\r\n".join(
    (
        "\t".join(mhc.COLUMNS),
        "mouse\tH-2 Db\t9\t0\tAAAYAAAYA\t=\t499.999\t1.0",
        "human\tHLA A*0201\t9\t1\tCCCCCCCCC\t=\t500\t1.0",
        "human\tHLA A*0201\t8\t2\tACDEFGHI\t>\t20000\t1.0",
        "human\tHLA A*0201\t9\t3\tKLMNPQRST\t<\t1.5\t1.0",
    )
)
MESSAGES = "1 2:3\n7 1:1 4:2 \n6 4:1\n1\n4 1:5\n"
"""Messages of comp (1, 4) and sci (6, 7)."""

SMALL: dict[ModuleType, dict[str, bytes]] = {
    mhc: {"predictions_smm.txt": PEPTIDES.encode()},
    news20: {"news20.bz2": bz2.compress(MESSAGES.encode())},
    sentiment: {
        "processed_acl/books/negative.review": b"a:2 a_b:1 b:1 #label#:negative\n",
        "processed_acl/books/positive.review": b"b:3 c\xc2\x85d:1 #label#:positive\n"
        b"z_:1 b:1 http://x:2 #label#:positive\n",
        "processed_acl/dvd/negative.review": b"c:1 #label#:negative\n",
        "processed_acl/dvd/positive.review": b"a:1 c:1 #label#:positive\n",
    },
    # A label may have a space after it, a review a character that ends lines elsewhere, or nothing.
    sentiment16: {
        "fdu-mtl/a.task.train": b"1\tgood good , good\n0\tbad thing\n",
        "fdu-mtl/a.task.test": b"1 \tthing\x85 good\n",
        "fdu-mtl/imdb.task.train": b"0\tbad caf\xe9\n",
        "fdu-mtl/imdb.task.test": b"1\t\n",
    },
    # A text may come twice, have a character that ends lines elsewhere, or be empty.
    sentiment25: {
        "a.t2.train": b"bad thing\t-1\nof three stars , perhaps\t1\n",
        "a.t4.dev": b"good good , good\t1\nbad thing\t-1\nthing\xc2\x85 good\t1\n",
        "a.t5.test": b"very good\t1\ngood , perhaps\t-1\n",
        "b.t4.test": "bad café\t-1\n\t1\n".encode(),
        "tools_hardware.t4.test": b"bad\t-1\n",
    },
}


@pytest.fixture(autouse=True)
def small(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all data sets small files."""
    monkeypatch.setattr(sentiment, "DOMAINS", ("books", "dvd"))
    monkeypatch.setattr(sentiment16, "DOMAINS", ("a", "imdb"))
    monkeypatch.setattr(sentiment25, "DOMAINS", ("a", "b", "tools_hardware"))
    for module, contents in SMALL.items():
        put(module, contents)


@pytest.mark.parametrize("module", SMALL)
def test_counts_are_checked(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_checks, "expected_counts", _catalogue.expected_counts)
    with pytest.raises(UserError, match=f"{module.NAME}: .* other counts than they must"):
        module.load()


# Each module's parser, a good line, and lines of another form
LINES: dict[str, tuple[Callable[[str], object], str, list[str]]] = {
    "sentiment": (
        sentiment.parse,
        "a:1 #label#:positive",
        ["", "a:1", "a:1 #label#:neutral", "a #label#:positive", "a:x #label#:positive"],
    ),
    "sentiment16": (sentiment16.parse, "1\tgood", ["good", "2\tgood", "", "\tgood"]),
    "sentiment25": (
        lambda text: sentiment25.parse(text, ("1",)),
        "good\t1",
        ["good", "good\t2", "", "good\t"],
    ),
    "mhc": (
        lambda text: mhc.parse("\t".join(mhc.COLUMNS) + "\n" + text.partition("\n")[2]),
        "human\tHLA A*0201\t8\t2\tACDEFGHI\t>\t2\t1.0",
        [
            "human\tHLA A*0201\t8\t2\tACDEFGHI\t>\tmuch\t1.0",
            "human\tHLA A*0201\t8\t2\tACDEFGHI\t>\t2",
            "human\tHLA A*0201\t8\t2\tACBD\t>\t2\t1.0",
            "",
        ],
    ),
}


@pytest.mark.parametrize(
    ("name", "line"), [(name, line) for name, (_, _, lines) in LINES.items() for line in lines]
)
def test_a_damaged_line_is_refused_by_its_number(name: str, line: str) -> None:
    parse, good, _ = LINES[name]
    with pytest.raises(UserError, match=f"^{name}: line 2 is not"):
        parse(f"{good}\n{line}\n{good}\n")


@pytest.mark.parametrize("text", ["", PEPTIDES.replace("inequality", "relation")])
def test_peptides_with_other_columns_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="mhc: line 1 must have the columns"):
        mhc.parse(text)


@pytest.mark.parametrize("line", ["x 1:1", "1 1", "1 1:x", "1 0:1", "1 2:1 1:1", "1 1:1 1:1", "21"])
def test_damaged_messages_are_refused(line: str) -> None:
    with pytest.raises(UserError, match="news20: the file must have lines of the form"):
        news20.parse(f"1 1:1\n{line}\n1 1:1\n".encode())


counts = st.dictionaries(st.integers(1, 9), st.integers(1, 99), min_size=1, max_size=5)


@given(st.lists(st.tuples(st.integers(1, 20), counts), min_size=1, max_size=6))
def test_messages_parse_to_what_they_were_written_from(
    messages: list[tuple[int, dict[int, int]]],
) -> None:
    lines = [
        " ".join([str(label), *(f"{word}:{own[word]}" for word in sorted(own))])
        for label, own in messages
    ]
    X, label = news20.parse("\n".join(lines).encode())
    assert label.tolist() == [label for label, _ in messages]
    assert X.shape[1] == max(word for _, own in messages for word in own)
    for (_, own), row in zip(messages, X.toarray(), strict=True):
        assert {int(at) + 1: row[at] for at in np.flatnonzero(row)} == own


def test_hierarchies_become_tasks() -> None:
    classes = data_fetchers.load("news20", tasks=["sci", "comp"])
    assert classes.names == ("sci", "comp")
    assert classes.task.tolist() == [0, 0, 1, 1, 1]
    assert classes.label.tolist() == [7, 6, 1, 1, 4]
    assert classes.label.dtype == classes.task.dtype == np.int64
    rows = [[1, 0, 0, 2], [0, 0, 0, 1], [0, 3, 0, 0], [0, 0, 0, 0], [5, 0, 0, 0]]
    assert dense(classes) == rows
    presence = news20.load(tasks=["sci", "comp"], value="presence")
    assert dense(presence) == np.minimum(rows, 1).tolist()


def test_messages_and_words_may_be_fewer() -> None:
    first = news20.load(tasks=["comp"], per_newsgroup=1)
    assert first.label.tolist() == [1, 4]
    assert dense(first) == [[0, 3, 0, 0], [5, 0, 0, 0]]
    draws = [news20.load(tasks=["comp"], per_newsgroup=1, message_draw=draw) for draw in range(8)]
    assert all(drawn.label.tolist() == [1, 4] for drawn in draws)
    assert any(dense(drawn) != dense(first) for drawn in draws)
    # Words 1 and 4 are in two of the messages, 2 in one, and 3 in none.
    both = news20.load(tasks=["comp", "sci"], words=2)
    assert dense(both) == [[0, 0], [0, 0], [5, 0], [1, 2], [0, 1]]


def test_messages_may_be_projected_on_their_principal_axes() -> None:
    whole = news20.load(tasks=["comp"]).X.toarray()
    _, _, axes = np.linalg.svd(whole - whole.mean(axis=0))
    reduced = news20.load(tasks=["comp"], components=2).X
    np.testing.assert_allclose(np.abs(reduced), np.abs(whole @ axes[:2].T), atol=1e-9)


@pytest.mark.parametrize(
    ("pairing", "task", "y"),
    [("far", [0, 6, 5, 0, 3], [1, 1, 1, 1, 1]), ("near", [0, 3, 2, 0, 1], [1, 1, -1, 1, -1])],
)
def test_newsgroups_may_be_paired(pairing: str, task: list[int], y: list[float]) -> None:
    tasks = news20.load(pairing=pairing)
    assert len(tasks.names) == 10
    assert tasks.task.tolist() == task
    assert tasks.y.tolist() == y
    assert tasks.names[0].startswith("comp.graphics / ")


words = st.text(st.characters(exclude_characters=" \n"), min_size=1, max_size=4)
reviews = st.tuples(st.dictionaries(words, st.integers(1, 99)), st.sampled_from([-1.0, 1.0]))


@given(st.lists(reviews, min_size=1, max_size=6))
def test_reviews_parse_to_what_they_were_written_from(
    written: list[tuple[dict[str, int], float]],
) -> None:
    label_of = {label: name for name, label in sentiment.LABELS.items()}
    lines = [
        " ".join([*(f"{word}:{n}" for word, n in own.items()), f"#label#:{label_of[y]}"])
        for own, y in written
    ]
    assert [(dict(own), y) for own, y in sentiment.parse("\n".join(lines))] == written


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        (
            {"domains": ("dvd", "books")},  # features: a a_b b c c\x85d http://x z_
            [
                [0, 0, 0, 1, 0, 0, 0],
                [1, 0, 0, 1, 0, 0, 0],
                [2, 1, 1, 0, 0, 0, 0],
                [0, 0, 3, 0, 1, 0, 0],
                [0, 0, 1, 0, 0, 2, 1],
            ],
        ),
        ({"domains": ["dvd"]}, [[0, 1], [1, 1]]),
        ({"domains": ["dvd"], "min_reviews": 2}, [[1], [1]]),
        ({"min_reviews": 2}, [[2, 1, 0], [0, 3, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]),
        (
            {"min_reviews": 2, "value": "presence"},
            [[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]],
        ),
        ({"domains": ["books"], "ngrams": 2}, [[1, 0], [0, 0], [0, 1]]),
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
        ({"numbering": "by_domain", "ngrams": 2}, [[1, 0], [0, 0], [0, 1], [0, 0], [0, 0]]),
    ],
)
def test_reviews_become_tasks(options: dict[str, object], rows: list[list[float]]) -> None:
    tasks = data_fetchers.load("sentiment", **options)
    assert dense(tasks) == rows
    y = {"books": [-1.0, 1.0, 1.0], "dvd": [-1.0, 1.0]}
    assert tasks.y.tolist() == [label for name in tasks.names for label in y[name]]
    assert tasks.names == tuple(options.get("domains", ("books", "dvd")))


def test_tokenised_reviews_become_tasks() -> None:
    tasks = sentiment16.load(domains=["a", "imdb"])
    assert tasks.names == ("a", "imdb")
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
    assert sentiment16.load().names == ("a",)  # films are no products
    pairs = sentiment16.load(ngrams=[2])
    # The pairs: ,_good bad_thing good_, good_good thing_good
    assert dense(pairs) == [[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]


def test_reviews_that_certainly_have_not_three_stars_become_tasks() -> None:
    tasks = sentiment25.load()
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
    assert dense(sentiment25.load(domains=["tools_hardware"])) == [[1]]
    assert sentiment25.load(ngrams=(1, 2)).X.shape == (6, 6 + 7)
    first = sentiment25.load(at_most=1)
    assert dense(first) == [dense(tasks)[row] for row in (0, 1, 4, 5)]
    assert first.task.tolist() == [0, 0, 1, 1]


def test_the_rest_of_the_domains_may_be_one_task() -> None:
    tasks = sentiment25.load(domains=["b"], rest="other")
    assert tasks.names == ("b", "other")
    assert tasks.task.tolist() == [1, 1, 1, 1, 0, 0, 1]
    assert sentiment25.load(domains=["b"], rest="other", at_most=1).task.tolist() == [1, 1, 0, 0]


def test_bigrams_are_in_alphabetical_order() -> None:
    found = mhc.bigrams(["AAAYAAAYA", "Y", "YY"])
    assert found.shape == (3, 400)
    assert {int(at): found[0, at] for at in np.flatnonzero(found[0])} == {0: 4, 19: 2, 380: 2}
    assert found[1].sum() == 0
    assert np.flatnonzero(found[2]).tolist() == [399]


@given(st.lists(st.text(mhc.AMINO_ACIDS, min_size=1, max_size=15), max_size=8))
def test_bigrams_are_what_counting_them_one_by_one_gives(peptides: list[str]) -> None:
    pairs = [first + second for first in mhc.AMINO_ACIDS for second in mhc.AMINO_ACIDS]
    for peptide, row in zip(peptides, mhc.bigrams(peptides), strict=True):
        expected = Counter(map("".join, pairwise(peptide)))
        assert {pairs[at]: row[at] for at in np.flatnonzero(row)} == expected


def test_peptides_become_tasks() -> None:
    tasks = data_fetchers.load("mhc", alleles=["A0201", "H-2 Db"])
    assert tasks.names == ("A0201", "H-2 Db")
    assert tasks.task.tolist() == [0, 0, 0, 1]
    assert tasks.y.tolist() == [-1.0, -1.0, 1.0, 1.0]
    expected = mhc.bigrams(["CCCCCCCCC", "ACDEFGHI", "KLMNPQRST", "AAAYAAAYA"])
    assert np.array_equal(tasks.X, expected)
    nine = mhc.load(lengths=[9], threshold_nm=500.5, value="presence")
    assert nine.names == ("H-2 Db", "A0201")
    assert nine.y.tolist() == [1.0, 1.0, 1.0]
    assert nine.X.max() == 1.0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mhc", {"alleles": ["A9999"]}, "'A9999' is not among H-2 Db, A0201"),
        ("mhc", {"alleles": ["A0201", "A0201"]}, "each once"),
        ("mhc", {"alleles": []}, "choose one or more"),
        ("mhc", {"lengths": [12]}, "12 is not among 8, 9"),
        ("mhc", {"alleles": ["H-2 Db"], "lengths": [8]}, "H-2 Db has no peptides of 8 residues"),
        ("mhc", {"threshold_nm": float("nan")}, "threshold_nm"),
        ("mhc", {"value": "tfidf"}, "'tfidf' is not among count, presence"),
        ("news20", {"per_newsgroup": 0}, "per_newsgroup=0 must be a positive number"),
        ("news20", {"tasks": ["comp", "sci"], "words": 0}, "words=0 must be a positive number"),
        ("news20", {"tasks": ["alt"]}, "'alt' is not among comp, rec, sci, talk"),
        ("news20", {"tasks": ["comp"], "components": 3}, "components=3 must be between 1 and 2"),
        ("news20", {"pairing": "random"}, "'random' is not among far, near"),
        ("news20", {"pairing": "far", "words": 5}, "with pairing, set of all other options only"),
        ("sentiment", {"domains": ["music"]}, "'music' is not among books, dvd"),
        ("sentiment", {"value": "share"}, "'share' is not among count, presence"),
        ("sentiment", {"numbering": "none"}, "'none' is not among shared, by_domain"),
        ("sentiment", {"min_reviews": 0}, "min_reviews must be 1 or more, not 0"),
        ("sentiment", {"ngrams": 3}, "3 is not among 1, 2"),
        ("sentiment", {"ngrams": ()}, "ngrams: choose one or more"),
        ("sentiment16", {"domains": ["c"]}, "'c' is not among a, imdb"),
        ("sentiment25", {"domains": ["d"]}, "'d' is not among a, b"),
        ("sentiment25", {"at_most": 0}, "at_most must be 1 or more, not 0"),
    ],
)
def test_a_wrong_option_is_named(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=f"{name}: .*{message}"):
        data_fetchers.load(name, **options)


def test_versions_of_one_collection_share_a_folder(home: Path) -> None:
    assert data_fetchers.folder_of(data_fetchers.data_set("sentiment16")) == "sentiment"
    assert (home / "sentiment/fdu-mtl/a.task.test").is_file()
