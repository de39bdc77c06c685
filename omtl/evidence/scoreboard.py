"""The scoreboard: tables at a glance, cells by verdict, claims by outcome, placebo tests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd

from omtl.evidence.claims import claims_of, stand_ins
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.descriptions import CLOSEST, READINGS, by_reading
from omtl.tables.placebo_test import placebo_rows
from omtl.tables.plan import descriptions
from omtl.tables.verdict import MATCH, MISSING, NEAR, SUBSTITUTE, TIMING, VERDICTS
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS
from omtl.util.result_files import markdown_table, read_csv

APART = (SUBSTITUTE, TIMING, MISSING)
"""Verdicts of cells that are not compared; they share a column."""

COMPARED = tuple(verdict for verdict in VERDICTS if verdict not in APART)


def overview(results: Path = RESULTS) -> str:
    """Return a line per table in Markdown, its links from the project's folder on.

    It has the cells that are compared with print, how many of them each reading brings within 10 %;
    as published, floor and ceiling, the way from one to the other, the pairs of rows in the printed
    order, and the claims that hold.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    names = [reading.replace("_", " ") for reading in READINGS]
    rows = []
    for name in _made(results):
        cells, claims = _rows(results, name)
        cells = cells[cells["verdict"].isin(COMPARED)]
        found = [cells.loc[cells["reading"] == reading, "verdict"] for reading in READINGS]
        within = [str(part.isin((MATCH, NEAR)).sum()) if len(part) else "–" for part in found]
        bounds = _bounds(results, name, CLOSEST)
        claims = claims[claims["reading"] == CLOSEST]
        outcomes = claims["outcome"].eq(HOLDS)
        apart = {claim.id for p in {*claims["paper"]} for claim in claims_of(p) if stand_ins(claim)}
        n_apart = claims["claim"].isin(apart).sum()
        link = f"[{name}](results/reproduced/{name}.md)"
        holding = f"{outcomes.sum()} of {outcomes.size}"
        holding += f" ({n_apart} on stand-in data)" if n_apart else ""
        rows.append([link, str(len(found[-1]) or "–"), *within, *bounds, holding])
    heads = ["table", "cells compared", *names, *BOUNDS, "claims that hold"]
    return "\n".join(markdown_table(heads, rows)) + "\n"


def _made(results: Path) -> list[str]:
    """Return the tables that were made."""
    return [n for n in descriptions("table") if (results / "reproduced" / f"{n}.csv").exists()]


def _rows(results: Path, name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the cells of a table, and its claims."""
    folder = results / "reproduced"
    return read_csv(folder / f"{name}.csv"), read_csv(folder / f"{name}.claims.csv")


BOUNDS = ("floor", "ceiling", "of the way", "rows in order")
"""Columns of `_bounds`."""


def _bounds(results: Path, name: str, reading: str) -> list[str]:
    """Return floor, ceiling, the way between them that ours have gone, and the order of rows."""
    path = results / "reproduced" / f"{name}.agreement.csv"
    rows = read_csv(path) if path.exists() else pd.DataFrame({"reading": []})
    for row in rows[rows["reading"] == reading].to_dict("records"):
        way = f"{float(row['reached']):.0%}" if row["reached"] else "–"
        return [
            f"{float(row['floor']):.1f} of {row['floor_cells']}",
            f"{float(row['ceiling']):.1f}",
            way,
            f"{row['in_order']} of {row['pairs']}",
        ]
    return ["–"] * len(BOUNDS)


def scoreboard(results: Path = RESULTS) -> str:
    """Return the scoreboard in Markdown, its links from the project's folder on.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    rows = []
    for name in _made(results):
        cells, claims = _rows(results, name)
        for reading in READINGS:
            verdicts = Counter(cells.loc[cells["reading"] == reading, "verdict"])
            if not verdicts:
                continue
            others = [f"{verdicts[v]} {v}" for v in APART if verdicts[v]]
            outcomes = Counter(claims.loc[claims["reading"] == reading, "outcome"])
            address = f"results/reproduced/{by_reading(name, reading)}.md"
            rows.append(
                [
                    *(f"[{name}]({address})", reading.replace("_", " ")),
                    *(str(verdicts[v]) for v in COMPARED),
                    *_bounds(results, name, reading),
                    ", ".join(others) or "–",
                    ", ".join(str(outcomes[o]) for o in (HOLDS, FAILS, UNDECIDED)),
                ]
            )
    heads = ["table", "reading", *COMPARED, *BOUNDS, "not compared"]
    return "\n".join(markdown_table([*heads, "claims: hold, fail, undecided"], rows)) + "\n"


def placebos(results: Path = RESULTS) -> str:
    """Return, in Markdown, what each recorded search of readings finds, and what of placebos.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    lines = []
    for name in descriptions("table"):
        tests = pd.DataFrame(placebo_rows(name, results))
        for reading, part in tests.groupby("reading", sort=False) if len(tests) else ():
            row = part.iloc[-1]  # that of all columns
            halves = (row["searched_half"], row["held_out_half"])
            lines.append(
                [
                    f"[{name}](results/readings/{name}.md)",
                    str(reading).replace("_", " "),
                    *(row[of] for of in ("trials", "cells", "literal", "found")),
                    *(f"{row[of]} ({row[f'{of}_p']})" for of in ("permuted", "perturbed")),
                    *(f"{100.0 * float(half):.0f} %" for half in halves),
                ]
            )
    heads = ["table", "reading", "trials", "cells", "literal", "closest"]
    heads += ["rows permuted (p)", "numbers perturbed (p)", "chosen half", "other half"]
    return "\n".join(markdown_table(heads, lines)) + "\n"


def write_scoreboard(source: Path, folder: Path) -> Path:
    """Write the scoreboard of results to a folder; return its path. The README has the overview."""
    path = folder / "scoreboard.md"
    write_whole(path, "\n".join((overview(source), scoreboard(source), placebos(source))))
    return path
