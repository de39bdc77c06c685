"""The data sets in Python: the harness's arrays, in the harness's order, and river's pairs."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from miniature import SMALL_WALK, small

import data_fetchers
import omtl
from data_fetchers import landmine, mhc, options_of, sentiment
from data_fetchers.fetch import DataMissing
from omtl.commands._main import main
from omtl.data.streams import Tasks
from omtl.datasets import load, names
from omtl.experiment import loading
from omtl.experiment.config import options
from omtl.experiment.loading import check_options
from omtl.experiment.playing import compute
from omtl.experiment.specs import DataSetSpec
from omtl.sklearn import Perceptron
from omtl.util.ending import DONE, WRONG_USE
from omtl.util.errors import UserError
from omtl.util.paths import ROOT


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("repeat", [0, 1])
def test_the_order_is_that_of_the_harness(repeat: int) -> None:
    """An estimator that follows it makes the mistakes that a unit of that repeat has."""
    experiment = small("pm")
    [point] = experiment.points
    expected = compute(experiment.unit(0, repeat)).arrays["mistakes"].ravel()
    data = load("random_walk", **experiment.dataset.options)
    at = data.order(repeat=repeat)
    model = Perceptron(**point).begin(data.X.shape[1], [-1.0, 1.0], data.task_names)
    mistakes = dict.fromkeys(data.task_names, 0)
    for x, y, task in zip(data.X[at], data.y[at], data.task[at], strict=True):
        mistakes[task] += int(y * model.learn_one(x, y, task) <= 0.0)
    assert list(mistakes.values()) == expected.tolist()


def test_a_stream_of_pairs_has_what_the_arrays_have() -> None:
    """Features by their number, the task beside them, labels as river has them."""
    data = load("random_walk", **SMALL_WALK)
    pairs = list(data)
    assert (len(pairs), data.n_tasks) == (len(data), len(set(data.task)))
    for i, (x, y) in zip(data.order(), pairs, strict=True):
        assert x.pop("task") == data.task[i]
        assert y is bool(data.y[i] > 0)
        np.testing.assert_array_equal(list(x.values()), data.X[i])
    assert [y for _, y in data.stream(seed=1)] != [y for _, y in pairs]


def test_names_are_those_of_the_configs() -> None:
    assert names() == options("dataset")


@pytest.mark.parametrize("name", names())
def test_configs_have_options_that_their_data_sets_take(name: str) -> None:
    spec = DataSetSpec.named(name)
    check_options(options_of(spec.fetcher), spec.options, name)


@pytest.mark.parametrize(
    ("room", "draws", "n_loads"),
    [(3.0, [0, 1, 2, 1, 0, 2, 0], 3), (2.0, [0, 1, 0, 2, 0, 1], 4), (0.5, [0, 0, 1, 1, 0], 3)],
)
def test_what_there_is_room_for_is_loaded_once(
    room: float, draws: list[int], n_loads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not asked for longest goes; what was just asked for stays, however large it is."""
    dataset = DataSetSpec.named("random_walk")
    size = loading.load_prepared(dataset, 0, draws[0]).nbytes
    monkeypatch.setattr(loading, "_LOADED", {})
    monkeypatch.setattr(loading, "ROOM", room * size)
    loaded: list[object] = []
    honest = loading._prepared
    monkeypatch.setattr(loading, "_prepared", lambda *asked: loaded.append(asked) or honest(*asked))
    for draw in draws:
        loading.load_prepared(dataset, 0, draw)
    held = [one.result().nbytes for one in loading._LOADED.values()]
    assert sum(held) <= max(1.0, room) * size
    assert len(loaded) == n_loads


def test_a_data_set_that_was_missing_is_tried_again_in_the_next_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    monkeypatch.setattr(loading, "_LOADED", {})
    asked = ["dataset.options.n_examples=20", "repeats=1", "parallel=serial"]
    with monkeypatch.context() as patch, pytest.raises(UserError, match="no network"):
        patch.setattr(loading, "load_tasks", raising := Mock(side_effect=DataMissing("no network")))
        omtl.run("pa", "random_walk", *asked)
    assert raising.call_count == 1
    assert omtl.run("pa", "random_walk", *asked).frame["n_repeats"].tolist() == [1]


NAMES = data_fetchers.data_set_names()


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_says_what_it_is_and_where_its_files_are_from(name: str) -> None:
    module = data_fetchers.data_set(name)
    assert name == module.NAME
    assert module.__doc__
    assert module.LICENCE
    if module.FILES:  # a synthetic set has none, and no one to cite
        assert re.match(r"@\w+\{\w+,\n", module.CITATION)
    assert len({file.path for file in module.FILES}) == len(module.FILES)
    for file in module.FILES:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.n_bytes > 0
        assert file.sources
        for source in file.sources:
            assert re.match(r"https?://", source)
            if "raw.githubusercontent.com" in source:
                assert re.match(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{40}/", source)


def test_the_command_fetches_what_there_is_and_names_what_is_missing(
    home: Path, put: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for each file, on standard output if it is there."""
    put(mhc, {"predictions_smm.txt": b"mhc"})
    put(sentiment, {"a/negative.review": b"a", "b/positive.review": b"b"})
    (home / "sentiment/a/negative.review").unlink()
    there = f"{home}/mhc/predictions_smm.txt\n"
    assert main(["fetch", "mhc"]) == DONE
    assert capsys.readouterr() == (there, "")
    assert main(["fetch", "mhc", "sentiment", "landmine"]) == WRONG_USE
    out, err = capsys.readouterr()
    assert out == f"{there}{home}/sentiment/b/positive.review\n"
    assert "sentiment: a/negative.review (" in err
    assert err.count("is missing") == 1 + len(landmine.FILES)
    assert main(["fetch"]) == WRONG_USE  # all, of which no other is there
    assert capsys.readouterr().out == out


with (ROOT / "tests/golden/data_sets.csv").open(encoding="utf-8", newline="") as table:
    KNOWN = {row["data_set"]: row for row in csv.DictReader(table)}
"""The examples of each config in ``conf/dataset/`` that has files."""


def test_every_data_set_with_files_is_known() -> None:
    assert set(KNOWN) == {
        name for name in options("dataset") if DataSetSpec.named(name).fetcher.FILES
    }


FIRST = {DataSetSpec.named(name).loaded_by: name for name in reversed(KNOWN)}.values()
"""One config of each data set's files; the others read the same files with other options."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in FIRST else [pytest.mark.deep]) for name in KNOWN],
)
def test_real_data(name: str, real: Callable[..., Tasks]) -> None:
    dataset = DataSetSpec.named(name)
    if dataset.loaded_by == "eachmovie":
        pytest.importorskip("rdata")
    found = real(dataset.loaded_by, **dataset.options)
    shape = {"tasks": len(found.names), "examples": found.X.shape[0], "features": found.X.shape[1]}
    known = KNOWN[name]
    assert shape == {what: int(known[what]) for what in shape}
    assert found.sha256 == known["sha256"]
