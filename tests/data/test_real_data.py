"""The real files parse as ever; published precisions are the means of the authors' files."""

from __future__ import annotations

import csv
import os
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
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


FOLDER = Path(os.environ.get("OMTL_DATA_MIRROR", "")) / "omtrsl_results"
BLOCKS = {"AP_te": "ap", "mAP_te": "map"}
METHODS = (("global", "OGRSL"), ("omt", "OMTRSL"), ("ost", "OSTRSL"), ("lmnn", "mtLMNN"))


def method_of(heading: str) -> str:
    """Return the method of a column's heading."""
    return next(method for part, method in METHODS if part in heading)


def means_by_run(dataset: str) -> dict[str, dict[tuple[str, str], float]]:
    """Return for each run its means over the tasks, in per cent, by method and metric."""
    runs: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for path in FOLDER.glob(f"{dataset}_*_top*.txt"):
        run, rank = path.name.split("__")[1], re.findall(r"top(\d+)", path.name)[0]
        for block in re.split(r"\n(?=-+m?AP_t[re]-)", path.read_text(encoding="utf-8")):
            metric = BLOCKS.get(block.split("\n")[0].strip("-"))
            lines = [line.split("&") for line in block.split("\n") if "&" in line]
            if metric is None:
                continue
            heading = [method_of(cell) for cell in lines[0][1:]]
            values = [[float(cell.split("$")[0]) for cell in line[1:]] for line in lines[1:]]
            for method, mean in zip(heading, 100.0 * np.mean(values, axis=0), strict=True):
                runs[run][method, f"{metric}@{rank}"] = float(mean)
    return runs


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the authors' result files are not here")
@pytest.mark.parametrize(
    ("dataset", "table", "n_runs"),
    [("isolet", "omtrsl-tablefig1", 8), ("news20", "omtrsl-tablefig2", 1)],
)
def test_published_precisions_are_means_of_the_runs(dataset: str, table: str, n_runs: int) -> None:
    """Of those that have the four methods in the order of the paper's figures."""
    runs = [
        run
        for run in means_by_run(dataset).values()
        if len({method for method, _ in run}) == 4
        and run["OMTRSL", "ap@10"] > run["OSTRSL", "ap@10"] > run["OGRSL", "ap@10"]
    ]
    assert len(runs) == n_runs
    published = pd.read_csv(ROOT / "results" / "published" / f"{table}.csv")
    assert len(published) == 80
    for row in published.itertuples():
        values = [run[row.algorithm, row.metric] for run in runs]
        assert row.mean == pytest.approx(np.mean(values), abs=0.00501)
        if n_runs > 1:
            assert row.std == pytest.approx(np.std(values, ddof=1), abs=0.00501)
