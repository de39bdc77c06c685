"""The scoreboard: cells by verdict and claims by outcome, of each table under each reading."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from omtl.evidence.claims import FAILS, HOLDS, UNDECIDED
from omtl.experiment.naming import READINGS, by_reading
from omtl.tables.plan import descriptions
from omtl.tables.verdict import MISSING, SUBSTITUTE, TIMING, VERDICTS
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS

APART = (SUBSTITUTE, TIMING, MISSING)
"""Verdicts of cells that are not compared; they share a column."""

COMPARED = tuple(verdict for verdict in VERDICTS if verdict not in APART)


def scoreboard(results: Path = RESULTS) -> str:
    """Return the scoreboard in Markdown, its links from the project's folder on.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    lines = [
        f"| table | reading | {' | '.join(COMPARED)} | not compared "
        "| claims: hold, fail, undecided |",
        "| --- |" + " --- |" * (len(COMPARED) + 3),
    ]
    folder = results / "reproduced"
    for name in descriptions("table"):
        if not (folder / f"{name}.csv").exists():
            continue
        cells = pd.read_csv(folder / f"{name}.csv", dtype=str)
        claims = pd.read_csv(folder / f"{name}.claims.csv", dtype=str)
        for reading in READINGS:
            verdicts = Counter(cells.loc[cells["reading"] == reading, "verdict"])
            if not verdicts:
                continue
            others = [f"{verdicts[v]} {v}" for v in APART if verdicts[v]]
            outcomes = Counter(claims.loc[claims["reading"] == reading, "outcome"])
            address = f"results/reproduced/{by_reading(name, reading)}.md"
            lines.append(
                f"| [{name}]({address}) | {reading.replace('_', ' ')} "
                f"| {' | '.join(str(verdicts[v]) for v in COMPARED)} "
                f"| {', '.join(others) or '–'} "
                f"| {', '.join(str(outcomes[o]) for o in (HOLDS, FAILS, UNDECIDED))} |"
            )
    return "\n".join(lines) + "\n"


def write_scoreboard(source: Path, folder: Path) -> Path:
    """Write the scoreboard of results to a folder; return its path. The README shows the same."""
    path = folder / "scoreboard.md"
    write_whole(path, scoreboard(source))
    return path
