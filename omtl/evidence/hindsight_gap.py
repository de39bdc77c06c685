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
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.evidence.comparisons import CONFIDENCE, FEWEST, RESAMPLES
from omtl.experiment.descriptions import TableDescription, describe, descriptions
from omtl.experiment.readings import READINGS, Reading
from omtl.experiment.selection import NO_HINDSIGHT
from omtl.experiment.specs import ProtocolSpec
from omtl.measures.metrics import METRICS
from omtl.tables.cells import as_text, planned, with_columns
from omtl.tables.published_results import write_rows
from omtl.tables.request import Request, rule_without_hindsight
from omtl.tables.scoring import played
from omtl.tables.verdict import OURS
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS
from omtl.util.seeds import generator

OF_A_MARGIN = ("own", "own_mean", "alternative", "alternative_mean", "margin", "low", "high")
"""What is said of a margin: the paper's own algorithm and the alternative that are picked, their
means over the repeats, and the mean difference with its interval, positive where the own is
better."""

ENDS = ("", "_low", "_high")

KINDS = ("", "no_hindsight_")
"""What the columns of each rule begin with: of the table's own, and of that without hindsight."""

COLUMNS = (
    *("table", "dataset", "task", "metric", "reading", "n_repeats", "repeats_are_of"),
    *("printed_own", "printed_alternative", "printed_margin"),
    *(f"{kind}{what}" for kind in KINDS for what in ("selection", *OF_A_MARGIN)),
    *(f"from_hindsight{end}" for end in ENDS),
    *("baseline", "baseline_mean", "baseline_margin", "baseline_low", "baseline_high"),
    "fixed_by_reading",
)
"""Columns of ``results/hindsight.csv``.

`from_hindsight` is by how much the margin is less by the rule without hindsight, whose columns
begin with `no_hindsight_`. The `baseline` is the best of ours by that rule, and its margin that of
the paper's own over it. `fixed_by_reading` names the reading's answers that leave a hyper-parameter
one value: they were found by looking at the published numbers, and are hindsight under either rule.
Intervals are over the repeats, which are of one data set or of fresh draws (`repeats_are_of`), and
know that the algorithms were picked (`pick_row`); that the oracle picks the hyper-parameters on the
same repeats they do not know.
"""

PLACE = ["dataset", "task"]


def compares(description: TableDescription) -> bool:
    """Whether a table's own algorithms can be compared with others by a rule without hindsight.

    That takes more than times, and a protocol that notes mistakes along the stream.
    """
    protocol = import_module(ProtocolSpec.named(description.protocol).module)
    return bool(description.proposed) and getattr(protocol, "TRACED", True)


def fixed_by(reading: Reading, column: str) -> list[str]:
    """Return the answers of a reading that leave a hyper-parameter in a column one value."""
    here = reading.for_column(column)

    def fixes(key: str, value: Any) -> bool:
        grids = value.values() if isinstance(value, dict) else [value]
        return key.startswith("algorithm.") and ".grid" in key and any(len(v) == 1 for v in grids)

    return [
        f"{question}: {answer}"
        for question, answer in here.answers.items()
        if any(fixes(*item) for item in here.asked[question].options[answer].items())
    ]


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


def pick_row(rows: pd.DataFrame, sign: float, seed: int) -> BestRow:
    """Return the row that is best over all places.

    Parameters
    ----------
    rows : DataFrame
        For each algorithm its numbers over the repeats, in a column for each data set and task.
    sign : float
        1 where lower is better, else -1.
    seed : int
        Of the resamples, which are the same for all tasks of a data set.
    """
    means = []
    for place in rows.columns.tolist():
        values = np.stack(rows[place].tolist())
        n = values.shape[1]
        rng = generator(seed, of="resampled repeats", dataset=place[0])
        draws = np.vstack([np.arange(n), rng.integers(n, size=(RESAMPLES, n))])
        means.append([one[draws].mean(axis=1) for one in values])
    by_row = np.moveaxis(np.array(means), 0, -1)
    which = pick(by_row, sign)
    best = np.take_along_axis(by_row, which[None, :, None], axis=0)[0]
    return BestRow(rows.index[which[0]], rows.iloc[which[0]].tolist(), best)


def ends_of(means: np.ndarray, n_repeats: int) -> tuple[float, float, float]:
    """Return the mean of all repeats with the percentile interval of the resamples' means.

    There is no interval of fewer repeats than `FEWEST`.
    """
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(means[1:], [tail, 1.0 - tail]) if n_repeats >= FEWEST else (np.nan,) * 2
    return means[0], low, high


def numbers_by(rules: Sequence[str], name: str, reading: Reading, request: Request) -> pd.DataFrame:
    """Return the cells of a table's own metric with their numbers in print and by two rules.

    Each has the ``kind`` of its number, ``printed_`` or one of `KINDS`, and its ``side``: the
    paper's ``own``, an ``alternative``, or a baseline of ``ours``.
    """
    asked = describe("table", name)
    parts: list[pd.DataFrame] = []
    for kind, rule in zip(KINDS, rules, strict=True):
        cells = planned(name, replace(request, selection=rule), reading)
        cells = played(cells[cells["metric"] == asked.metric], request.store)
        side = np.where(cells["algorithm"].isin(asked.proposed), "own", "alternative")
        parts.append(cells.assign(side=np.where(cells["kind"] == OURS, "ours", side), kind=kind))
    printed = parts[0][parts[0]["published_mean"] != ""]
    means = [{"values": np.array([float(mean)])} for mean in printed["published_mean"]]
    return pd.concat([*parts, with_columns(printed, means).assign(kind="printed_")])


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
    cells = numbers_by(rules, name, reading, request)
    is_run, of_paper = cells["values"].map(len) > 0, cells["side"] != "ours"
    lacking = cells[of_paper & ~is_run].set_index(PLACE).index
    own = cells[cells["side"] == "own"].drop_duplicates(PLACE).set_index(PLACE)
    places = own.loc[~own.index.isin(lacking), "experiment"]
    best = {}
    for (kind, side), part in cells[is_run].groupby(["kind", "side"], sort=False):
        rows = part.pivot(index="algorithm", columns=PLACE, values="values")
        rows = rows.reindex(index=part["algorithm"].unique(), columns=places.index)
        for stand_in, several in asked.same_row.items():  # as COML, which is COML-1 and COML-2
            for one in rows.index.intersection([*several]) if stand_in in rows.index else ():
                rows.loc[one] = rows.loc[one].fillna(rows.loc[stand_in])
        rows = rows.dropna()
        if rows.size:
            best[f"{kind}{side}"] = pick_row(rows, sign, request.seed)
    if not {f"{kind}{side}" for kind in KINDS for side in ("own", "alternative")} <= best.keys():
        return pd.DataFrame(columns=COLUMNS)
    kinds = ("printed_", *KINDS)
    pairs = {kind: (best[f"{kind}own"], best[f"{kind}alternative"]) for kind in kinds}
    if "no_hindsight_ours" in best:
        pairs["baseline_"] = best["no_hindsight_own"], best["no_hindsight_ours"]
    gain = {kind: other.means - mine.means for kind, (mine, other) in pairs.items()}
    found = []
    for i, (dataset, task) in enumerate(places.index.tolist()):
        n = best["own"].values[i].size
        row: dict[str, Any] = {"dataset": dataset, "task": task, "n_repeats": str(n)}
        row["repeats_are_of"] = places.iloc[i].repeats_are_of
        row["fixed_by_reading"] = "; ".join(fixed_by(reading, dataset))
        for kind, pair in pairs.items():
            picked = [(one.algorithm, one.values[i].mean()) for one in pair]
            said = *chain(*picked), *ends_of(sign * gain[kind][:, i], pair[0].values[i].size)
            row |= {f"{kind}{what}": one for what, one in zip(OF_A_MARGIN, said, strict=True)}
        lost = ends_of(sign * (gain[""] - gain["no_hindsight_"])[:, i], n)
        found.append(row | {f"from_hindsight{end}": x for end, x in zip(ENDS, lost, strict=True)})
    about = {"table": name, "metric": asked.metric, "reading": reading.name}
    about |= {"selection": rules[0], "no_hindsight_selection": rules[1]}
    named = {"baseline_alternative": "baseline", "baseline_alternative_mean": "baseline_mean"}
    rows = pd.DataFrame(found).assign(**about).rename(columns=named)
    floats = map(str, rows.select_dtypes("float"))
    forms = {name: ".4g" if name.endswith(("low", "high")) else ".4f" for name in floats}
    return as_text(rows, forms).reindex(columns=COLUMNS, fill_value="")


def sentence(row: Mapping[Any, str]) -> str:
    """Return a row's text: the margin in print and under both rules."""
    ends = []
    for kind in KINDS:
        low, high = row[f"{kind}low"], row[f"{kind}high"]
        interval = f"[{low}, {high}]" if low else f"(no interval: {row['n_repeats']} repeats)"
        ends.append(
            f"{row[f'{kind}own']} has a margin of {row[f'{kind}margin']} {interval} over "
            f"{row[f'{kind}alternative']} by {row[f'{kind}selection']}"
        )
    if row["selection"] == row["no_hindsight_selection"]:
        ends = [f"{ends[0]}, which has no hindsight"]
    task = "" if row["task"] == "all" else f" {row['task']}"
    place = f"{row['table']}, {row['reading']}, {row['dataset']}{task}"
    printed = "{printed_own} has a margin of {printed_margin} over {printed_alternative} in print"
    fixed = f" ({row['fixed_by_reading']} is hindsight too)" if row["fixed_by_reading"] else ""
    return f"{place}: {'; '.join([printed.format(**row), *ends])}{fixed}"


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
    described = filter(compares, (describe("table", name) for name in descriptions("table")))
    found = [
        margins(of.id, Reading.of(of.paper, reading), request)
        for of in described
        for reading in READINGS
    ]
    rows = pd.concat(found)
    if rows.empty:
        raise UserError(
            f"no table has stored runs under both its own rule and {NO_HINDSIGHT}; run "
            f"`omtl table TABLE --selection {NO_HINDSIGHT}` for each first"
        )
    sentences = [sentence(row) for row in rows.to_dict("records")]
    write_rows(path, rows, of=["table", "reading"])
    return sentences, [path]
