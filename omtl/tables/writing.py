"""Writing a table's files, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.experiment.host import host
from omtl.experiment.naming import READINGS, by_reading
from omtl.tables import trends
from omtl.tables.layout import Layout, counts
from omtl.tables.plan import Table
from omtl.tables.render import claims_markdown, latex, markdown
from omtl.tables.scoring import Scored, raw_repeats
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS

FORMS = ("md", "tex", "repeats.csv", "meta.json")
"""Files of a table that are of one reading."""


def folder_for(full: bool, kind: str = "reproduced", apart: bool = False) -> Path:
    """Return where results go: full runs are kept in git, shorter ones are not.

    Those lie together, but for what is `apart`, as its files are called as tables' are.
    """
    if full:
        return RESULTS / kind
    return RESULTS / "partial" / kind if apart else RESULTS / "partial"


def write_rows(path: Path, rows: pd.DataFrame) -> None:
    """Write rows to a csv, in place of those of the same reading; rows of others are kept."""
    if path.exists():
        earlier = pd.read_csv(path, dtype=str, keep_default_na=False)
        earlier = earlier[~earlier["reading"].isin(rows["reading"])]
        rows = pd.concat([earlier.reindex(columns=rows.columns, fill_value=""), rows])
    readings = dict.fromkeys([*READINGS, *sorted(set(rows["reading"]))])
    rows = pd.concat([rows[rows["reading"] == name] for name in readings])
    write_whole(path, rows.to_csv(index=False, lineterminator="\n"))


def computed_by(meta: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    """Return the run that has computed the most of a table's units, as far as is known.

    It is the last run, or the one that the table's file has told of so far, if that computed of the
    very same units. So a run from the store erases nothing, and what is told of other units, of
    earlier code, is not kept. None where no run is known.
    """
    last = meta["last_run"] if meta["last_run"]["units_computed"] else None
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return last
    if earlier.get("units_sha256") != meta["units_sha256"] or not earlier["computed_by"]:
        return last
    told = earlier["computed_by"]
    return last if last and last["units_computed"] >= told["units_computed"] else told


def write_table(
    table: Table,
    rows: pd.DataFrame,
    scored: list[Scored],
    layout: Layout,
    claims: pd.DataFrame,
    facts: dict[str, Any],
    took: Mapping[str, float],
    last_run: Mapping[str, Any],
    folder: Path,
    name: str,
) -> list[Path]:
    """Write a table's csv, md, tex, raw repeats and meta.json, and the claims it decides.

    `took` is how many seconds each unit of the table took, by its key, whichever run computed it.

    Returns the paths. The files are called by `name`, which is the table's id but for another rule
    of selection.

    The csv files hold the rows of all readings that were run: those of the present one are
    replaced, the others kept. The other files are of the present reading, and carry its name unless
    it is the one that comes closest.
    """
    reading = table.reading["name"]
    csv = folder / f"{name}.csv"
    write_rows(csv, rows)
    stem = by_reading(name, reading)
    write_whole(folder / f"{stem}.md", markdown(layout) + claims_markdown(claims))
    write_whole(folder / f"{stem}.tex", latex(layout))
    repeats = raw_repeats(table, scored, facts["seed"])
    write_whole(folder / f"{stem}.repeats.csv", repeats.to_csv(index=False, lineterminator="\n"))
    meta = {
        "table": table.id,
        "reading": table.reading,
        "verdicts": counts(scored),
        "experiments": {
            f"{s.cell.algorithm} on {s.cell.dataset}": {
                "algorithm": s.cell.experiment.algorithm,
                "dataset": s.cell.experiment.dataset,
                "protocol": s.cell.experiment.protocol,
                "network": s.cell.experiment.network,
                "plays": s.cell.experiment.plays,
                "drawn": s.cell.experiment.drawn,
                "chosen": s.params,
                "seconds": round(s.seconds, 3),
            }
            for s in scored
        },
        **facts,
        "units": len(took),
        "seconds": round(sum(took.values()), 3),
        "units_sha256": hashlib.sha256("".join(sorted(took)).encode()).hexdigest(),
        "last_run": last_run,
        "host": host(),
    }
    path = folder / f"{stem}.meta.json"
    meta["computed_by"] = computed_by(meta, path)
    write_whole(path, json.dumps(meta, indent=1, ensure_ascii=False) + "\n")
    patterns = folder / f"{name}.trends.csv"
    write_rows(patterns, trends.frame(table.id, reading, facts["selection"], scored))
    claimed = folder / f"{name}.claims.csv"
    write_rows(claimed, claims)
    return [csv, patterns, claimed, *(folder / f"{stem}.{form}" for form in FORMS)]
