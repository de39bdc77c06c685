"""Proofreading the papers' printed tables: checks of their numbers against one another.

Our runs are not used here. Each check gives findings, cell by cell; a cell with a finding is
*suspect in print*. What a check can test depends on the paper's information: the number of runs and
of examples, the meaning of ``±`` and the bold numbers (``print`` in the table's description).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # which loads `scipy.special` when it is used: that takes a quarter of a second

from omtl.experiment.descriptions import (
    PUBLISHED,
    TableDescription,
    describe,
    descriptions,
    published,
)
from omtl.measures.correction import holm
from omtl.measures.metrics import METRICS
from omtl.tables.cells import PLACE
from omtl.tables.verdict import unit_of
from omtl.util.paths import RESULTS, results_to_read
from omtl.util.result_files import as_csv, rows_in, write_all

LEVEL = 0.01
"""Probability below which a coincidence counts as a finding."""

MEAN, SPREAD, MARK = "mean", "spread", "mark"
"""The part of a cell that a finding is about."""


EXTENT = ("table", "check", "tested", "expected", "suspect_cells")
"""Columns of ``proofread.checks.csv``."""

Printed = dict[str, str]
"""A published cell: its place, mean and spread."""


Finding = Mapping[str, str]
"""A row of ``results/proofread.csv``: a finding about a printed cell.

`of` is the mean, the spread or the mark of the best. `chance` is the probability of the
coincidence, at most; 0 for what arithmetic rules out, empty where none can be given.
"""


def suspects(table: str) -> list[Finding]:
    """Return what `omtl audit proofread` has found of a table's printed cells."""
    found = rows_in(results_to_read("proofread.csv") / "proofread.csv")
    return [row for row in found if row["table"] == table]


def by_row(findings: Iterable[Finding]) -> list[str]:
    """Return one sentence for each row's identical findings."""
    rows: dict[tuple[str, str], dict[str, list[str]]] = {}
    for one in findings:
        places = rows.setdefault((one["algorithm"], one["says"]), {})
        tasks = places.setdefault(one["dataset"], [])
        tasks += [] if one["task"] == "all" else [one["task"]]
    return [
        f"{algorithm} on "
        + "; ".join(" ".join([data, ", ".join(tasks)]).strip() for data, tasks in places.items())
        + f": {says}"
        for (algorithm, says), places in rows.items()
    ]


class ProofreadOutcome(NamedTuple):
    """The extent of a check on a table, and what it finds.

    `expected` is how many findings chance gives, for checks that count coincidences.
    """

    tested: str
    expected: str
    findings: list[Finding]


def printed_finding(of: str, cell: Printed, chance: float | None, says: str) -> Finding:
    """Return what a check finds odd about a printed cell."""
    return {
        "of": of,
        **{name: cell[name] for name in PLACE},
        "printed": " ± ".join(filter(None, (cell["mean"], cell["std"]))),
        "chance": "" if chance is None else f"{chance:.2g}",
        "says": says,
    }


# Rows that repeat each other


def printed_rows(cells: Iterable[Printed]) -> dict[tuple[str, ...], dict[str, Printed]]:
    """Return a table's rows with their cells: by task in each data set, or else by data set."""
    cells = list(cells)
    by_task = len({cell["task"] for cell in cells}) > 1
    rows: dict[tuple[str, ...], dict[str, Printed]] = {}
    for cell in cells:
        row = (cell["metric"], cell["algorithm"], *([cell["dataset"]] if by_task else []))
        rows.setdefault(row, {})[cell["task" if by_task else "dataset"]] = cell
    return rows


def repeated_rows(cells: Sequence[Printed], asked: TableDescription) -> ProofreadOutcome:
    """Find pairs of rows that agree to one unit of the last digit, in all cells or all but one.

    One of four or more cells may differ; of three all must agree. The chance given for a pair is
    the highest there is: that of two independent sets of runs with *equal* true means, each mean as
    uncertain as its ± says if that is a deviation of one run. Were the means not equal, or the ± a
    standard error, the chance would be less. How many pairs of a table chance gives is the sum over
    the pairs, of the chance with the true differences as printed.
    """
    pairs, expected, found = 0, 0.0, []
    rows = printed_rows(cell for cell in cells if cell["std"])
    for (one, of), (other, to) in combinations(rows.items(), 2):
        twins = [(of[key], to[key]) for key in of if key in to]
        if one[0] != other[0] or len(twins) < 3:
            continue
        pairs += 1
        needed = len(twins) - (len(twins) > 3)
        gaps = np.array([abs(float(a["mean"]) - float(b["mean"])) for a, b in twins])
        units = np.array([max(unit_of(a["mean"]), unit_of(b["mean"])) for a, b in twins])
        error = np.array([np.hypot(float(a["std"]), float(b["std"])) for a, b in twins])
        error /= np.sqrt(asked.printed_repeats)
        expected += at_least(_agree(gaps, units, error), needed)
        alike = gaps < 1.01 * units
        chance = at_least(_agree(np.zeros_like(gaps), units, error), needed)
        if alike.sum() >= needed and chance < LEVEL:
            for mine, yours in ((0, 1), (1, 0)):
                says = _repeats(twins[0][yours], other if yours else one, twins, alike, chance)
                found += [printed_finding(MEAN, twin[mine], chance, says) for twin in twins]
    return ProofreadOutcome(f"{pairs} pairs of rows", f"{expected:.2g} pairs", found)


def _agree(away: np.ndarray, units: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the chances that means which are so far apart agree to one unit of the last digit."""
    reach = 1.5 * units  # rounding adds half a unit
    return scipy.special.ndtr((reach - away) / error) - scipy.special.ndtr((-reach - away) / error)


def _repeats(
    cell: Printed,
    row: tuple[str, ...],
    twins: Sequence[tuple[Printed, Printed]],
    alike: np.ndarray,
    chance: float,
) -> str:
    where = cell["algorithm"] + (f" on {cell['dataset']}" if len(row) > 2 else "")
    others = [twins[place] for place in np.flatnonzero(~alike).tolist()]  # one at most
    rest = "".join(f" (the other: {a['mean']} and {b['mean']})" for a, b in others)
    spreads = sum(
        abs(float(a["std"]) - float(b["std"])) < 1.01 * unit_of(a["std"]) for a, b in twins
    )
    return (
        f"repeats the row of {where}: {alike.sum()} of {len(alike)} means agree to one unit of the "
        f"last digit{rest}, and {spreads} of the spreads; by chance with a probability of at most "
        f"{chance:.2g}"
    )


# Numbers that cannot be


def count_is_possible(mean: str, std: str, runs: int, most: int, errors: bool = False) -> bool:
    """Return whether counts from 0 to `most` over a number of runs can have this mean and spread.

    This is exact except for two conditions that are necessary but not sufficient: the sum of
    squares has the parity of the sum, and lies between those of the most even and the most uneven
    counts (GRIM and GRIMMER: Brown and Heathers 2017, Anaya 2016).

    Parameters
    ----------
    mean, std : str
        As printed; an empty spread is ignored.
    runs : int
    most : int
    errors : bool
        Whether the spread is a standard error; a standard deviation by default.
    """
    half = Fraction(unit_of(mean)).limit_denominator() / 2
    least = max(0, ceil(runs * (Fraction(mean) - half)))
    greatest = min(runs * most, floor(runs * (Fraction(mean) + half)))
    for total in range(least, greatest + 1):
        if not std:
            return True
        lacking = runs * most - total  # counted from the maximum, which many learners nearly reach
        bounds = []
        for side in (-1, 1):
            spread = Fraction(std) + side * Fraction(unit_of(std)).limit_denominator() / 2
            square = max(spread, Fraction(0)) ** 2 * (runs if errors else 1)
            bounds.append((runs - 1) * square + Fraction(lacking**2, runs))
        each, more = divmod(lacking, runs)
        full, rest = divmod(lacking, most)
        low = max(ceil(bounds[0]), more * (each + 1) ** 2 + (runs - more) * each**2)
        high = min(floor(bounds[1]), full * most**2 + rest**2)
        if low + (low - lacking) % 2 <= high:
            return True
    return False


def share_is_possible(mean: str, std: str, runs: int, errors: bool = False) -> bool:
    """Return whether numbers from 0 to 1 can have a mean and a spread, as `count_is_possible`.

    Both may have been rounded: of all means that are printed so, the one closest to a half lets the
    numbers spread most.
    """
    half = unit_of(mean) / 2
    centre = float(np.clip(0.5, float(mean) - half, float(mean) + half))
    spread = max(0.0, float(std) - unit_of(std) / 2)
    widest = runs / (runs - 1) * centre * (1.0 - centre)
    return spread**2 * (runs if errors else 1) <= widest


def at_least(chances: Iterable[float], needed: int) -> float:
    """Return the probability that at least this many independent events happen."""
    counts = np.ones(1)
    for chance in chances:
        counts = np.convolve(counts, [1.0 - chance, chance])
    return float(counts[needed:].sum())


def impossible(cells: Sequence[Printed], asked: TableDescription) -> ProofreadOutcome:
    """Find means and spreads that so many runs on so many examples cannot give.

    The paper must give the number of examples. A mean of percentages of n
    examples has steps of 100 / n over the number of runs: where they are finer than the last digit,
    any mean is possible, and it counts as not tested. So does a spread where any can be.
    """
    runs, says = asked.printed_repeats, asked.print
    errors = says.spread == "standard error"
    tested, found = 0, []
    for cell in cells:
        n, metric = says.examples.get(cell["dataset"]), METRICS[cell["metric"]]
        mean, std = cell["mean"], cell["std"]
        if metric.name == "nsv" and n:
            can = [count_is_possible(mean, std, runs, n, each) for each in (errors, False)]
            what = f"counts of at most {n}"
        elif metric.name == "auc" and std:
            can = [share_is_possible(mean, std, runs, each) for each in (errors, False)]
            what = "numbers between 0 and 1"
        elif metric.unit == "%" and n and 100.0 / (n * runs) > 1.01 * unit_of(mean):
            steps = Fraction(mean) * n / 100 * runs
            width = Fraction(unit_of(mean)).limit_denominator() / 200 * n * runs
            can = [floor(steps + width) >= ceil(steps - width)] * 2
            what = f"mistakes among {n} examples"
        else:
            continue
        tested += 1
        possible, if_deviation = can
        if not possible:
            spread = f" with a {says.spread} of {std}" if std else ""
            more = "; if the paper means a standard deviation, they can" if if_deviation else ""
            text = f"{runs} {what} cannot have the mean {mean}{spread}{more}"
            found.append(printed_finding(SPREAD, cell, 0.0, text))
    return ProofreadOutcome(f"{tested} cells", "", found)


# Spreads that are too small


def small_spreads(cells: Sequence[Printed], asked: TableDescription) -> ProofreadOutcome:
    """Find spreads of percentages that are far below those of the other rows of their column.

    Spreads are taken relative to that of a coin with the same mean, and compared with the median of
    the others by an F test; Holm's correction is over the cells of the table.
    """
    cells = [cell for cell in cells if cell["std"] and METRICS[cell["metric"]].unit == "%"]
    rows = pd.DataFrame(cells, columns=PUBLISHED).astype({"mean": float, "std": float})
    relative: pd.Series = rows["std"] / np.sqrt(rows["mean"] * (100.0 - rows["mean"]))
    columns: Any = relative.groupby([rows["dataset"], rows["task"]])
    share = relative / columns.transform(lambda all_: [all_.drop(i).median() for i in all_.index])
    df = asked.printed_repeats - 1
    chances = holm(scipy.special.fdtr(df, df, share**2))
    says = "the spread is {:.2f} times the median of the other rows of its column"
    found = [
        printed_finding(SPREAD, cell, float(chance), says.format(part))
        for cell, part, chance in zip(cells, share, chances, strict=True)
        if chance < LEVEL
    ]
    return ProofreadOutcome(f"{len(cells)} cells", "", found)


# Marks of the best


def wrong_marks(cells: Sequence[Printed], asked: TableDescription) -> ProofreadOutcome:
    """Find numbers set in bold that are not the best of their column, and best ones that are not.

    Of several best ones one in bold is enough. The marks are as the paper's text has them
    (``print.bold`` of the description: the bold rows by column), of the table's own metric; a table
    of which the text keeps none is not looked at.
    """
    bold = asked.print.bold
    if not bold:
        return ProofreadOutcome("0 columns", "", [])
    sign, found = METRICS[asked.metric].sign, []
    own = [cell for cell in cells if cell["metric"] == asked.metric]
    datasets = list(dict.fromkeys(cell["dataset"] for cell in own))
    for dataset in datasets:
        column = [cell for cell in own if cell["dataset"] == dataset]
        best = min(column, key=lambda cell: sign * float(cell["mean"]))
        marked = [cell for cell in column if cell["algorithm"] in bold.get(dataset, [])]
        better = f"{best['algorithm']} has {best['mean']}"
        wrong = [cell for cell in marked if float(cell["mean"]) != float(best["mean"])]
        found += [printed_finding(MARK, cell, None, f"bold, but {better}") for cell in wrong]
        if len(wrong) == len(marked):
            says = "the best of its column and not bold, though other columns have bold numbers"
            found.append(printed_finding(MARK, best, None, says))
    return ProofreadOutcome(f"{len(datasets)} columns", "", found)


CHECKS: dict[str, Callable[[Sequence[Printed], TableDescription], ProofreadOutcome]] = {
    "repeated row": repeated_rows,
    "impossible": impossible,
    "small spread": small_spreads,
    "bold": wrong_marks,
}


def write_findings(results: Path = RESULTS) -> tuple[list[str], list[Path]]:
    """Proofread all published tables; return the findings as lines, and the files written.

    ``proofread.csv`` has a row for each finding, ``proofread.checks.csv`` one for each check.
    """
    lines, findings, checks = list[str](), list[Finding](), list[tuple[Any, ...]]()
    for table in descriptions("table"):
        cells, asked = published(table), describe("table", table)
        for name, check in CHECKS.items():
            tested, expected, found = check(cells, asked)
            by_chance = f"; chance gives {expected}" if expected else ""
            lines.append(f"{table}, {name}: {tested}, {len(found)} suspect{by_chance}")
            lines += [f"  {text}" for text in by_row(found)]
            findings += [{"table": table, "check": name, **one} for one in found]
            checks.append((table, name, tested, expected, len(found)))
    texts = {
        "proofread.csv": as_csv(pd.DataFrame(findings)),
        "proofread.checks.csv": as_csv(pd.DataFrame(checks, columns=EXTENT)),
    }
    return lines, write_all(results, texts)
