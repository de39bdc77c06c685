"""Searching a grid that is too large to play in full: successive halving, from the store.

Each rung plays the remaining points on the first part of the stream, in a few repeats, and keeps
the best; the points remaining after the last rung are played like any grid. The remaining points
follow from stored units alone, so an interrupted search resumes, and always ends the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from omtl.compute.store import Loaded
from omtl.experiment.experiment import Experiment
from omtl.experiment.selection import costs
from omtl.experiment.specs import SelectionSpec
from omtl.experiment.unit import Result, Unit
from omtl.tables.plan import Cell, Table
from omtl.tables.request import Request

RECORD = ("table", "dataset", "algorithm", "reading", "share", "repeats", "n_points", "points")
"""Columns of the record of a search."""

Load = Callable[[list[Unit]], list[Result]]
"""Returns the stored results among those of the units."""


def stages(
    cell: Cell, load: Load, rule: SelectionSpec, seed: int, n_repeats: int
) -> list[tuple[Experiment, int]]:
    """Return the experiments that a cell needs, each with its number of repeats.

    The first are the rungs of the search as far as the store has them; the last is the first that
    the store lacks, or the one that the cell's number comes from.
    """
    experiment, found = cell.experiment, []
    for rung in cell.search.rungs if cell.search and cell.is_searched else ():
        repeats = min(rung.repeats, n_repeats)
        share = min(rung.share, rule.fraction or 1.0)  # no more than the rule may use
        part = experiment.patched({"protocol.*.share": share})
        found.append((part, repeats))
        units = part.repeats(seed, repeats)
        results = load(units)
        if len(results) < len(units):
            return found
        order = np.argsort(costs(results, rule), kind="stable")
        experiment = experiment.only(sorted(order[: rung.keep].tolist()))
    return [*found, (experiment, n_repeats)]


def searched(cell: Cell, load: Load, rule: SelectionSpec, seed: int, n_repeats: int) -> Cell | None:
    """Return the cell with the remaining points of its search; None while rungs are missing."""
    found = stages(cell, load, rule, seed, n_repeats)
    if cell.search and cell.is_searched and len(found) <= len(cell.search.rungs):
        return None
    return replace(cell, experiment=found[-1][0], search=None)


def record(table: Table, request: Request) -> pd.DataFrame:
    """Return the points of searched grids that were run, one row per rung.

    `points` numbers the points of the whole grid, last hyper-parameter fastest; it is empty where
    all of them were run.
    """
    load, rows = Loaded(request.store), []
    n_repeats = request.n_repeats(table.description)
    for cell in table.cells:
        if not cell.is_searched:
            continue
        rule = cell.rule(request.rule(table.description))
        for experiment, repeats in stages(cell, load, rule, request.seed, n_repeats):
            share = experiment.protocol.share
            numbers = " ".join(map(str, experiment.algorithm.only or ()))
            rows.append(
                (
                    *(table.id, cell.dataset, cell.algorithm, table.reading.name),
                    *(f"{share:g}", repeats, len(experiment.points), numbers),
                )
            )
    return pd.DataFrame(rows, columns=RECORD)
