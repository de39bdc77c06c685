"""The results in ``results/reproduced``, read without the store."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.config import options
from omtl.experiment.descriptions import READINGS, by_reading, by_rule
from omtl.measures.metrics import METRICS
from omtl.tables.cells import (
    Place,
    alternatives_of,
    description_of,
    each_cell,
    first_cell,
    place_of,
    places_in,
    with_columns,
)
from omtl.tables.request import Request
from omtl.tables.scoring import NOTHING, judged, printed_of, scored, std_of
from omtl.tables.verdict import spreads
from omtl.util.paths import ROOT, results_to_read
from omtl.util.result_files import rows_in, text_of

SHOWN_READINGS = tuple(reversed(tuple(READINGS)))
"""The standard readings in display order; others follow."""


def ordered(readings: list[str]) -> list[str]:
    """Return unique readings, starting with those that all papers have."""
    return [r for r in dict.fromkeys([*SHOWN_READINGS, *readings]) if r in readings]


def reading_file(folder: Path, name: str, reading: str, form: str) -> Path:
    """Return the path of a reading's file; that of the closest reading carries no name."""
    return folder / f"{by_reading(name, reading)}.{form}"


@dataclass(frozen=True)
class PublishedRun:
    """A run of a table whose results are in a folder: under a reading, with a selection rule.

    Parameters
    ----------
    table, reading : str
    selection : str
        A rule other than the table's own; empty for the table's own.
    rows : list of dict
        Its rows of the reproduced table, as text.
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

    @property
    def source(self) -> str:
        """The path of its CSV for the reader."""
        return shown_path(self.folder / f"{self.stem}.csv")


def runs_of(results: Path, table: str) -> list[PublishedRun]:
    """Return the runs of a table in a folder of results, those with its own rule first."""
    folder, found = results / "reproduced", []
    for selection in ("", *options("selection")):
        rows = rows_in(folder / f"{by_rule(table, selection, '')}.csv")
        for reading in ordered([row["reading"] for row in rows]):
            mine = [row for row in rows if row["reading"] == reading]
            found.append(PublishedRun(table, reading, selection, mine, folder))
    return found


def seconds_per_unit(table: str) -> float | None:
    """Return the average duration of a table's units when it was run here, or None."""
    for run in runs_of(results_to_read(), table):
        if run.machine.get("seconds") and run.machine.get("units"):
            return float(run.machine["seconds"]) / float(run.machine["units"])
    return None


def published_run(cells: pd.DataFrame, request: Request) -> PublishedRun | None:
    """Return the run in ``results/`` that planned cells ask for, or None.

    A run whose repeats have draws of their own is not the one requested on one draw.
    """
    of, asked = description_of(cells), first_cell(cells)
    other = "" if asked.selection == of.selection else asked.selection
    for run in runs_of(results_to_read(), of.id):
        if (run.reading, run.selection) == (asked.reading, other):
            same = (run.meta.get("seed"), run.meta.get("repeats"))
            drawn = any(one["drawn"] for one in run.experiments.values())
            fits = same == (asked.seed, asked.asked_repeats)
            return run if fits and not (drawn and request.one_draw) else None
    return None


def with_results(cells: pd.DataFrame, run: PublishedRun) -> pd.DataFrame:
    """Return planned cells with our numbers and verdicts from a run in ``results/``."""
    rows = {place_of(row): row for row in run.rows}
    found = [
        _from_row(cell, rows.get(place), run.repeats.get(place), run)
        for cell, place in zip(each_cell(cells), places_in(cells), strict=True)
    ]
    of_shuffles = ("shuffle_std", "spread_ratio", "spread_p")
    printed_spread = [{name: one.pop(name) for name in of_shuffles} for one in found]
    return with_columns(judged(with_columns(cells, found)), printed_spread)


def _from_row(
    cell: Any, row: dict[str, str] | None, values: np.ndarray | None, run: PublishedRun
) -> dict[str, Any]:
    """Return the columns of `omtl.tables.scoring.played` of a cell, with those of its shuffles."""
    found = {"experiment": cell.experiment, "alternatives": cell.alternatives, **NOTHING}
    if row is None or values is None:
        nothing = {"shuffle_std": 0.0, "spread_ratio": np.nan, "spread_p": np.nan}
        return {**found, **nothing, "why": cell.too_slow or "no result in results/ has it"}
    algorithm = run.experiments.get(f"{cell.algorithm} on {cell.dataset}", {}).get("algorithm", {})
    for one in alternatives_of(cell):
        if one.algorithm.name == algorithm.get("name"):  # the best one was chosen
            found |= {"experiment": one, "alternatives": ()}
    diverged = 0 if row["ours_mean"] else int(np.sum(values == METRICS[cell.metric].worst))
    ratio, p, shuffle_std = (row.get(name) for name in ("spread_ratio", "spread_p", "shuffle_std"))
    if ratio and p and row["published_spread"] != cell.published_spread:
        drawn = cell.experiment.drawn
        std, count = (
            (float(shuffle_std or 0), cell.published_repeats)
            if drawn
            else (std_of(values), values.size)
        )
        tested = spreads(printed_of(cell), std, count)
        p = str(tested[1]) if tested else ""
    return {
        **found,
        "values": values,
        "params": json.loads(row["params"]),
        "data_sha256": row["data_sha256"],
        "diverged": diverged,
        "shuffle_std": float(shuffle_std or 0.0),
        "spread_ratio": float(ratio) if ratio and p else np.nan,
        "spread_p": float(p) if ratio and p else np.nan,
    }


def with_published_times(cells: pd.DataFrame, request: Request) -> pd.DataFrame:
    """Return cells with the times in ``results/`` instead of those just measured.

    Times always differ; one in ``results/`` stays if it has the same hyper-parameters and data.
    """
    timed = cells["metric"].map(lambda metric: METRICS[metric].timing) & (cells["n_repeats"] > 0)
    run = published_run(cells, request) if timed.any() else None
    if run is None:
        return cells
    earlier = with_results(cells, run)
    same = (earlier["params"] == cells["params"]) & (earlier["data_sha256"] == cells["data_sha256"])
    stays = timed & (earlier["n_repeats"] > 0) & same
    if not stays.any():
        return cells
    return pd.concat([cells[~stays], earlier[stays]]).sort_index()


def stored_or_published(
    cells: pd.DataFrame, request: Request
) -> tuple[pd.DataFrame, PublishedRun | None]:
    """Return cells with our numbers: the store's, or those in ``results/`` if it has fewer.

    Returns
    -------
    cells : DataFrame
        Of `omtl.tables.scoring.judged`.
    run : PublishedRun or None
        The run in ``results/`` that the numbers are of; None if they come from the store.
    """
    stored = scored(cells, request.store)
    n_stored = (stored["n_repeats"] > 0).sum()
    if n_stored < len(stored) and (run := published_run(cells, request)):
        published = with_results(cells, run)
        if (published["n_repeats"] > 0).sum() > n_stored:
            return published, run
    return stored, None


def shown_path(path: Path) -> str:
    """Return a path for the reader, relative to the working folder if it is in there."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def source_of(run: PublishedRun | None) -> str:
    """Return the name of the numbers' source: the files of a run, or the store."""
    return "the store" if run is None else run.source
