"""How much of a margin comes from tuning in hindsight: of each table, by its own rule and honestly.

The margin is that of the paper's best own algorithm over the best of its rivals, each at the
hyper-parameters that the rule chooses. Both rules look at the same plays of the same repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.config import load_option, named_reading
from omtl.errors import UserError
from omtl.files import write_whole
from omtl.harness.claims import compare
from omtl.harness.ledger import READINGS
from omtl.harness.plan import describe, descriptions, plan_table
from omtl.harness.selection import HONEST, is_honest
from omtl.harness.statistics.paired_tests import bootstrap_interval, shown
from omtl.harness.store import Store
from omtl.harness.table import Scored, score_table
from omtl.metrics import METRICS
from omtl.paths import RESULTS

OF_A_RULE = ("selection", "own", "own_mean", "rival", "rival_mean", "margin", "low", "high")
"""Columns of each rule: its name, the best of the paper's own algorithms and of its rivals, their
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
    *OF_A_RULE,
    *(f"honest_{what}" for what in OF_A_RULE),
    "from_hindsight",
    "from_hindsight_low",
    "from_hindsight_high",
    *OF_A_BASELINE,
)
"""Columns of ``results/honesty.csv``.

`from_hindsight` is by how much the margin is less by the honest rule. The `baseline` is the best of
ours by the honest rule, and its margin that of the paper's best own over it. Intervals are of the
mean paired difference over the repeats (`bootstrap_interval`).
"""


def honest_rule(own: str) -> str:
    """Return the name of the rule without hindsight: a table's own, if it is honest as it is."""
    return own if is_honest(load_option("selection", own)) else HONEST


def tables() -> list[str]:
    """Return the tables that compare a paper's own algorithms with others by more than time."""
    return [name for name in descriptions("table") if "proposed" in describe("table", name)]


def best(cells: Sequence[Scored], sign: float) -> Scored:
    """Return the cell with the best mean, the first of equals."""
    return min(cells, key=lambda s: sign * float(s.values.mean()))


def margins(
    name: str, reading: Mapping[str, Any], store: Store, seed: int = 0, n_repeats: int | None = None
) -> pd.DataFrame:
    """Return the margins of a table's columns by both rules, from the store alone.

    A column of which a cell of the paper was not run by both rules is left out.

    Parameters
    ----------
    name : str
        The table's id.
    reading : mapping
        A reading's config.
    store : Store
    seed : int
    n_repeats : int, optional
        As the description says by default.
    """
    table = plan_table(name, reading)
    asked = table.description
    metric, proposed = METRICS[asked["metric"]], asked["proposed"]
    sign = 1.0 if metric.lower_is_better else -1.0
    rules = asked["selection"], honest_rule(asked["selection"])
    by_rule = {
        rule: score_table(table, store, seed, n_repeats or asked["repeats"], selection=rule)
        for rule in dict.fromkeys(rules)
    }
    rows = []
    for place in dict.fromkeys((cell.dataset, cell.task) for cell in table.cells):

        def told(differences: np.ndarray, what: str, place: Any = place) -> tuple[str, ...]:
            """Return the mean of differences with its interval, as text."""
            relation = " ".join([name, *place, reading["name"], what])
            none = np.zeros_like(differences)
            found = compare(relation, differences, none, (0.0, np.inf), ratio=False)
            return f"{differences.mean():.4f}", *map(shown, bootstrap_interval(found, seed))

        ends: list[np.ndarray] = []
        row: list[str] = []
        for rule in rules:
            column = [
                s
                for s in by_rule[rule]
                if (s.cell.dataset, s.cell.task) == place and s.cell.metric == metric.name
            ]
            if not all(s.values.size for s in column if not s.cell.is_ours):
                break
            own = best([s for s in column if s.cell.algorithm in proposed], sign)
            others = [s for s in column if s.cell.algorithm not in proposed]
            rival = best([s for s in others if not s.cell.is_ours], sign)
            ends.append(sign * (rival.values - own.values))
            row += [rule, *_named(own), *_named(rival), *told(ends[-1], f"margin by {rule}")]
        else:
            row += told(ends[0] - ends[1], "from hindsight")
            ours = [s for s in others if s.cell.is_ours and s.values.size]
            if ours:
                baseline = best(ours, sign)
                gap = sign * (baseline.values - own.values)
                row += [*_named(baseline), *told(gap, "over the baseline")]
            else:
                row += [""] * len(OF_A_BASELINE)
            rows.append((name, *place, metric.name, reading["name"], str(own.values.size), *row))
    return pd.DataFrame(rows, columns=COLUMNS)


def _named(s: Scored) -> tuple[str, str]:
    return s.cell.algorithm, f"{s.values.mean():.4f}"


def sentence(row: Mapping[Any, str]) -> str:
    """Return what a row says: the margin by both rules."""
    ends = [
        f"{row[f'{kind}own']} {row[f'{kind}margin']} [{row[f'{kind}low']}, {row[f'{kind}high']}] "
        f"better than {row[f'{kind}rival']} by {row[f'{kind}selection']}"
        for kind in ("", "honest_")
    ]
    task = "" if row["task"] == "all" else f" {row['task']}"
    place = f"{row['table']}, {row['reading']}, {row['dataset']}{task}"
    both = ends if row["selection"] != row["honest_selection"] else [f"{ends[0]}, which is honest"]
    return f"{place}: {'; '.join(both)}"


def write_honesty(
    store: Store, n_repeats: int | None = None, results: Path = RESULTS
) -> tuple[list[str], list[Path]]:
    """Write the margins of all tables under both readings; return what they say, and the path.

    The file is ``honesty.csv``; in ``partial``, where it is not of as many repeats as published.

    Earlier rows of a table and reading of which the store has nothing are kept.

    Parameters
    ----------
    store : Store
    n_repeats : int, optional
        As the tables say by default.
    results : Path
        The folder of results.

    Raises
    ------
    UserError
        If nothing is stored.
    """
    path = (results if n_repeats is None else results / "partial") / "honesty.csv"
    found = [
        margins(name, named_reading(describe("table", name)["paper"], reading), store, 0, n_repeats)
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
        rows = pd.concat([rows, earlier[old]])
    order = [
        (table, READINGS.index(reading)) for table, reading in rows[["table", "reading"]].to_numpy()
    ]
    rows = rows.iloc[sorted(range(len(rows)), key=order.__getitem__)]
    write_whole(path, rows.to_csv(index=False, lineterminator="\n"))
    return told, [path]
