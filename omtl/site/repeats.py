"""A table's individual repeats and learning curves, from results/ or the store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from omtl.compute.store import Loaded, Store
from omtl.experiment.readings import Reading
from omtl.site.charts import Curve
from omtl.tables.committed import Place, Run
from omtl.tables.plan import Cell, plan_table
from omtl.tables.request import Request
from omtl.tables.scoring import Scored, score_table

KEPT_PRECISION = 5.1e-5
"""Numbers in ``results/`` have four decimals."""


@dataclass(frozen=True)
class Repeats:
    """Our number for a cell in each repeat, and the mean learning curve at the chosen point."""

    values: np.ndarray
    curve: Curve | None


def stored_repeats(run: Run, paper: str, store: Store) -> dict[Place, Repeats]:
    """Return the cells of a table that are complete in the store, by place.

    Parameters
    ----------
    run : Run
    paper : str
    store : Store
        Only read.
    """
    meta = run.meta
    if not meta or not store.folder.is_dir():
        return {}
    plan = plan_table(run.table, Reading.of(paper, run.reading))
    request = Request(run.reading, meta["repeats"], meta["seed"], meta["selection"], store=store)
    asked = meta["seed"], meta["repeats"]
    begun = [cell for cell in plan.cells if _may_be_complete(cell, *asked, store)]
    scored = [s for s in score_table(replace(plan, cells=begun), request) if s.values.size]
    found = {}
    for experiment, cells in groupby(scored, key=lambda s: s.cell.experiment):
        units = experiment.repeats(*asked)
        arrays = [result.arrays for result in Loaded(store)(units)]
        for s in cells:
            found[s.cell.place] = Repeats(s.values, curve_of(s, arrays))
    return found


def _may_be_complete(cell: Cell, seed: int, n_repeats: int, store: Store) -> bool:
    """Whether the last repeat of the cell or of a rival is stored; a search has to be read.

    Most stores have little of most tables, and to name all units of a table takes seconds.
    """
    return cell.is_searched or any(
        store.has(rival.experiment.repeats(seed, n_repeats)[-1]) for rival in cell.each_rival()
    )


def curve_of(scored: Scored, repeats: list[dict[str, np.ndarray]]) -> Curve | None:
    """Return the chosen point's cumulative error rate along the stream, or None.

    It is the task's own where the protocol counts by task, else that of all tasks together.
    """
    points = scored.cell.experiment.points
    if not repeats or scored.params not in points or "checkpoint_mistakes" not in repeats[0]:
        return None
    p, task = points.index(scored.params), scored.cell.task
    if task != "all" and "checkpoint_by_task" in repeats[0]:
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
    return Curve(f"{scored.cell.algorithm}, {task}", seen.astype(float), rates.mean(axis=0), std)
