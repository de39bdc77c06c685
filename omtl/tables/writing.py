"""Writing a table's files atomically."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.experiment.host import host
from omtl.experiment.naming import READINGS, by_reading, by_rule
from omtl.experiment.specs import Spec
from omtl.tables import trends
from omtl.tables.layout import Layout, counts
from omtl.tables.plan import Table
from omtl.tables.render import claims_markdown, markdown
from omtl.tables.request import Request
from omtl.tables.scoring import Scored, frame, raw_repeats
from omtl.util.files import write_whole
from omtl.util.paths import RESULTS
from omtl.util.result_files import as_csv, read_csv, write_all, write_csv

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


def described(table: Table, scored: list[Scored], facts: Mapping[str, Any]) -> dict[str, Any]:
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
    for s in scored:
        one = s.cell.experiment
        experiments[f"{s.cell.algorithm} on {s.cell.dataset}"] = {
            **{group: number(group, _written(getattr(one, group))) for group in GROUPS},
            **{"plays": one.plays, "drawn": one.drawn},
        }
    return {
        **{"table": table.id, "reading": table.reading.as_mapping(), "verdicts": counts(scored)},
        **facts,
        **{"cpu": host()["cpu"], "configs": configs, "experiments": experiments},
    }


def _written(spec: Spec | None) -> dict[str, Any] | None:
    return None if spec is None else spec.as_mapping()


def measured(
    scored: list[Scored], took: Mapping[str, float], last_run: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Return a table's duration, machine and commit, which differ between runs.

    Parameters
    ----------
    scored : list of Scored
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
            f"{s.cell.algorithm} on {s.cell.dataset}": round(s.seconds, 3) for s in scored
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


@dataclass(frozen=True)
class Written:
    """The written form of a table.

    Parameters
    ----------
    table : Table
    request : Request
    scored : list of Scored
    layout : Layout
    claims : DataFrame
        The outcomes of the claims that the table decides.
    """

    table: Table
    request: Request
    scored: list[Scored]
    layout: Layout
    claims: pd.DataFrame

    @property
    def stem(self) -> str:
        """The file name of all readings, without suffix."""
        own = self.table.description
        return by_rule(self.table.id, self.request.rule(own), own.selection)

    def write(self, folder: Path) -> list[Path]:
        """Write the table's csv, md, raw repeats and meta.json, its trends and claims.

        Returns the paths. The csv files hold the rows of all readings that were run: those of
        the present one are replaced, the others kept. The other files are of the present
        reading, and carry its name unless it is the one that comes closest.
        """
        table, reading = self.table, self.table.reading.name
        seed, selection = self.request.seed, self.request.rule(table.description)
        of_all = {
            "csv": frame(table, self.scored, selection),
            "trends.csv": trends.frame(table.id, reading, selection, self.scored),
            "claims.csv": self.claims,
        }
        n_repeats = self.request.n_repeats(table.description)
        facts = {"repeats": n_repeats, "seed": seed, "selection": selection}
        of_this = {
            "md": markdown(self.layout) + claims_markdown(self.claims),
            "repeats.csv": as_csv(raw_repeats(table, self.scored, seed)),
            "meta.json": as_json(described(table, self.scored, facts), 3) + "\n",
        }
        shared = {folder / f"{self.stem}.{form}": rows for form, rows in of_all.items()}
        for path, rows in shared.items():
            write_rows(path, rows, reading)
        stem = by_reading(self.stem, reading)
        own = write_all(folder, {f"{stem}.{form}": text for form, text in of_this.items()})
        return [*shared, *own]

    def write_machine(
        self, folder: Path, took: Mapping[str, float], last_run: Mapping[str, Any]
    ) -> Path:
        """Write facts that depend on the clock and the machine to a file that git ignores."""
        path = folder / f"{by_reading(self.stem, self.table.reading.name)}.{MACHINE}"
        write_whole(path, as_json(measured(self.scored, took, last_run, path), 2) + "\n")
        return path
