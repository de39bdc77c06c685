"""The committed tables in ``results/reproduced``, read without the store."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from omtl.experiment.config import options
from omtl.experiment.naming import READINGS as STANDARD
from omtl.experiment.naming import by_reading, by_rule
from omtl.measures.metrics import METRICS
from omtl.tables.plan import Table
from omtl.tables.request import Request
from omtl.tables.scoring import Scored, compared, not_run, score_table
from omtl.util.paths import ROOT, results_to_read
from omtl.util.result_files import read_csv

READINGS = tuple(reversed(tuple(STANDARD)))
"""The standard readings in display order; others follow."""

Place = tuple[str, str, str, str]
"""Data set, algorithm, task and metric of a cell."""


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file as text; none if the file does not exist."""
    if not path.exists():
        return []
    found = read_csv(path).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in found]


def text_of(path: Path) -> str:
    """Return a file's text; empty if it does not exist."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def ordered(readings: list[str]) -> list[str]:
    """Return unique readings, starting with those that all papers have."""
    return [r for r in dict.fromkeys([*READINGS, *readings]) if r in readings]


def reading_file(folder: Path, name: str, reading: str, form: str) -> Path:
    """Return the path of a reading's file; that of the closest reading carries no name."""
    return folder / f"{by_reading(name, reading)}.{form}"


def place_of(row: Mapping[str, str]) -> Place:
    """Return the place of a row of a reproduced table."""
    return row["dataset"], row["algorithm"], row["task"], row["metric"]


@dataclass(frozen=True)
class Run:
    """A run of a table: under a reading, with a selection rule.

    Parameters
    ----------
    table, reading : str
    selection : str
        A rule other than the table's own; empty for the table's own.
    rows : list of dict
        Its rows of the reproduced table.
    folder : Path
        The folder of its files.
    """

    table: str
    reading: str
    selection: str
    rows: list[dict[str, str]]
    folder: Path

    @property
    def name(self) -> str:
        """The run's name among those of its table."""
        return f"{self.reading}_by_{self.selection}" if self.selection else self.reading

    @property
    def stem(self) -> str:
        """The table's file name, without reading and suffix."""
        return by_rule(self.table, self.selection, "")

    def text(self, form: str) -> str:
        """Return the text of one of its files; empty if it does not exist."""
        return text_of(reading_file(self.folder, self.stem, self.reading, form))

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The metadata stored with the table; empty if there are none."""
        return json.loads(self.text("meta.json") or "{}")

    @property
    def machine(self) -> dict[str, Any]:
        """The run's duration and machine; empty if it was run elsewhere."""
        return json.loads(self.text("machine.json") or "{}")

    @cached_property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The resolved configs, by algorithm and data set."""
        configs = self.meta.get("configs", {})
        return {
            name: one | {group: blocks[one[group]] for group, blocks in configs.items()}
            for name, one in self.meta.get("experiments", {}).items()
        }

    @cached_property
    def repeats(self) -> dict[Place, np.ndarray]:
        """Our number in each repeat, in full precision, by place."""
        found = csv.DictReader(io.StringIO(self.text("repeats.csv")))
        return {place_of(row): np.array(row["values"].split(), dtype=float) for row in found}


def runs(results: Path, table: str) -> list[Run]:
    """Return the runs of a table in a folder of results, those with its own rule first."""
    folder, found = results / "reproduced", []
    for selection in ("", *options("selection")):
        each = rows(folder / f"{by_rule(table, selection, '')}.csv")
        for reading in ordered([row["reading"] for row in each]):
            mine = [row for row in each if row["reading"] == reading]
            found.append(Run(table, reading, selection, mine, folder))
    return found


def seconds_a_unit(table: str) -> float | None:
    """Return the average duration of a table's units when it was run here, or None."""
    for run in runs(results_to_read(), table):
        if run.machine.get("seconds") and run.machine.get("units"):
            return float(run.machine["seconds"]) / float(run.machine["units"])
    return None


def kept_run(table: Table, request: Request) -> Run | None:
    """Return the requested run of a table in ``results/``, or None.

    A run whose repeats have draws of their own is not the one requested on one draw.
    """
    selection = request.rule(table.description)
    asked = request.seed, request.n_repeats(table.description)
    other = "" if selection == table.description.selection else selection
    for run in runs(results_to_read(), table.id):
        if (run.reading, run.selection) == (table.reading.name, other):
            made = (run.meta.get("seed"), run.meta.get("repeats"))
            drawn = any(one["drawn"] for one in run.experiments.values())
            return run if made == asked and not (drawn and request.one_draw) else None
    return None


def kept_scored(run: Run, table: Table) -> list[Scored]:
    """Return all cells of a table with our numbers from a kept run."""
    by_place = {place_of(row): row for row in run.rows}
    scored = []
    for cell in table.cells:
        row, values = by_place.get(cell.place), run.repeats.get(cell.place)
        if row is None or values is None:
            scored.append(not_run(cell, "no kept result has it"))
            continue
        played = run.experiments.get(f"{cell.algorithm} on {cell.dataset}", {})
        name = played.get("algorithm", {}).get("name")
        rivals = (one for one in cell.each_rival() if one.experiment.algorithm.name == name)
        diverged = 0 if row["ours_mean"] else int(np.sum(values == METRICS[cell.metric].worst))
        ratio, p = row.get("spread_ratio"), row.get("spread_p")
        scored.append(
            Scored(
                next(rivals, cell),  # the best one was chosen
                values,
                row["verdict"],
                difference=compared(table, cell, values),
                shuffle_std=float(row.get("shuffle_std") or 0.0),
                spread=(float(ratio), float(p)) if ratio and p else None,
                params=json.loads(row["params"]),
                data_sha256=row["data_sha256"],
                diverged=diverged,
            )
        )
    return scored


def keep_times(table: Table, scored: list[Scored], request: Request) -> list[Scored]:
    """Return cells with the kept times instead of those just measured, which always differ.

    A kept time stays if it has the same hyper-parameters and data.
    """
    taken = any(METRICS[s.cell.metric].timing and s.values.size for s in scored)
    run = kept_run(table, request) if taken else None
    if run is None:
        return scored
    return [
        was
        if METRICS[now.cell.metric].timing
        and was.values.size
        and (was.params, was.data_sha256) == (now.params, now.data_sha256)
        else now
        for now, was in zip(scored, kept_scored(run, table), strict=True)
    ]


def stored_or_kept(table: Table, request: Request) -> tuple[list[Scored], Run | None]:
    """Return a table's cells with our numbers: the store's, or the kept ones if it has fewer.

    Returns
    -------
    scored : list of Scored
    run : Run or None
        The kept run of the numbers; None if they come from the store.
    """

    def count(scored: list[Scored]) -> int:
        return sum(s.values.size > 0 for s in scored)

    stored = score_table(table, request)
    if count(stored) < len(stored) and (run := kept_run(table, request)):
        kept = kept_scored(run, table)
        if count(kept) > count(stored):
            return kept, run
    return stored, None


def shown_path(path: Path) -> str:
    """Return a path for the reader, relative to the working folder if it is in there."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def source(run: Run | None) -> str:
    """Return the name of the numbers' source: a kept run's files, or the store."""
    return "the store" if run is None else shown_path(run.folder / f"{run.stem}.csv")
