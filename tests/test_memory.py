"""A unit holds its data in the order of its repeat, and one learner's state, at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from miniature import small

from omtl.harness.memory import peak_mib
from omtl.harness.unit import Unit, compute

SIZES = {"n_tasks": 10, "n_examples": 200, "n_features": 300}
DATA_BYTES = 8 * 10 * 200 * 300


def unit_of(algorithm: str, n_points: int) -> Unit:
    """Return a unit on data that are large beside a learner's state, loaded and compiled."""
    experiment = small(algorithm)
    experiment.dataset["options"].update(SIZES)
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


def test_the_peak_is_that_of_this_process() -> None:
    """It grows by what is held, and does not fall when that is let go."""
    before = peak_mib()
    held = np.ones(int(1.2 * before) * 2**17)
    grown = peak_mib()
    assert grown > before + 0.1 * held.nbytes / 2**20
    del held
    assert peak_mib() == pytest.approx(grown, rel=0.01)
