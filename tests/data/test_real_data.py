"""The real files parse as ever, and a first tenth of a stream can be chosen on."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from data_sets import real

from omtl.data.streams import checkpoints
from omtl.experiment.config import options
from omtl.experiment.descriptions import READINGS
from omtl.experiment.selection import LATEST
from omtl.experiment.specs import DataSetSpec
from omtl.tables.cells import planned
from omtl.tables.request import Request
from omtl.util.paths import ROOT

with (ROOT / "tests/golden/data_sets.csv").open(encoding="utf-8", newline="") as table:
    KNOWN = {row["data_set"]: row for row in csv.DictReader(table)}
"""The examples of each config in ``conf/dataset/`` that has files."""


def test_every_data_set_with_files_is_known() -> None:
    assert set(KNOWN) == {
        name for name in options("dataset") if DataSetSpec.named(name).fetcher.FILES
    }


@pytest.mark.slow
@pytest.mark.usefixtures("real_home")
@pytest.mark.parametrize("name", KNOWN)
def test_real_data(name: str) -> None:
    dataset = DataSetSpec.named(name)
    if dataset.loaded_by == "eachmovie":
        pytest.importorskip("rdata")
    found = real(dataset.loaded_by, **dataset.options)
    shape = {"tasks": len(found.names), "examples": found.X.shape[0], "features": found.X.shape[1]}
    known = KNOWN[name]
    assert shape == {what: int(known[what]) for what in shape}
    assert found.sha256 == known["sha256"]


@pytest.mark.slow
@pytest.mark.usefixtures("real_home")
@pytest.mark.parametrize("dataset", ["MHC-I", "TDT2"])
@pytest.mark.parametrize("reading", READINGS)
def test_a_first_tenth_of_rom_table2_can_be_looked_at(dataset: str, reading: str) -> None:
    """A checkpoint ends it soon enough, though tasks run out at different times."""
    cells = planned("rom-table2", Request(reading, selection="prefix"))
    experiment = cells.loc[cells["dataset"] == dataset, "experiment"].iloc[0]
    options, protocol = experiment.dataset.options, experiment.protocol.as_mapping()
    sizes = np.bincount(real(experiment.dataset.loaded_by, **options).task)
    ends = checkpoints(sizes.max(), protocol["checkpoints"])
    seen = np.minimum(sizes[:, np.newaxis], ends).sum(axis=0) / sizes.sum()
    assert 0.1 <= seen[np.searchsorted(seen, 0.1)] <= LATEST * 0.1
