"""Stored records of a small table, and the table that they must give.

``python tests/helpers/golden_records.py`` makes both anew; look at the difference before you
commit it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

GOLDEN = Path(__file__).parents[1] / "golden"
RECORDS = GOLDEN / "records.npz"
N_REPEATS = 3

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from miniature import SMALL_WALK, with_options  # noqa: E402

from omtl.compute.store import CachedStore, Store  # noqa: E402
from omtl.experiment.playing import compute  # noqa: E402
from omtl.experiment.readings import Reading  # noqa: E402
from omtl.experiment.unit import Result, Unit  # noqa: E402
from omtl.tables.cells import planned  # noqa: E402
from omtl.tables.layout import (  # noqa: E402
    latex,
    lay_out,
    layout_markdown,
)
from omtl.tables.notes import notes  # noqa: E402
from omtl.tables.play import units_of  # noqa: E402
from omtl.tables.published_results import as_rows  # noqa: E402
from omtl.tables.request import Request  # noqa: E402
from omtl.tables.scoring import scored  # noqa: E402


def name_of(unit: Unit) -> str:
    """Return the name of a unit's record, which does not change with the code."""
    network = unit.network.name if unit.network else "none"
    return f"{unit.algorithm.name}-{network}-{unit.repeat}-{unit.draw}"


class Records(CachedStore):
    """A store that holds the records and nothing else."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        super().__init__(Store(Path("no_such_folder")))
        self.arrays = arrays

    def load_each(self, units: Collection[Unit]) -> list[Result | None]:
        """Return the record of each unit, or None."""
        return list(map(self._record, units))

    def _record(self, unit: Unit) -> Result | None:
        prefix = name_of(unit) + "/"
        arrays = {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}
        return Result(arrays, {"data_sha256": "golden", "seconds": 1.0}) if arrays else None


def golden_table(repeats: int = N_REPEATS) -> pd.DataFrame:
    """Return DOM's table with a small random walk; its other columns have no records."""
    reading = Reading(name="golden", paper=None)
    cells = planned("dom-table1", Request(repeats=repeats), reading)
    small = [with_options(experiment, **SMALL_WALK) for experiment in cells["experiment"]]
    experiments = cells["experiment"].where(cells["dataset"] != "Synthetic", small)
    return cells.assign(experiment=experiments)


def forms(records: Records) -> dict[str, str]:
    """Return the table's files by name, made from the records."""
    table = golden_table()
    known = table["dataset"] == "Synthetic"
    with_records, without = ((table[known], records), (table[~known], Records({})))
    parts = [scored(cells, store) for cells, store in (with_records, without)]
    cells = pd.concat(parts).sort_index()
    layout = lay_out(cells, notes(cells))
    return {
        "table.csv": as_rows(cells).to_csv(index=False, lineterminator="\n"),
        "table.md": layout_markdown(layout),
        "table.tex": latex(layout),
    }


def make() -> None:
    """Compute the records and write the forms."""
    table = golden_table()
    units = units_of(table[table["dataset"] == "Synthetic"])
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
