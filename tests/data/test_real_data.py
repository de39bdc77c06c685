"""The real files parse as ever; published precisions are the means of the authors' files."""

from __future__ import annotations

import csv

import pytest
from data_sets import real

from omtl.experiment.config import options
from omtl.experiment.specs import DataSetSpec
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
