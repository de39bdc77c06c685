"""What the README tells is what there is; its commands and links are looked at by `test_docs`."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from omtl.harness.claims import FAILS, FALSE, HOLDS, TRUE, UNDECIDED, claims_of, in_print
from omtl.harness.ledger import papers
from omtl.harness.verdict import MATCH, MISSING, NEAR, OFF, SUBSTITUTE, TIMING
from omtl.paths import RESULTS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")

ROWS = re.findall(
    r"^\| \[([\w-]+)\]\(\S+\) \| (as \w+) \| (\d+) \| (\d+) \| (\d+) \| (.+?) \| (.+?) \|$",
    README,
    flags=re.MULTILINE,
)


def test_the_library_example_runs() -> None:
    """On two tasks that one feature tells apart."""
    rng = np.random.default_rng(0)
    task = np.repeat(["a", "b"], 50)
    X = rng.normal(size=(100, 3))
    given = {"X": X, "y": np.where(X[:, 0] > 0, 1, -1), "task": task}
    (block,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(block, given)
    learner = given["learner"]
    assert np.mean(learner.predict(X, task=task) == given["y"]) > 0.8


@pytest.mark.parametrize("row", ROWS, ids=[f"{row[0]} {row[1]}" for row in ROWS])
def test_the_counts_are_those_of_the_results(row: tuple[str, ...]) -> None:
    """Cells by verdict and claims by outcome, of each table and reading."""
    table, reading, match, near, off, rest, claims = row
    folder, name = RESULTS / "reproduced", reading.replace(" ", "_")
    cells = pd.read_csv(folder / f"{table}.csv", dtype=str)
    verdicts = Counter(cells.loc[cells["reading"] == name, "verdict"])
    assert [verdicts[v] for v in (MATCH, NEAR, OFF)] == [int(match), int(near), int(off)]
    others = [f"{verdicts[v]} {v}" for v in (SUBSTITUTE, TIMING, MISSING) if verdicts[v]]
    assert rest == (", ".join(others) or "–")
    told = pd.read_csv(folder / f"{table}.claims.csv", dtype=str)
    outcomes = Counter(told.loc[told["reading"] == name, "outcome"])
    assert claims == ", ".join(str(outcomes[o]) for o in (HOLDS, FAILS, UNDECIDED))


def test_the_claims_in_print_are_counted() -> None:
    """Those that tables decide, by whether they are true of the printed numbers."""
    counts = Counter(in_print(claim)[0] for paper in papers() for claim in claims_of(paper))
    told = re.search(
        r"Of the (\d+) claims that tables decide, (\d+) are .*?\s(\d+) are not", README, re.S
    )
    assert told is not None
    n, true, false = map(int, told.groups())
    assert (n - false, false) == (true, counts[FALSE]) == (counts[TRUE], counts[FALSE])


def test_every_table_is_counted() -> None:
    """Each table's file of results, under each reading that was run."""
    files = sorted((RESULTS / "reproduced").glob("*-table?.csv"))
    run = {
        (path.stem, reading.replace("_", " "))
        for path in files
        for reading in pd.read_csv(path, dtype=str)["reading"]
    }
    assert run == {(row[0], row[1]) for row in ROWS}
