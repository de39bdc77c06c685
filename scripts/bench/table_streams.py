"""The streams of the tables themselves: their learners beside NumPy, one vector beside rivals.

Of each column of a table that is tested and trained on a whole stream, the first repeat is played:
every algorithm at one point of its grid, and gradient descent with one vector for all tasks,
which every library has.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from omtl.data.preparation import in_order
from omtl.data.rows import square_norms
from omtl.experiment.config import named_reading
from omtl.experiment.unit import new_learner, setting_of
from omtl.kernel.rules import Learner
from omtl.learners.perceptron import Perceptron
from omtl.protocols import cumulative
from omtl.reference.transcriptions import transcriptions
from omtl.tables.plan import Cell, describe, descriptions, plan_table
from omtl.util.errors import UserError
from scripts.bench.effort import Effort
from scripts.bench.kernels import benchmark, elsewhere, played, slow_forms
from scripts.bench.measure import Benchmark
from scripts.bench.ours import ETA, Play, rows_of

POOLED = Perceptron(eta=ETA, margin=1.0, pooled=True)

ONE_VECTOR = "OGD, one vector"


def columns_of(table: str) -> dict[str, list[Cell]]:
    """Return the cells of each column that is a whole stream, one an algorithm."""
    paper = describe("table", table).paper
    found: dict[str, dict[str, Cell]] = {}
    for cell in plan_table(table, named_reading(paper, "as_published")).cells:
        if cell.experiment.protocol["module"] == cumulative.__name__:
            name = cell.experiment.algorithm["name"]
            found.setdefault(cell.dataset, {}).setdefault(name, cell)
    return {column: list(cells.values()) for column, cells in found.items()}


def play_of(cell: Cell) -> Play:
    """Return the first repeat of a cell, at the middle point of its grid."""
    experiment = cell.experiment
    setting = setting_of(experiment.unit(0, 0))
    examples, stream = in_order(setting.source, setting.stream)
    points = experiment.points
    learner: Learner = new_learner(experiment.algorithm, points[len(points) // 2])
    return Play(learner, examples, stream, setting.shape(examples, stream))


def comparable(ready: Play) -> bool:
    """Whether others see all of the rows: features that meet no second example are left out."""
    X, _ = rows_of(ready)
    return np.allclose(square_norms(X), ready.examples.square_norm[ready.stream.example])


def of_column(layout: str, cells: list[Cell], effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield the benchmarks of a column."""
    pooled = play_of(cells[0]).by(POOLED)
    others = [*slow_forms(pooled, effort)[:1], *elsewhere("OGD", pooled, effort, folder)]
    yield benchmark(ONE_VECTOR, layout, pooled, (played("ours", pooled), *others))
    for cell in cells:
        ready = play_of(cell)
        if type(ready.learner) in transcriptions():
            form = slow_forms(ready, effort)[0]
            if not comparable(ready):  # mistakes need not be those of ours, who see other norms
                form = form._replace(expected=None)
            yield benchmark(cell.algorithm, layout, ready, (played("ours", ready), form))


def of_tables(
    effort: Effort, of_one: Callable[[str, list[Cell]], Iterator[Benchmark]]
) -> Iterator[Benchmark]:
    """Yield the benchmarks of the columns of all tables whose data can be had."""
    for table in effort.tables or descriptions("table"):
        for column, cells in columns_of(table).items():
            try:
                yield from of_one(f"{table}, {column}", cells)
            except UserError as fault:
                print(f"{table}, {column}: {fault}", file=sys.stderr)


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield the benchmarks of all columns."""
    return of_tables(effort, partial(of_column, effort=effort, folder=folder))
