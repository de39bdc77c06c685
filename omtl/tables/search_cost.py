"""The accuracy that a table loses if large grids are searched instead of played in full."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.store import CachedStore
from omtl.experiment.selection import costs
from omtl.experiment.specs import SearchSpec
from omtl.measures.metrics import METRICS
from omtl.tables.cells import ALL_TASKS, each_cell, is_searched, with_columns
from omtl.tables.play import left_by_search, play_cells, stages
from omtl.tables.request import Request
from omtl.util.errors import UserError

COST = (
    *("table", "dataset", "algorithm", "reading", "plays_full", "plays_search"),
    *("error_full", "error_search", "difference", "chosen_full", "chosen_search"),
)
"""Columns of the cost of a search."""


def cost_of(cells: pd.DataFrame, search: SearchSpec, request: Request) -> pd.DataFrame:
    """Return the cost of a search for a table whose large grids are played in full.

    There is one row per data set and algorithm with a large grid: the number of plays of the whole
    stream for the full grid and for the search, and the resulting error rates: over all tasks, or
    of the worst one if the rule minimises that.
    """
    same_for_all = {"task": ALL_TASKS, "alternatives": (), "search": search}
    names = [{"name": experiment.algorithm.name} for experiment in cells["experiment"]]
    whole = with_columns(cells, [same_for_all | name for name in names])
    whole = whole[[is_searched(cell) for cell in each_cell(whole)]]
    rows = []
    for _, same in whole.groupby(["dataset", "name"], sort=False):
        both = pd.concat([same.tail(1).assign(search=None), same.tail(1)])
        outcome = play_cells(both, request)
        if outcome.failed:
            raise UserError(f"{same['table'].iat[0]}: {next(iter(outcome.failed.values())).reason}")
        full, halved = each_cell(both)
        rows.append(_cost(full, halved, CachedStore(request.store)))
    return pd.DataFrame(rows, columns=COST)


def _cost(full: Any, halved: Any, load: CachedStore) -> tuple[Any, ...]:
    """Return the row of a cell played in full and searched, whose units are stored."""
    n_tasks = load(full.experiment.repeats(full.seed, 1))[0].arrays["examples"].size
    minimised = range(n_tasks) if full.rule.target == "worst_task" else (None,)

    def end(cell: Any) -> tuple[float, dict[str, Any]]:
        """Return the error rate at the point that the rule chooses, and the point."""
        results = load(cell.experiment.repeats(cell.seed, cell.asked_repeats))
        point = int(np.argmin(costs(results, cell.rule)))
        rates = [
            [METRICS["error"].of(result.arrays, point, task) for task in minimised]
            for result in results
        ]
        return float(np.mean(rates, axis=0).max()), cell.experiment.points[point]

    (whole, best), (found, chosen) = end(full), end(left_by_search(halved, load)[0])
    plays = sum(
        experiment.protocol.share * repeats * len(experiment.points)
        for experiment, repeats, _ in stages(halved, load)
    )
    return (
        *(full.table, full.dataset, full.experiment.algorithm.label, full.reading),
        *(len(full.experiment.points) * full.asked_repeats, round(plays)),
        *(f"{whole:.4f}", f"{found:.4f}", f"{found - whole:.4f}"),
        *(json.dumps(best), json.dumps(chosen)),
    )
