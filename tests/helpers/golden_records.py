"""Stored records of a small table, and the table that they must give.

``python tests/helpers/golden_records.py`` makes both anew; look at the difference before you
commit it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from miniature import with_options

from omtl.experiment.readings import Reading

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDS = GOLDEN / "records.npz"
N_REPEATS = 3

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from miniature import SMALL_WALK  # noqa: E402

from omtl.experiment.playing import compute  # noqa: E402
from omtl.experiment.unit import Result, Unit  # noqa: E402
from omtl.tables.layout import Layout, lay_out  # noqa: E402
from omtl.tables.plan import Table, plan_table  # noqa: E402
from omtl.tables.render import latex, markdown  # noqa: E402
from omtl.tables.request import Request  # noqa: E402
from omtl.tables.scoring import Scored, frame, score_table  # noqa: E402


def name_of(unit: Unit) -> str:
    """Return the name of a unit's record, which does not change with the code."""
    network = unit.network.name if unit.network else "none"
    return f"{unit.algorithm.name}-{network}-{unit.repeat}-{unit.draw}"


@dataclass(frozen=True)
class Records:
    """A store that holds the records and nothing else."""

    arrays: dict[str, np.ndarray]

    def is_empty(self) -> bool:
        """Whether there is no record."""
        return not self.arrays

    def load(self, unit: Unit) -> Result | None:
        """Return a unit's record, or None."""
        prefix = name_of(unit) + "/"
        arrays = {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}
        return Result(arrays, {"data_sha256": "golden", "seconds": 1.0}) if arrays else None


def golden_table() -> Table:
    """Return DOM's table with a small random walk; its other columns have no records."""
    table = plan_table("dom-table1", Reading(name="golden", paper=None))
    cells = [
        replace(cell, experiment=with_options(cell.experiment, **SMALL_WALK))
        if cell.dataset == "Synthetic"
        else cell
        for cell in table.cells
    ]
    return replace(table, cells=cells)


def forms(records: Records) -> dict[str, str]:
    """Return the table's files by name, made from the records."""
    table = golden_table()
    scored: list[Scored] = []
    for cell in table.cells:
        one = Table(table.description, table.reading, [cell])
        known = records if cell.dataset == "Synthetic" else Records({})
        scored += score_table(one, Request(repeats=N_REPEATS, store=known))  # type: ignore[arg-type]
    layout: Layout = lay_out(table, scored, Request(repeats=N_REPEATS, selection="oracle"))
    return {
        "table.csv": frame(table, scored, "oracle").to_csv(index=False, lineterminator="\n"),
        "table.md": markdown(layout),
        "table.tex": latex(layout),
    }


def make() -> None:
    """Compute the records and write the forms."""
    table = golden_table()
    cells = [cell for cell in table.cells if cell.dataset == "Synthetic"]
    units = Table(table.description, table.reading, cells).units(0, N_REPEATS)
    arrays = {}
    for unit in units:
        for name, array in compute(unit).arrays.items():
            if name in ("mistakes", "diverged", "examples"):
                arrays[f"{name_of(unit)}/{name}"] = array.astype(np.int16)
    np.savez_compressed(RECORDS, allow_pickle=False, **arrays)
    for name, text in forms(Records(arrays)).items():
        (GOLDEN / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    make()
