"""The data sets: what their files parse to, the counts that are checked, and their registry."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from data_sets import dense, real
from hypothesis import given
from hypothesis import strategies as st

import data_fetchers
from data_fetchers import mhc, outlier_walk, sentiment
from data_fetchers.__main__ import main
from data_fetchers.fetch import Archive, DataMissing
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

NAMES = data_fetchers.names()


# The registry.


def test_data_sets_are_found_by_being_there() -> None:
    assert {"mhc", "sentiment"} <= set(NAMES)
    assert not {"fetch", "__main__", "_checks"} & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_says_what_it_is_and_where_its_files_are_from(name: str) -> None:
    module = data_fetchers.data_set(name)
    assert name == module.NAME
    assert module.__doc__
    assert module.LICENCE
    if module.FILES:  # a synthetic set has none, and no one to cite
        assert re.match(r"@\w+\{\w+,\n", module.CITATION)
    assert len({file.path for file in module.FILES}) == len(module.FILES)
    for file in module.FILES:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.n_bytes > 0
        assert file.sources
        for source in file.sources:
            url = source.url if isinstance(source, Archive) else source
            assert re.match(r"https?://", url)
            if "raw.githubusercontent.com" in url:
                assert re.match(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{40}/", url)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no data set 'mch': choose among .*mhc"):
        data_fetchers.load("mch")
    with pytest.raises(UserError, match="no data set 'mch'"):
        data_fetchers.fetch_all(["mch"])


def test_fetch_all_fetches_what_there_is_and_names_what_is_missing(
    home: Path, put: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(sentiment, {"a/negative.review": b"a", "b/positive.review": b"b"})
    (home / "sentiment/a/negative.review").unlink()
    told: list[Path] = []
    with pytest.raises(DataMissing) as raised:
        data_fetchers.fetch_all(["mhc", "sentiment"], on_file=told.append)
    assert told == [home / "sentiment/b/positive.review"]
    assert "mhc: predictions_smm.txt" in str(raised.value)
    assert "sentiment: a/negative.review" in str(raised.value)
    assert "b/positive.review" not in str(raised.value)

    monkeypatch.setattr(sentiment, "FILES", sentiment.FILES[1:])
    assert data_fetchers.fetch_all(["sentiment"]) == told


def test_the_command_prints_a_line_a_file(
    home: Path, put: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    put(mhc, {"predictions_smm.txt": b"mhc"})
    assert main(["mhc"]) == 0
    assert capsys.readouterr() == (f"{home}/mhc/predictions_smm.txt\n", "")

    assert main(["mhc", "sentiment"]) == 2
    out, err = capsys.readouterr()
    assert out == f"{home}/mhc/predictions_smm.txt\n"
    assert err.count("is missing") == len(sentiment.FILES)

    assert main(["mch"]) == 2
    assert "no data set 'mch'" in capsys.readouterr().err


def test_the_command_is_a_module(home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "data_fetchers", "mhc"],
        cwd=ROOT,
        env={**os.environ, "OMTL_DATA": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert str(home / "mhc/predictions_smm.txt") in done.stderr
    assert "Traceback" not in done.stderr


# Peptides.

ROWS = (
    "mouse\tH-2 Db\t9\t0\tAAAYAAAYA\t=\t499.999\t1.0",
    "human\tHLA A*0201\t9\t1\tCCCCCCCCC\t=\t500\t1.0",
    "human\tHLA A*0201\t8\t2\tACDEFGHI\t>\t20000\t1.0",
    "human\tHLA A*0201\t9\t3\tKLMNPQRST\t<\t1.5\t1.0",
)
TABLE = "\r\n".join(("\t".join(mhc.COLUMNS), *ROWS))

peptides = st.lists(st.text(mhc.AMINO_ACIDS, min_size=1, max_size=15), max_size=8)


@pytest.fixture
def tiny_mhc(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(mhc, {"predictions_smm.txt": TABLE.encode()})
    monkeypatch.setattr(mhc, "PEPTIDES_BY_LENGTH", {8: 1, 9: 3})
    monkeypatch.setattr(mhc, "PEPTIDES_AND_BINDERS", {"H-2 Db": (1, 1), "HLA A*0201": (3, 1)})


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_the_table_of_affinities_is_parsed(ends: str) -> None:
    measured = mhc.parse(TABLE.replace("\r\n", ends) + ends)
    assert measured.allele.tolist() == ["H-2 Db", *["HLA A*0201"] * 3]
    assert measured.peptide.tolist() == ["AAAYAAAYA", "CCCCCCCCC", "ACDEFGHI", "KLMNPQRST"]
    assert measured.ic50.tolist() == [499.999, 500.0, 20000.0, 1.5]


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "line 1"),
        (TABLE.replace("inequality", "relation"), "line 1"),
        (TABLE.replace("20000", "much"), "line 4"),
        (TABLE.replace("\t1.5", ""), "line 5"),
        (TABLE + "\r\n\r\n", "line 6"),
    ],
)
def test_another_table_is_refused_by_its_line(text: str, where: str) -> None:
    with pytest.raises(UserError, match=where):
        mhc.parse(text)


def test_bigrams_are_in_alphabetical_order() -> None:
    counts = mhc.bigrams(["AAAYAAAYA", "Y", "YY"])
    assert counts.shape == (3, 400)
    assert counts.dtype == np.float64
    assert {int(at): counts[0, at] for at in np.flatnonzero(counts[0])} == {0: 4, 19: 2, 380: 2}
    assert counts[1].sum() == 0
    assert np.flatnonzero(counts[2]).tolist() == [399]


@given(peptides)
def test_bigrams_of_a_peptide_are_one_fewer_than_its_residues(given: list[str]) -> None:
    counts = mhc.bigrams(given)
    assert counts.sum(axis=1).tolist() == [len(peptide) - 1 for peptide in given]
    assert np.array_equal(mhc.bigrams(given, "presence"), counts > 0)


@given(peptides)
def test_bigrams_are_what_counting_them_one_by_one_gives(given: list[str]) -> None:
    pairs = [first + second for first in mhc.AMINO_ACIDS for second in mhc.AMINO_ACIDS]
    for peptide, row in zip(given, mhc.bigrams(given), strict=True):
        expected = Counter(map("".join, pairwise(peptide)))
        assert {pairs[at]: row[at] for at in np.flatnonzero(row)} == expected


@pytest.mark.parametrize("peptide", ["ACBD", "acd", "A-C", "Aé"])
def test_other_letters_than_amino_acids_are_refused(peptide: str) -> None:
    with pytest.raises(UserError, match=peptide):
        mhc.bigrams(["AAA", peptide])


@pytest.mark.usefixtures("tiny_mhc")
def test_peptides_become_tasks() -> None:
    tasks = data_fetchers.load("mhc", alleles=["A0201", "H-2 Db"])
    assert tasks.names == ("A0201", "H-2 Db")
    assert tasks.task.tolist() == [0, 0, 0, 1]
    assert tasks.task.dtype == np.int64
    assert tasks.y.tolist() == [-1.0, -1.0, 1.0, 1.0]
    assert tasks.y.dtype == np.float64
    expected = mhc.bigrams(["CCCCCCCCC", "ACDEFGHI", "KLMNPQRST", "AAAYAAAYA"])
    assert isinstance(tasks.X, np.ndarray)
    assert np.array_equal(tasks.X, expected)


@pytest.mark.usefixtures("tiny_mhc")
def test_peptides_are_chosen_by_length_and_labelled_by_threshold() -> None:
    tasks = mhc.load(lengths=[9], threshold_nm=500.5, value="presence")
    assert tasks.names == ("H-2 Db", "A0201")
    assert tasks.y.tolist() == [1.0, 1.0, 1.0]
    assert tasks.X.max() == 1.0


@pytest.mark.usefixtures("tiny_mhc")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alleles": ["A0201", "A9999"]}, "'A9999' is not among H-2 Db, A0201"),
        ({"alleles": ["HLA A*0201"]}, r"'HLA A\*0201' is not among"),
        ({"alleles": ["A0201", "A0201"]}, "each once"),
        ({"alleles": []}, "choose one or more"),
        ({"lengths": [12]}, "12 is not among 8, 9"),
        ({"alleles": ["H-2 Db"], "lengths": [8]}, "H-2 Db has no peptides of 8 residues"),
        ({"threshold_nm": 0}, "threshold_nm"),
        ({"threshold_nm": float("nan")}, "threshold_nm"),
        ({"value": "tfidf"}, "'tfidf' is not among count, presence"),
    ],
)
def test_a_wrong_option_for_peptides_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("mhc", **options)


@pytest.mark.usefixtures("tiny_mhc")
@pytest.mark.parametrize(
    ("table", "counts", "message"),
    [
        ("PEPTIDES_BY_LENGTH", {8: 1, 9: 4}, "peptides of 9 residues 3 instead of 4"),
        (
            "PEPTIDES_AND_BINDERS",
            {"H-2 Db": (1, 1), "HLA A*0201": (3, 2)},
            r"HLA A\*0201: binders 1 instead of 2",
        ),
        (
            "PEPTIDES_AND_BINDERS",
            {"HLA A*0201": (3, 1)},
            "H-2 Db: peptides 1 instead of 0",
        ),
        (
            "PEPTIDES_AND_BINDERS",
            {"H-2 Db": (1, 1), "HLA A*0201": (3, 1), "Mamu A*01": (5, 5)},
            r"Mamu A\*01: peptides 0 instead of 5",
        ),
    ],
)
def test_peptides_are_checked_whatever_is_chosen(
    monkeypatch: pytest.MonkeyPatch, table: str, counts: dict[object, object], message: str
) -> None:
    monkeypatch.setattr(mhc, table, counts)
    with pytest.raises(UserError, match=message):
        mhc.load(alleles=["A0201"], lengths=[8])


# Reviews.

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
        sentiment.load(domains=["dvd"], ngrams=1)


# The real files, where they are to be had without asking the public sources.


def test_all_peptides(real_home: Path | None) -> None:
    tasks = real("mhc", real_home)
    assert tasks.X.shape == (48_828, 400)
    assert len(tasks.names) == 48
    assert np.all(np.diff(tasks.task) >= 0)
    assert np.sum(tasks.y > 0) == 14_025


ROM_ALLELES = (
    *("A0201", "A0202", "A0203", "A0206", "A0301", "A2402"),
    *("A2902", "A3002", "A3101", "A3301", "A6801", "A6802"),
)


@pytest.mark.parametrize(
    ("alleles", "lengths", "n_rows", "n_binders"),
    [
        (ROM_ALLELES, None, 25_457, 8_618),
        (ROM_ALLELES, [9], 15_543, 5_203),
        (("A3002",), [9], 92, 29),
        (("A0201",), [10], 1_316, 1_708 - 1_181),
    ],
)
def test_the_peptides_of_some_alleles(
    real_home: Path | None,
    alleles: tuple[str, ...],
    lengths: list[int] | None,
    n_rows: int,
    n_binders: int,
) -> None:
    tasks = real("mhc", real_home, alleles=alleles, lengths=lengths)
    assert tasks.names == alleles
    assert (len(tasks.y), np.sum(tasks.y > 0)) == (n_rows, n_binders)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "shape"),
    [
        ({}, (8_000, 473_856)),
        ({"min_reviews": 2}, (8_000, 115_700)),
        ({"ngrams": 1}, (8_000, 57_163)),
        ({"domains": ["kitchen"]}, (2_000, 93_474)),
    ],
)
def test_the_reviews(
    real_home: Path | None, options: dict[str, object], shape: tuple[int, int]
) -> None:
    tasks = real("sentiment", real_home, **options)
    assert tasks.X.shape == shape
    assert np.bincount(tasks.task).tolist() == [2_000] * len(tasks.names)
    assert tasks.y.sum() == 0


def test_wrong_labels_of_an_outlier_walk() -> None:
    """The draw is the same but for the labels, of which so many are wrong."""
    right, wrong = (
        outlier_walk.load(rng=np.random.default_rng(0), flipped=share) for share in (0.0, 0.1)
    )
    np.testing.assert_array_equal(right.X, wrong.X)
    assert abs(np.mean(right.y != wrong.y) - 0.1) < 0.015  # five standard deviations
    with pytest.raises(UserError, match=r"flipped=0\.6 must be from 0 to 0\.5"):
        outlier_walk.load(rng=np.random.default_rng(0), flipped=0.6)
