"""The protocol of similarities, from end to end, and the quality of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniature import a_setting
from sklearn.metrics import average_precision_score, label_ranking_average_precision_score

from omtl.data.streams import Classes
from omtl.learners.similarity import OMTRSL
from omtl.learners.untrained import Untrained
from omtl.measures.ranking import quality, top
from omtl.protocols.setting import Setting
from omtl.protocols.similarity import fold_parts, play_grid


def letters(n_tasks: int = 3, per_class: int = 20, d: int = 6) -> Classes:
    """Return tasks of four classes, told apart by two features beside others of large variance."""
    rng = np.random.default_rng(5)
    label = np.tile(np.repeat(np.arange(4), per_class), n_tasks)
    task = np.repeat(np.arange(n_tasks), 4 * per_class)
    X = rng.normal(size=(label.size, d)) * np.where(np.arange(d) < 2, 0.3, 2.0)
    X[:, 0] += label % 2 * 2.0 - 1.0
    X[:, 1] += label // 2 * 2.0 - 1.0
    return Classes(X, label, task, tuple("abc"[:n_tasks]))


def setting_of(repeat: int = 0, **options: Any) -> Setting:
    """Return a repeat of the protocol on these tasks."""
    return a_setting(letters(), "similarity", repeat=repeat, **options)


def test_parts_of_the_repeats_are_folds() -> None:
    """Each example is tested in one repeat; validation is apart from what is fitted and tested."""
    parts = [fold_parts(setting_of(repeat)) for repeat in range(5)]
    tested = np.concatenate([each.test for each in parts])
    np.testing.assert_array_equal(np.sort(tested), np.arange(240))
    for each in parts:
        assert not set(each.test) & set(each.train)
        np.testing.assert_array_equal(np.sort([*each.fit, *each.held_out]), np.sort(each.train))
    apart = fold_parts(setting_of(validation="apart"))
    assert apart.train is apart.fit
    np.testing.assert_array_equal(apart.test, parts[0].test)


@pytest.mark.parametrize("validation", ["within", "apart"])
def test_a_grid_leaves_what_its_points_leave(validation: str) -> None:
    """A point whose C exceeds all steps of another has that one's arrays, times included."""
    setting = setting_of(validation=validation, triplets=2)
    learners = [OMTRSL(C, b) for b in (1.0, 8.0) for C in (0.01, 1e6, 1e9, 0.02)]
    alone = [play_grid([learner], setting) for learner in learners]
    together = play_grid(learners, setting)
    for name in set(together) - {"seconds", "examples", "seen"}:
        expected = np.concatenate([one[name] for one in alone])
        np.testing.assert_array_equal(together[name], expected, err_msg=name)
    assert together["seconds"][1] == together["seconds"][2]


def test_the_untrained_similarity_is_where_learning_starts() -> None:
    """The baseline of ours ranks as learners do whose steps are too short to matter."""
    none, least = (play_grid([one], setting_of()) for one in (Untrained(), OMTRSL(1e-12, 2.0)))
    for name in ("precision", "average_precision", "validation"):
        np.testing.assert_array_equal(none[name], least[name])


class Metric:
    """A batch learner of fixed metrics that notes what it is given."""

    def __init__(self, M: np.ndarray) -> None:
        self.M = M
        self.given: list[tuple[int, ...]] = []

    def fit(self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
        """Return the metric once a task."""
        self.given.append((*X.shape, y.size, task.size))
        return np.stack([self.M] * n_tasks)


def test_metrics_rank_by_product_or_distance() -> None:
    """As distances to each query would rank, and as products would; on dense and sparse rows."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    metric = Metric(root @ root.T)
    found = {
        kind: play_grid([metric], setting_of(metric_ranks_by=kind))
        for kind in ("product", "distance")
    }
    assert metric.given == [(144, 6, 144, 144), (192, 6, 192, 192)] * 2
    tasks, test = letters(), fold_parts(setting_of()).test
    for kind, arrays in found.items():
        by_task = []
        for k in range(3):
            own = test[tasks.task[test] == k]
            near = tasks.X[own] @ metric.M @ tasks.X[own].T
            if kind == "distance":
                near = 2.0 * near - np.diag(near)
            np.fill_diagonal(near, -np.inf)
            order = np.argsort(-near, axis=1)[:, :10]
            label = tasks.label[own]
            by_task.append(np.mean(label[order] == label[:, None], axis=0))
        expected = 100.0 * np.cumsum(np.mean(by_task, axis=0)) / np.arange(1, 11)
        np.testing.assert_allclose(arrays["precision"][0], expected, rtol=1e-9, err_msg=kind)
        assert "mistakes" not in arrays


def test_normalisers() -> None:
    """Divided by k, mAP@k of one relevant example at rank 1 falls with k; by min(k, 1) it stays."""
    values, label = np.zeros((4, 4)), np.array([0, 0, 11, 12])
    values[0] = [9.0, 3.0, 2.0, 1.0]
    # Queries 0 and 1 have each other; all is tied for query 1, whose first rank then is query 0.
    for normaliser, one in (("relevant", [1, 1, 1]), ("length", [1, 1 / 2, 1 / 3])):
        found = quality(lambda part: values[part], label, 3, normaliser=normaliser)
        np.testing.assert_allclose(found.average_precision, 2 * np.array(one) / 4)


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
