"""The protocol of similarities, from end to end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from omtl.data.preparation import prepared_data
from omtl.data.streams import Classes
from omtl.experiment.config import load_option
from omtl.learners.similarity import OGRSL, OMTRSL, OSTRSL
from omtl.learners.untrained import Untrained
from omtl.protocols.setting import Setting
from omtl.protocols.similarity import fold_parts, play_grid
from omtl.util.errors import UserError
from omtl.util.seeds import generator


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
    return Setting(
        prepared_data(letters()),
        {**load_option("protocol", "similarity"), **options},
        None,
        lambda of, **more: generator(0, of=of, **({"repeat": repeat} | more)),
        repeat,
    )


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


def test_learning_helps() -> None:
    """What is learnt ranks better than the identity, which next to no step leaves."""
    arrays = play_grid([OMTRSL(0.01, 2.0), OMTRSL(1e-12, 2.0)], setting_of())
    assert arrays["precision"][0, -1] > arrays["precision"][1, -1] + 5.0
    assert arrays["validation"][0] > arrays["validation"][1] + 3.0


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
            X, label = tasks.X[own], tasks.label[own]
            right = []
            for i, x in enumerate(X):
                near = (
                    X @ metric.M @ x
                    if kind == "product"
                    else [-(x - other) @ metric.M @ (x - other) for other in X]
                )
                order = [j for j in np.argsort(-np.asarray(near)) if j != i]
                right.append(label[order[:10]] == label[i])
            by_task.append(np.mean(right, axis=0))
        expected = 100.0 * np.cumsum(np.mean(by_task, axis=0)) / np.arange(1, 11)
        np.testing.assert_allclose(arrays["precision"][0], expected, rtol=1e-9, err_msg=kind)
        assert "mistakes" not in arrays


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"validation": "inside"}, "within, apart"),
        ({"folds": 2}, "must be 3 at least"),
        ({"pooled_classes": "x"}, "shared, apart"),
        ({"normaliser": "x"}, "relevant, length"),
        ({"metric_ranks_by": "x"}, "product, distance"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    """One sentence names what there is to choose from."""
    setting = setting_of(**options)
    with pytest.raises(UserError, match=words):
        for learner in (OGRSL(0.1), Metric(np.eye(6))):
            play_grid([learner], setting)


def test_examples_without_classes_are_refused() -> None:
    """Similarities need classes."""
    from omtl.data.streams import Tasks

    tasks = letters()
    plain = Tasks(tasks.X, np.ones(240), tasks.task, tasks.names)
    with pytest.raises(UserError, match="have no classes"):
        play_grid([OSTRSL(0.1)], replace(setting_of(), source=prepared_data(plain)))
