"""Small tables and a tiny figure, of which a play takes milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from described import a_figure, a_table
from miniature import AS_WRITTEN, SERIAL, SMALL_WALK, changed, small, with_grid, with_options

from omtl.compute import engine
from omtl.compute.store import Store
from omtl.experiment.experiment import Experiment
from omtl.experiment.specs import Rung, SearchSpec
from omtl.tables.plan import Cell, Table, plan_table

BASELINES = ("gd", "gd_pooled", "adagrad", "adagrad_pooled", "arow", "arow_pooled", "majority")
"""Our baselines, which every table of classification has."""


def small_table() -> Table:
    """Return the synthetic column of DOM's table on a small random walk."""
    table = plan_table("dom-table1", AS_WRITTEN)
    cells = [
        replace(cell, experiment=with_options(cell.experiment, **SMALL_WALK))
        for cell in table.cells
        if cell.dataset == "Synthetic"
    ]
    return Table(table.description, table.reading, cells)


def filled_store(
    table: Table, folder: Path, repeats: int, parallel: Mapping[str, Any] = SERIAL
) -> Store:
    """Return a store in a folder with all units of a table's first repeats."""
    store = Store(folder)
    outcome = engine.run(table.units(0, repeats), store, parallel, quiet=True)
    assert not outcome.failed
    return store


SEARCH = SearchSpec(
    name="test",
    from_points=8,
    rungs=(Rung(share=0.2, repeats=1, keep=6), Rung(share=0.5, repeats=2, keep=2)),
)


def table_of(search: SearchSpec | None, algorithm: str = "dom1") -> Table:
    """Return a table of one cell on a small random walk."""
    experiment = small(algorithm)
    if algorithm == "dom1":
        experiment = with_grid(experiment, eta=[1e-3, 1e-2, 0.1, 1.0], b=[0.0, 1.0, 5.0])
    cell = Cell("Synthetic", "A", "all", "error", "10", "1", experiment, search=search)
    return Table(a_table(id="t", repeats=3), AS_WRITTEN, [cell])


GRIDS: dict[str, dict[str, list[float]]] = {
    "pm": {"eta": [0.1, 1.0]},
    "dom1": {"eta": [0.01, 0.1], "b": [0, 2, 8]},
    "dom2": {"eta": [0.01, 0.1], "alpha": [0, 0.5, 1]},
}


TINY = a_figure(
    published="dom-table1",
    panels=[
        {
            "kind": "learning_curves",
            "label": "a",
            "title": "Learning",
            "dataset": "random_walk",
            "published": "Synthetic",
            "lines": [
                {"algorithm": "pm", "published": "PM"},
                {"algorithm": "dom1", "network": "ring", "published": "DOM-I (Ring)"},
            ],
        },
        {
            "kind": "parameter_effect",
            "label": "b",
            "title": "Parameters",
            "dataset": "random_walk",
            "lines": [
                {
                    "algorithm": "dom1",
                    "network": "ring",
                    "parameter": "b",
                    "scale": "log1p",
                    "theory": "b_star",
                },
                {
                    "algorithm": "dom2",
                    "network": "ring",
                    "parameter": "alpha",
                    "marks": {1: "independent"},
                },
            ],
        },
        {
            "kind": "regret_bound",
            "label": "c",
            "title": "Regret",
            "dataset": "random_walk",
            "ridges": [1e-6, 1.0],
            "lines": [
                {"algorithm": "dom1", "network": "ring", "title": "ring"},
                {"algorithm": "dom1", "network": "grid", "title": "grid"},
            ],
        },
    ],
)


def _small(experiment: Experiment) -> Experiment:
    """Six tasks of a small random walk, and a small grid."""
    experiment = with_options(experiment, **SMALL_WALK | {"n_tasks": 6})
    return with_grid(experiment, **GRIDS[experiment.algorithm.name])


Small = changed(_small)
