"""A table of made-up results, and the files that it must give.

``python tests/helpers/golden_records.py`` writes the files anew; look at the difference before you
commit it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from zlib import crc32

import numpy as np

GOLDEN = Path(__file__).parents[1] / "golden"

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from omtl.compute.store import CachedStore, Store  # noqa: E402
from omtl.experiment.readings import Reading  # noqa: E402
from omtl.experiment.unit import Result, Unit  # noqa: E402
from omtl.tables.cells import planned  # noqa: E402
from omtl.tables.layout import latex, lay_out, layout_markdown  # noqa: E402
from omtl.tables.notes import notes  # noqa: E402
from omtl.tables.published_results import as_rows  # noqa: E402
from omtl.tables.request import Request  # noqa: E402
from omtl.tables.scoring import scored  # noqa: E402

N_TASKS, N_EXAMPLES = 4, 1000


class MadeUp(CachedStore):
    """A store with a result of each unit on the random walk, drawn by the unit's name."""

    def __init__(self) -> None:
        super().__init__(Store(Path("no_such_folder")))

    def results_of(self, units: Collection[Unit]) -> dict[str, Result]:
        """Return the results of those units that have one."""
        return {unit.key: made_up(unit) for unit in units if unit.dataset.name == "random_walk"}


def made_up(unit: Unit) -> Result:
    """Return mistakes near the best of the published numbers, a share for each learner."""
    names = unit.algorithm.name, unit.network.name if unit.network else ""
    learner, repeat = (crc32(repr(of).encode()) for of in (names, (names, unit.repeat, unit.draw)))
    share = np.random.default_rng(learner).uniform(0.055, 0.07)
    shape = (len(unit.algorithm.points), N_TASKS)
    arrays = {
        "mistakes": np.random.default_rng(repeat).binomial(N_EXAMPLES, share, shape),
        "diverged": np.zeros(shape[0], dtype=int),
        "examples": np.full(N_TASKS, N_EXAMPLES),
    }
    return Result(arrays, {"data_sha256": "golden", "seconds": 1.0})


def forms() -> dict[str, str]:
    """Return DOM's table by file name; but for the random walk, its columns have no results."""
    planned_cells = planned("dom-table1", Request(repeats=3), Reading(name="golden", paper=None))
    cells = scored(planned_cells, MadeUp())
    layout = lay_out(cells, notes(cells))
    return {
        "table.csv": as_rows(cells).to_csv(index=False, lineterminator="\n"),
        "table.md": layout_markdown(layout),
        "table.tex": latex(layout),
    }


if __name__ == "__main__":
    for name, text in forms().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
