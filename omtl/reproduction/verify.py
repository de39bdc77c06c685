"""Verifying the results in git: random cells, recomputed from scratch, to the last digit.

Each is compared with the repeats beside its table, which have all digits. The store of earlier runs
is not read, so whoever has the repository can verify it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from data_fetchers.fetch import DataMissing
from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.playing import compute
from omtl.experiment.selection import by_repeat
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Experiment, Result
from omtl.measures.metrics import METRICS
from omtl.reproduction.replay import CLOSE, DIFFERENT, NOT_COMPARABLE, SAME, Replay
from omtl.tables.cells import alternatives_of, each_cell, is_searched, place_of, places_in, planned
from omtl.tables.layout import plural
from omtl.tables.published_results import PublishedRun, runs_of
from omtl.tables.request import Request
from omtl.tables.scoring import chosen_for, combined, numbers_at
from omtl.util import files
from omtl.util.errors import UserError
from omtl.util.host import host
from omtl.util.result_files import rows_in
from omtl.util.seeds import generator

RESULTS_OF = (SAME, CLOSE, DIFFERENT, NOT_COMPARABLE)

LARGE = 40
"""Where more points than this are played again, it is in one repeat only."""

MOST_REPEATS = 5
"""Else so many repeats of a cell are played again at most, drawn at random."""

PLACE = ("table", "dataset", "algorithm", "task", "metric", "reading", "selection")
"""What names a row of the reproduced tables."""

SERIAL = {"backend": "sequential", "jobs": 1}

THE_POINT = SelectionSpec(name="the_point", rule="fixed")
"""The rule that chooses the only point of a grid."""


def draw_cells(
    results: Path, tables: Sequence[str], n_cells: int, seed: int
) -> list[tuple[PublishedRun, dict[str, str]]]:
    """Return rows of the reproduced tables, drawn at random without return, spread over the tables.

    Times are left out, as no two plays take the same.

    Parameters
    ----------
    results : Path
        The folder of results.
    tables : sequence of str
        The ids of the tables to draw from.
    n_cells : int
        How many; all of them where there are no more.
    seed : int

    Raises
    ------
    UserError
        If no cell was run.
    """
    rng = generator(seed, of="verify")
    shuffled = []
    for table in rng.permutation(sorted(tables)).tolist():
        found = [
            (run, row)
            for run in runs_of(results, table)
            for row in run.rows
            if row["ours_mean"] and not METRICS[row["metric"]].timing
        ]
        shuffled.append([found[i] for i in rng.permutation(len(found))])
    in_turn = [one for turn in zip_longest(*shuffled) for one in turn if one is not None]
    if not in_turn:
        raise UserError(
            f"{', '.join(tables)}: no cell has been run except timings; "
            "run `omtl table TABLE` first"
        )
    return in_turn[:n_cells]


def each_play(run: PublishedRun, row: Mapping[str, str], cell: Any) -> list[Any]:
    """Return what may be played again to get a row's number in a repeat, one cell each.

    Where each repeat has parameters of its own, by the rule or by its draw of data, it is the cell
    with all points that it chose from: of a searched grid those that the search left, by its
    record. Else the chosen point is played alone, of each of the alternatives that have it.
    """
    if by_repeat(cell.rule) or cell.experiment.drawn:
        if not is_searched(cell):
            return [cell]
        left = _left_by_search(run, row)
        return [] if left is None else [cell._replace(experiment=cell.experiment.only(left))]
    point = json.loads(row["params"])
    return [
        cell._replace(
            experiment=one.only([one.points.index(point)]),
            **{"alternatives": (), "tuned_by": None, "rule": THE_POINT},
        )
        for one in alternatives_of(cell)
        if point in one.points
    ]


def _left_by_search(run: PublishedRun, row: Mapping[str, str]) -> list[int] | None:
    """Return the numbers of the points that a search left, or None where there is no record."""
    found = [
        each["points"]
        for each in rows_in(run.folder.parent / "search" / f"{run.stem}.points.csv")
        if all(each[name] == row[name] for name in ("dataset", "algorithm", "reading"))
    ]
    return [int(number) for number in found[-1].split()] if found else None


def check_cell(
    run: PublishedRun, row: Mapping[str, str], seed: int, parallel: Mapping[str, Any] = SERIAL
) -> Replay:
    """Play repeats of a row's cell from nothing and compare them with those beside its table.

    Parameters
    ----------
    run : PublishedRun
        The run that the row is of.
    row : mapping
        A row of ``results/reproduced``.
    seed : int
        Of the draw of repeats.
    parallel : mapping
        An option of ``conf/parallel``, by which the repeats are played.

    Raises
    ------
    UserError
        If the table has no such cell or reading any more.
    """
    place = {name: row[name] for name in PLACE}

    def ended(result: str, detail: str = "", units: int = 0, points: int = 0) -> Replay:
        played = f"{plural(units, 'repeat')}, {plural(points, 'point')} each"
        name = f"{', '.join(place.values())} ({played})"
        return Replay(name, result, detail, row, units, points)

    published = run.repeats.get(place_of(row))
    if published is None or not run.meta:
        return ended(NOT_COMPARABLE, "the repeats beside the table")
    asked = Request(run.reading, run.meta["repeats"], run.meta["seed"], run.selection or None)
    cells = planned(run.table, asked)
    there = dict(zip(places_in(cells), each_cell(cells), strict=True))
    if place_of(row) not in there:
        named = ", ".join(place_of(row))
        raise UserError(f"{row['table']} has no cell {named} any more; run the table again")
    plays = each_play(run, row, there[place_of(row)])
    if not plays:
        return ended(NOT_COMPARABLE, f"the point {row['params']} in the grid")
    points = sum(len(one.points) for one in alternatives_of(plays[0]))
    order = generator(seed, of="verified repeats", **place).permutation(published.size)
    repeats = sorted(order[: 1 if points > LARGE else MOST_REPEATS].tolist())
    made, here = run.meta["cpu"], host()["cpu"]
    spread = float(published.std(ddof=1)) if published.size > 1 else 0.0
    differences, close = [], made != here
    done = _played(plays, repeats, parallel)
    for repeat in repeats:
        try:
            found = [_replayed(one, repeat, done) for one in plays]
        except DataMissing as fault:
            return ended(NOT_COMPARABLE, str(fault))
        if any(data not in (None, row["data_sha256"]) for _, data in found):
            differences.append(f"repeat {repeat}: other data")
            close = False
            continue
        kept = float(published[repeat])
        value = min((value for value, _ in found), key=lambda value: abs(value - kept))
        if not np.array_equal(value, kept, equal_nan=True):
            differences.append(f"repeat {repeat}: {value!r}, in results/ {kept!r}")
            close &= bool(abs(value - kept) <= spread)
    if not differences:
        return ended(SAME, "", len(repeats), points)
    detail = "; ".join([*differences, f"made on {made}, played on {here}"])
    return ended(CLOSE if close else DIFFERENT, detail, len(repeats), points)


def _played(
    cells: Sequence[Any], repeats: Sequence[int], parallel: Mapping[str, Any]
) -> dict[str, Result]:
    """Return, by their keys, the units that cells need in some repeats, played from nothing."""
    needed = [experiment for cell in cells for experiment in alternatives_of(cell)]
    needed += [cell.tuned_by for cell in cells if cell.tuned_by is not None]
    seed = cells[0].seed
    units = [experiment.unit(seed, repeat) for experiment in needed for repeat in repeats]
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        engine.run_units(units, store, parallel, quiet=True)
        return {unit.key: result for unit in units if (result := store.load(unit)) is not None}


def _replayed(cell: Any, repeat: int, done: Mapping[str, Result]) -> tuple[float, str | None]:
    """Return our number of a cell in a repeat from units that were played, and the data's hash.

    None for the hash of data that are drawn for this repeat alone.
    """

    def play(experiment: Experiment) -> list[Result]:
        unit = experiment.unit(cell.seed, repeat)
        return [done.get(unit.key) or compute(unit)]  # which raises what had kept it from that

    results = combined([play(one) for one in alternatives_of(cell)])
    tuning = [] if cell.tuned_by is None else play(cell.tuned_by)
    chosen = chosen_for(cell, results, tuning)
    [value] = numbers_at(results, chosen, cell.metric, cell.rule, cell.task)
    own_draw = cell.experiment.unit(cell.seed, repeat).draw != 0
    return float(value), None if own_draw else results[0].facts["data_sha256"]


def signed_off(replays: Sequence[Replay], seed: int) -> pd.DataFrame:
    """Return the rows of ``results/verify.csv``: one per cell, with the machine and the time."""
    on = host()
    made = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": on["commit"],
        "python": on["python"],
        "packages": " ".join(f"{name} {version}" for name, version in on["packages"].items()),
        "machine": f"{on['cpu']}, {on['cores']} cores, {on['machine']}, {on['system']}",
        "seed": str(seed),
    }
    return pd.DataFrame(
        made
        | {name: one.row[name] for name in PLACE}
        | {"units": str(one.units), "points": str(one.points)}
        | {"result": one.result, "detail": one.detail}
        for one in replays
    )


SIGNED = ("date", "name", "commit", "machine", "seed", "cells", *RESULTS_OF, "result")
"""Columns of ``results/reproductions.csv``, the log of reproductions by others."""


def refuse_name(name: str) -> None:
    """Refuse a name to sign with that is empty or has more than a line.

    Raises
    ------
    UserError
    """
    if not name.strip() or not name.isprintable():
        raise UserError(f"--sign {name!r}: a name must be one line of text")


def signature(replays: Sequence[Replay], name: str, seed: int) -> pd.DataFrame:
    """Return the line by which someone signs off what became of replayed cells."""
    counts = {kind: sum(one.result == kind for one in replays) for kind in RESULTS_OF}
    tables = " ".join(dict.fromkeys(one.row["table"] for one in replays))
    line = signed_off(replays, seed).head(1).assign(name=name.strip(), cells=tables)
    line = line.assign(result="differs" if counts[DIFFERENT] else "reproduced")
    return line.assign(**{kind: str(count) for kind, count in counts.items()})[[*SIGNED]]


def append_rows(path: Path, rows: pd.DataFrame) -> None:
    """Add rows to a csv, which is made where there is none; what it has stays as it is."""
    text = rows.to_csv(index=False, header=False, lineterminator="\n")
    files.append(path, text, rows.head(0).to_csv(index=False, lineterminator="\n"))
