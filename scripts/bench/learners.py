"""Every learner beside its limit and other programs, and how its cost grows with the problem."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from omtl.data.rows import Examples
from omtl.data.streams import Stream
from omtl.data.triplets import BLOCK, Triplets
from omtl.experiment.playing import new_learner, setting_of
from omtl.kernel.grids import share
from omtl.kernel.rules import Shape
from omtl.kernel.sharing import can_share
from omtl.kernel.similarities import Similarities
from omtl.learners.similarity import OMTRSL, OSTRSL, SimilarityLearner
from omtl.tables.cells import each_cell, planned
from omtl.tables.request import Request
from scripts.bench import others, streams
from scripts.bench.limits import bare_loop, rank_one_updates
from scripts.bench.ours import LEARNERS, Entry, Play
from scripts.bench.turns import Contender, Effort, compare

Rows = Iterator[dict[str, Any]]

FEATURES, TASKS = 100, 9
SPARSE = (100, 100_000)
"""Nonzeros and features of the sparse rows on which every learner is timed."""

WIDTHS = (10, 100, 1000, 10_000)
TASK_COUNTS = (1, 10, 100, 1000)
MOST_WEIGHTS = 20_000_000
"""Numbers in all weight vectors, beyond which memory, not time, is the question."""


class Size(NamedTuple):
    """The first columns of a benchmark's rows."""

    learner: str
    layout: str
    n_tasks: int
    n_features: int
    nonzeros: int


Problem = tuple[str, int, int, streams.Rows, np.ndarray]
"""A layout, its nonzeros, a number of tasks, and the examples that are dealt to them."""


def chosen(effort: Effort) -> dict[str, Entry]:
    """Return the learners that a run times."""
    return {k: v for k, v in LEARNERS.items() if not effort.learners or k in effort.learners}


def beside_limit(entry: Entry, ready: Play) -> list[Contender]:
    """Return ours and the bare loop of as many products and steps."""
    return [
        Contender("ours", ready.size, ready.mistakes),
        Contender("limit", ready.size, bare_loop(entry, ready)),
    ]


def learners(effort: Effort) -> Rows:
    """Yield every learner beside its limit, NumPy, itself uncompiled, and libraries."""
    X, y = streams.dense_data(effort.numbers // FEATURES, FEATURES)
    for name, entry in chosen(effort).items():
        ready = entry.play(X, y, TASKS)
        few = entry.play(X, y, TASKS, share=min(1.0, effort.slow / y.size))
        uncompiled = partial(few.mistakes, compiled=False)
        contenders = [
            *beside_limit(entry, ready),
            others.in_numpy(few),
            Contender("uncompiled", few.size, uncompiled, expected=few.mistakes()),
            *(others.in_libraries(name, few) if entry.one_task else []),
        ]
        size = Size(name, "dense", *ready.shape[:2], FEATURES)
        yield from compare(size._asdict(), contenders, effort)


def problems(effort: Effort) -> Iterator[Problem]:
    """Yield problems that grow by features, with sparse rows, and that grow by tasks."""
    for d in WIDTHS:
        yield "dense", d, TASKS, *streams.dense_data(max(20, effort.numbers // d), d)
    nonzeros, d = SPARSE
    n = max(20, effort.numbers // nonzeros)
    yield "sparse", nonzeros, TASKS, *streams.sparse_data(n, nonzeros, d)
    X, y = streams.dense_data(effort.numbers // FEATURES, FEATURES)
    for n_tasks in TASK_COUNTS:
        n = max(n_tasks, min(y.size, MOST_WEIGHTS // (n_tasks * FEATURES)))
        if n_tasks <= y.size:
            yield "tasks", FEATURES, n_tasks, X[:n], y[:n]


def growth(effort: Effort) -> Rows:
    """Yield every learner beside its limit, by features, on sparse rows, and by tasks."""
    for layout, nonzeros, n_tasks, X, y in problems(effort):
        for name, entry in chosen(effort).items():
            if layout == "tasks" and (entry.one_task or n_tasks > entry.most_tasks):
                continue
            ready = entry.play(X, y, n_tasks)
            size = Size(name, layout, *ready.shape[:2], nonzeros)
            yield from compare(size._asdict(), beside_limit(entry, ready), effort)


def similarities(effort: Effort) -> Rows:
    """Yield the learners of similarities beside BLAS's rank-1 updates, by features."""
    for d in (100, 300, 1000):
        X, _ = streams.dense_data(500, d)
        n = max(BLOCK // 8, int(min(4 * BLOCK, effort.numbers * 20 / d**2)))
        triplets = streams.triplets(n, 500, TASKS)
        for learner in (OMTRSL(C=0.1, b=1.0), OSTRSL(C=0.1)):
            learn = partial(learn_similarities, triplets)
            limit = rank_one_updates(X, triplets, TASKS, isinstance(learner, OMTRSL))
            contenders = [
                Contender("ours", n, learn, setup=partial(new_similarities, learner, X)),
                Contender("limit", n, limit),
            ]
            size = Size(type(learner).__name__, "triplets", TASKS, d, d)
            yield from compare(size._asdict(), contenders, effort)


def new_similarities(learner: SimilarityLearner, X: np.ndarray) -> tuple[Similarities]:
    """Return matrices that have been created and written to."""
    state = Similarities(learner.policy(TASKS), X, TASKS)
    state.own.fill(0.0)
    state.shared.fill(0.0)
    return (state,)


def learn_similarities(triplets: Triplets, state: Similarities) -> None:
    """Learn from triplets, as many at a time as are drawn."""
    for start in range(0, triplets.y.size, BLOCK):
        part = Triplets(*(array[start : start + BLOCK] for array in triplets))
        state.learn(part, np.zeros(part.y.size))


def grids(effort: Effort) -> Rows:
    """Yield the grids of ROM's tables whose points share their state, beside point by point."""
    for table in ("rom-table1", "rom-table2"):
        cells = planned(table, Request("as_published"))
        for cell in each_cell(cells.drop_duplicates(["dataset", "algorithm"])):
            algorithm, points = cell.experiment.algorithm, cell.experiment.points
            if can_share(new_learner(algorithm, points[0])):
                stream = setting_of(cell.experiment.unit(0, 0)).played()
                n_tasks, d = stream[2][:2]
                most = min(effort.slow * 12, 4 * effort.numbers // d)
                grid = [new_learner(algorithm, point) for point in points[: max(2, most)]]
                size = Size(cell.algorithm, f"{table}, {cell.dataset}", n_tasks, d, d)
                yield from compare(size._asdict(), beside_points(grid, stream, effort), effort)


def beside_points(
    grid: list[Any], stream: tuple[Examples, Stream, Shape], effort: Effort
) -> list[Contender]:
    """Return the points of a grid played together, and some of them played alone."""
    drawn = np.random.default_rng(0).permutation(len(grid))[: max(2, effort.slow // 10)]
    plays = [Play(grid[point], *stream) for point in drawn]

    def together() -> int:
        return sum(int(trace.mistakes.sum()) for trace, _ in share(grid, *stream))

    def alone() -> int:
        return sum(play.mistakes() for play in plays)

    expected = [int(trace.mistakes.sum()) for trace, _ in share(grid, *stream)]
    n = plays[0].size
    few = sum(expected[point] for point in drawn)
    return [
        Contender("ours", n * len(grid), together),
        Contender("point by point", n * len(plays), alone, expected=few),
    ]
