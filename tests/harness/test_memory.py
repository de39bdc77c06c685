"""A unit holds its data in the order of its repeat, and one learner's state, at a time."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from miniature import SERIAL, small, with_options

from omtl.compute.engine import run_units
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.experiment.unit import Unit
from omtl.tables.writing import computed_by

SIZES = {"n_tasks": 10, "n_examples": 200, "n_features": 300}
DATA_BYTES = 8 * 10 * 200 * 300


def unit_of(algorithm: str, n_points: int) -> Unit:
    """Return a unit on data that are large beside a learner's state, loaded and compiled."""
    experiment = with_options(small(algorithm), **SIZES)
    unit = experiment.only(list(range(n_points))).unit(seed=0, repeat=0)
    compute(unit)
    return unit


@pytest.mark.parametrize("algorithm", ["pm", "coml", "dom1"])
def test_a_unit_holds_the_data_once(algorithm: str) -> None:
    """However many points its grid has: neither a copy a point, nor the states of all points."""
    peaks = []
    for n_points in (1, len(small(algorithm).points)):
        unit = unit_of(algorithm, n_points)
        tracemalloc.start()
        compute(unit)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert DATA_BYTES < peaks[0] < 1.4 * DATA_BYTES
    assert peaks[1] < 1.4 * DATA_BYTES


def test_a_run_from_the_store_erases_nothing(tmp_path: Path) -> None:
    """A table's file goes on telling of the run that computed most of its very units."""

    def after(units: str, computed: int) -> Any:
        meta = {"units_sha256": units, "last_run": {"units_computed": computed}}
        told = computed_by(meta, path)
        path.write_text(json.dumps(meta | {"computed_by": told}), encoding="utf-8")
        return told and told["units_computed"]

    path = tmp_path / "table.meta.json"
    assert after("a", 0) is None
    assert after("a", 7) == 7
    assert after("a", 0) == 7
    assert after("a", 3) == 7
    assert after("a", 8) == 8
    assert after("b", 0) is None  # of other code
    assert after("b", 2) == 2
    path.write_text('{"table": ', encoding="utf-8")
    assert after("b", 0) is None


def test_an_outcome_tells_what_its_units_took(tmp_path: Path) -> None:
    """Also of those that were stored before, each once."""
    store, units = Store(tmp_path), small("pm").repeats(0, 3)
    first = run_units(units[:2], store, SERIAL, quiet=True)
    second = run_units([*units, *units], store, SERIAL, quiet=True)
    assert first.seconds.keys() == {unit.key for unit in units[:2]}
    assert second.seconds.keys() == {unit.key for unit in units}
    assert first.seconds.items() < second.seconds.items()
    assert all(seconds > 0.0 for seconds in second.seconds.values())
    facts = store.facts(units[0])
    assert facts is not None
    assert facts["seconds"] == first.seconds[units[0].key]


def test_a_large_data_set_is_played_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the same bits, and without a copy."""
    unit = unit_of("coml", 2)
    ordered = compute(unit)
    monkeypatch.setattr("omtl.data.preparation.LARGE", DATA_BYTES // 2)
    tracemalloc.start()
    unordered = compute(unit)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * DATA_BYTES
    for name, array in ordered.arrays.items():
        np.testing.assert_array_equal(unordered.arrays[name], array)
