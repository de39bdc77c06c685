"""A table's individual repeats and learning curves, from results/ or the store."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from omtl.compute.store import Loaded, Store
from omtl.experiment.readings import Reading
from omtl.site.charts import Curve
from omtl.tables.cells import (
    ALL_TASKS,
    Place,
    alternatives_of,
    each_cell,
    is_searched,
    planned,
)
from omtl.tables.published_results import PublishedRun
from omtl.tables.request import Request
from omtl.tables.scoring import played

KEPT_PRECISION = 5.1e-5
"""Numbers in ``results/`` have four decimals."""


@dataclass(frozen=True)
class Repeats:
    """Our number for a cell in each repeat, and the mean learning curve at the chosen point."""

    values: np.ndarray
    curve: Curve | None


def stored_repeats(run: PublishedRun, paper: str, store: Store) -> dict[Place, Repeats]:
    """Return the cells of a table that are complete in the store, by place.

    Parameters
    ----------
    run : PublishedRun
    paper : str
    store : Store
        Only read.
    """
    meta = run.meta
    if not meta or not store.folder.is_dir():
        return {}
    request = Request(run.reading, meta["repeats"], meta["seed"], meta["selection"], store=store)
    cells = planned(run.table, request, Reading.of(paper, run.reading))
    begun = cells[[_may_be_complete(cell, store) for cell in each_cell(cells)]]
    complete = [cell for cell in each_cell(played(begun, store)) if cell.values.size]
    found = {}
    for experiment, of_it in groupby(complete, key=lambda cell: cell.experiment):
        units = experiment.repeats(meta["seed"], meta["repeats"])
        arrays = [result.arrays for result in Loaded(store)(units)]
        for cell in of_it:
            place = cell.dataset, cell.algorithm, cell.task, cell.metric
            found[place] = Repeats(cell.values, curve_of(cell, arrays))
    return found


def _may_be_complete(cell: Any, store: Store) -> bool:
    """Whether the last repeat of the cell or of an alternative is stored; a search has to be read.

    Most stores have little of most tables, and to name all units of a table takes seconds.
    """
    return is_searched(cell) or any(
        store.has(one.repeats(cell.seed, cell.asked_repeats)[-1]) for one in alternatives_of(cell)
    )


def curve_of(cell: Any, repeats: list[dict[str, np.ndarray]]) -> Curve | None:
    """Return the chosen point's cumulative error rate along the stream, or None.

    It is the task's own where the protocol counts by task, else that of all tasks together.
    """
    points = cell.experiment.points
    if not repeats or cell.params not in points or "checkpoint_mistakes" not in repeats[0]:
        return None
    p, task = points.index(cell.params), cell.task
    if task != ALL_TASKS and "checkpoint_by_task" in repeats[0]:
        k = int(task.removeprefix("task")) - 1
        seen = repeats[0]["seen_by_task"][:, k]
        mistakes = np.array([r["checkpoint_by_task"][p, :, k] for r in repeats])
    else:
        task, seen = "all tasks together", repeats[0]["seen"]
        mistakes = np.array([r["checkpoint_mistakes"][p] for r in repeats])
    if seen.size < 2:
        return None
    rates = 100.0 * mistakes / np.maximum(seen, 1)
    std = rates.std(axis=0, ddof=1) if len(rates) > 1 else None
    return Curve(f"{cell.algorithm}, {task}", seen.astype(float), rates.mean(axis=0), std)
