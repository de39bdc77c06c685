"""TDT2: what its file parses to, one category against all, and the counts that are checked."""

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
from data_fetchers import tdt2
from omtl.util.errors import UserError

TERMS = np.array([[1, 0, 2, 0], [0, 3, 0, 0], [0, 1, 1, 0], [5, 0, 0, 0], [1, 1, 1, 0]])
CATEGORY = np.array([1, 1, 1, 2, 3])
DAY = np.array([104, 630, 104, 418, 107])
FEA = np.column_stack([TERMS, CATEGORY, DAY])


def mat(**variables: object) -> bytes:
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


@pytest.fixture
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    put(tdt2, {"TDT2.mat": mat(fea=sparse.csc_array(FEA, dtype=np.float64))})
    counts = {"documents": 5, "terms": 4, "nonzeros": 9, "days": 4}
    monkeypatch.setattr(tdt2, "COUNTS", counts)
    monkeypatch.setattr(tdt2, "DOCUMENTS_BY_CATEGORY", (3, 1, 1))


def test_category_and_day_are_split_off() -> None:
    documents = tdt2.parse(mat(fea=sparse.csc_array(FEA, dtype=np.float64)))
    assert documents.X.toarray().tolist() == TERMS.tolist()
    assert documents.category.tolist() == CATEGORY.tolist()
    assert documents.day.tolist() == DAY.tolist()
    assert documents.category.dtype == documents.day.dtype == np.int64


@pytest.mark.parametrize("content", [b"", b"fea" * 99, mat(gnd=FEA), mat(fea=FEA[:, :1])])
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(UserError, match="tdt2: the file must be"):
        tdt2.parse(content)


def test_a_term_is_weighted_by_how_few_documents_have_it() -> None:
    counts = sparse.csr_array(TERMS, dtype=np.float64)
    presence = tdt2.weighted(counts, "presence").toarray()
    assert presence.tolist() == (TERMS > 0).tolist()
    idf = np.log(5 / np.array([3, 3, 3, 1]))
    logs = np.where(TERMS > 0, 1 + np.log(np.maximum(TERMS, 1)), 0.0)
    assert np.allclose(tdt2.weighted(counts, "tfidf").toarray(), logs * idf)
    assert counts.toarray().tolist() == TERMS.tolist()


categories = arrays(np.int64, st.integers(2, 30), elements=st.integers(1, 4))


@given(categories, st.integers(1, 4), st.sampled_from(tdt2.NEGATIVES), st.integers(0, 9))
def test_a_task_has_all_its_positives_and_distinct_rows(
    category: np.ndarray, one: int, negatives: str, seed: int
) -> None:
    rows = tdt2.one_against_all(category, one, negatives, seed)
    assert np.all(np.diff(rows) > 0)
    n_positive = np.sum(category == one)
    n_negative = category.size - n_positive
    assert np.sum(category[rows] == one) == n_positive
    expected = n_negative if negatives == "all" else min(n_positive, n_negative)
    assert rows.size - n_positive == expected
    assert np.array_equal(rows, tdt2.one_against_all(category, one, negatives, seed))


@pytest.mark.usefixtures("tiny")
def test_categories_become_tasks_against_all() -> None:
    tasks = data_fetchers.load("tdt2")
    assert tasks.names == ("category 1", "category 2", "category 3")
    assert tasks.task.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert tasks.task.dtype == np.int64
    assert tasks.y.tolist() == [1, 1, 1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, 1]
    assert dense(tasks) == np.tile(TERMS, (3, 1)).tolist()


@pytest.mark.usefixtures("tiny")
def test_the_largest_categories_are_tasks_and_the_others_stay_negatives() -> None:
    tasks = data_fetchers.load("tdt2", categories=1, value="presence")
    assert tasks.names == ("category 1",)
    assert tasks.y.tolist() == [1, 1, 1, -1, -1]
    assert dense(tasks) == (TERMS > 0).tolist()


@pytest.mark.usefixtures("tiny")
def test_negatives_are_sampled_apart_for_each_category() -> None:
    tasks = data_fetchers.load("tdt2", negatives="balanced", sample_seed=7)
    assert np.bincount(tasks.task).tolist() == [5, 2, 2]
    two = data_fetchers.load("tdt2", negatives="balanced", sample_seed=7, categories=2)
    assert dense(two) == dense(tasks)[:7]
    drawn = {
        data_fetchers.load("tdt2", negatives="balanced", sample_seed=seed).sha256
        for seed in range(9)
    }
    assert len(drawn) > 1


@pytest.mark.usefixtures("tiny")
def test_a_task_may_have_fewer_examples() -> None:
    """So many at most, half of them positive where the negatives are balanced."""
    few = data_fetchers.load("tdt2", per_task=2)
    assert np.bincount(few.task).tolist() == [2, 2, 2]
    even = data_fetchers.load("tdt2", per_task=2, negatives="balanced")
    assert np.bincount(even.task).tolist() == [2, 2, 2]
    assert [float(even.y[even.task == k].sum()) for k in range(3)] == [0, 0, 0]
    many = data_fetchers.load("tdt2", per_task=100)
    assert many.sha256 == data_fetchers.load("tdt2").sha256


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categories": 0}, "categories must be 1 to 3, not 0"),
        ({"categories": 4}, "categories must be 1 to 3, not 4"),
        ({"per_task": 1}, "per_task must be at least 2, not 1"),
        ({"negatives": "some"}, "'some' is not among all, balanced"),
        ({"value": "binary"}, "'binary' is not among count, presence, tfidf"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        data_fetchers.load("tdt2", **options)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("what", ["documents", "terms", "nonzeros", "days"])
def test_counts_are_checked_whatever_is_chosen(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    right = tdt2.COUNTS[what]
    monkeypatch.setitem(tdt2.COUNTS, what, right + 1)
    with pytest.raises(UserError, match=f"{what} {right} instead of {right + 1}"):
        data_fetchers.load("tdt2", categories=1)


@pytest.mark.usefixtures("tiny")
def test_each_category_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tdt2, "DOCUMENTS_BY_CATEGORY", (3, 2))
    with pytest.raises(UserError, match=r"of category 2 1 instead of 2; .*category 3 1 instead"):
        data_fetchers.load("tdt2", categories=1)


def test_all_documents_against_some_categories(real_home: Path | None) -> None:
    tasks = real("tdt2", real_home, categories=2)
    assert tasks.X.shape == (2 * 9394, 36_771)
    assert [np.sum(tasks.y[tasks.task == k] > 0) for k in range(2)] == [1844, 1828]
    assert tasks.X.nnz == 2 * 1_224_135


@pytest.mark.parametrize("value", tdt2.VALUES)
def test_as_many_negatives_as_positives(real_home: Path | None, value: str) -> None:
    tasks = real("tdt2", real_home, negatives="balanced", value=value)
    assert tasks.X.shape == (2 * 9394, 36_771)
    assert len(tasks.names) == 30
    assert tasks.y.sum() == 0
    assert tasks.X.has_canonical_format
    assert tasks.X.data.min() > 0
