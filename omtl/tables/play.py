"""The units that cells need, stage by stage, and playing those that the store lacks.

A grid that is too large to play in full is searched by successive halving: each rung plays the
remaining points in a few repeats, on the whole stream or its first part, and keeps the best; the
points remaining after the last rung are played like any grid, which has that one stage only. The
remaining points follow from stored units alone, so an interrupted search resumes, and always ends
the same way. What a search loses is the difference of the numbers that the two grids end with.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from omtl.compute.engine import News, Outcome, run_units
from omtl.compute.store import Store, cached
from omtl.experiment.selection import costs
from omtl.experiment.specs import SearchSpec
from omtl.experiment.unit import Experiment, Unit
from omtl.measures.metrics import METRICS
from omtl.tables.cells import ALL_TASKS, each_cell, is_searched, with_columns
from omtl.tables.request import Request
from omtl.util.errors import UserError

RECORD = ("table", "dataset", "algorithm", "reading", "share", "repeats", "n_points", "points")
"""Columns of the record of a search."""

COST = (
    *("table", "dataset", "algorithm", "reading", "plays_full", "plays_search"),
    *("error_full", "error_search", "difference", "chosen_full", "chosen_search"),
)
"""Columns of the cost of a search."""


class Stage(NamedTuple):
    """An experiment that a cell needs, in how many of the paper's repeats.

    The last stage is the one that the cell's number comes from; others are rungs of a search.
    """

    experiment: Experiment
    repeats: int
    is_last: bool


def stages(cell: Any, store: Store | None) -> list[Stage]:
    """Return the stages of a cell, as far as the store has the rungs of its search."""
    experiment, found = cell.experiment, []
    for rung in cell.search.rungs if is_searched(cell) else ():
        repeats = min(rung.repeats, cell.asked_repeats)
        share = min(rung.share, cell.rule.fraction or 1.0)  # no more than the rule may use
        if share == 1.0 and repeats == cell.asked_repeats:
            break  # this rung is the full grid
        part = experiment
        if share < 1.0:
            part = part.patched({"protocol.*.share": share, "protocol.*.checkpoints": 1})
        found.append(Stage(part, repeats, False))
        units = part.repeats(cell.seed, repeats)
        results = [] if store is None else store.stored(units)
        if len(results) < len(units):
            return found
        order = np.argsort(costs(results, cell.rule), kind="stable")
        experiment = experiment.only(sorted(order[: rung.keep].tolist()))
    return [*found, Stage(experiment, cell.asked_repeats, True)]


def left_by_search(cell: Any, store: Store) -> tuple[Any, list[Unit]]:
    """Return a cell with the points that its search left, and the units that the search lacks.

    The cell is as it was where units are lacking, or its grid is not searched.
    """
    if not is_searched(cell):
        return cell, []
    experiment, repeats, is_last = stages(cell, store)[-1]
    if is_last:
        return cell._replace(experiment=experiment, search=None), []
    return cell, experiment.repeats(cell.seed, repeats)


def record(cells: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Return the points of searched grids that were run, one row per rung.

    `points` numbers the points of the whole grid, last hyper-parameter fastest; it is empty where
    all of them were run.
    """
    store, rows = cached(store), []
    for cell in filter(is_searched, each_cell(cells)):
        for experiment, repeats, _ in stages(cell, store):
            share = experiment.protocol.share
            numbers = " ".join(map(str, experiment.algorithm.only or ()))
            place = (cell.table, cell.dataset, cell.algorithm, cell.reading)
            rows.append((*place, f"{share:g}", repeats, len(experiment.points), numbers))
    return pd.DataFrame(rows, columns=RECORD)


def _units_at(cell: Any, stage: Stage) -> list[Unit]:
    """Return the units of a stage of a cell, with its alternatives' and what it is tuned by."""
    if not stage.is_last:
        return stage.experiment.repeats(cell.seed, stage.repeats)
    tuned_by = () if cell.tuned_by is None else (cell.tuned_by,)
    return [
        unit
        for experiment in (*tuned_by, stage.experiment, *cell.alternatives)
        for of in (experiment.repeats, experiment.shuffles)
        for unit in of(cell.seed, stage.repeats)
    ]


def units_of(cells: pd.DataFrame, store: Store | None = None, every: bool = False) -> list[Unit]:
    """Return the units that cells need next, or those of every stage so far; repeat after repeat.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    store : Store, optional
        Its results decide which points a search of a grid has left. Without it, only the first
        stage of a search is known.
    every : bool
        Whether to return the units of all stages so far, not only of the last.
    """
    units = [
        unit
        for cell in each_cell(cells)
        for stage in stages(cell, store)[0 if every else -1 :]
        for unit in _units_at(cell, stage)
    ]
    return sorted({unit.key: unit for unit in units}.values(), key=lambda unit: unit.repeat)


def play_cells(cells: pd.DataFrame, request: Request, news: News | None = None) -> Outcome:
    """Compute the units of a table that the store lacks, rung by rung where a grid is searched.

    Cells that are too slow are left out unless the request includes them.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    request : Request
        The store, how to compute, and whether slow cells are included.
    news : callable, optional
        What to tell meanwhile (`run_units`).
    """
    cells = cells if request.slow else cells[cells["too_slow"] == ""]
    store = cached(request.store)
    units, asked = units_of(cells, store), set[str]()
    outcome = run_units(units, store, request.parallel, news=news)
    while cells["search"].notna().any():
        # Requested units are stored now, or have failed and would fail again.
        asked |= {unit.key for unit in units}
        units = [unit for unit in units_of(cells, store) if unit.key not in asked]
        if not units:
            break
        outcome.add(run_units(units, store, request.parallel, news=news))
    return outcome


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
        rows.append(_cost(full, halved, cached(request.store)))
    return pd.DataFrame(rows, columns=COST)


def _cost(full: Any, halved: Any, store: Store) -> tuple[Any, ...]:
    """Return the row of a cell played in full and searched, whose units are stored."""
    n_tasks = store.stored(full.experiment.repeats(full.seed, 1))[0].arrays["examples"].size
    minimised = range(n_tasks) if full.rule.target == "worst_task" else (None,)

    def end(cell: Any) -> tuple[float, dict[str, Any]]:
        """Return the error rate at the point that the rule chooses, and the point."""
        results = store.stored(cell.experiment.repeats(cell.seed, cell.asked_repeats))
        point = int(np.argmin(costs(results, cell.rule)))
        rates = [
            [METRICS["error"].of(result.arrays, point, task) for task in minimised]
            for result in results
        ]
        return float(np.mean(rates, axis=0).max()), cell.experiment.points[point]

    (whole, best), (found, chosen) = end(full), end(left_by_search(halved, store)[0])
    plays = sum(
        experiment.protocol.share * repeats * len(experiment.points)
        for experiment, repeats, _ in stages(halved, store)
    )
    return (
        *(full.table, full.dataset, full.experiment.algorithm.label, full.reading),
        *(len(full.experiment.points) * full.asked_repeats, round(plays)),
        *(f"{whole:.4f}", f"{found:.4f}", f"{found - whole:.4f}"),
        *(json.dumps(best), json.dumps(chosen)),
    )
