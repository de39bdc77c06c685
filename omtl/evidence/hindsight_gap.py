"""How much of each table's margin comes from tuning in hindsight.

The margin is that of one of the paper's own algorithms over one of its alternatives, each with the
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
from omtl.experiment.descriptions import READINGS, TableDescription
from omtl.experiment.readings import Reading
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.experiment.specs import ProtocolSpec
from omtl.measures.metrics import METRICS
from omtl.tables.cells import planned, with_columns
from omtl.tables.plan import describe, descriptions
from omtl.tables.request import Request, rule_without_hindsight
from omtl.tables.scoring import played
from omtl.tables.verdict import OURS
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.result_files import read_csv, write_csv
from omtl.util.seeds import generator

OF_A_MARGIN = ("own", "own_mean", "rival", "rival_mean", "margin", "low", "high")
"""What is said of a margin: the paper's own algorithm and the alternative (`rival`) that are
picked, their means over the repeats, and the mean difference with its interval, positive where the
own is better."""

ENDS = ("", "_low", "_high")

KINDS = ("", "honest_")
"""What the columns of each rule begin with: of the table's own, and of that without hindsight."""

COLUMNS = (
    *("table", "dataset", "task", "metric", "reading", "n_repeats", "repeats_are_of"),
    *("printed_own", "printed_rival", "printed_margin"),
    *(f"{kind}{what}" for kind in KINDS for what in ("selection", *OF_A_MARGIN)),
    *(f"from_hindsight{end}" for end in ENDS),
    *("baseline", "baseline_mean", "baseline_margin", "baseline_low", "baseline_high"),
    "fixed_by_reading",
)
"""Columns of ``results/hindsight.csv``.

`from_hindsight` is by how much the margin is less by the rule without hindsight, whose columns
begin with `honest_`. The `baseline` is the best of ours by that rule, and its margin that of the
paper's own over it. `fixed_by_reading` names the reading's answers that leave a hyper-parameter one
value: they were found by looking at the published numbers, and are hindsight under either rule.
Intervals are over the repeats, which are of one data set or of fresh draws (`repeats_are_of`), and
know that the algorithms were picked (`pick_row`); that the oracle picks the hyper-parameters on the
same repeats they do not know.
"""

Place = tuple[str, str]
"""Data set and task."""

Rows = dict[str, list[np.ndarray]]
"""By algorithm, its numbers in each place of a table, over the repeats."""


PICKED_BASELINE = {"baseline_rival": "baseline", "baseline_rival_mean": "baseline_mean"}
"""Columns of the margin over the baseline, which is the alternative there."""


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


class BestRow(NamedTuple):
    """The best of some rows of a table.

    Parameters
    ----------
    algorithm : str
    values : list of ndarray
        Its numbers in each place, over the repeats.
    means : ndarray of shape (1 + n_resamples, n_places)
        Those of the best row in all repeats, then in resamples of them; each picks anew.
    """

    algorithm: str
    values: list[np.ndarray]
    means: np.ndarray


def pick_row(rows: Rows, sign: float, draws: Sequence[np.ndarray]) -> BestRow:
    """Return the row that is best over all places.

    Parameters
    ----------
    rows : Rows
    sign : float
        1 where lower is better, else -1.
    draws : sequence of ndarray of shape (1 + n_resamples, n_repeats)
        Repeats in each place (`drawn_repeats`).
    """
    means = np.array(
        [
            np.stack([v[draw].mean(axis=1) for v, draw in zip(values, draws, strict=True)], axis=1)
            for values in rows.values()
        ]
    )
    which = pick(means, sign)
    best = np.take_along_axis(means, which[None, :, None], axis=0)[0]
    algorithm = [*rows][which[0]]
    return BestRow(algorithm, rows[algorithm], best)


def margin_of(own: BestRow, other: BestRow, sign: float, place: int) -> dict[str, str]:
    """Return the margin of a row over another in a place, as text (`OF_A_MARGIN`)."""
    mine, theirs = own.values[place], other.values[place]
    ends = ends_of(sign * (other.means - own.means)[:, place], mine.size)
    said = own.algorithm, f"{mine.mean():.4f}", other.algorithm, f"{theirs.mean():.4f}", *ends
    return dict(zip(OF_A_MARGIN, said, strict=True))


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

    Their ``side`` is added: the paper's ``own``, an alternative (``rival``), or a baseline of
    ``ours``.
    """
    asked = describe("table", name)
    cells = planned(name, replace(request, selection=rule), reading)
    cells = played(cells[cells["metric"] == asked.metric], request.store)
    side = np.where(cells["algorithm"].isin(asked.proposed), "own", "rival")
    return cells.assign(side=np.where(cells["kind"] == OURS, "ours", side))


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
    rules = asked.selection, rule_without_hindsight(asked.selection, reading)
    cells = {rule: numbers_by(rule, name, reading, request) for rule in dict.fromkeys(rules)}
    of_paper = pd.concat([each[each["side"] != "ours"] for each in cells.values()])
    lacking = {*_places(of_paper[of_paper["values"].map(len) == 0])}
    own = of_paper[of_paper["side"] == "own"]
    named = zip(_places(own), own["experiment"], strict=True)
    over = {place: each.repeats_are_of for place, each in named if place not in lacking}
    printed = cells[rules[0]][cells[rules[0]]["published_mean"] != ""]
    means = [{"values": np.array([float(mean)])} for mean in printed["published_mean"]]
    sources = {"printed_": with_columns(printed, means)}
    sources |= {kind: cells[rule] for kind, rule in zip(KINDS, rules, strict=True)}
    picked: dict[str, BestRow] = {}
    for kind, source in sources.items() if over else ():
        for side in ("own", "rival", "ours"):
            run = source[(source["side"] == side) & (source["values"].map(len) > 0)]
            keys = zip(run["algorithm"], _places(run), strict=True)
            numbers = dict(zip(keys, run["values"], strict=True))
            if rows := whole_rows(numbers, [*over], asked.same_row):
                draws = drawn_repeats(rows, [*over], request.seed)
                picked[kind + side] = pick_row(rows, sign, draws)
    if not {f"{kind}{side}" for kind in KINDS for side in ("own", "rival")} <= picked.keys():
        return pd.DataFrame(columns=COLUMNS)
    found = []
    for i, (place, repeats_are_of) in enumerate(over.items()):
        n_repeats = picked["own"].values[i].size
        row = {"table": name, "dataset": place[0], "task": place[1], "metric": asked.metric}
        row |= {"reading": reading.name, "n_repeats": str(n_repeats)}
        row |= {"repeats_are_of": repeats_are_of, "selection": rules[0]}
        row |= {"honest_selection": rules[1]}
        pairs = {kind: (f"{kind}own", f"{kind}rival") for kind in sources}
        if "honest_ours" in picked:
            pairs["baseline_"] = "honest_own", "honest_ours"
        for kind, (mine, other) in pairs.items():
            texts = margin_of(picked[mine], picked[other], sign, i)
            row |= {f"{kind}{what}": text for what, text in texts.items()}
        by_rule = (picked[f"{kind}rival"].means - picked[f"{kind}own"].means for kind in KINDS)
        gap = ends_of(sign * np.subtract(*by_rule)[:, i], n_repeats)
        row |= {f"from_hindsight{end}": text for end, text in zip(ENDS, gap, strict=True)}
        found.append({**row, "fixed_by_reading": "; ".join(fixed_by(reading, place[0]))})
    margins = pd.DataFrame(found).rename(columns=PICKED_BASELINE)
    return margins.reindex(columns=COLUMNS).fillna("")


def _places(cells: pd.DataFrame) -> list[Place]:
    return list(zip(cells["dataset"], cells["task"], strict=True))


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
            f"no table has stored runs under both its own rule and {NO_HINDSIGHT}; run "
            f"`omtl table TABLE --selection {NO_HINDSIGHT}` for each first"
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
