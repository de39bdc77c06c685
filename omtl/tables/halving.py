"""Searching a grid that is too large to be played in full: successive halving, from the store.

Each rung plays the points that are left on the first part of the stream, of a few repeats, and
keeps the best; what is left after the last rung is played as any grid is. Which points are left
follows from stored units alone, so a search is resumed as everything is, and always ends the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.parallel_jobs import Outcome, run
from omtl.compute.store import Loaded
from omtl.experiment.experiment import Experiment
from omtl.experiment.selection import costs
from omtl.experiment.unit import Result, Unit
from omtl.measures.metrics import METRICS
from omtl.tables.plan import Cell, Table, rule_of
from omtl.tables.request import Request
from omtl.util.errors import UserError

RECORD = (
    "table",
    "dataset",
    "algorithm",
    "reading",
    "share",
    "repeats",
    "n_points",
    "points",
)
"""Columns of the record of a search."""

COST = (
    "table",
    "dataset",
    "algorithm",
    "reading",
    "plays_full",
    "plays_search",
    "error_full",
    "error_search",
    "difference",
    "chosen_full",
    "chosen_search",
)
"""Columns of what a search costs."""

Load = Callable[[list[Unit]], list[Result]]
"""Returns those of the units' results that are stored."""


def is_searched(experiment: Experiment, search: Mapping[str, Any] | None) -> bool:
    """Whether an experiment's grid is large enough to be searched."""
    return search is not None and len(experiment.points) >= search["from_points"]


def stages(
    cell: Cell, load: Load, rule: Mapping[str, Any], seed: int, n_repeats: int
) -> list[tuple[Experiment, int]]:
    """Return the experiments that a cell is played in, each with its number of repeats.

    The first are the rungs of the search as far as the store has them; the last is the first that
    the store lacks, or the one that the cell's number comes from.
    """
    experiment, search = cell.experiment, cell.search
    if search is None or not is_searched(experiment, search):
        return [(experiment, n_repeats)]
    found = []
    for rung in search["rungs"]:
        repeats = min(rung["repeats"], n_repeats)
        share = min(rung["share"], rule.get("fraction", 1.0))  # no more than the rule may look at
        part = replace(experiment, protocol={**experiment.protocol, "share": share})
        found.append((part, repeats))
        units = part.repeats(seed, repeats)
        results = load(units)
        if len(results) < len(units):
            return found
        order = np.argsort(costs(results, rule), kind="stable")
        experiment = experiment.only(sorted(order[: rung["keep"]].tolist()))
    return [*found, (experiment, n_repeats)]


def searched(
    cell: Cell, load: Load, rule: Mapping[str, Any], seed: int, n_repeats: int
) -> Cell | None:
    """Return the cell with the points that its search has left; None while rungs are lacking."""
    found = stages(cell, load, rule, seed, n_repeats)
    if is_searched(cell.experiment, cell.search):
        assert cell.search is not None
        if len(found) <= len(cell.search["rungs"]):
            return None
    return replace(cell, experiment=found[-1][0], search=None)


def play(table: Table, request: Request) -> Outcome:
    """Compute the units of a table that the store lacks, rung by rung where a grid is searched.

    Parameters
    ----------
    table : Table
    request : Request
        Which repeats, and the rule by which points of a search are kept.
    """
    seed, n_repeats = request.seed, request.n_repeats(table.description)
    large = [cell for cell in table.cells if is_searched(cell.experiment, cell.search)]
    whole = [cell for cell in table.cells if not is_searched(cell.experiment, cell.search)]
    units = replace(table, cells=whole).units(seed, n_repeats)
    outcome = Outcome()
    asked: set[str] = set()
    while True:
        load = Loaded(request.store)
        for cell in large:
            rule = cell.rule(request.rule(table.description))
            experiment, repeats = stages(cell, load, rule, seed, n_repeats)[-1]
            units += experiment.repeats(seed, repeats)
            if repeats == n_repeats and "share" not in experiment.protocol:
                units += experiment.shuffles(seed, repeats)
        # What was asked for is there now, or has failed and would fail again.
        units = [unit for unit in units if unit.key not in asked]
        if not units:
            return outcome
        outcome.add(run(units, request.store, request.parallel))
        asked |= {unit.key for unit in units}


def record(table: Table, request: Request) -> pd.DataFrame:
    """Return which points of searched grids were run, a row for each rung.

    `points` numbers the points of the whole grid, last hyper-parameter fastest; it is empty where
    all of them were run.
    """
    load, rows = Loaded(request.store), []
    n_repeats = request.n_repeats(table.description)
    for cell in table.cells:
        if not is_searched(cell.experiment, cell.search):
            continue
        rule = cell.rule(request.rule(table.description))
        for experiment, repeats in stages(cell, load, rule, request.seed, n_repeats):
            share = experiment.protocol.get("share", 1.0)
            numbers = " ".join(map(str, experiment.algorithm.get("only", [])))
            rows.append(
                (
                    *(table.id, cell.dataset, cell.algorithm, table.reading["name"]),
                    *(f"{share:g}", repeats, len(experiment.points), numbers),
                )
            )
    return pd.DataFrame(rows, columns=RECORD)


def cost_of(table: Table, search: Mapping[str, Any], request: Request) -> pd.DataFrame:
    """Return what a search would cost a table whose large grids are played in full.

    A row for each data set and algorithm with a large grid: how many plays of the whole stream the
    full grid takes and how many the search, and the error rates that they end at: over all tasks,
    or of the worst one where that is what the rule minimises.
    """
    rows = []
    seed, n_repeats = request.seed, request.n_repeats(table.description)
    for cell in {(c.dataset, c.experiment.algorithm["name"]): c for c in table.cells}.values():
        if not is_searched(cell.experiment, search):
            continue
        full = replace(cell, task="all", own_rules={}, rivals=(), search=None)
        halved = replace(full, search=dict(search))
        pair = replace(
            table,
            cells=[full, halved],
        )
        outcome = play(pair, request)
        if outcome.failed:
            raise UserError(f"{table.id}: {next(iter(outcome.failed.values())).reason}")
        load = Loaded(request.store)
        rule = rule_of(request.rule(table.description), cell.reading)
        n_tasks = load(full.experiment.repeats(seed, 1))[0].arrays["examples"].size
        minimised = range(n_tasks) if rule.get("target") == "worst_task" else (None,)
        ends = []
        for one in (full, searched(halved, load, rule, seed, n_repeats)):
            assert one is not None
            results = load(one.experiment.repeats(seed, n_repeats))
            point = int(np.argmin(costs(results, rule)))
            error = METRICS["error"].of
            rates = [[error(r.arrays, point, task) for task in minimised] for r in results]
            rate = np.mean(rates, axis=0).max()
            ends.append((rate, one.experiment.points[point]))
        plays = sum(
            experiment.protocol.get("share", 1.0) * repeats * len(experiment.points)
            for experiment, repeats in stages(halved, load, rule, seed, n_repeats)
        )
        (whole, best), (found, chosen) = ends
        rows.append(
            (
                *(table.id, cell.dataset, cell.experiment.algorithm["label"]),
                table.reading["name"],
                *(len(full.experiment.points) * n_repeats, round(plays)),
                *(f"{whole:.4f}", f"{found:.4f}", f"{found - whole:.4f}"),
                *(json.dumps(best), json.dumps(chosen)),
            )
        )
    return pd.DataFrame(rows, columns=COST)
