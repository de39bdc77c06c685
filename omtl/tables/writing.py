"""The rows of a table's files, and writing them atomically."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.experiment.descriptions import READINGS, by_reading, by_rule
from omtl.experiment.readings import Reading
from omtl.experiment.specs import Spec
from omtl.tables.agreement import agreement_rows, trend_rows
from omtl.tables.cells import PLACE, description_of, each_cell, first_cell, with_columns
from omtl.tables.layout import Layout, claims_markdown, counts, layout_markdown
from omtl.tables.scoring import QUANTITIES
from omtl.util.files import write_whole
from omtl.util.host import host
from omtl.util.paths import RESULTS
from omtl.util.result_files import as_csv, read_csv, write_all, write_csv

NUMBERS = ("ours_mean", "ours_std", *QUANTITIES, "shuffle_std", "spread_ratio", "spread_p")
"""Columns of `as_rows` with four decimals."""

ROWS = (
    *("table", *PLACE, "reading", "selection"),
    *("published_mean", "published_std", "published_spread", "published_repeats"),
    *("ours_mean", "ours_std", "n_repeats", "n_draws", *QUANTITIES, "verdict", "interval"),
    *("shuffle_std", "spread_ratio", "spread_p", "params", "data_sha256"),
)
"""Columns of ``results/reproduced/<id>.csv`` (`omtl.tables.scoring.judged` has what they are)."""

OF_REPEATS = ["table", *PLACE, "reading", "seed"]
"""Columns that the repeats of a cell share."""


def as_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of ``results/reproduced/<id>.csv``, as text with a fixed precision.

    A cell that diverged has its repeats and parameters, but no number.
    """
    was_run = cells["n_repeats"] > 0
    has_number = was_run & (cells["diverged"] == 0)
    numbers = {
        name: cells[name].map(lambda x: "" if pd.isna(x) else f"{x:.4f}").where(has_number, "")
        for name in NUMBERS
    }
    params = cells["params"].map(lambda chosen: json.dumps(chosen, sort_keys=True))
    rows = cells.assign(
        selection=[rule.name for rule in cells["rule"]],
        published_spread=cells["published_spread"].where(cells["published_std"] != "", ""),
        published_repeats=cells["published_repeats"]
        .astype(str)
        .where(cells["published_mean"] != "", ""),
        params=params.where(was_run, ""),
        **numbers,
    )
    return rows[list(ROWS)].astype(str)


COUNTED = ("published_repeats", "n_repeats", "n_draws")
"""Columns of a table's rows that are whole numbers."""


def with_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table's rows, which are text as in the CSV, with numbers where they are numbers.

    Missing numbers are null; counts are integers.
    """
    made = rows.copy()
    for name in ("published_mean", "published_std", *NUMBERS, *COUNTED):
        if name in rows:
            known = pd.to_numeric(rows[name].replace("", None))
            made[name] = known.astype("Int64" if name in COUNTED else "float64")
    return made


def raw_repeats(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cell that was run: its numbers in all repeats, in full precision.

    The numbers stand in the column `values`, with spaces between them.
    """
    was_run = cells[cells["n_repeats"] > 0]
    joined = [" ".join(map(repr, values.tolist())) for values in was_run["values"]]
    return was_run[OF_REPEATS].assign(values=joined)


def long_repeats(cells: pd.DataFrame) -> pd.DataFrame:
    """Return one row per repeat of each cell that was run, in full precision."""
    was_run = cells[cells["n_repeats"] > 0][[*OF_REPEATS, "values"]]
    numbers = [{"repeat": range(values.size)} for values in was_run["values"]]
    rows = with_columns(was_run, numbers).explode(["repeat", "values"], ignore_index=True)
    rows = rows.rename(columns={"values": "value"})[[*OF_REPEATS, "repeat", "value"]]
    return rows.astype({"repeat": int, "value": float})


MACHINE = "machine.json"
"""Suffix of files with a run's duration and machine, which git ignores."""


def folder_for(full: bool, kind: str = "reproduced", apart: bool = False) -> Path:
    """Return the folder for results: full runs are kept in git, shorter ones are not.

    Shorter runs share a folder, except those `apart`, whose files have the same names as tables'.
    """
    if full:
        return RESULTS / kind
    return RESULTS / "partial" / kind if apart else RESULTS / "partial"


def write_rows(path: Path, rows: pd.DataFrame, reading: str = "") -> None:
    """Write rows to a CSV file, replacing those of the same reading; other rows are kept.

    Those of `reading` are replaced even by none.
    """
    if path.exists():
        earlier = read_csv(path)
        earlier = earlier[~earlier["reading"].isin([reading, *rows["reading"]])]
        rows = pd.concat([earlier.reindex(columns=rows.columns, fill_value=""), rows])
    readings = dict.fromkeys([*READINGS, *sorted(set(rows["reading"]))])
    rows = pd.concat([rows[rows["reading"] == name] for name in readings])
    write_csv(path, rows)


def computed_by(meta: Mapping[str, Any], path: Path) -> Mapping[str, Any] | None:
    """Return the run that has computed the most of a table's units, as far as is known.

    This is the last run, or the one recorded in the table's file, if that computed the very same
    units. So a run from the store erases nothing, and records about units of earlier code are
    dropped. None if no run is known.
    """
    last = meta["last_run"] if meta["last_run"]["units_computed"] else None
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return last
    if earlier.get("units_sha256") != meta["units_sha256"] or not earlier["computed_by"]:
        return last
    computed = earlier["computed_by"]
    return last if last and last["units_computed"] >= computed["units_computed"] else computed


GROUPS = ("algorithm", "dataset", "protocol", "network")
"""The configs of an experiment."""


def describe_cells(cells: pd.DataFrame, reading: Reading) -> dict[str, Any]:
    """Return what determines a table: its reading, and each resolved config once.

    `experiments` has, for each cell, the indices of its configs in the lists of `configs`.
    Nothing here depends on the clock; the CPU is named because the bits depend on it.
    """
    configs: dict[str, list[Any]] = {group: [] for group in GROUPS}

    def number(group: str, config: Any) -> int:
        if config not in configs[group]:
            configs[group].append(config)
        return configs[group].index(config)

    experiments = {}
    for algorithm, dataset, one in cells[["algorithm", "dataset", "experiment"]].to_numpy():
        experiments[f"{algorithm} on {dataset}"] = {
            **{group: number(group, _written(getattr(one, group))) for group in GROUPS},
            **{"plays": one.plays, "drawn": one.drawn},
        }
    asked, pulled = first_cell(cells), sorted(set(cells["pulled_from"]) - {""})
    return {
        **{"table": asked.table, "reading": reading.as_mapping(), "verdicts": counts(cells)},
        **{"repeats": int(cells["asked_repeats"].max()), "seed": int(asked.seed)},
        **{"selection": asked.selection, "cpu": host()["cpu"]},
        **({"pulled_from": pulled} if pulled else {}),
        **{"configs": configs, "experiments": experiments},
    }


def _written(spec: Spec | None) -> dict[str, Any] | None:
    return None if spec is None else spec.as_mapping()


def measured(
    cells: pd.DataFrame, took: Mapping[str, float], last_run: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Return a table's duration, machine and commit, which differ between runs.

    Parameters
    ----------
    cells : DataFrame
    took : mapping of str to float
        Duration of each unit in seconds, by key, whichever run computed it.
    last_run : mapping
        Facts about the last run.
    path : Path
        The file with these facts (`computed_by`).
    """
    meta = {
        "units": len(took),
        "seconds": round(sum(took.values()), 3),
        "seconds_of": {
            f"{cell.algorithm} on {cell.dataset}": round(cell.seconds, 3)
            for cell in each_cell(cells)
        },
        "units_sha256": hashlib.sha256("".join(sorted(took)).encode()).hexdigest(),
        "last_run": last_run,
        "host": host(),
    }
    return {**meta, "computed_by": computed_by(meta, path)}


def as_json(value: Any, depth: int) -> str:
    """Return a value as JSON, down to a depth with one entry per line."""
    if not depth or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "[\n" + ",\n".join(as_json(one, depth - 1) for one in value) + "\n]"
    entries = (f"{json.dumps(name)}: {as_json(one, depth - 1)}" for name, one in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def stem_of(cells: pd.DataFrame) -> str:
    """Return the file name of a table's cells under all readings, without suffix."""
    own = description_of(cells)
    return by_rule(own.id, first_cell(cells).selection, own.selection)


def write_table(
    cells: pd.DataFrame,
    layout: Layout,
    claims: pd.DataFrame,
    folder: Path,
    meta: Mapping[str, Any] | None = None,
) -> list[Path]:
    """Write a table's csv, md, raw repeats and meta.json, its trends, agreement and claims.

    Returns the paths. The csv files hold the rows of all readings that were run: those of
    the present one are replaced, the others kept. The other files are of the present
    reading, and carry its name unless it is the one that comes closest.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.scoring.judged`.
    layout : Layout
        What the Markdown shows.
    claims : DataFrame
        The outcomes of the claims that the table decides.
    folder : Path
    meta : mapping, optional
        What determined the table when it was run; by default what the cells say.
    """
    reading = first_cell(cells).reading
    of_all = {
        "csv": as_rows(cells),
        "trends.csv": trend_rows(cells),
        "agreement.csv": agreement_rows(cells, layout.agreement),
        "claims.csv": claims,
    }
    config = Reading.of(description_of(cells).paper, reading)
    of_this = {
        "md": layout_markdown(layout) + claims_markdown(claims),
        "repeats.csv": as_csv(raw_repeats(cells)),
        "meta.json": as_json(meta or describe_cells(cells, config), 3) + "\n",
    }
    shared = {folder / f"{stem_of(cells)}.{form}": rows for form, rows in of_all.items()}
    for path, rows in shared.items():
        write_rows(path, rows, reading)
    stem = by_reading(stem_of(cells), reading)
    own = write_all(folder, {f"{stem}.{form}": text for form, text in of_this.items()})
    return [*shared, *own]


def write_machine(
    cells: pd.DataFrame, folder: Path, took: Mapping[str, float], last_run: Mapping[str, Any]
) -> Path:
    """Write facts that depend on the clock and the machine to a file that git ignores."""
    path = folder / f"{by_reading(stem_of(cells), first_cell(cells).reading)}.{MACHINE}"
    write_whole(path, as_json(measured(cells, took, last_run, path), 2) + "\n")
    return path
