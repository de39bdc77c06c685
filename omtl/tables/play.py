"""Computing a table's missing units; large grids are searched rung by rung."""

from __future__ import annotations

from typing import Any

import pandas as pd

from omtl.compute.engine import Outcome, run_units
from omtl.compute.store import Loaded, Store
from omtl.experiment.experiment import Experiment
from omtl.experiment.unit import Unit
from omtl.tables.cells import alternatives_of, each_cell, is_searched
from omtl.tables.halving import stages
from omtl.tables.request import Request


def units_of(cells: pd.DataFrame) -> list[Unit]:
    """Return all units of cells whose grids are played in full, repeat after repeat."""
    each = list(each_cell(cells))
    tuning = [cell.tuned_by for cell in each if cell.tuned_by is not None]
    own = [experiment for cell in each for experiment in alternatives_of(cell)]
    shared = {id(experiment): experiment for experiment in (*tuning, *own)}
    units = [
        unit
        for experiment in shared.values()
        for of in (experiment.repeats, experiment.shuffles)
        for unit in of(each[0].seed, each[0].asked_repeats)
    ]
    return sorted(units, key=lambda unit: unit.repeat)


def _units_at(cell: Any, experiment: Experiment, repeats: int) -> list[Unit]:
    """Return the units of one stage of a cell's search."""
    units = experiment.repeats(cell.seed, repeats)
    if repeats == cell.asked_repeats and "share" not in experiment.protocol.settings:
        units += experiment.shuffles(cell.seed, repeats)
    return units


def stored_units(cells: pd.DataFrame, store: Store) -> list[Unit]:
    """Return the units that a table's numbers need, of searched grids those of the search so far.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    store : Store
        It tells which points each rung of a search has left.
    """
    each, load = list(each_cell(cells)), Loaded(store)
    whole = cells[[not is_searched(cell) for cell in each]]
    units = units_of(whole) if len(whole) else []
    for cell in filter(is_searched, each):
        for experiment, repeats in stages(cell, load):
            units += _units_at(cell, experiment, repeats)
    return units


def play_cells(cells: pd.DataFrame, request: Request) -> Outcome:
    """Compute the units of a table that the store lacks, rung by rung where a grid is searched.

    Cells that are too slow are left out unless the request includes them.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.cells.planned`.
    request : Request
        The store, how to compute, and whether slow cells are included.
    """
    cells = cells if request.slow else cells[cells["too_slow"] == ""]
    large = list(filter(is_searched, each_cell(cells)))
    units = units_of(cells[[not is_searched(cell) for cell in each_cell(cells)]])
    outcome = Outcome()
    asked: set[str] = set()
    while True:
        load = Loaded(request.store)
        for cell in large:
            units += _units_at(cell, *stages(cell, load)[-1])
        # Requested units are stored now, or have failed and would fail again.
        units = [unit for unit in units if unit.key not in asked]
        if not units:
            return outcome
        outcome.add(run_units(units, request.store, request.parallel))
        asked |= {unit.key for unit in units}
