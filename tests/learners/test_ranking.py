"""Rankings against hand-computed cases, plain sorting, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score

from omtl.measures import ranking
from omtl.measures.ranking import quality, top
from omtl.util.errors import UserError


def of(values: np.ndarray, label: list[int], n_ranks: int, **options: object) -> ranking.Quality:
    """Return the quality of a ranking by a matrix of similarities."""
    return quality(lambda part: values[part], np.array(label), n_ranks, **options)


def ranked_as(hits: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return similarities and classes such that the first query's ranking has these hits.

    All other queries are of classes of their own, which nothing is relevant to.
    """
    n = len(hits) + 1
    values = np.zeros((n, n))
    values[0] = [9.0, *np.arange(n - 1, 0, -1.0)]
    return values, [0, *(0 if hit else 10 + j for j, hit in enumerate(hits))]


def test_by_hand() -> None:
    """Hits at ranks 1, 3 and 4 of five, three examples relevant; the only query that has any."""
    values = np.array(
        [
            [9.0, 5.0, 4.0, 3.0, 2.0, 1.0],
            [5.0, 9.0, 4.0, 3.0, 2.0, 1.0],
        ]
    )
    # Query 0 of class 0 is followed by classes 0, 1, 0, 0, 2; query 1 of class 0 by 0, 1, 0, 0, 2.
    label = np.array([0, 0, 1, 0, 0, 2])
    whole = np.vstack([values, np.tile(values[:1], (4, 1))])
    kept = quality(lambda part: whole[part], label, 5)

    def one(hits: list[int], relevant: int) -> tuple[list[float], list[float]]:
        precise = [sum(hits[:k]) / k for k in range(1, 6)]
        average = [
            sum(hits[j] * precise[j] for j in range(k)) / max(1, min(k, relevant))
            for k in range(1, 6)
        ]
        return precise, average

    # Rankings by descending similarity, the query left out, ties by the column.
    hits = [
        [1, 0, 1, 1, 0],  # query 0: columns 1 2 3 4 5
        [1, 0, 1, 1, 0],  # query 1: columns 0 2 3 4 5
        [0, 0, 0, 0, 0],  # query 2, of class 1: columns 0 1 3 4 5
        [1, 1, 0, 1, 0],  # query 3: columns 0 1 2 4 5
        [1, 1, 0, 1, 0],  # query 4: columns 0 1 2 3 5
        [0, 0, 0, 0, 0],  # query 5, of class 2
    ]
    relevant = [3, 3, 0, 3, 3, 0]
    each = [one(h, r) for h, r in zip(hits, relevant, strict=True)]
    np.testing.assert_allclose(kept.precision, np.mean([p for p, _ in each], axis=0))
    np.testing.assert_allclose(kept.average_precision, np.mean([a for _, a in each], axis=0))
    # Written out for query 0: AP@1..5 and mAP@1..5.
    assert each[0][0] == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5])
    thirds = (1 + 2 / 3) / 3, (1 + 2 / 3 + 3 / 4) / 3
    assert each[0][1] == pytest.approx([1, 1 / 2, thirds[0], thirds[1], thirds[1]])


def test_normalisers() -> None:
    """Divided by k, mAP@k of one relevant example at rank 1 falls with k; by min(k, 1) it stays."""
    values, label = ranked_as([1, 0, 0])
    # Queries 0 and 1 have each other; all is tied for query 1, whose first rank then is query 0.
    for normaliser, one in (("relevant", [1, 1, 1]), ("length", [1, 1 / 2, 1 / 3])):
        found = of(values, label, 3, normaliser=normaliser).average_precision
        np.testing.assert_allclose(found, 2 * np.array(one) / 4)


def test_the_query_may_be_ranked() -> None:
    """It then is its own first hit where it is most similar to itself."""
    found = of(np.eye(4), [0, 1, 2, 3], 2, with_query=True)
    np.testing.assert_allclose(found.precision, [1.0, 0.5])
    np.testing.assert_allclose(found.average_precision, [1.0, 1.0])
    np.testing.assert_allclose(of(np.eye(4), [0, 1, 2, 3], 2).precision, [0.0, 0.0])


def test_ranks_beyond_the_last_example_are_misses() -> None:
    """Two examples have one to rank: of ten ranks one may be a hit."""
    found = of(np.zeros((2, 2)), [7, 7], 10)
    np.testing.assert_allclose(found.precision, 1.0 / np.arange(1, 11))
    np.testing.assert_allclose(found.average_precision, np.ones(10))


def test_an_unknown_normaliser_is_named() -> None:
    """With those that there are."""
    with pytest.raises(UserError, match="relevant, length"):
        of(np.eye(2), [0, 0], 1, normaliser="hits")


@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans())
def test_top_is_what_sorting_gives(seed: int, n_ranks: int, ties: bool) -> None:
    """The largest first, of equals the one that comes first."""
    rng = np.random.default_rng(seed)
    values = rng.integers(3, size=(5, 12)) * 1.0 if ties else rng.normal(size=(5, 12))
    expected = np.argsort(-values, axis=1, kind="stable")[:, :n_ranks]
    np.testing.assert_array_equal(top(values, n_ranks), expected)


def test_whole_rankings_are_scikit_learns() -> None:
    """mAP over all ranks is the mean over the queries of scikit-learn's average precision."""
    rng = np.random.default_rng(0)
    n = 40
    label = rng.integers(4, size=n)
    values = rng.normal(size=(n, n))
    found = quality(lambda part: values[part], label, n - 1).average_precision[-1]
    apart = ~np.eye(n, dtype=bool)
    relevant = (label == label[:, None])[apart].reshape(n, n - 1)
    scores = values[apart].reshape(n, n - 1)
    theirs = [average_precision_score(r, s) for r, s in zip(relevant, scores, strict=True)]
    assert found == pytest.approx(np.mean(theirs))
    assert found == pytest.approx(label_ranking_average_precision_score(relevant, scores))


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many queries are ranked at once."""
    rng = np.random.default_rng(1)
    label, values = rng.integers(3, size=25), rng.normal(size=(25, 25))
    whole = quality(lambda part: values[part], label, 8)
    monkeypatch.setattr(ranking, "QUERIES_AT_ONCE", 7)
    for one, other in zip(quality(lambda part: values[part], label, 8), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
