"""What the README tells is what there is; its commands and links are looked at by `test_docs`."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from omtl.commands._main import main
from omtl.evidence.claims import FALSE, TRUE, claims_of, in_print
from omtl.evidence.comparisons import HOLDS
from omtl.evidence.ledger import papers_with_claims
from omtl.evidence.scoreboard import COMPARED, overview, placebos, scoreboard
from omtl.tables.verdict import MATCH, NEAR, OFF, OURS, TIMING
from omtl.util.paths import RESULTS, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")


def test_the_learner_of_the_third_door_runs() -> None:
    """On two tasks that one feature tells apart."""
    rng = np.random.default_rng(0)
    task = np.repeat(["a", "b"], 50)
    X = rng.normal(size=(100, 3))
    given = {"X": X, "y": np.where(X[:, 0] > 0, 1, -1), "task": task}
    *_, block = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    exec(block, given)
    assert np.mean(given["predicted"] == given["y"]) > 0.8


def test_the_output_shown_is_that_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, on a terminal of 100 columns."""
    monkeypatch.setenv("COLUMNS", "100")
    shown = re.findall(r"```sh\n(.*)\n```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
    ((commands, output),) = shown
    assert main(shlex.split(commands.splitlines()[-1])[1:]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == output.rstrip().splitlines()


def test_the_scoreboard_is_that_of_the_results() -> None:
    """The tables at a glance, by verdict and outcome, and their luck; `audit claims` writes it."""
    all_three = "\n".join((overview(), scoreboard(), placebos()))
    assert (RESULTS / "scoreboard.md").read_text(encoding="utf-8") == all_three


def test_the_claims_in_print_are_counted() -> None:
    """Those that tables decide, by whether they are true of the printed numbers."""
    counts = Counter(
        in_print(claim)[0] for paper in papers_with_claims() for claim in claims_of(paper)
    )
    told = re.search(
        r"Of the (\d+) claims that tables decide, (\d+) are .*?\s(\d+) are not", PAGE, re.S
    )
    assert told is not None
    n, true, false = map(int, told.groups())
    assert (n - false, false) == (true, counts[FALSE]) == (counts[TRUE], counts[FALSE])


def test_a_reading_has_its_own_counts(tmp_path: Path) -> None:
    folder = tmp_path / "reproduced"
    folder.mkdir()
    rows = {"as_read": [MATCH, NEAR, TIMING, OURS], "as_written": [OFF, OFF, OFF]}
    cells = [(reading, verdict) for reading, found in rows.items() for verdict in found]
    pd.DataFrame(cells, columns=["reading", "verdict"]).to_csv(folder / "dom-table1.csv")
    claims = pd.DataFrame([("as_read", HOLDS)], columns=["reading", "outcome"])
    claims.to_csv(folder / "dom-table1.claims.csv")
    assert scoreboard(tmp_path).splitlines()[2:] == [
        "| [dom-table1](results/reproduced/dom-table1.as_written.md) | as written "
        f"| {' | '.join('3' if v == OFF else '0' for v in COMPARED)} | – | – | – | – "
        "| – | 0, 0, 0 |",
        "| [dom-table1](results/reproduced/dom-table1.as_read.md) | as read "
        f"| {' | '.join('1' if v in (MATCH, NEAR) else '0' for v in COMPARED)} | – | – | – | – "
        "| 1 timing | 1, 0, 0 |",
    ]


def test_what_luck_would_find_is_of_all_columns(tmp_path: Path) -> None:
    (tmp_path / "readings").mkdir()
    rows = pd.read_csv(RESULTS / "readings" / "aklo-table1.luck.csv", dtype=str)
    part = rows[rows["reading"] == "as_read"]
    part = part.assign(found=[f"{number}" for number in range(len(part))])
    part.to_csv(tmp_path / "readings" / "aklo-table1.luck.csv", index=False)
    (line,) = placebos(tmp_path).splitlines()[2:]
    assert line.startswith("| [aklo-table1](results/readings/aklo-table1.md) | as read ")
    last = part.iloc[-1]
    assert f"| {last['literal']} | {len(part) - 1} | {last['permuted']} (" in line
    assert line.endswith(f" {100 * float(last['held_out_half']):.0f} % |")
