"""The batch protocol, and what its relations say of clusters of tasks."""

from __future__ import annotations

import numpy as np
import pytest
from miniature import AS_WRITTEN, with_grid, with_options
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from omtl.experiment.playing import compute, setting_of
from omtl.experiment.unit import Experiment, Names
from omtl.learners.batch import ITL
from omtl.measures.clusters import contrast, two_clusters
from omtl.protocols.splits import folds, split

READING = AS_WRITTEN
BATCH = ("itl", "stl", "shamo", "smtl_t", "smtl_e")


def small(algorithm: str) -> Experiment:
    """Return an experiment on four small tasks, with few splits and a small grid."""
    whole = Experiment.compose(Names(algorithm, "random_walk", "batch_80"), READING)
    experiment = with_options(whole, n_tasks=4, n_examples=60, n_features=4)
    experiment = experiment.patched({"protocol.*.n_train": 20, "protocol.*.folds": 2})
    grid = {"M": [2, 3], "alpha": [0.2, 0.8], "lam": [0.1]}
    return with_grid(
        experiment, **{key: grid.get(key, each) for key, each in whole.algorithm.grid.items()}
    )


@pytest.mark.parametrize("algorithm", BATCH)
def test_every_batch_algorithm_runs(algorithm: str) -> None:
    """In miniature; what it leaves has the shapes that are promised, and the same bits again."""
    experiment = small(algorithm)
    arrays = compute(experiment.unit(0, 0)).arrays
    P = len(experiment.points)
    assert {name: array.shape for name, array in arrays.items()} == {
        "auc": (P, 4),
        "found_eta": (P, 4, 4),
        "diverged": (P,),
        "examples": (4,),
        "validation": (P,),
    }
    assert arrays["examples"].tolist() == [20] * 4
    np.testing.assert_allclose(arrays["found_eta"].sum(axis=2), 1.0)
    again = compute(experiment.unit(0, 0)).arrays
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name])
    other = compute(experiment.unit(0, 1)).arrays
    assert not np.array_equal(arrays["auc"], other["auc"])


def test_areas_are_those_of_held_out_examples() -> None:
    """Worked out again with the learner alone: the test, and each fold of the cross-validation."""
    unit = small("itl").unit(0, 3)
    setting = setting_of(unit)
    tasks = setting.tasks
    train, test = split(tasks, 20, "plain", setting.rng("split"))

    def again(learnt: np.ndarray, held_out: np.ndarray) -> np.ndarray:
        learner = ITL(**unit.algorithm.fixed)
        fit = learner.fit(tasks.taken(learnt), np.random.default_rng(0))
        found = np.full(4, np.nan)
        for k in range(4):
            mine = held_out[tasks.task[held_out] == k]
            if len(set(tasks.y[mine])) == 2:
                found[k] = roc_auc_score(tasks.y[mine], tasks.X[mine] @ fit.weights[k])
        return found

    arrays = compute(unit).arrays
    np.testing.assert_allclose(arrays["auc"][0], again(train, test))
    parts = folds(tasks, train, 2, "plain", setting.rng("folds"))
    np.testing.assert_allclose(
        arrays["validation"][0], np.nanmean([again(*part) for part in parts])
    )


# How clusters are seen


def blocks(within: float, between: float) -> tuple[np.ndarray, np.ndarray]:
    """Return relations of 10 and 9 tasks, and their groups."""
    group = np.repeat([0, 1], [10, 9])
    eta = np.where(group[:, None] == group[None, :], within, between)
    return eta + 5.0 * np.eye(19), group


def test_contrast() -> None:
    """Nothing without a difference, in units of the mean weight, whatever the diagonal."""
    assert contrast(*blocks(0.2, 0.2)) == pytest.approx(0.0)
    eta, group = blocks(0.3, 0.1)
    apart = ~np.eye(19, dtype=bool)
    assert contrast(eta, group) == pytest.approx(0.2 / eta[apart].mean())
    assert contrast(7.0 * eta, group) == pytest.approx(contrast(eta, group))
    assert contrast(*blocks(0.1, 0.3)) < 0.0
    assert np.isnan(contrast(np.eye(19), group))


def test_two_clusters() -> None:
    """Blocks are found, in any order of the tasks, and even where no weight is between them."""
    rng = np.random.default_rng(0)
    for between in (0.2, 0.0):
        eta, group = blocks(0.3, between)
        eta = eta + 0.02 * rng.random(eta.shape) * (eta > 0.0)
        order = rng.permutation(19)
        found = two_clusters(eta[np.ix_(order, order)])
        assert adjusted_rand_score(group[order], found) == pytest.approx(1.0)
    assert set(two_clusters(np.eye(5))) <= {0, 1}
