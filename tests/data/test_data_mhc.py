"""Peptides: parsing, bigrams, tasks, and the counts that are checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from data_sets import real
from hypothesis import given
from hypothesis import strategies as st

import data_fetchers
from data_fetchers import mhc
from omtl.util.errors import UserError

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
