"""The batch protocol, the panels of its figure, and what they say of clusters of tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from described import golden_figure
from miniature import AS_WRITTEN, SERIAL, changed, with_grid, with_options
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from omtl.api.figures import measured_figure
from omtl.compute.store import Store
from omtl.experiment.descriptions import FigureDescription
from omtl.experiment.playing import compute, setting_of
from omtl.experiment.selection import select
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Experiment, Names
from omtl.figures import plan
from omtl.figures.numbers import drawn_rows
from omtl.figures.plan import plan_figure
from omtl.learners.batch import ITL
from omtl.measures.clusters import contrast, two_clusters
from omtl.protocols.splits import folds, split
from omtl.tables.request import Request

READING = AS_WRITTEN
BATCH = ("itl", "stl", "shamo", "smtl_t", "smtl_e")


def _small(experiment: Experiment) -> Experiment:
    """Four small tasks, few splits and small grids."""
    experiment = with_options(experiment, n_tasks=4, n_examples=60, n_features=4)
    n_train = experiment.protocol.settings["n_train"] // 4
    experiment = experiment.patched({"protocol.*.n_train": n_train, "protocol.*.folds": 2})
    grid = dict(experiment.algorithm.grid)
    for name, values in {"M": [2, 3], "alpha": [0.2, 0.8], "lam": [0.1]}.items():
        if name in grid:
            grid[name] = values
    return with_grid(experiment, **grid)


Small = changed(_small)


def small(algorithm: str, protocol: str = "batch_80") -> Experiment:
    """Return a small experiment."""
    return Small.compose(Names(algorithm, "random_walk", protocol), READING)


TINY = golden_figure("batch")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> FigureDescription:
    """Let every figure be the tiny one; return its description."""
    monkeypatch.setattr(plan, "describe", lambda _kind, _name: TINY)
    monkeypatch.setattr(plan, "Experiment", Small)
    return TINY


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


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a figure's csv."""
    return drawn_rows(path)


@pytest.mark.usefixtures("tiny")
def test_figure_end_to_end(store: Store, tmp_path: Path) -> None:
    """Sizes and weights in the csv are those of the store; a second drawing has the same bytes."""
    asked = Request(repeats=2, parallel=SERIAL, store=store)
    first, again = (
        measured_figure(plan_figure("tiny", READING), asked).write(folder)
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    for one, two in zip(first, again, strict=True):
        assert one.read_bytes() == two.read_bytes()
    rows = rows_of(first[-1])
    experiment = small("smtl_e")
    results = [compute(experiment.unit(0, repeat)) for repeat in range(2)]
    chosen = select(results, experiment.points, SelectionSpec.named("cv5"))
    areas = [np.nanmean(r.arrays["auc"][p]) for r, p in zip(results, chosen, strict=True)]
    sizes = [r for r in rows if r["panel"] == "a" and r["label"] == "SMTL-e"]
    assert [r["x"] for r in sizes] == ["10", "20"]
    assert float(sizes[1]["y"]) == pytest.approx(np.mean(areas), rel=1e-5)
    assert float(sizes[1]["y_std"]) == pytest.approx(np.std(areas, ddof=1), rel=1e-5, abs=1e-9)
    eta = np.mean([r.arrays["found_eta"][p] for r, p in zip(results, chosen, strict=True)], axis=0)
    weights = [r for r in rows if r["kind"] == "weight"]
    found = np.array([float(r["y"]) for r in weights]).reshape(4, 4)
    np.testing.assert_allclose(found, eta, rtol=1e-5)
    assert (weights[6]["label"], weights[6]["x"]) == ("task 2", "3")
    notes = [r["label"] for r in rows if r["kind"] == "note"]
    assert notes[0].startswith("contrast ")
    assert "adjusted Rand index" in notes[0]


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
