"""Data sets of MATLAB files: what they parse to, how they become tasks, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from data_sets import cells, dense, mat
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import data_fetchers
from data_fetchers import (
    _catalogue,
    _checks,
    isolet,
    landmine,
    lenk,
    pubfig_attributes,
    school,
    spam,
    tdt2,
)
from omtl.data.streams import RealTasks
from omtl.util.errors import UserError

Put = Callable[..., None]


def fields(*labels: list[int]) -> bytes:
    """Return a file of landmines; place i of field k has the features k + i / 10 and 1."""
    seen = [
        np.array([[k + i / 10, 1.0] for i in range(len(field))])
        for k, field in enumerate(labels, start=1)
    ]
    return mat(feature=cells(*seen), label=cells(*(np.array([field]).T for field in labels)))


def inboxes(*words: np.ndarray) -> bytes:
    """Return a file of inboxes, each with two e-mails, the second of them spam."""
    sparse_words = [sparse.csc_array(each, dtype=np.float64) for each in words]
    return mat(X=cells(*sparse_words), Y=cells(*[np.array([[0], [1]], np.uint8)] * len(words)))


def group(number: int, letters: list[int]) -> bytes:
    """Return a file of recordings; recording i of group g has the features g and i / 10."""
    fea = np.array([[number, at / 10] for at in range(len(letters))])
    return mat(fea=fea, gnd=np.array(letters, dtype=np.uint8)[:, None])


TERMS = np.array([[1, 0, 2, 0], [0, 3, 0, 0], [0, 1, 1, 0], [5, 0, 0, 0], [1, 1, 1, 0]])
CATEGORY = [1, 1, 1, 2, 3]
DOCUMENTS = mat(
    fea=sparse.csc_array(
        np.column_stack([TERMS, CATEGORY, [104, 630, 104, 418, 107]]), dtype=np.float64
    )
)
IMAGES = {
    "feat": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    "class_labels": np.array([[1], [2], [2]], dtype=np.uint8),
    "binary_predicates": np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8),
    "attribute_names": np.array([["Male", "Young", "Smiling"]], dtype=object),
}
PUPILS = np.arange(3 * 28.0).reshape(3, 28)
SCORES = np.array([[5.0], [6.0]]), np.array([[7.0]])
WORDS = np.array([[1, 3, 0, 0], [0, 0, 2, 0]]), np.array([[0, 1, 1, 0], [4, 0, 0, 0]])
RATINGS = np.arange(2 * 16 * 15.0).reshape(32, 15), -np.arange(2 * 4 * 15.0).reshape(8, 15)

SMALL: dict[ModuleType, dict[str, bytes]] = {
    landmine: {"LandmineData.mat": fields([0, 1, 0], [1], [1, 0])},
    spam: {
        "emails.mat": inboxes(*WORDS),
        "task_a_u00_eval_lab.tf": b"1 1:2 4:1\n-1 2:3\n",
        "task_a_u01_eval_lab.tf": b"-1 3:1\n",
    },
    isolet: {"Isolet1.mat": group(1, [1, 2, 2]), "isolet5.mat": group(5, [2, 1, 1, 2])},
    tdt2: {"TDT2.mat": DOCUMENTS},
    pubfig_attributes: {"pubfig_data.mat": mat(**IMAGES)},
    school: {"school.mat": mat(X=cells(PUPILS[:2], PUPILS[2:]), Y=cells(*SCORES))},
    lenk: {"lenk_data.mat": mat(Traindata=RATINGS[0], Testdata=RATINGS[1])},
}


@pytest.fixture(autouse=True)
def small(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all data sets small files."""
    monkeypatch.setattr(isolet, "GROUPS", ("isolet1", "isolet5"))
    monkeypatch.setattr(landmine, "FIRST_DESERT", 3)
    monkeypatch.setattr(landmine, "SUBSETS", {"all": (1, 2, 3), "osmtl19": (1, 3)})
    monkeypatch.setattr(tdt2, "N_CATEGORIES", 3)
    for module, contents in SMALL.items():
        put(module, contents)


TWO = cells(np.eye(2))


@pytest.mark.parametrize(
    ("module", "content", "why"),
    [
        *((module, content, "") for module in SMALL for content in (b"", b"fea" * 99, mat(Z=1))),
        (landmine, mat(feature=TWO), "'label'"),
        (landmine, mat(feature=TWO, label=cells([0, 1, 1])), "more labels than places"),
        (landmine, mat(feature=TWO, label=cells([-1, 1])), "neither 0 nor 1"),
        (spam, mat(X=TWO, Y=cells([0, 1, 1])), "more labels than e-mails"),
        (school, mat(X=TWO, Y=cells(np.ones((3, 1)))), "more scores than pupils"),
        (isolet, mat(fea=np.eye(2), gnd=np.ones((3, 1))), "2 recordings have 3 letters"),
        (isolet, group(1, [0]), "not from 1 to 26"),
        (isolet, group(1, [27]), "not from 1 to 26"),
        (tdt2, mat(fea=np.ones((5, 1))), ""),
        (pubfig_attributes, mat(**IMAGES | {"feat": np.eye(2)}), "people or names are missing"),
        (pubfig_attributes, mat(**IMAGES | {"class_labels": [[1], [2], [0]]}), "no attributes"),
    ],
)
def test_a_damaged_file_is_refused(module: ModuleType, content: bytes, why: str) -> None:
    with pytest.raises(UserError, match=f"{module.NAME}: the file must be a MATLAB .*{why}"):
        module.parse(content)


@pytest.mark.parametrize("module", SMALL)
def test_counts_are_checked(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_checks, "expected_counts", _catalogue.expected_counts)
    with pytest.raises(UserError, match=f"{module.NAME}: .* other counts than they must"):
        module.load()


@given(st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=5), min_size=1, max_size=5))
def test_fields_parse_to_what_they_were_written_from(labels: list[list[int]]) -> None:
    places = landmine.parse(fields(*labels))
    flat = [(k, i, label) for k, field in enumerate(labels, 1) for i, label in enumerate(field)]
    assert places.task.tolist() == [k - 1 for k, _, _ in flat]
    assert places.y.tolist() == [2 * label - 1 for _, _, label in flat]
    assert places.X.tolist() == [[k + i / 10, 1.0] for k, i, _ in flat]


@given(st.lists(arrays(np.int64, (2, 3), elements=st.integers(0, 9)), min_size=1, max_size=4))
def test_inboxes_parse_to_what_they_were_written_from(words: list[np.ndarray]) -> None:
    emails = spam.parse(inboxes(*words))
    assert dense(emails) == np.concatenate(words).tolist()
    assert emails.y.tolist() == [-1, 1] * len(words)
    assert emails.task.tolist() == np.repeat(np.arange(len(words)), 2).tolist()


@pytest.mark.parametrize(
    ("tasks", "names", "y"),
    [
        ("all", (1, 2, 3), [-1, 1, -1, 1, 1, -1]),
        ("osmtl19", (1, 3), [-1, 1, -1, 1, -1]),
        ([3, 2], (3, 2), [1, -1, 1]),
    ],
)
def test_fields_become_tasks(tasks: object, names: tuple[int, ...], y: list[float]) -> None:
    loaded = data_fetchers.load("landmine", tasks=tasks)
    grounds = {1: "foliated", 2: "foliated", 3: "desert"}
    assert loaded.names == tuple(f"field {k} ({grounds[k]})" for k in names)
    assert loaded.y.tolist() == y
    assert loaded.X[:, 0].astype(int).tolist() == [names[k] for k in loaded.task]
    assert loaded.task.dtype == np.int64


def test_the_first_places_of_each_field() -> None:
    first = landmine.load(tasks=[1, 3], per_task=2, sample_seed=None)
    assert first.X[:, 0].tolist() == [1.0, 1.1, 3.0, 3.1]
    assert first.y.tolist() == [-1, 1, 1, -1]
    assert first.task.tolist() == [0, 0, 1, 1]
    with pytest.raises(UserError, match=r"landmine: field 2 .* 1 examples to take 2"):
        landmine.load(per_task=2, sample_seed=None)


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
    assert tasks.y.tolist() == [-1, 1, -1, 1]
    assert dense(tasks) == rows
    first = spam.load(users=["u01"], value=value, per_task=1, sample_seed=None)
    assert dense(first) == rows[:1]


def test_inboxes_of_task_a_become_tasks() -> None:
    tasks = spam.load(challenge="task_a")
    assert tasks.names == ("u00", "u01")
    assert tasks.task.tolist() == [0, 0, 1]
    assert tasks.y.tolist() == [1, -1, -1]
    assert dense(tasks) == [[2, 0, 0, 1], [0, 3, 0, 0], [0, 0, 1, 0]]
    with pytest.raises(UserError, match="the files of task A"):
        spam.parse_inboxes([b"spam 1:2\n"])


def test_groups_become_tasks() -> None:
    classes = isolet.load(groups=["isolet5", "isolet1"])
    assert classes.names == ("isolet5", "isolet1")
    assert classes.task.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert classes.label.tolist() == [2, 1, 1, 2, 1, 2, 2]
    assert classes.label.dtype == classes.task.dtype == np.int64
    assert classes.X[:, 0].tolist() == [5, 5, 5, 5, 1, 1, 1]
    some = isolet.load(letters="B")
    assert some.label.tolist() == [2, 2, 2, 2]
    assert some.task.tolist() == [0, 0, 1, 1]


def test_each_task_may_have_letters_of_its_own() -> None:
    """Each has as many as asked for; a draw is the same at every call."""
    draws = [isolet.load(letters_each=1, letters_draw=draw) for draw in range(8)]
    for classes in draws:
        assert [len(set(classes.label[classes.task == k])) for k in range(2)] == [1, 1]
    assert any(len(set(classes.label)) == 2 for classes in draws)
    again = isolet.load(letters_each=1, letters_draw=3)
    assert again.label.tolist() == draws[3].label.tolist()


def test_rows_may_be_projected_on_their_principal_axes() -> None:
    whole, reduced = isolet.load().X, isolet.load(components=1).X
    _, _, axes = np.linalg.svd(whole - whole.mean(axis=0))
    np.testing.assert_allclose(np.abs(reduced[:, 0]), np.abs(whole @ axes[0]), rtol=1e-9)
    both = isolet.load(components=2).X
    np.testing.assert_allclose(both @ both.T, whole @ whole.T, rtol=1e-9)


def test_categories_become_tasks_against_all() -> None:
    tasks = data_fetchers.load("tdt2")
    assert tasks.names == ("category 1", "category 2", "category 3")
    assert tasks.task.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    assert tasks.y.tolist() == [1, 1, 1, -1, -1, -1, -1, -1, 1, -1, -1, -1, -1, -1, 1]
    assert dense(tasks) == np.tile(TERMS, (3, 1)).tolist()
    largest = data_fetchers.load("tdt2", categories=1, value="presence")
    assert largest.names == ("category 1",)
    assert largest.y.tolist() == [1, 1, 1, -1, -1]  # the others stay negatives
    assert dense(largest) == (TERMS > 0).tolist()


def test_a_term_is_weighted_by_how_few_documents_have_it() -> None:
    idf = np.log(5 / np.array([3, 3, 3, 1]))
    logs = np.where(TERMS > 0, 1 + np.log(np.maximum(TERMS, 1)), 0.0)
    assert np.allclose(tdt2.load(categories=1, value="tfidf").X.toarray(), logs * idf)


def test_negatives_are_sampled_apart_for_each_category() -> None:
    tasks = data_fetchers.load("tdt2", negatives="balanced", sample_seed=7)
    assert np.bincount(tasks.task).tolist() == [5, 2, 2]
    two = data_fetchers.load("tdt2", negatives="balanced", sample_seed=7, categories=2)
    assert dense(two) == dense(tasks)[:7]
    seeds = [tdt2.load(negatives="balanced", sample_seed=seed).sha256 for seed in range(9)]
    assert len(set(seeds)) > 1


def test_a_category_may_have_fewer_examples() -> None:
    """Half of them are positive where the negatives are balanced."""
    assert np.bincount(tdt2.load(per_task=2).task).tolist() == [2, 2, 2]
    even = tdt2.load(per_task=2, negatives="balanced")
    assert np.bincount(even.task, weights=even.y).tolist() == [0, 0, 0]
    assert tdt2.load(per_task=100).sha256 == tdt2.load().sha256


categories = arrays(np.int64, st.integers(2, 30), elements=st.integers(1, 4))


@given(categories, st.integers(1, 4), st.sampled_from(tdt2.NEGATIVES), st.integers(0, 9))
def test_a_category_has_all_its_positives_and_distinct_rows(
    category: np.ndarray, one: int, negatives: str, seed: int
) -> None:
    rows = tdt2.one_against_all(category, one, negatives, seed)
    assert np.all(np.diff(rows) > 0)
    n_positive = np.sum(category == one)
    n_negative = category.size - n_positive
    assert np.sum(category[rows] == one) == n_positive
    expected = n_negative if negatives == "all" else min(n_positive, n_negative)
    assert rows.size - n_positive == expected


def test_attributes_become_tasks_on_the_same_images() -> None:
    tasks = data_fetchers.load("pubfig_attributes", attributes=["Young", "Male"])
    assert tasks.names == ("Young", "Male")
    assert tasks.task.tolist() == [0, 0, 0, 1, 1, 1]
    assert tasks.y.tolist() == [-1, 1, 1, 1, -1, -1]
    assert tasks.X.tolist() == [*IMAGES["feat"].tolist()] * 2


def test_schools_become_tasks_with_targets() -> None:
    tasks = school.load()
    assert isinstance(tasks, RealTasks)
    np.testing.assert_array_equal(tasks.X, np.delete(PUPILS, school.LEFT_OUT, axis=1))
    assert tasks.y.tolist() == [5.0, 6.0, 7.0]
    assert tasks.task.tolist() == [0, 0, 1]
    signs = school.load(coding="signs").X
    assert signs[:, 3].tolist() == PUPILS[:, 3].tolist()  # a percentage
    assert signs[:, 0].tolist() == (2.0 * PUPILS[:, 0] - 1.0).tolist()


def test_a_persons_computers_are_together() -> None:
    tasks = lenk.load(n_features=14)
    own = np.vstack([RATINGS[0][16:], RATINGS[1][4:]])
    np.testing.assert_array_equal(tasks.X[tasks.task == 1], own[:, :14])
    np.testing.assert_array_equal(tasks.y[tasks.task == 1], own[:, 14])
    assert tasks.names == ("person 1", "person 2")
    assert lenk.load().X.shape == (40, 13)


@pytest.mark.parametrize(
    ("mean_of", "y"), [("all", [-1, -1, 1]), ("task", [-1, 1, -1])], ids=["all", "task"]
)
def test_targets_above_a_mean_are_a_class(mean_of: str, y: list[float]) -> None:
    tasks = school.load(above_mean_of=mean_of)
    assert not tasks.real
    assert tasks.y.tolist() == y
    few = school.load(above_mean_of=mean_of, n_tasks=1)
    assert few.names == ("school 1",)
    assert few.y.tolist() == y[:2]
    assert lenk.load(above_mean_of=mean_of, n_tasks=1).X.shape == (20, 13)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("landmine", {"tasks": "osmtl"}, "'osmtl' is not among all, osmtl19"),
        ("landmine", {"tasks": [0]}, "0 is not among 1, 2, 3"),
        ("landmine", {"tasks": [1, 1]}, "each once"),
        ("landmine", {"tasks": []}, "choose one or more"),
        ("spam", {"users": ["u02"]}, "'u02' is not among u00, u01"),
        ("spam", {"challenge": "task_c"}, "'task_c' is not among task_b, task_a"),
        ("spam", {"value": "share"}, "'share' is not among count, presence, frequency, tfidf"),
        ("isolet", {"groups": ["isolet2"]}, "'isolet2' is not among isolet1, isolet5"),
        ("isolet", {"letters": "Aa"}, "'a' is not among A, B"),
        ("isolet", {"letters_each": 3}, "letters_each=3 must be between 1 and 2"),
        ("isolet", {"components": 0}, "components=0 must be between 1 and 2"),
        ("isolet", {"components": 3}, "components=3 must be between 1 and 2"),
        ("tdt2", {"categories": 0}, "categories must be 1 to 3, not 0"),
        ("tdt2", {"categories": 4}, "categories must be 1 to 3, not 4"),
        ("tdt2", {"per_task": 1}, "per_task must be at least 2, not 1"),
        ("tdt2", {"negatives": "some"}, "'some' is not among all, balanced"),
        ("pubfig_attributes", {"attributes": ["Shiny"]}, "'Shiny' is not among Male, Young"),
        ("school", {"coding": "bits"}, "'bits' is not among zero_one, signs"),
        ("school", {"above_mean_of": "half"}, "'half' is not among all, task"),
        ("school", {"n_tasks": 3}, "n_tasks: 3 is not among 1, 2"),
        ("lenk", {"n_features": 15}, "n_features: 15 is not among 13, 14"),
        ("lenk", {"n_tasks": 0}, "n_tasks: 0 is not among 1, 2"),
    ],
)
def test_a_wrong_option_is_named(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=f"{name}: .*{message}"):
        data_fetchers.load(name, **options)
