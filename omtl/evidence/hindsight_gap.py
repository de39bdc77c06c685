"""How much of each table's margin comes from tuning in hindsight.

The margin is that of one of the paper's own algorithms over one of its rivals, each with the
hyper-parameters chosen by the rule. Both are chosen once for the whole table, because no learner
attains a composite of the best of each column. Both rules use the same plays of the same repeats;
the margin between the printed numbers, chosen in the same way, comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import CONFIDENCE, shown
from omtl.evidence.paired_tests import FEWEST, RESAMPLES
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.naming import READINGS
from omtl.experiment.readings import Reading
from omtl.experiment.selection import HONEST
from omtl.experiment.specs import ProtocolSpec
from omtl.measures.metrics import METRICS
from omtl.tables.cells import each_cell, planned, with_columns
from omtl.tables.plan import describe, descriptions
from omtl.tables.request import Request, honest_rule
from omtl.tables.scoring import played
from omtl.tables.verdict import OURS
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.result_files import read_csv, write_csv
from omtl.util.seeds import generator

PRINTED = ("printed_own", "printed_rival", "printed_margin")

OF_A_RULE = ("selection", "own", "own_mean", "rival", "rival_mean", "margin", "low", "high")
"""Columns of each rule: its name, the paper's own algorithm and the rival that are picked, their
means over the repeats, and the mean difference with its interval, positive where the own is better.
"""

FROM_HINDSIGHT = ("from_hindsight", "from_hindsight_low", "from_hindsight_high")

COLUMNS = (
    *("table", "dataset", "task", "metric", "reading", "n_repeats", "repeats_are_of"),
    *PRINTED,
    *OF_A_RULE,
    *(f"honest_{what}" for what in OF_A_RULE),
    *FROM_HINDSIGHT,
    *("baseline", "baseline_mean", "baseline_margin", "baseline_low", "baseline_high"),
    "fixed_by_reading",
)
"""Columns of ``results/hindsight.csv``.

`from_hindsight` is by how much the margin is less by the honest rule. The `baseline` is the best of
ours by the honest rule, and its margin that of the paper's own over it. `fixed_by_reading` names
the reading's answers that leave a hyper-parameter one value: they were found by looking at the
published numbers, and are hindsight under either rule. Intervals are over the repeats, which are of
one data set or of fresh draws (`repeats_are_of`), and know that the algorithms were picked
(`resampled`); that the oracle picks the hyper-parameters on the same repeats they do not know.
"""

Place = tuple[str, str]
"""Data set and task."""

PRINT = "print"
"""What the printed numbers are called beside those of the rules."""

Rows = dict[str, list[np.ndarray]]
"""By algorithm, its numbers in each place of a table, over the repeats."""


def compares(description: TableDescription) -> bool:
    """Whether a table's own algorithms can be compared with others by a rule without hindsight.

    That takes more than times, and a protocol that notes mistakes along the stream.
    """
    protocol = import_module(ProtocolSpec.named(description.protocol).module)
    return bool(description.proposed) and getattr(protocol, "TRACED", True)


def tables() -> list[str]:
    """Return the tables with such a comparison."""
    return [name for name in descriptions("table") if compares(describe("table", name))]


def fixed_by(reading: Reading, column: str) -> list[str]:
    """Return the answers of a reading that leave a hyper-parameter in a column one value."""
    here = reading.for_column(column)

    def fixes(key: str, value: Any) -> bool:
        if not (key.startswith("algorithm.") and ".grid" in key):
            return False
        return any(len(v) == 1 for v in (value.values() if isinstance(value, dict) else [value]))

    return [
        f"{question}: {answer}"
        for question, answer in here.answers.items()
        if any(fixes(*item) for item in here.asked[question].options[answer].items())
    ]


def whole_rows(
    cells: Mapping[tuple[str, Place], np.ndarray],
    places: Sequence[Place],
    same: Mapping[str, Sequence[str]],
) -> Rows:
    """Return the algorithms that have numbers in all places, in the order of the cells.

    Parameters
    ----------
    cells : mapping
        Numbers by algorithm and place.
    places : sequence of Place
    same : mapping
        Rows that stand for several where those are one (``same_row`` of the table): of ROM's COML,
        which is COML-1 and COML-2 in the block without an outlier.
    """
    stands_for = {one: row for row, several in same.items() for one in several}
    found = {}
    for name in dict.fromkeys(name for name, _ in cells):
        either = [name, stands_for.get(name, name)]
        keys = [[(row, place) for row in either if (row, place) in cells] for place in places]
        if all(keys):
            found[name] = [cells[known[0]] for known in keys]
    return found


def pick(means: np.ndarray, sign: float) -> np.ndarray:
    """Return the index of the row that is best over all places.

    Parameters
    ----------
    means : ndarray of shape (n_rows, ..., n_places)
        Means of each row; infinite where one diverged. In each place they count relative to the
        average there of those that did not.
    sign : float
        1 where lower is better, else -1.
    """
    average = means.mean(axis=0, where=np.isfinite(means))
    return np.argmin(sign * (means / average).mean(axis=-1), axis=0)


def drawn(rows: Rows, places: Sequence[Place], seed: int) -> list[np.ndarray]:
    """Return the repeats in each resample, the same for all tasks of a data set."""
    found: dict[str, np.ndarray] = {}
    for (dataset, _), values in zip(places, next(iter(rows.values())), strict=True):
        rng = generator(seed, of="resampled repeats", dataset=dataset)
        found[dataset] = rng.integers(values.size, size=(RESAMPLES, values.size))
    return [found[dataset] for dataset, _ in places]


@dataclass(frozen=True)
class Margin:
    """The margin of one of several rows over one of several others, in each place.

    Parameters
    ----------
    own, rival : str
        The algorithms that are picked.
    means : ndarray of shape (n_places,)
    resamples : ndarray of shape (n_resamples, n_places)
        Of the repeats; each picks anew.
    """

    own: str
    rival: str
    means: np.ndarray
    resamples: np.ndarray

    @staticmethod
    def of(own: Rows, rivals: Rows, sign: float, draws: Sequence[np.ndarray]) -> Margin:
        """Return the margin of the best own row over the best rival."""

        def margin(sides: list[np.ndarray]) -> tuple[np.ndarray, ...]:
            first, other = (pick(means, sign) for means in sides)
            mine, theirs = (
                np.take_along_axis(means, which[None, ..., None], axis=0)[0]
                for means, which in zip(sides, (first, other), strict=True)
            )
            return sign * (theirs - mine), first, other

        def resampled(values: list[np.ndarray]) -> np.ndarray:
            each = [v[draw].mean(axis=1) for v, draw in zip(values, draws, strict=True)]
            return np.stack(each, axis=1)

        sides = own, rivals
        means, first, other = margin(
            [np.array([[v.mean() for v in values] for values in rows.values()]) for rows in sides]
        )
        resamples = margin(
            [np.array([resampled(values) for values in rows.values()]) for rows in sides]
        )[0]
        return Margin([*own][int(first)], [*rivals][int(other)], means, resamples)

    def less(self, other: Margin) -> Margin:
        """Return by how much the margin is greater than another one."""
        means, resamples = self.means - other.means, self.resamples - other.resamples
        return replace(self, means=means, resamples=resamples)

    def interval(self, i: int, n_repeats: int) -> tuple[str, str, str]:
        """Return the mean in a place and its percentile interval; none of too few repeats."""
        if n_repeats < FEWEST:
            return f"{self.means[i]:.4f}", "", ""
        tail = (1.0 - CONFIDENCE) / 2.0
        low, high = np.quantile(self.resamples[:, i], [tail, 1.0 - tail])
        return f"{self.means[i]:.4f}", shown(float(low)), shown(float(high))


def cells_by(
    rules: Iterable[str], name: str, reading: Reading, request: Request
) -> dict[str, list[Any]]:
    """Return the cells of a table's own metric with their numbers, by each rule and in `PRINT`."""
    metric = describe("table", name).metric
    found = {}
    for rule in dict.fromkeys(rules):
        cells = planned(name, replace(request, selection=rule), reading)
        cells = cells[cells["metric"] == metric]
        found[rule] = list(each_cell(played(cells, request.store)))
    printed = cells[cells["published_mean"] != ""]
    means = [{"values": np.array([float(mean)])} for mean in printed["published_mean"]]
    return {PRINT: list(each_cell(with_columns(printed, means))), **found}


def margins(name: str, reading: Reading, request: Request) -> pd.DataFrame:
    """Return the margins of a table's columns by both rules, from the store alone.

    A column of which a cell of the paper was not run by both rules is left out.

    Parameters
    ----------
    name : str
        The table's id.
    reading : Reading
    request : Request
        Of which repeats; by which rules is the table's own.
    """
    asked = describe("table", name)
    sign = METRICS[asked.metric].sign
    rules = asked.selection, honest_rule(asked.selection, reading)
    cells = cells_by(rules, name, reading, request)
    of_paper = [cell for rule in rules for cell in cells[rule] if cell.kind != OURS]
    lacking = {_place(cell) for cell in of_paper if not cell.values.size}
    of = {
        _place(cell): cell.experiment.repeats_are_of
        for cell in of_paper
        if cell.algorithm in asked.proposed and _place(cell) not in lacking
    }

    def side(kind: str, source: str) -> Rows:
        numbers = {
            (cell.algorithm, _place(cell)): cell.values
            for cell in cells[source]
            if cell.values.size and _kind(cell, asked) == kind
        }
        return whole_rows(numbers, list(of), asked.same_row)

    def margin(own: Rows, rivals: Rows) -> Margin:
        return Margin.of(own, rivals, sign, drawn(own, list(of), request.seed))

    sides = {source: (side("own", source), side("rival", source)) for source in cells}
    if not of or not all(rows for rule in rules for rows in sides[rule]):
        return pd.DataFrame(columns=COLUMNS)
    in_print, hindsight, honest = (margin(*sides[source]) for source in (PRINT, *rules))
    gap = hindsight.less(honest)
    ours = side("ours", rules[1])
    over = margin(sides[rules[1]][0], ours) if ours else None
    found = []
    for i, (place, repeats_are_of) in enumerate(of.items()):
        n = next(iter(sides[rules[0]][0].values()))[i].size
        row = [name, *place, asked.metric, reading.name, str(n), repeats_are_of]
        row += [in_print.own, in_print.rival, f"{in_print.means[i]:.4f}"]
        for rule, one in zip(rules, (hindsight, honest), strict=True):
            own, rivals = sides[rule]
            row += [rule, *_named(one.own, own, i), *_named(one.rival, rivals, i)]
            row += one.interval(i, n)
        row += gap.interval(i, n)
        row += [*_named(over.rival, ours, i), *over.interval(i, n)] if over else [""] * 5
        found.append([*row, "; ".join(fixed_by(reading, place[0]))])
    return pd.DataFrame(found, columns=COLUMNS)


def _named(name: str, rows: Rows, i: int) -> tuple[str, str]:
    return name, f"{rows[name][i].mean():.4f}"


def _place(cell: Any) -> Place:
    return cell.dataset, cell.task


def _kind(cell: Any, asked: TableDescription) -> str:
    return "ours" if cell.kind == OURS else "own" if cell.algorithm in asked.proposed else "rival"


def sentence(row: Mapping[Any, str]) -> str:
    """Return a row's text: the margin in print and under both rules."""
    ends = []
    for kind in ("", "honest_"):
        low, high = row[f"{kind}low"], row[f"{kind}high"]
        interval = f"[{low}, {high}]" if low else f"(no interval: {row['n_repeats']} repeats)"
        ends.append(
            f"{row[f'{kind}own']} {row[f'{kind}margin']} {interval} better than "
            f"{row[f'{kind}rival']} by {row[f'{kind}selection']}"
        )
    task = "" if row["task"] == "all" else f" {row['task']}"
    place = f"{row['table']}, {row['reading']}, {row['dataset']}{task}"
    both = ends if row["selection"] != row["honest_selection"] else [f"{ends[0]}, which is honest"]
    print_ = (
        f"{row['printed_own']} {row['printed_margin']} better than {row['printed_rival']} in print"
    )
    fixed = f" ({row['fixed_by_reading']} is hindsight too)" if row["fixed_by_reading"] else ""
    return f"{place}: {'; '.join([print_, *both])}{fixed}"


def write_hindsight_gap(request: Request, results: Path = RESULTS) -> tuple[list[str], list[Path]]:
    """Write the margins of all tables by reading; return what they say, and the path.

    The file is ``hindsight.csv``; in ``partial``, where it is not of as many repeats as published.

    Earlier rows of a table and reading of which the store has nothing are kept.

    Parameters
    ----------
    request : Request
        Of which repeats, in which store.
    results : Path
        The folder of results.

    Raises
    ------
    UserError
        If nothing is stored.
    """
    path = (results if request.repeats is None else results / "partial") / "hindsight.csv"
    found = [
        margins(name, Reading.of(describe("table", name).paper, reading), request)
        for name in tables()
        for reading in READINGS
    ]
    rows = pd.concat(found)
    if rows.empty:
        raise UserError(
            f"no table has stored runs under both its own rule and {HONEST}; run "
            f"`omtl table TABLE --selection {HONEST}` for each first"
        )
    sentences = [sentence(row) for row in rows.to_dict("records")]
    if path.exists():
        earlier = read_csv(path)
        made = set(zip(rows["table"], rows["reading"], strict=True))
        old = [key not in made for key in zip(earlier["table"], earlier["reading"], strict=True)]
        rows = pd.concat([rows, earlier[old].reindex(columns=rows.columns, fill_value="")])
    order = {reading: i for i, reading in enumerate(READINGS)}
    rows = rows.sort_values("reading", key=lambda names: names.map(order), kind="stable")
    rows = rows.sort_values("table", kind="stable")
    write_csv(path, rows)
    return sentences, [path]
