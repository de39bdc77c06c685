"""Each protocol on tiny data: the arrays that a repeat leaves are those of a golden file.

``golden/protocols.csv`` has each array's shape and numbers. Where a protocol changes on purpose,
``python tests/data/test_protocols.py`` writes the file anew; look at the difference before you
commit it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parents[1] / "helpers")]

import data_fetchers
from omtl.data.preparation import prepare, prepared_data
from omtl.data.streams import Classes, Tasks
from omtl.experiment.config import load_option, options
from omtl.experiment.playing import new_learner
from omtl.experiment.specs import AlgorithmSpec
from omtl.protocols.setting import Setting
from omtl.util.seeds import generator

GOLDEN = Path(__file__).parents[1] / "golden" / "protocols.csv"
TIMES = ("seconds",)
TWO_POINTS = {
    "accumulation": ("aklo_sum", [{"lam": 0.1}, {"lam": 1.0}]),
    "batch": ("itl", [{}]),
    "objective": ("rom_pgd", [{"eta": 0.1, "alpha": 0.1, "beta": 0.1, "gamma": 0.1}]),
    "regression": ("parameter_free_lazy", [{}]),
    "similarity": ("ostrsl", [{"C": 0.1}, {"C": 1.0}]),
}
"""For each protocol's module that does not take every learner, an algorithm and its points."""


def data_of(module: str) -> Tasks | Classes:
    """Return tiny data that a protocol can play."""
    rng = np.random.default_rng(0)
    if module == "similarity":
        task, label = np.repeat([0, 1], 45), np.arange(90) % 3 + 1
        return Classes(rng.normal(size=(90, 4)) + label[:, None], label, task, ("a", "b"))
    if module == "regression":
        return data_fetchers.load("biased_tasks", rng=rng, n_tasks=3, n_examples=8, n_features=4)
    small = {"n_tasks": 3, "n_examples": 40, "n_features": 5}
    return data_fetchers.load("random_walk", rng=rng, **small)


def rows_of(protocol: str) -> Iterator[list[str]]:
    """Yield protocol, array, shape and numbers of what a repeat leaves."""
    config = dict(load_option("protocol", protocol))
    config |= {"checkpoints": 4} if "checkpoints" in config else {}
    config |= {"n_train": 20, "folds": 2} if "n_train" in config else {}
    config |= {"ranks": 3, "folds": 3} if "ranks" in config else {}
    config |= {"timed": 0} if "timed" in config else {}
    module = config["module"].rpartition(".")[2]
    name, points = TWO_POINTS.get(module, ("pa", [{"C": 0.1}, {"C": 1.0}]))
    source = prepared_data(prepare(data_of(module)))  # type: ignore[arg-type]
    setting = Setting(source, config, None, lambda of, **axes: generator(0, of=of, **axes))
    play_grid = import_module(config["module"]).play_grid
    spec = AlgorithmSpec.named(name)
    learners = [new_learner(spec, {**spec.fixed, **point}) for point in points]
    for array, value in play_grid(learners, setting).items():
        if array not in TIMES:
            shape = "x".join(map(str, value.shape))
            yield [protocol, array, shape, " ".join(f"{x:.6g}" for x in value.ravel().tolist())]


@pytest.mark.parametrize("protocol", options("protocol"))
def test_a_repeat_leaves_what_it_left(protocol: str) -> None:
    with GOLDEN.open(encoding="utf-8", newline="") as file:
        expected = [row for row in csv.reader(file) if row[0] == protocol]
    found = list(rows_of(protocol))
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    for (*_, array, _, numbers), (*_, known) in zip(found, expected, strict=True):
        one, other = (np.array(text.split(), dtype=float) for text in (numbers, known))
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-9, err_msg=array)


if __name__ == "__main__":
    with GOLDEN.open("w", encoding="utf-8", newline="") as written:
        for each in options("protocol"):
            csv.writer(written, lineterminator="\n").writerows(rows_of(each))
