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
from omtl.protocols.record_schema import DIVERGED, LARGEST, SCHEMAS, check_arrays
from omtl.protocols.setting import Setting
from omtl.util.seeds import generator

GOLDEN = Path(__file__).parents[1] / "golden" / "protocols.csv"
TIMES = ("seconds",)
ROM = {"alpha": 0.1, "beta": 0.1, "gamma": 0.1}
LEARNERS = {
    "accumulation": [("aklo_sum", {"lam": 0.1}), ("aklo_sum", {"lam": 1.0})],
    "batch": [("itl", {})],
    "objective": [("rom_rda", {"kappa": kappa, **ROM}) for kappa in (1.0, 2.0)],
    "regression": [("gd", {"eta": 0.1})],
    "similarity": [("ostrsl", {"C": 0.1}), ("ostrsl", {"C": 1.0})],
}
"""For each protocol's module that does not take every learner, algorithms and their points."""


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


def arrays_of(protocol: str) -> tuple[str, dict[str, np.ndarray]]:
    """Return a protocol's module, and the arrays that a repeat leaves."""
    config = dict(load_option("protocol", protocol))
    config |= {"checkpoints": 4} if "checkpoints" in config else {}
    config |= {"n_train": 20, "folds": 2} if "n_train" in config else {}
    config |= {"ranks": 3, "folds": 3} if "ranks" in config else {}
    config |= {"timed": 0} if "timed" in config else {}
    config |= {"pair": [1, 2]} if "pair" in config else {}
    module = config["module"].rpartition(".")[2]
    source = prepared_data(prepare(data_of(module)))  # type: ignore[arg-type]
    setting = Setting(source, config, None, lambda of, **axes: generator(0, of=of, **axes))
    play_grid = import_module(config["module"]).play_grid
    learners = []
    for name, point in LEARNERS.get(module, [("pa", {"C": 0.1}), ("pa", {"C": 1.0})]):
        spec = AlgorithmSpec.named(name)
        learners.append(new_learner(spec, {**spec.fixed, **point}))
    return config["module"], play_grid(learners, setting)


def rows_of(protocol: str) -> Iterator[list[str]]:
    """Yield protocol, array, shape and numbers of what a repeat leaves."""
    for array, value in arrays_of(protocol)[1].items():
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


def spoilt(module: str, arrays: dict[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    """Yield what the arrays of a result cannot be."""
    for name, array in arrays.items():
        if name.startswith("found_"):
            yield arrays | {name: np.concatenate([array, array])}
            continue
        yield arrays | {name: array[..., None]}
        kind = {"diverged": DIVERGED, **SCHEMAS[module.rpartition(".")[2]]}[name]
        if not kind.optional:
            yield {other: one for other, one in arrays.items() if other != name}
        if kind.low > -LARGEST:
            yield arrays | {name: array - 1 + kind.low - np.nanmax(array)}
        if array.dtype.kind == "f":
            yield arrays | {name: np.full_like(array, np.inf)}
        else:
            yield arrays | {name: array + 0.5}
    yield arrays | {"more": np.zeros(2)}
    if "mistakes" in arrays:
        yield arrays | {"mistakes": arrays["mistakes"] + 10_000}


@pytest.mark.parametrize("protocol", options("protocol"))
def test_a_result_that_cannot_be_is_refused(protocol: str) -> None:
    """Of each array: other axes, none, numbers out of range, no number; and arrays of no name."""
    module, arrays = arrays_of(protocol)
    sizes = len(arrays["diverged"]), 2 if protocol == "similarity" else 3
    check_arrays(arrays, module, *sizes)
    for wrong in spoilt(module, arrays):
        with pytest.raises(ValueError, match=r"array|whole"):
            check_arrays(wrong, module, *sizes)
    with pytest.raises(ValueError, match="diverged"):
        check_arrays(arrays, module, sizes[0] + 1, sizes[1])


def test_numbers_of_a_point_that_diverged_may_be_anything() -> None:
    """Those of the others may not."""
    arrays = arrays_of("rounds")[1] | {"diverged": np.array([0, 3])}
    arrays["checkpoint_loss"][1] = np.nan
    check_arrays(arrays, "omtl.protocols.cumulative", 2, 3)
    arrays["checkpoint_loss"][0] = np.nan
    with pytest.raises(ValueError, match="checkpoint_loss"):
        check_arrays(arrays, "omtl.protocols.cumulative", 2, 3)


if __name__ == "__main__":
    with GOLDEN.open("w", encoding="utf-8", newline="") as written:
        for each in options("protocol"):
            csv.writer(written, lineterminator="\n").writerows(rows_of(each))
