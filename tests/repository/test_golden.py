"""Tables made from stored records, byte for byte."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from golden_records import GOLDEN, RECORDS, Records, forms

from omtl.evidence.comparisons import FAILS
from omtl.evidence.ledger import NOT_RUN
from omtl.experiment.descriptions import CLOSEST, READINGS
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.results import claims
from omtl.tables.notes import diagnoses
from omtl.tables.verdict import EXCLUDES, OFF
from omtl.util.paths import RESULTS

TABLES = [
    path
    for path in sorted((RESULTS / "reproduced").glob("*.csv"))
    if not path.stem.endswith((".agreement", ".claims", ".repeats", ".trends"))
]
REPRODUCED = [path for path in TABLES if not path.stem.endswith(f".{NO_HINDSIGHT}")]


def test_records_give_the_golden_table() -> None:
    """csv, Markdown and LaTeX, with missing columns and their reasons."""
    with np.load(RECORDS, allow_pickle=False) as stored:
        records = Records({name: stored[name] for name in stored.files})
    for name, text in forms(records).items():
        assert text == (GOLDEN / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("path", REPRODUCED, ids=lambda path: path.stem)
def test_every_cell_that_is_surely_off_has_a_diagnosis(path) -> None:
    """In ``experiments/<paper>/diagnoses.yaml``, for the standard reading in which it is off."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    paper = path.stem.partition("-")[0]
    written = {
        (entry.table, reading, entry.dataset, algorithm)
        for entry in diagnoses(paper)
        for reading in entry.readings
        for algorithm in entry.algorithms
        if entry.text.strip()
    }
    off = rows[(rows["verdict"] == OFF) & (rows["interval"] == EXCLUDES)]
    off = off[off["reading"].isin([*READINGS])]  # what the blind reading lacks needs no reason
    needed = set(zip(off["table"], off["reading"], off["dataset"], off["algorithm"], strict=True))
    assert needed <= written


def test_every_claim_that_is_true_in_print_and_fails_as_published_says_why() -> None:
    """And no other does; none is left to be run under a standard reading."""
    rows = claims()
    needed = (rows["in_print"] == "true") & (rows[CLOSEST] == FAILS)
    assert needed.any()
    assert set(rows["claim"][rows["why_it_fails"] != ""]) == set(rows["claim"][needed])
    assert not (rows[[*READINGS]] == NOT_RUN).any(axis=None)
