"""How much of each table's margin comes from tuning in hindsight.

The margin is that of one of the paper's own algorithms over one of its rivals, each at the
hyper-parameters that the rule chooses. Both are picked once for the whole table: a composite of the
best of each column would be attained by no learner. Both rules look at the same plays of the same
repeats; the margin between the printed numbers, picked alike, stands before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import CONFIDENCE, shown
from omtl.evidence.paired_tests import FEWEST, RESAMPLES
from omtl.experiment.config import for_column, named_reading, questions
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.naming import READINGS
from omtl.experiment.selection import HONEST
from omtl.measures.metrics import METRICS
from omtl.tables.plan import describe, descriptions, plan_table, published
from omtl.tables.request import Request, honest_rule
from omtl.tables.scoring import score_table
from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS
from omtl.util.seeds import generator

PRINTED = ("printed_own", "printed_rival", "printed_margin")

OF_A_RULE = ("selection", "own", "own_mean", "rival", "rival_mean", "margin", "low", "high")
"""Columns of each rule: its name, the paper's own algorithm and the rival that are picked, their
means over the repeats, and the mean difference with its interval, positive where the own is better.
"""

OF_A_BASELINE = ("baseline", "baseline_mean", "baseline_margin", "baseline_low", "baseline_high")

COLUMNS = (
    "table",
    "dataset",
    "task",
    "metric",
    "reading",
    "n_repeats",
    "repeats_are_of",
    *PRINTED,
    *OF_A_RULE,
    *(f"honest_{what}" for what in OF_A_RULE),
    "from_hindsight",
    "from_hindsight_low",
    "from_hindsight_high",
    *OF_A_BASELINE,
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

Means = Mapping[str, Mapping[Place, Any]]
"""By algorithm and place, a mean or an array of means."""


def compares(description: TableDescription) -> bool:
    """Whether a table compares its paper's own algorithms with others by more than time."""
    return bool(description.proposed)


def tables() -> list[str]:
    """Return the tables with such a comparison."""
    return [name for name in descriptions("table") if compares(describe("table", name))]


def fixed_by(reading: Mapping[str, Any], column: str) -> list[str]:
    """Return the answers of a reading that leave a hyper-parameter in a column one value."""
    answers = for_column(reading, column).get("answers", {})
    asked = questions(reading["paper"]) if answers else {}

    def fixes(key: str, value: Any) -> bool:
        if not (key.startswith("algorithm.") and ".grid" in key):
            return False
        return any(len(v) == 1 for v in (value.values() if isinstance(value, dict) else [value]))

    return [
        f"{question}: {answer}"
        for question, answer in answers.items()
        if any(fixes(*item) for item in asked[question]["options"][answer].items())
    ]


@dataclass(frozen=True)
class Row:
    """An algorithm's numbers in all places of a table, an array over the repeats in each."""

    name: str
    values: dict[Place, np.ndarray]


def whole_rows(
    cells: Mapping[tuple[str, Place], np.ndarray], same: Mapping[str, Sequence[str]]
) -> list[Row]:
    """Return the algorithms that have numbers in all places, in the order of the cells.

    Parameters
    ----------
    cells : mapping
        Numbers by algorithm and place.
    same : mapping
        Rows that stand for several where those are one (``same_row`` of the table): of ROM's COML,
        which is COML-1 and COML-2 in the block without an outlier.
    """
    places = list(dict.fromkeys(place for _, place in cells))
    stands_for = {one: row for row, several in same.items() for one in several}
    found = []
    for name in dict.fromkeys(name for name, _ in cells):
        values = {
            place: numbers
            for place in places
            if (numbers := cells.get((name, place), cells.get((stands_for.get(name, ""), place))))
            is not None
        }
        if len(values) == len(places):
            found.append(Row(name, values))
    return found


def pick(rows: Sequence[np.ndarray], sign: float) -> np.ndarray:
    """Return which of several rows is the best over all places: the number of the row.

    Parameters
    ----------
    rows : sequence of ndarray of shape (..., n_places)
        Means of each row. In each place they count relative to their average there.
    sign : float
        1 where lower is better, else -1.
    """
    means = np.stack(rows)
    return np.argmin(sign * (means / means.mean(axis=0)).mean(axis=-1), axis=0)


def resampled(rows: Sequence[Row], seed: int) -> list[np.ndarray]:
    """Return the means of rows in resamples of the repeats, each of shape (resamples, n_places).

    The repeats of a data set are drawn with replacement, alike for all rows and tasks.
    """
    drawn = {}
    for (dataset, _), values in rows[0].values.items():
        rng = generator(seed, of="resampled repeats", dataset=dataset)
        drawn[dataset] = rng.integers(values.size, size=(RESAMPLES, values.size))
    return [
        np.stack([v[drawn[dataset]].mean(axis=1) for (dataset, _), v in row.values.items()], axis=1)
        for row in rows
    ]


def margin_of(
    own: Sequence[np.ndarray], rivals: Sequence[np.ndarray], sign: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the margins, shape (..., n_places), and which own and which rival is picked."""
    first, other = pick(own, sign), pick(rivals, sign)

    def taken(rows: Sequence[np.ndarray], which: np.ndarray) -> np.ndarray:
        index = which[None, ..., None]
        return np.take_along_axis(np.stack(rows), index, axis=0)[0]

    return sign * (taken(rivals, other) - taken(own, first)), first, other


def margins(name: str, reading: Mapping[str, Any], request: Request) -> pd.DataFrame:
    """Return the margins of a table's columns by both rules, from the store alone.

    A column of which a cell of the paper was not run by both rules is left out.

    Parameters
    ----------
    name : str
        The table's id.
    reading : mapping
        A reading's config.
    request : Request
        Of which repeats; by which rules is the table's own.
    """
    table = plan_table(name, reading)
    asked = table.description
    metric, proposed = METRICS[asked.metric], asked.proposed
    sign = 1.0 if metric.lower_is_better else -1.0
    rules = asked.selection, honest_rule(asked.selection, reading)
    by_rule = {
        rule: [
            s
            for s in score_table(table, replace(request, selection=rule))
            if s.cell.metric == metric.name
        ]
        for rule in dict.fromkeys(rules)
    }
    lacking = {
        (s.cell.dataset, s.cell.task)
        for scored in by_rule.values()
        for s in scored
        if not s.values.size and not s.cell.is_ours
    }

    def rows_of(rule: str, kind: str) -> list[Row]:
        cells = {
            (s.cell.algorithm, place): s.values
            for s in by_rule[rule]
            if s.values.size and (place := (s.cell.dataset, s.cell.task)) not in lacking
            if kind == ("ours" if s.cell.is_ours else _side(s.cell.algorithm, proposed))
        }
        return whole_rows(cells, asked.same_row)

    sides = {rule: (rows_of(rule, "own"), rows_of(rule, "rival")) for rule in by_rule}
    if not all(rows for pair in sides.values() for rows in pair):
        return pd.DataFrame(columns=COLUMNS)
    places = list(sides[rules[0]][0][0].values)
    printed = _printed(name, places, proposed, sign, metric.name, asked.same_row)
    ends = [_margins(*sides[rule], sign, request.seed) for rule in rules]
    gains = ends[0][0] - ends[1][0]
    drawn = ends[0][1] - ends[1][1]
    ours = rows_of(rules[1], "ours")
    own = sides[rules[1]][0]
    over = _margins(own, ours, sign, request.seed) if ours else None
    experiments = {(s.cell.dataset, s.cell.task): s.cell.experiment for s in by_rule[rules[0]]}
    rows = []
    for i, place in enumerate(places):
        n = own[0].values[place].size
        row: list[str] = [*(text[i] for text in printed)]
        for rule, (margin, resamples, first, other) in zip(rules, ends, strict=True):
            row += [rule, *_named(first, place), *_named(other, place)]
            row += _interval(margin[i], resamples[:, i], n)
        row += _interval(gains[i], drawn[:, i], n)
        if over:
            row += [*_named(over[3], place), *_interval(over[0][i], over[1][:, i], n)]
        else:
            row += [""] * len(OF_A_BASELINE)
        row.append("; ".join(fixed_by(reading, place[0])))
        start = (name, *place, metric.name, reading["name"], str(n))
        rows.append((*start, experiments[place].repeats_are_of, *row))
    return pd.DataFrame(rows, columns=COLUMNS)


def _side(algorithm: str, proposed: Sequence[str]) -> str:
    return "own" if algorithm in proposed else "rival"


def _margins(
    own: Sequence[Row], rivals: Sequence[Row], sign: float, seed: int
) -> tuple[np.ndarray, np.ndarray, Row, Row]:
    """Return the margins by place, those of the resamples, and the own and rival picked."""
    means = [
        [np.array([values.mean() for values in row.values.values()]) for row in rows]
        for rows in (own, rivals)
    ]
    margin, first, other = margin_of(means[0], means[1], sign)
    resamples, _, _ = margin_of(resampled(own, seed), resampled(rivals, seed), sign)
    return margin, resamples, own[int(first)], rivals[int(other)]


def _printed(
    name: str,
    places: Sequence[Place],
    proposed: Sequence[str],
    sign: float,
    metric: str,
    same: Mapping[str, Sequence[str]],
) -> tuple[list[str], list[str], list[str]]:
    """Return, a place each, the own and the rival picked by the printed means, and the margin."""
    sides: list[list[Row]] = []
    for kind in ("own", "rival"):
        cells = {
            (cell["algorithm"], place): np.array([float(cell["mean"])])
            for cell in published(name)
            if cell["metric"] == metric
            if (place := (cell["dataset"], cell["task"])) in places
            if kind == _side(cell["algorithm"], proposed)
        }
        sides.append(whole_rows(cells, same))
    means = [[np.concatenate([*row.values.values()]) for row in rows] for rows in sides]
    margin, first, other = margin_of(means[0], means[1], sign)
    n = len(places)
    names = sides[0][int(first)].name, sides[1][int(other)].name
    return [names[0]] * n, [names[1]] * n, [f"{one:.4f}" for one in margin]


def _named(row: Row, place: Place) -> tuple[str, str]:
    return row.name, f"{row.values[place].mean():.4f}"


def _interval(mean: float, resamples: np.ndarray, n_repeats: int) -> tuple[str, str, str]:
    """Return a mean with its percentile interval as text; no interval of too few repeats."""
    if n_repeats < FEWEST:
        return f"{mean:.4f}", "", ""
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(resamples, [tail, 1.0 - tail])
    return f"{mean:.4f}", shown(float(low)), shown(float(high))


def sentence(row: Mapping[Any, str]) -> str:
    """Return what a row says: the margin in print and by both rules."""
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
        margins(name, named_reading(describe("table", name).paper, reading), request)
        for name in tables()
        for reading in READINGS
    ]
    rows = pd.concat(found)
    if rows.empty:
        raise UserError(
            f"no table is stored that was run by its own rule and by {HONEST}; run "
            f"`omtl table TABLE --selection {HONEST}` for each first"
        )
    told = [sentence(row) for row in rows.to_dict("records")]
    if path.exists():
        earlier = pd.read_csv(path, dtype=str, keep_default_na=False)
        made = set(zip(rows["table"], rows["reading"], strict=True))
        old = [key not in made for key in zip(earlier["table"], earlier["reading"], strict=True)]
        rows = pd.concat([rows, earlier[old].reindex(columns=rows.columns, fill_value="")])
    known = list(READINGS)
    places = rows[["table", "reading"]].to_numpy()
    order = [(table, known.index(reading)) for table, reading in places]
    rows = rows.iloc[sorted(range(len(rows)), key=order.__getitem__)]
    write_whole(path, rows.to_csv(index=False, lineterminator="\n"))
    return told, [path]
