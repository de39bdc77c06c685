"""Verifying stored results: cells drawn at random, their units computed from nothing, bit for bit.

The store is read only to compare with, and for which points a search of a large grid has left; what
is computed for a check is never stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data_fetchers.fetch import DataMissing
from omtl.config import named_reading
from omtl.errors import UserError
from omtl.files import write_whole
from omtl.harness.host import host
from omtl.harness.plan import Cell, Experiment, Table, plan_table, rule_of
from omtl.harness.search import searched
from omtl.harness.store import Loaded, Store
from omtl.harness.unit import Result, compute
from omtl.seeds import generator

SAME, DIFFERENT, NOT_COMPARABLE = "same", "different", "not comparable"

LARGE = 40
"""Of a grid with more points than this, only the chosen point of one repeat is played again."""

OF_THE_CLOCK = ("seconds",)
"""Arrays that no two plays have in common."""

MOST_REPEATS = 5
"""Of a smaller grid, so many repeats are played again at most, drawn at random."""

RESULTS_SEED = 0
"""The seed of all results that are kept."""

PLACE = ("table", "dataset", "algorithm", "task", "metric", "reading")
"""What names a row of the reproduced tables."""

COLUMNS = (
    "date",
    "commit",
    "python",
    "packages",
    "machine",
    "seed",
    *PLACE,
    "units",
    "points",
    "result",
    "detail",
)
"""Columns of ``results/verify.csv``."""


@dataclass(frozen=True)
class Check:
    """What became of a drawn cell.

    Parameters
    ----------
    row : mapping
        The cell's row in ``results/reproduced``.
    units, points : int
        How many units were played again, one a repeat, and how many points of the grid in each.
    differences : tuple of str
        In which units and arrays the store has other bits.
    lacking : tuple of str
        What there is nothing to compare with, or nothing to play, for the lack of.
    """

    row: Mapping[str, str]
    units: int
    points: int
    differences: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()

    @property
    def result(self) -> str:
        """Whether the store has the same bits."""
        if self.differences:
            return DIFFERENT
        return NOT_COMPARABLE if self.lacking else SAME

    @property
    def detail(self) -> str:
        """What differs or is lacking, as text."""
        return "; ".join([*self.differences, *self.lacking])

    def __str__(self) -> str:
        """Return the check as text."""
        told = ", ".join(_place(self.row).values())
        played = f"{self.units} repeats, {self.points} points each"
        return f"{told} ({played}){f': {self.detail}' if self.detail else ''}"


def drawn(results: Path, n_cells: int, seed: int, only: str | None = None) -> list[dict[Any, Any]]:
    """Return rows of the reproduced tables, drawn at random without return.

    Parameters
    ----------
    results : Path
        The folder of results.
    n_cells : int
        How many; all of them where there are no more.
    seed : int
    only : str, optional
        A table's id, to draw of its cells alone.

    Raises
    ------
    UserError
        If no cell was run.
    """
    rows: list[dict[Any, Any]] = []
    for path in sorted((results / "reproduced").glob(f"{only or '*'}.csv")):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        if "ours_mean" in table:
            rows += table[table["ours_mean"] != ""].to_dict("records")
    if not rows:
        raise UserError(
            f"{only or 'no table'} has {'no' if only else 'a'} cell that was run; "
            f"run `omtl table {only or 'TABLE'}` first"
        )
    order = generator(seed, of="verify").permutation(len(rows))[:n_cells]
    return [rows[i] for i in order]


def cell_of(row: Mapping[str, str], table: Table) -> Cell:
    """Return the cell of a table that a row is of.

    Raises
    ------
    UserError
        If the table has no such cell any more.
    """
    place = tuple(row[name] for name in ("dataset", "algorithm", "task", "metric"))
    for cell in table.cells:
        if (cell.dataset, cell.algorithm, cell.task, cell.metric) == place:
            return cell
    raise UserError(f"{table.id} has no cell {', '.join(place)} any more; run the table again")


def experiment_of(
    row: Mapping[str, str], cell: Cell, store: Store, rule: dict[str, Any], n_repeats: int
) -> tuple[Experiment, int] | None:
    """Return the experiment that a row's number is of, and the chosen point's number in its grid.

    Of rivals it is the first whose grid has that point; of a searched grid, what the search left.
    None where the search is not in the store, or no grid has the point any more.
    """
    point = json.loads(row["params"])
    for one in cell.each_rival():
        found: Cell | None = one
        if one.search is not None:
            found = searched(one, Loaded(store), rule, 0, n_repeats)
        if found is not None and point in found.experiment.points:
            return found.experiment, found.experiment.points.index(point)
    return None


def differing(stored: Result, fresh: Result, point: int | None) -> list[str]:
    """Return the names of arrays that differ in any bit, in kind or in shape.

    Parameters
    ----------
    stored, fresh : Result
    point : int or None
        The point of the stored grid that is the only one of the fresh result; None where both have
        the whole grid.
    """
    n_points = stored.arrays["diverged"].shape[0]

    def same(name: str) -> bool:
        if name not in stored.arrays or name not in fresh.arrays:
            return False
        kept = stored.arrays[name]
        views = [kept]
        if point is not None and kept.shape[:1] == (n_points,):
            views.append(kept[point : point + 1])
        return _bits(fresh.arrays[name]) in map(_bits, views)

    names = dict.fromkeys(name for name in (*stored.arrays, *fresh.arrays))
    wrong = [name for name in names if name not in OF_THE_CLOCK and not same(name)]
    if stored.facts["data_sha256"] != fresh.facts["data_sha256"]:
        wrong.append("the data")
    return wrong


def _bits(values: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return values.dtype.str, values.shape, np.ascontiguousarray(values).tobytes()


def check(row: Mapping[str, str], store: Store, seed: int) -> Check:
    """Play units of a row's cell from nothing and compare them with the store.

    Parameters
    ----------
    row : mapping
        A row of ``results/reproduced``.
    store : Store
    seed : int
        Of the draw of repeats.

    Raises
    ------
    UserError
        If the table has no such cell or reading any more.
    """
    paper, n_repeats = row["table"].split("-")[0], int(row["n_repeats"])
    table = plan_table(row["table"], named_reading(paper, row["reading"]))
    cell = cell_of(row, table)
    rule = rule_of(row["selection"], cell.reading)
    found = experiment_of(row, cell, store, rule, n_repeats)
    if found is None:
        return Check(row, 0, 0, lacking=("the grid that a search left",))
    experiment, point = found
    large = len(experiment.points) > LARGE
    played = experiment.only([point]) if large else experiment
    order = generator(seed, of="verified repeats", **_place(row)).permutation(n_repeats)
    differences, lacking = [], []
    repeats = sorted(order[: 1 if large else MOST_REPEATS].tolist())
    for repeat in repeats:
        unit = experiment.unit(RESULTS_SEED, repeat)
        try:
            fresh = compute(played.unit(RESULTS_SEED, repeat))
        except DataMissing as fault:
            return Check(row, 0, 0, lacking=(str(fault),))
        stored = store.load(unit)
        if stored is None:
            lacking.append(f"{unit.name} is not in the store")
        elif wrong := differing(stored, fresh, point if large else None):
            differences.append(f"{unit.name}: {', '.join(wrong)}")
    return Check(row, len(repeats), len(played.points), tuple(differences), tuple(lacking))


def _place(row: Mapping[str, str]) -> dict[str, str]:
    return {name: row[name] for name in PLACE}


def signed_off(checks: Sequence[Check], seed: int) -> pd.DataFrame:
    """Return the record of checks: a row a cell, with what they were made on and when."""
    on = host()
    packages = " ".join(f"{name} {version}" for name, version in on["packages"].items())
    made = (
        datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        *(on["commit"], on["python"], packages),
        f"{on['cpu']}, {on['cores']} cores, {on['machine']}, {on['system']}",
        str(seed),
    )
    return pd.DataFrame(
        [
            (
                *(*made, *_place(one.row).values(), str(one.units), str(one.points)),
                *(one.result, one.detail),
            )
            for one in checks
        ],
        columns=COLUMNS,
    )


def append(path: Path, rows: pd.DataFrame) -> None:
    """Add rows to a csv, which is made where there is none; what it has stays as it is."""
    text = rows.to_csv(index=False, header=not path.exists(), lineterminator="\n")
    earlier = path.read_text(encoding="utf-8") if path.exists() else ""
    write_whole(path, earlier + text)
