"""Whole grids whose points are played together over one stream, beside point by point.

Of each column of a table, and each learner whose points can share what they have learnt alike
(`omtl.kernel.grid_loop`), the whole grid is played on the first repeat; some of its points, drawn
once, are played on their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from omtl.experiment.unit import new_learner
from omtl.kernel.grid_loop import share
from omtl.kernel.sharing import can_share
from omtl.tables.plan import Cell
from scripts.bench import kernels, ours
from scripts.bench.effort import Effort
from scripts.bench.measure import Benchmark, Contender
from scripts.bench.table_streams import of_tables, play_of

ALONE = "point by point"


def shares(cell: Cell) -> bool:
    """Whether the points of a cell's grid can be played together."""
    return can_share(new_learner(cell.experiment.algorithm, cell.experiment.points[0]))


def benchmark(layout: str, cell: Cell, effort: Effort) -> Benchmark:
    """Return the grid of a cell on its first repeat, together and point by point."""
    experiment, ready = cell.experiment, play_of(cell)
    points = experiment.points[: effort.grid]
    learners = [new_learner(experiment.algorithm, point) for point in points]
    drawn = np.random.default_rng(0).permutation(len(learners))[: effort.alone]

    def mistakes_of_each() -> list[int]:
        return [int(trace.mistakes.sum()) for trace, _ in share(learners, *ready[1:])]

    def together() -> int:
        return sum(mistakes_of_each())

    def alone() -> int:
        return sum(ours.mistakes(ready.by(learners[p])) for p in drawn)

    n, expected = ready.size, mistakes_of_each()
    contenders = (
        Contender("ours", n * len(learners), lambda: together, sum(expected)),
        Contender(ALONE, n * drawn.size, lambda: alone, sum(expected[p] for p in drawn)),
    )
    return kernels.benchmark(cell.algorithm, layout, ready, contenders)


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:  # noqa: ARG001
    """Yield the benchmarks of the grids that share, of all columns."""

    def of_column(layout: str, cells: list[Cell]) -> Iterator[Benchmark]:
        return (benchmark(layout, cell, effort) for cell in filter(shares, cells))

    return of_tables(effort, of_column)
