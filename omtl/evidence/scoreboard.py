"""The scoreboard: tables at a glance, cells by verdict, claims by outcome, the share of luck."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.naming import CLOSEST, READINGS, by_reading
from omtl.tables.plan import descriptions
from omtl.tables.verdict import MATCH, MISSING, NEAR, SUBSTITUTE, TIMING, VERDICTS
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS

APART = (SUBSTITUTE, TIMING, MISSING)
"""Verdicts of cells that are not compared; they share a column."""

COMPARED = tuple(verdict for verdict in VERDICTS if verdict not in APART)


PLACEBOS = ("permuted", "perturbed")
"""Columns of what is found by luck; beside each is the share of placebos that do as well."""

HALVES = ("searched", "held_out")
"""Halves of the rows: that by which a trial is chosen, and the other."""


def overview(results: Path = RESULTS) -> str:
    """Return a line per table in Markdown, its links from the project's folder on.

    It has the cells that are compared with print, how many of them each reading brings within 10 %,
    how many placebos bring there on average, and the claims that hold as published.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    names = [reading.replace("_", " ") for reading in READINGS]
    lines = [
        f"| table | cells compared | {' | '.join(names)} | rows permuted | claims that hold |",
        "| --- |" + " --- |" * (len(names) + 3),
    ]
    for name in descriptions("table"):
        path = results / "reproduced" / f"{name}.csv"
        if not path.exists():
            continue
        cells = pd.read_csv(path, dtype=str)
        cells = cells[cells["verdict"].isin(COMPARED)]
        found = [cells.loc[cells["reading"] == reading, "verdict"] for reading in READINGS]
        within = [str(part.isin((MATCH, NEAR)).sum()) if len(part) else "–" for part in found]
        luck = results / "readings" / f"{name}.luck.csv"
        whole = pd.read_csv(luck, dtype=str).iloc[-1] if luck.exists() else None
        permuted = "–" if whole is None else f"{float(whole['permuted']):.1f} of {whole['cells']}"
        claims = pd.read_csv(path.with_suffix(".claims.csv"), dtype=str)
        outcomes = claims.loc[claims["reading"] == CLOSEST, "outcome"].eq(HOLDS)
        lines.append(
            f"| [{name}](results/reproduced/{name}.md) | {len(found[-1]) or '–'} "
            f"| {' | '.join(within)} | {permuted} | {outcomes.sum()} of {outcomes.size} |"
        )
    return "\n".join(lines) + "\n"


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


def placebos(results: Path = RESULTS) -> str:
    """Return, in Markdown, what each recorded search of readings finds, and what it finds by luck.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    lines = [
        "| table | reading | trials | cells | literal | closest | rows permuted (p) "
        "| numbers perturbed (p) | chosen half | other half |",
        "| --- |" + " --- |" * 9,
    ]
    for name in descriptions("table"):
        path = results / "readings" / f"{name}.luck.csv"
        if not path.exists():
            continue
        rows = pd.read_csv(path, dtype=str)
        for reading, part in rows.groupby("reading", sort=False):
            row = part.iloc[-1]  # that of all columns
            by_luck = (f"{row[of]} ({row[f'{of}_p']})" for of in PLACEBOS)
            halves = (
                f"{100.0 * float(row[of]):.0f} %" for of in ("searched_half", "held_out_half")
            )
            lines.append(
                f"| [{name}](results/readings/{name}.md) | {str(reading).replace('_', ' ')} "
                f"| {' | '.join(row[of] for of in ('trials', 'cells', 'literal', 'found'))} "
                f"| {' | '.join(by_luck)} "
                f"| {' | '.join(halves)} |"
            )
    return "\n".join(lines) + "\n"


def write_scoreboard(source: Path, folder: Path) -> Path:
    """Write the scoreboard of results to a folder; return its path. The README has the overview."""
    path = folder / "scoreboard.md"
    write_whole(path, "\n".join((overview(source), scoreboard(source), placebos(source))))
    return path
