"""Small tables and a tiny figure, of which a play takes milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from miniature import AS_WRITTEN, SERIAL, SMALL_WALK, a_rule, small, with_grid, with_options

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment import descriptions
from omtl.experiment.descriptions import describe
from omtl.experiment.readings import Reading
from omtl.experiment.specs import ParallelSpec, Rung, SearchSpec
from omtl.tables import cells
from omtl.tables.cells import planned
from omtl.tables.request import Request
from omtl.tables.scoring import NOTHING, units_of

BASELINES = ("gd", "gd_pooled", "adagrad", "adagrad_pooled", "arow", "arow_pooled", "majority")
"""Our baselines, which every table of classification has."""


def small_table(
    repeats: int = 2, selection: str | None = None, rows: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the synthetic column of DOM's table on a small random walk: some rows, or all."""
    request = Request("as_written", repeats, selection=selection)
    table = on_small_walk(planned("dom-table1", request, AS_WRITTEN))
    return table[table["algorithm"].isin(rows)].reset_index(drop=True) if rows else table


def be_dom_table1(
    small: Callable[[Request], pd.DataFrame],
    repeats: int,
    modules: Sequence[ModuleType],
    patch: pytest.MonkeyPatch,
) -> None:
    """Let cells of a request be those of DOM's table, of some repeats, for some modules."""
    description = replace(describe("table", "dom-table1"), repeats=repeats)

    def planned(_name: str, request: Request, reading: Reading | None = None) -> pd.DataFrame:
        table = small(replace(request, repeats=request.n_repeats(description)))
        return table.assign(reading=reading.name if reading else request.reading)

    def described(kind: str, name: str) -> Any:
        return description if name == "dom-table1" else describe(kind, name)

    for module in modules:
        if hasattr(module, "planned"):
            patch.setattr(module, "planned", planned)
    for module in (descriptions, cells, *modules):
        if hasattr(module, "describe"):
            patch.setattr(module, "describe", described)


def on_small_walk(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the synthetic column of a table on a small random walk."""
    cells = cells[cells["dataset"] == "Synthetic"].reset_index(drop=True)
    small_ones = [with_options(experiment, **SMALL_WALK) for experiment in cells["experiment"]]
    return cells.assign(experiment=small_ones)


def filled_store(cells: pd.DataFrame, folder: Path, parallel: ParallelSpec = SERIAL) -> Store:
    """Return a store in a folder with all units of a table."""
    store = Store(folder)
    outcome = engine.run_units(units_of(cells), store, parallel, quiet=True)
    assert not outcome.failed
    return store


EXPERIMENT = small("pm")


def a_cell(algorithm: str = "PM", dataset: str = "Synthetic", **more: Any) -> dict[str, Any]:
    """Return the columns of a cell; of one with `values` those of `played` too."""
    values = more.pop("values", ())
    return {
        **{"table": "dom-table1", "dataset": dataset, "algorithm": algorithm, "task": "all"},
        **{"metric": "error", "reading": "as_written", "selection": "oracle", "seed": 0},
        **{"asked_repeats": 2, "published_mean": "10", "published_std": "1"},
        **{"published_spread": "std", "published_repeats": 10, "kind": "value"},
        **{"experiment": EXPERIMENT, "alternatives": (), "tuned_by": None, "answers": {}},
        **{"rule": a_rule(), "search": None, "too_slow": ""},
        **NOTHING,
        **{"values": np.array(values, dtype=float), "shuffles": np.array(values, dtype=float)},
        **more,
    }


SEARCH = SearchSpec(
    name="test",
    from_points=8,
    rungs=(Rung(share=0.2, repeats=1, keep=6), Rung(share=0.5, repeats=2, keep=2)),
)


def table_of(
    search: SearchSpec | None, algorithm: str = "dom1", repeats: int = 3, **more: Any
) -> pd.DataFrame:
    """Return a table of one cell on a small random walk."""
    experiment = small(algorithm)
    if algorithm == "dom1":
        experiment = with_grid(experiment, eta=[1e-3, 1e-2, 0.1, 1.0], b=[0.0, 1.0, 5.0])
    asked = {"search": search, "asked_repeats": repeats, "experiment": experiment}
    return pd.DataFrame([a_cell("A", **(asked | more))])
