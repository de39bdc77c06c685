"""The accuracy that a table loses if large grids are searched instead of played in full."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from omtl.compute.store import Loaded
from omtl.experiment.selection import costs
from omtl.experiment.specs import SearchSpec
from omtl.measures.metrics import METRICS
from omtl.tables.halving import searched, stages
from omtl.tables.plan import Table, rule_of
from omtl.tables.play import play
from omtl.tables.request import Request
from omtl.util.errors import UserError

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
"""Columns of the cost of a search."""


def cost_of(table: Table, search: SearchSpec, request: Request) -> pd.DataFrame:
    """Return the cost of a search for a table whose large grids are played in full.

    There is one row per data set and algorithm with a large grid: the number of plays of the whole
    stream for the full grid and for the search, and the resulting error rates: over all tasks, or
    of the worst one if the rule minimises that.
    """
    rows = []
    seed, n_repeats = request.seed, request.n_repeats(table.description)
    for cell in {(c.dataset, c.experiment.algorithm.name): c for c in table.cells}.values():
        full = replace(cell, task="all", own_rules={}, rivals=(), search=None)
        halved = replace(full, search=search)
        if not halved.is_searched:
            continue
        outcome = play(replace(table, cells=[full, halved]), request)
        if outcome.failed:
            raise UserError(f"{table.id}: {next(iter(outcome.failed.values())).reason}")
        load = Loaded(request.store)
        rule = rule_of(request.rule(table.description), cell.reading)
        n_tasks = load(full.experiment.repeats(seed, 1))[0].arrays["examples"].size
        minimised = range(n_tasks) if rule.target == "worst_task" else (None,)
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
            experiment.protocol.share * repeats * len(experiment.points)
            for experiment, repeats in stages(halved, load, rule, seed, n_repeats)
        )
        (whole, best), (found, chosen) = ends
        rows.append(
            (
                *(table.id, cell.dataset, cell.experiment.algorithm.label),
                table.reading.name,
                *(len(full.experiment.points) * n_repeats, round(plays)),
                *(f"{whole:.4f}", f"{found:.4f}", f"{found - whole:.4f}"),
                *(json.dumps(best), json.dumps(chosen)),
            )
        )
    return pd.DataFrame(rows, columns=COST)
