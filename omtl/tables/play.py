"""Computing a table's missing units; large grids are searched rung by rung."""

from __future__ import annotations

from dataclasses import replace

from omtl.compute.engine import Outcome, run
from omtl.compute.store import Loaded
from omtl.tables.halving import stages
from omtl.tables.plan import Table
from omtl.tables.request import Request


def play(table: Table, request: Request) -> Outcome:
    """Compute the units of a table that the store lacks, rung by rung where a grid is searched.

    Cells that are too slow are left out unless the request includes them.

    Parameters
    ----------
    table : Table
    request : Request
        The repeats, and the rule by which a search keeps points.
    """
    seed, n_repeats = request.seed, request.n_repeats(table.description)
    cells = [cell for cell in table.cells if request.slow or not cell.too_slow]
    large = [cell for cell in cells if cell.is_searched]
    whole = [cell for cell in cells if not cell.is_searched]
    units = replace(table, cells=whole).units(seed, n_repeats)
    outcome = Outcome()
    asked: set[str] = set()
    while True:
        load = Loaded(request.store)
        for cell in large:
            rule = cell.rule(request.rule(table.description))
            experiment, repeats = stages(cell, load, rule, seed, n_repeats)[-1]
            units += experiment.repeats(seed, repeats)
            if repeats == n_repeats and "share" not in experiment.protocol.settings:
                units += experiment.shuffles(seed, repeats)
        # Requested units are stored now, or have failed and would fail again.
        units = [unit for unit in units if unit.key not in asked]
        if not units:
            return outcome
        outcome.add(run(units, request.store, request.parallel))
        asked |= {unit.key for unit in units}
