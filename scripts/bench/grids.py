"""Whole grids whose points are played together over one stream, beside point by point.

Of each column of a table, and each learner whose points can share what they have learnt alike
(`omtl.kernel.grid_loop`), the whole grid is played on the first repeat; some of its points, drawn
once, are played on their own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from omtl.data.preparation import in_order
from omtl.data.rows import DenseRows
from omtl.experiment.unit import new_learner, setting_of
from omtl.kernel.grid_loop import share
from omtl.kernel.play import play
from omtl.kernel.sharing import can_share
from omtl.tables.plan import Cell, descriptions
from omtl.util.errors import UserError
from scripts.bench.effort import Effort
from scripts.bench.measure import Benchmark, Contender
from scripts.bench.table_streams import columns_of

ALONE = "point by point"


def shares(cell: Cell) -> bool:
    """Whether the points of a cell's grid can be played together."""
    return can_share(new_learner(cell.experiment.algorithm, cell.experiment.points[0]))


def benchmark(table: str, column: str, cell: Cell, effort: Effort) -> Benchmark:
    """Return the grid of a cell on its first repeat, together and point by point."""
    experiment = cell.experiment
    setting = setting_of(experiment.unit(0, 0))
    examples, stream = in_order(setting.source, setting.stream)
    shape, rows = setting.shape(examples, stream), examples.rows
    points = experiment.points[: effort.grid]
    learners = [new_learner(experiment.algorithm, point) for point in points]
    drawn = np.random.default_rng(0).permutation(len(learners))[: effort.alone]

    def mistakes_of_each() -> list[int]:
        return [int(trace.mistakes.sum()) for trace, _ in share(learners, examples, stream, shape)]

    def together() -> int:
        return sum(mistakes_of_each())

    def alone() -> int:
        traces = (play(learners[p], examples, stream, shape)[0] for p in drawn)
        return sum(int(trace.mistakes.sum()) for trace in traces)

    n, expected = stream.example.size, mistakes_of_each()
    entries = rows.X.size if isinstance(rows, DenseRows) else rows.values.size
    return Benchmark(
        cell.algorithm,
        f"{table}, {column}",
        (
            Contender("ours", n * len(learners), lambda: together, sum(expected)),
            Contender(ALONE, n * drawn.size, lambda: alone, sum(expected[p] for p in drawn)),
        ),
        shape.n_tasks,
        shape.n_features,
        round(entries / examples.y.size),
    )


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:  # noqa: ARG001
    """Yield the benchmarks of all tables whose data can be had."""
    for table in effort.tables or descriptions("table"):
        for column, cells in columns_of(table).items():
            try:
                for cell in filter(shares, cells):
                    yield benchmark(table, column, cell, effort)
            except UserError as fault:
                print(f"{table}, {column}: {fault}", file=sys.stderr)
