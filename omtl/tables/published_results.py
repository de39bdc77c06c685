"""The files of tables in ``results/``: writing them, and reading them without the store."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.experiment.config import options
from omtl.experiment.readings import OF_TABLES, READINGS, Reading, by_reading, by_rule
from omtl.measures.metrics import METRICS
from omtl.tables.agreement import agreement_rows, trend_rows
from omtl.tables.cells import (
    OF_REPEATS,
    PLACE,
    alternatives_of,
    as_rows,
    description_of,
    each_cell,
    first_cell,
    raw_repeats,
    with_columns,
)
from omtl.tables.layout import TableLayout, claims_markdown, counts, layout_markdown
from omtl.tables.request import Request
from omtl.tables.scoring import NOTHING, scored
from omtl.tables.verdict import judged, spread_tests
from omtl.util.files import write_whole
from omtl.util.host import host
from omtl.util.paths import RESULTS, results_to_read, shown_path
from omtl.util.result_files import as_csv, read_csv, rows_in, text_of, write_all, write_csv


def folder_for(full: bool, kind: str = "reproduced", apart: bool = False) -> Path:
    """Return the folder for results: full runs are kept in git, shorter ones are not.

    Shorter runs share a folder, except those `apart`, whose files have the same names as tables'.
    """
    if full:
        return RESULTS / kind
    return RESULTS / "partial" / kind if apart else RESULTS / "partial"


def write_rows(
    path: Path, rows: pd.DataFrame, reading: str = "", of: Sequence[str] = ("reading",)
) -> None:
    """Write rows to a CSV file, replacing those of the same reading; other rows are kept.

    Those of `reading` are replaced even by none. In a file `of` several tables, which are sorted,
    rows are replaced by those of the same table and reading.
    """
    run = [*of]
    if path.exists():
        earlier = read_csv(path).reindex(columns=rows.columns, fill_value="")
        again = earlier.set_index(run).index.isin(rows.set_index(run).index)
        rows = pd.concat([earlier[~again & (earlier["reading"] != reading)], rows])
    order = [*READINGS, *sorted({*rows["reading"]} - {*READINGS})]
    rank = {name: number for number, name in enumerate(order)}
    ranks = rows[run].assign(reading=rows["reading"].map(rank)).reset_index(drop=True)
    write_csv(path, rows.iloc[ranks.sort_values(run, kind="stable").index])


GROUPS = ("algorithm", "dataset", "protocol", "network")
"""The configs of an experiment."""


def describe_cells(cells: pd.DataFrame, reading: Reading) -> dict[str, Any]:
    """Return what determines a table: its reading, and each resolved config once.

    `experiments` has, for each cell, the indices of its configs in the lists of `configs`.
    Nothing here depends on the clock; the CPU is named because the bits depend on it.
    """
    configs: dict[str, list[Any]] = {group: [] for group in GROUPS}

    def number(group: str, spec: Any) -> int:
        config = None if spec is None else spec.as_mapping()
        if config not in configs[group]:
            configs[group].append(config)
        return configs[group].index(config)

    experiments = {}
    for algorithm, dataset, one in cells[["algorithm", "dataset", "experiment"]].to_numpy():
        experiments[f"{algorithm} on {dataset}"] = {
            **{group: number(group, getattr(one, group)) for group in GROUPS},
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
    layout: TableLayout,
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
        Of `omtl.tables.verdict.judged`.
    layout : TableLayout
        What the Markdown shows.
    claims : DataFrame
        The outcomes of the claims that the table decides.
    folder : Path
    meta : mapping, optional
        What determined the table when it was run; by default what the cells say.
    """
    reading, stem = first_cell(cells).reading, stem_of(cells)
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
    shared = {folder / f"{stem}.{form}": rows for form, rows in of_all.items()}
    for path, rows in shared.items():
        write_rows(path, rows, reading)
    own = by_reading(stem, reading)
    written = write_all(folder, {f"{own}.{form}": text for form, text in of_this.items()})
    return [*shared, *written]


MACHINE = "machine.json"
"""Suffix of files with a run's duration and machine, which git ignores."""


def write_machine(
    cells: pd.DataFrame, folder: Path, took: Mapping[str, float], last_run: Mapping[str, Any]
) -> Path:
    """Write a table's duration, machine and commit to a file that git ignores; return its path.

    They differ between runs. The file says by which run most of the table's units were computed:
    the last one, or the one that it said before, if that computed the very same units. So a run
    from the store erases nothing, and records about units of earlier code are dropped.

    Parameters
    ----------
    cells : DataFrame
    folder : Path
    took : mapping of str to float
        Duration of each unit in seconds, by key, whichever run computed it.
    last_run : mapping
        Facts about the last run.
    """
    path = folder / f"{by_reading(stem_of(cells), first_cell(cells).reading)}.{MACHINE}"
    units = hashlib.sha256("".join(sorted(took)).encode()).hexdigest()
    runs = [last_run] if last_run["units_computed"] else []
    with suppress(FileNotFoundError, ValueError):
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier.get("units_sha256") == units and earlier["computed_by"]:
            runs.append(earlier["computed_by"])
    facts = {
        "units": len(took),
        "seconds": round(sum(took.values()), 3),
        "seconds_of": {
            f"{cell.algorithm} on {cell.dataset}": round(cell.seconds, 3)
            for cell in each_cell(cells)
        },
        "units_sha256": units,
        "last_run": last_run,
        "host": host(),
        "computed_by": max(runs, key=lambda run: run["units_computed"], default=None),
    }
    write_whole(path, as_json(facts, 2) + "\n")
    return path


SHOWN_READINGS, SHOWN_OF_TABLES = tuple(reversed(tuple(READINGS))), tuple(reversed(OF_TABLES))
"""The standard readings in display order, and those under which tables are made; others follow."""


def ordered(readings: list[str]) -> list[str]:
    """Return unique readings, starting with those that all papers have."""
    return [r for r in dict.fromkeys([*SHOWN_OF_TABLES, *readings]) if r in readings]


@dataclass(frozen=True)
class PublishedRun:
    """A run of a table whose results are in a folder: under a reading, with a selection rule.

    Parameters
    ----------
    table, reading : str
    selection : str
        A rule other than the table's own; empty for the table's own.
    rows : DataFrame
        Its rows of the reproduced table, as text.
    folder : Path
        The folder of its files.
    """

    table: str
    reading: str
    selection: str
    rows: pd.DataFrame = field(compare=False)
    folder: Path

    @property
    def name(self) -> str:
        """The run's name among those of its table."""
        return f"{self.reading}_by_{self.selection}" if self.selection else self.reading

    @property
    def stem(self) -> str:
        """The table's file name, without reading and suffix."""
        return by_rule(self.table, self.selection, "")

    @property
    def request(self) -> Request:
        """The request for it; without metadata, that of the table's own repeats and seed."""
        repeats, seed = self.meta.get("repeats"), self.meta.get("seed", 0)
        return Request(self.reading, repeats, seed, self.selection or None)

    def path(self, form: str) -> Path:
        """Return the path of one of its files."""
        return self.folder / f"{by_reading(self.stem, self.reading)}.{form}"

    def text(self, form: str) -> str:
        """Return the text of one of its files; empty if it does not exist."""
        return text_of(self.path(form))

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The metadata stored with the table; empty if there are none."""
        return json.loads(self.text("meta.json") or "{}")

    @property
    def machine(self) -> dict[str, Any]:
        """The run's duration and machine; empty if it was run elsewhere."""
        return json.loads(self.text(MACHINE) or "{}")

    @cached_property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The resolved configs, by algorithm and data set."""
        configs = self.meta.get("configs", {})
        return {
            name: one | {group: blocks[one[group]] for group, blocks in configs.items()}
            for name, one in self.meta.get("experiments", {}).items()
        }

    @cached_property
    def repeats(self) -> pd.DataFrame:
        """Our ``values`` in the repeats of each cell (`raw_repeats`), in full precision."""
        return pd.DataFrame(rows_in(self.path("repeats.csv")), columns=[*OF_REPEATS, "values"])

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Its rows with the ``values`` of their repeats, which are empty where they are lacking."""
        return self.rows.merge(self.repeats[[*PLACE, "values"]], "left", on=PLACE).fillna("")


def runs_of(results: Path, table: str, rule: str | None = None) -> list[PublishedRun]:
    """Return the runs of a table in a folder of results, those with its own rule ("") first.

    With `rule`, only those by that rule.
    """
    folder, found = results / "reproduced", []
    for selection in ("", *options("selection")) if rule is None else (rule,):
        path = folder / f"{by_rule(table, selection, '')}.csv"
        rows = read_csv(path) if path.exists() else pd.DataFrame(columns=["reading"])
        for reading in ordered(rows["reading"].tolist()):
            mine = rows[rows["reading"] == reading]
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
    for run in runs_of(results_to_read(), of.id, other):
        if run.reading == asked.reading:
            same = (run.meta.get("seed"), run.meta.get("repeats"))
            drawn = any(one["drawn"] for one in run.experiments.values())
            fits = same == (asked.seed, asked.asked_repeats)
            return run if fits and not (drawn and request.one_draw) else None
    return None


def with_results(cells: pd.DataFrame, run: PublishedRun) -> pd.DataFrame:
    """Return planned cells with our numbers and verdicts from a run in ``results/``.

    The deviations over shuffles of one draw of the data are those of its rows.
    """
    rows = cells[PLACE].merge(run.cells, "left", on=PLACE).fillna("").set_index(cells.index)
    found = list(map(_from_row, each_cell(cells), each_cell(rows), repeat(run)))
    cells = judged(with_columns(cells, found))
    numbers = rows[[*OF_SHUFFLES]].apply(pd.to_numeric)
    drawn = np.array([one.drawn for one in cells["experiment"]], dtype=bool)
    of_draws = spread_tests(cells, numbers["shuffle_std"], cells["published_repeats"])["spread_p"]
    again = np.where(drawn, of_draws, cells["spread_p"])  # under what the ± means now
    is_other = numbers["spread_p"].notna() & (rows["published_spread"] != cells["published_spread"])
    numbers["spread_p"] = np.where(is_other, again, numbers["spread_p"])
    was_run = cells["n_repeats"] > 0
    kept = {name: np.where(was_run, numbers[name], cells[name]) for name in OF_SHUFFLES}
    return cells.assign(**kept)


OF_SHUFFLES = ("shuffle_std", "spread_ratio", "spread_p")
"""Columns of a table's rows about shuffles of one draw, whose repeats need not be published."""


def _from_row(cell: Any, row: Any, run: PublishedRun) -> dict[str, Any]:
    """Return the columns of `omtl.tables.scoring.played` of a cell; a row without any is empty."""
    found = {"experiment": cell.experiment, "alternatives": cell.alternatives, **NOTHING}
    if not row.values:
        return {**found, "why": cell.too_slow or "no result in results/ has it"}
    algorithm = run.experiments.get(f"{cell.algorithm} on {cell.dataset}", {}).get("algorithm", {})
    for one in alternatives_of(cell):
        if one.algorithm.name == algorithm.get("name"):  # the best one was chosen
            found |= {"experiment": one, "alternatives": ()}
    values = np.array(row.values.split(), dtype=float)
    return {
        **found,
        "values": values,
        "shuffles": values,
        "params": json.loads(row.params),
        "data_sha256": row.data_sha256,
        "diverged": 0 if row.ours_mean else int(np.sum(values == METRICS[cell.metric].worst)),
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
        Of `omtl.tables.verdict.judged`.
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


def source_of(run: PublishedRun | None) -> str:
    """Return the name of the numbers' source: the files of a run, or the store."""
    return "the store" if run is None else shown_path(run.folder / f"{run.stem}.csv")
