"""Each data set, of tiny hand-made files or drawn: its tasks, its options, and what is refused.

``golden/tiny_sets.yaml`` has the examples that each data set gives with some options, which can be
compared with the files in `tests/helpers/tiny_files.py` by hand, and options that are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import sparse
from tiny_files import CONSTANTS, FILES, TERMS

import data_fetchers
from data_fetchers import _catalogue, isolet, news20, tdt2
from omtl.data.streams import Classes, Tasks
from omtl.util.errors import UserError

EXPECTED = _catalogue.expected_counts
GOLDEN = Path(__file__).parents[1] / "golden" / "tiny_sets.yaml"
KNOWN: dict[str, list[dict[str, Any]]] = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))


def name_of(case: dict[str, Any]) -> str:
    """Return the name of a case."""
    return f"{case['set']} {case['options']}"


def loaded(case: dict[str, Any]) -> Any:
    """Load the data set of a case; what is drawn, with a seed."""
    is_drawn = not data_fetchers.data_set(case["set"]).FILES
    drawn = {"rng": np.random.default_rng(0)} if is_drawn else {}
    return data_fetchers.load(case["set"], **case["options"], **drawn)


@pytest.fixture(autouse=True)
def tiny(put: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all data sets tiny files."""
    for module, constant, value in CONSTANTS:
        monkeypatch.setattr(module, constant, value)
    for module, contents in FILES.items():
        put(module, contents)


def shown(tasks: Tasks | Classes) -> dict[str, Any]:
    """Return examples as plain lists, after checking the form of the arrays."""
    X = tasks.X
    if isinstance(X, sparse.csr_array):
        assert X.has_canonical_format
        assert X.indices.dtype == X.indptr.dtype == np.int32
        X = X.toarray()
    targets = tasks.label if isinstance(tasks, Classes) else tasks.y
    assert X.dtype == np.float64
    assert tasks.task.dtype == np.int64
    assert targets.dtype == (np.int64 if isinstance(tasks, Classes) else np.float64)
    rows = [" ".join(f"{value:g}" for value in row) for row in X.tolist()]
    task, y = tasks.task.tolist(), [float(f"{value:g}") for value in targets.tolist()]
    return {"names": list(tasks.names), "task": task, "y": y, "rows": rows}


@pytest.mark.parametrize("case", KNOWN["examples"], ids=name_of)
def test_files_become_tasks(case: dict[str, Any]) -> None:
    found = shown(loaded(case))
    assert found == {name: case[name] for name in found}


@pytest.mark.parametrize("case", KNOWN["refused"], ids=name_of)
def test_a_wrong_option_is_refused(case: dict[str, Any]) -> None:
    """The message names the data set, an option and its value."""
    with pytest.raises(UserError) as fault:
        loaded(case)
    assert str(fault.value).startswith(case["set"])
    assert str(case["names"]) in str(fault.value)
    assert any(option in str(fault.value) for option in case["options"])


@pytest.mark.parametrize("module", FILES, ids=lambda module: module.NAME)
def test_counts_are_checked(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny files have other numbers of examples than the real ones."""
    monkeypatch.setattr(_catalogue, "expected_counts", EXPECTED)
    with pytest.raises(UserError, match=f"{module.NAME}: .* other counts than they must"):
        data_fetchers.load(module.NAME)


def test_counts_of_ratings_are_those_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"users": 5, "films": 5, "ratings": 15, "users with 3 ratings": 3}
    counts |= {"users with 3 ratings or more": 4}
    counts |= {"ratings in first.RData": 9, "ratings in second.RData": 6}
    counts |= {f"ratings of {k}": n for k, n in enumerate((2, 2, 3, 4, 2, 2), start=1)}
    monkeypatch.setattr(_catalogue, "expected_counts", lambda _: counts)
    assert data_fetchers.load("eachmovie").names


@pytest.mark.parametrize("load", [isolet.load, lambda **o: news20.load(tasks=["comp"], **o)])
def test_rows_may_be_projected_on_their_principal_axes(load: Callable[..., Any]) -> None:
    whole = load().X
    whole = whole.toarray() if isinstance(whole, sparse.csr_array) else whole
    _, _, axes = np.linalg.svd(whole - whole.mean(axis=0))
    reduced = load(components=2).X
    np.testing.assert_allclose(np.abs(reduced), np.abs(whole @ axes[:2].T), atol=1e-9)


def test_a_term_is_weighted_by_how_few_documents_have_it() -> None:
    idf = np.log(5 / np.array([3, 3, 3, 1]))
    logs = np.where(TERMS > 0, 1 + np.log(np.maximum(TERMS, 1)), 0.0)
    assert np.allclose(tdt2.load(categories=1, value="tfidf").X.toarray(), logs * idf)


def test_versions_of_one_collection_share_a_folder(home: Path) -> None:
    assert data_fetchers.folder_of(data_fetchers.data_set("sentiment16")) == "sentiment"
    assert (home / "sentiment/fdu-mtl/a.task.test").is_file()
