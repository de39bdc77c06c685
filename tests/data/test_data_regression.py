"""The data sets with real targets: what their files parse to, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from data_sets import real
from scipy.io import savemat

import data_fetchers
from data_fetchers import biased_tasks, lenk, school
from omtl import datasets
from omtl.data.preparation import prepare
from omtl.data.streams import RealTasks
from omtl.util.errors import UserError


def saved(**arrays: object) -> bytes:
    """Return a MATLAB file."""
    file = io.BytesIO()
    savemat(file, arrays)
    return file.getvalue()


def cells(*arrays: np.ndarray) -> np.ndarray:
    """Return arrays as MATLAB's cells."""
    found = np.empty((1, len(arrays)), dtype=object)
    found[0, :] = arrays
    return found


def test_lenk_puts_a_persons_computers_together() -> None:
    train = np.arange(2 * 16 * 15.0).reshape(32, 15)
    test = -np.arange(2 * 4 * 15.0).reshape(8, 15)
    table = lenk.parse(saved(Traindata=train, Testdata=test))
    assert table.shape == (2, 20, 15)
    np.testing.assert_array_equal(table[1], np.vstack([train[16:], test[4:]]))


def test_school_has_a_school_a_cell() -> None:
    X = np.arange(3 * 28.0).reshape(3, 28)
    held = saved(X=cells(X[:2], X[2:]), Y=cells(np.array([[5.0], [6.0]]), np.array([[7.0]])))
    features, scores, schools = school.parse(held)
    np.testing.assert_array_equal(features, X)
    assert scores.tolist() == [5.0, 6.0, 7.0]
    assert schools.tolist() == [0, 0, 1]


@pytest.mark.parametrize("module", [lenk, school])
@pytest.mark.parametrize("content", [b"no file", saved(Z=np.ones(2))])
def test_another_file_is_refused(module: object, content: bytes) -> None:
    with pytest.raises(UserError, match="the file must be a MATLAB file"):
        module.parse(content)  # type: ignore[attr-defined]


def test_more_scores_than_pupils_are_refused() -> None:
    with pytest.raises(UserError, match="more scores than pupils"):
        school.parse(saved(X=cells(np.ones((2, 28))), Y=cells(np.ones((3, 1)))))


def test_biased_tasks_have_as_much_noise_as_signal() -> None:
    tasks = biased_tasks.load(rng=np.random.default_rng(3), n_tasks=200, n_examples=40)
    np.testing.assert_allclose(np.linalg.norm(tasks.X, axis=1), 1.0)
    fits = []
    for k in range(200):
        X, y = tasks.X[tasks.task == k], tasks.y[tasks.task == k]
        fits.append(np.linalg.lstsq(X, y)[0])
        assert 1.2 < y.var() / (X @ fits[-1]).var() < 4.0
    assert np.mean(fits) == pytest.approx(4.0, abs=0.5)


@pytest.mark.parametrize(
    ("name", "options", "shape", "mean"),
    [
        ("lenk", {}, (3600, 13), 4.837),
        ("lenk", {"n_features": 14}, (3600, 14), 4.837),
        ("school", {}, (15362, 26), 20.597),
        ("school", {"coding": "signs"}, (15362, 26), 20.597),
    ],
)
def test_real_data(
    real_home: Path | None, name: str, options: dict, shape: tuple[int, int], mean: float
) -> None:
    tasks = real(name, real_home, **options)
    assert isinstance(tasks, RealTasks)
    assert tasks.X.shape == shape
    assert np.mean(tasks.y) == pytest.approx(mean, abs=1e-3)
    two_valued = np.delete(tasks.X, school.PERCENTAGES, axis=1) if name == "school" else tasks.X
    low = 0.0 if name == "school" and not options else -1.0
    assert set(np.unique(two_valued)) == {low, 1.0}


@pytest.mark.parametrize("name", ["lenk_above", "school_above"])
def test_targets_above_a_mean_are_a_class(real_home: Path | None, name: str) -> None:
    numbers = real(name.removesuffix("_above"), real_home)
    for mean_of in ("all", "task"):
        tasks = real(name, real_home, mean_of=mean_of)
        np.testing.assert_array_equal(tasks.X, numbers.X)
        for k in (0, 1, len(tasks.names) - 1):
            own = numbers.task == k
            mean = np.mean(numbers.y[own] if mean_of == "task" else numbers.y)
            np.testing.assert_array_equal(tasks.y[own] > 0.0, numbers.y[own] > mean)
    few = real(name, real_home, n_tasks=2)
    assert few.names == numbers.names[:2]
    np.testing.assert_array_equal(few.X, numbers.X[numbers.task < 2])
    with pytest.raises(UserError, match="n_tasks: 0 is not among 1, 2"):
        real(name, real_home, n_tasks=0)
    with pytest.raises(UserError, match="mean_of: 'half' is not among all, task"):
        real(name, real_home, mean_of="half")


def test_options_are_checked(real_home: Path | None) -> None:
    with pytest.raises(UserError, match="n_features: 15 is not among 13, 14"):
        data_fetchers.load("lenk", home=real_home, n_features=15)
    with pytest.raises(UserError, match="coding: 'bits' is not among"):
        data_fetchers.load("school", home=real_home, coding="bits")


def test_a_stream_for_river_has_the_targets() -> None:
    loaded = datasets.load("biased_tasks", n_tasks=3, n_examples=5)
    targets = [y for _, y in loaded]
    np.testing.assert_array_equal(targets, loaded.y[loaded.order()])
    assert all(isinstance(y, float) for y in targets)


def test_targets_must_be_finite() -> None:
    tasks = RealTasks(np.eye(2), np.array([0.5, np.nan]), np.zeros(2, dtype=np.int64), ("a",))
    with pytest.raises(UserError, match="targets must be finite"):
        prepare(tasks)
