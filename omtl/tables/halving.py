"""Searching a grid that is too large to play in full: successive halving, from the store.

Each rung plays the remaining points on the first part of the stream, in a few repeats, and keeps
the best; the points remaining after the last rung are played like any grid. The remaining points
follow from stored units alone, so an interrupted search resumes, and always ends the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.store import Loaded, Store
from omtl.experiment.experiment import Experiment
from omtl.experiment.selection import costs
from omtl.experiment.unit import Result, Unit
from omtl.tables.cells import each_cell, is_searched

RECORD = ("table", "dataset", "algorithm", "reading", "share", "repeats", "n_points", "points")
"""Columns of the record of a search."""

Load = Callable[[list[Unit]], list[Result]]
"""Returns the stored results among those of the units."""


def stages(cell: Any, load: Load) -> list[tuple[Experiment, int]]:
    """Return the experiments that a cell needs, each with its number of repeats.

    The first are the rungs of the search as far as the store has them; the last is the first that
    the store lacks, or the one that the cell's number comes from.
    """
    experiment, found = cell.experiment, []
    for rung in cell.search.rungs if is_searched(cell) else ():
        repeats = min(rung.repeats, cell.asked_repeats)
        share = min(rung.share, cell.rule.fraction or 1.0)  # no more than the rule may use
        part = experiment.patched({"protocol.*.share": share, "protocol.*.checkpoints": 1})
        found.append((part, repeats))
        units = part.repeats(cell.seed, repeats)
        results = load(units)
        if len(results) < len(units):
            return found
        order = np.argsort(costs(results, cell.rule), kind="stable")
        experiment = experiment.only(sorted(order[: rung.keep].tolist()))
    return [*found, (experiment, cell.asked_repeats)]


def lacking_rung(cell: Any, load: Load) -> list[Unit] | None:
    """Return the units of the first rung that the store lacks; None if the search is done."""
    if not is_searched(cell):
        return None
    found = stages(cell, load)
    experiment, repeats = found[-1]
    done = len(found) > len(cell.search.rungs)
    return None if done else experiment.repeats(cell.seed, repeats)


def narrowed(cell: Any, load: Load) -> Any:
    """Return a cell with the points that its search left, which must be done."""
    return cell._replace(experiment=stages(cell, load)[-1][0], search=None)


def record(cells: pd.DataFrame, store: Store) -> pd.DataFrame:
    """Return the points of searched grids that were run, one row per rung.

    `points` numbers the points of the whole grid, last hyper-parameter fastest; it is empty where
    all of them were run.
    """
    load, rows = Loaded(store), []
    for cell in filter(is_searched, each_cell(cells)):
        for experiment, repeats in stages(cell, load):
            share = experiment.protocol.share
            numbers = " ".join(map(str, experiment.algorithm.only or ()))
            place = (cell.table, cell.dataset, cell.algorithm, cell.reading)
            rows.append((*place, f"{share:g}", repeats, len(experiment.points), numbers))
    return pd.DataFrame(rows, columns=RECORD)
