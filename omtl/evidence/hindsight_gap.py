"""How much of each table's margin comes from tuning in hindsight.

The margin is that of one of the paper's own algorithms over one of its rivals, each with the
hyper-parameters chosen by the rule. Both are chosen once for the whole table, because no learner
attains a composite of the best of each column. Both rules use the same plays of the same repeats;
the margin between the printed numbers, chosen in the same way, comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import CONFIDENCE, FEWEST, RESAMPLES, number_text
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

BASELINE = ("baseline", "baseline_mean", "baseline_margin", "baseline_low", "baseline_high")

KINDS = ("", "honest_")
"""What the columns of each rule begin with: of the table's own, and of that without hindsight."""

COLUMNS = (
    *("table", "dataset", "task", "metric", "reading", "n_repeats", "repeats_are_of"),
    *PRINTED,
    *(f"{kind}{what}" for kind in KINDS for what in OF_A_RULE),
    *FROM_HINDSIGHT,
    *BASELINE,
    "fixed_by_reading",
)
"""Columns of ``results/hindsight.csv``.

`from_hindsight` is by how much the margin is less by the honest rule. The `baseline` is the best of
ours by the honest rule, and its margin that of the paper's own over it. `fixed_by_reading` names
the reading's answers that leave a hyper-parameter one value: they were found by looking at the
published numbers, and are hindsight under either rule. Intervals are over the repeats, which are of
one data set or of fresh draws (`repeats_are_of`), and know that the algorithms were picked
(`margin_of`); that the oracle picks the hyper-parameters on the same repeats they do not know.
"""

Place = tuple[str, str]
"""Data set and task."""

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


def drawn_repeats(rows: Rows, places: Sequence[Place], seed: int) -> list[np.ndarray]:
    """Return all repeats, and those of each resample, the same for all tasks of a data set."""
    found: dict[str, np.ndarray] = {}
    for (dataset, _), values in zip(places, next(iter(rows.values())), strict=True):
        rng = generator(seed, of="resampled repeats", dataset=dataset)
        resampled = rng.integers(values.size, size=(RESAMPLES, values.size))
        found[dataset] = np.vstack([np.arange(values.size), resampled])
    return [found[dataset] for dataset, _ in places]


class Margin(NamedTuple):
    """The margin of the best of the paper's own rows over the best of others, in each place.

    Parameters
    ----------
    own, rival : str
        The algorithms that are picked.
    means : ndarray of shape (1 + n_resamples, n_places)
        Of all repeats, then of resamples of them; each picks anew.
    """

    own: str
    rival: str
    means: np.ndarray


def margin_of(own: Rows, rivals: Rows, sign: float, draws: Sequence[np.ndarray]) -> Margin:
    """Return the margin of the best own row over the best rival.

    Parameters
    ----------
    own, rivals : Rows
    sign : float
        1 where lower is better, else -1.
    draws : sequence of ndarray of shape (1 + n_resamples, n_repeats)
        Repeats in each place (`drawn_repeats`).
    """
    picked = []
    for rows in (own, rivals):
        means = np.array(
            [
                np.stack([v[draw].mean(axis=1) for v, draw in zip(values, draws, strict=True)], 1)
                for values in rows.values()
            ]
        )
        which = pick(means, sign)
        best = np.take_along_axis(means, which[None, :, None], axis=0)[0]
        picked.append(([*rows][which[0]], best))
    (mine, ours), (rival, theirs) = picked
    return Margin(mine, rival, sign * (theirs - ours))


def ends_of(means: np.ndarray, n_repeats: int) -> tuple[str, str, str]:
    """Return the mean of all repeats with the percentile interval of the resamples' means.

    There is no interval of fewer repeats than `FEWEST`.
    """
    if n_repeats < FEWEST:
        return f"{means[0]:.4f}", "", ""
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(means[1:], [tail, 1.0 - tail])
    return f"{means[0]:.4f}", number_text(float(low)), number_text(float(high))


def numbers_by(rule: str, name: str, reading: Reading, request: Request) -> pd.DataFrame:
    """Return the cells of a table's own metric with their numbers by a rule.

    Their ``place`` and ``side`` are added: the paper's ``own``, a ``rival``, or a baseline of
    ``ours``.
    """
    asked = describe("table", name)
    cells = planned(name, replace(request, selection=rule), reading)
    cells = played(cells[cells["metric"] == asked.metric], request.store)

    def side(cell: Any) -> str:
        own = "own" if cell.algorithm in asked.proposed else "rival"
        return "ours" if cell.kind == OURS else own

    return with_columns(
        cells,
        [{"place": (cell.dataset, cell.task), "side": side(cell)} for cell in each_cell(cells)],
    )


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
    cells = {rule: numbers_by(rule, name, reading, request) for rule in dict.fromkeys(rules)}
    printed = cells[rules[0]][cells[rules[0]]["published_mean"] != ""]
    means = [{"values": np.array([float(mean)])} for mean in printed["published_mean"]]
    of_paper = pd.concat([each[each["side"] != "ours"] for each in cells.values()])
    lacking = {*of_paper.loc[of_paper["values"].map(len) == 0, "place"]}
    own_cells = of_paper[(of_paper["side"] == "own") & ~of_paper["place"].isin(lacking)]
    of = {cell.place: cell.experiment.repeats_are_of for cell in each_cell(own_cells)}
    places = [*of]

    def side(kind: str, source: pd.DataFrame) -> Rows:
        run = source[(source["side"] == kind) & (source["values"].map(len) > 0)]
        numbers = dict(
            zip(zip(run["algorithm"], run["place"], strict=True), run["values"], strict=True)
        )
        return whole_rows(numbers, places, asked.same_row)

    def margin(own: Rows, rivals: Rows) -> Margin:
        return margin_of(own, rivals, sign, drawn_repeats(own, places, request.seed))

    sources = [with_columns(printed, means), *(cells[rule] for rule in rules)]
    sides = [(side("own", source), side("rival", source)) for source in sources]
    if not of or not all(rows for pair in sides[1:] for rows in pair):
        return pd.DataFrame(columns=COLUMNS)
    in_print, *by_rule = (margin(*pair) for pair in sides)
    ours = side("ours", cells[rules[1]])
    over = margin(sides[2][0], ours) if ours else None
    found = []
    for i, (place, repeats_are_of) in enumerate(of.items()):
        n = next(iter(sides[1][0].values()))[i].size
        row = {"table": name, "dataset": place[0], "task": place[1], "metric": asked.metric}
        row |= {"reading": reading.name, "n_repeats": str(n), "repeats_are_of": repeats_are_of}
        row |= dict(zip(PRINTED, (*in_print[:2], f"{in_print.means[0, i]:.4f}"), strict=True))
        for kind, rule, one, (own, rivals) in zip(KINDS, rules, by_rule, sides[1:], strict=True):
            told = [rule, one.own, _mean_text(own[one.own][i])]
            told += [one.rival, _mean_text(rivals[one.rival][i]), *ends_of(one.means[:, i], n)]
            row |= {f"{kind}{what}": text for what, text in zip(OF_A_RULE, told, strict=True)}
        gap = (by_rule[0].means - by_rule[1].means)[:, i]
        row |= dict(zip(FROM_HINDSIGHT, ends_of(gap, n), strict=True))
        if over:
            told = [over.rival, _mean_text(ours[over.rival][i]), *ends_of(over.means[:, i], n)]
            row |= dict(zip(BASELINE, told, strict=True))
        found.append({**row, "fixed_by_reading": "; ".join(fixed_by(reading, place[0]))})
    return pd.DataFrame(found, columns=COLUMNS).fillna("")


def _mean_text(values: np.ndarray) -> str:
    return f"{values.mean():.4f}"


def sentence(row: Mapping[Any, str]) -> str:
    """Return a row's text: the margin in print and under both rules."""
    ends = []
    for kind in KINDS:
        low, high = row[f"{kind}low"], row[f"{kind}high"]
        interval = f"[{low}, {high}]" if low else f"(no interval: {row['n_repeats']} repeats)"
        ends.append(
            f"{row[f'{kind}own']} {row[f'{kind}margin']} {interval} better than "
            f"{row[f'{kind}rival']} by {row[f'{kind}selection']}"
        )
    if row["selection"] == row["honest_selection"]:
        ends = [f"{ends[0]}, which is honest"]
    task = "" if row["task"] == "all" else f" {row['task']}"
    place = f"{row['table']}, {row['reading']}, {row['dataset']}{task}"
    printed = "{printed_own} {printed_margin} better than {printed_rival} in print".format(**row)
    fixed = f" ({row['fixed_by_reading']} is hindsight too)" if row["fixed_by_reading"] else ""
    return f"{place}: {'; '.join([printed, *ends])}{fixed}"


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
        earlier = read_csv(path).reindex(columns=rows.columns, fill_value="")
        of_run = ["table", "reading"]
        made = earlier.set_index(of_run).index.isin(rows.set_index(of_run).index)
        rows = pd.concat([rows, earlier[~made]])
    order = {reading: i for i, reading in enumerate(READINGS)}
    rows = rows.sort_values("reading", key=lambda names: names.map(order), kind="stable")
    write_csv(path, rows.sort_values("table", kind="stable"))
    return sentences, [path]
