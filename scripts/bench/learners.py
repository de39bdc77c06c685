"""Every learner beside its limit and other programs, and how its cost grows with the problem."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from omtl.data.preparation import in_order
from omtl.data.triplets import BLOCK, Triplets
from omtl.experiment.playing import new_learner, setting_of
from omtl.kernel.grids import share
from omtl.kernel.sharing import can_share
from omtl.kernel.similarities import Similarities
from omtl.learners.similarity import OMTRSL, OSTRSL, SimilarityLearner
from omtl.tables.cells import each_cell, planned
from omtl.tables.request import Request
from scripts.bench import others, streams
from scripts.bench.limits import bare_loop, rank_one_updates
from scripts.bench.ours import LEARNERS, Entry, Play
from scripts.bench.turns import Call, Contender, Effort, compare

Rows = Iterator[dict[str, Any]]

FEATURES, TASKS = 100, 9
SPARSE = (100, 100_000)
"""Nonzeros and features of the sparse rows on which every learner is timed."""

WIDTHS = (10, 100, 1000, 10_000)
TASK_COUNTS = (1, 10, 100, 1000)
MOST_WEIGHTS = 20_000_000
"""Numbers in all weight vectors, beyond which memory, not time, is the question."""


def chosen(effort: Effort) -> dict[str, Entry]:
    """Return the learners that a run times."""
    return {k: v for k, v in LEARNERS.items() if not effort.learners or k in effort.learners}


def size_of(name: str, layout: str, ready: Play, nonzeros: int) -> dict[str, Any]:
    """Return the first columns of a benchmark's rows."""
    shape = ready.shape
    features = {"n_features": shape.n_features, "nonzeros": nonzeros}
    return {"learner": name, "layout": layout, "n_tasks": shape.n_tasks, **features}


def ours(ready: Play, name: str = "ours", compiled: bool = True) -> Contender:
    """Return our learner as a contender."""
    start = partial(partial, ready.mistakes, compiled)
    return Contender(name, ready.size, start, ready.mistakes())


def beside_limit(entry: Entry, ready: Play) -> list[Contender]:
    """Return ours and the bare loop of as many products and steps."""
    loop = bare_loop(entry, ready)
    return [ours(ready), Contender("limit", ready.size, lambda: loop)]


def learners(effort: Effort) -> Rows:
    """Yield every learner beside its limit, NumPy, itself uncompiled, and libraries."""
    X, y = streams.dense_data(effort.numbers // FEATURES, FEATURES)
    for name, entry in chosen(effort).items():
        ready = entry.play(X, y, TASKS)
        few = ready.first(effort.slow)
        slow = [others.in_numpy(few), ours(few, "uncompiled", compiled=False)]
        libraries = others.in_libraries(name, few) if entry.one_task else []
        contenders = [*beside_limit(entry, ready), *filter(None, slow), *libraries]
        yield from compare(size_of(name, "dense", ready, FEATURES), contenders, effort)


def growth(effort: Effort) -> Rows:
    """Yield every learner beside its limit, by features, on sparse rows, and by tasks."""
    for d in WIDTHS:
        X, y = streams.dense_data(max(20, effort.numbers // d), d)
        for name, entry in chosen(effort).items():
            ready = entry.play(X, y, TASKS)
            size = size_of(name, "dense", ready, d)
            yield from compare(size, beside_limit(entry, ready), effort)
    nonzeros, d = SPARSE
    rows, y = streams.sparse_data(max(20, effort.numbers // nonzeros), nonzeros, d)
    for name, entry in chosen(effort).items():
        ready = entry.play(rows, y, TASKS)
        size = size_of(name, "sparse", ready, nonzeros)
        yield from compare(size, beside_limit(entry, ready), effort)
    X, y = streams.dense_data(effort.numbers // FEATURES, FEATURES)
    for n_tasks in TASK_COUNTS:
        few = max(n_tasks, min(y.size, MOST_WEIGHTS // (n_tasks * FEATURES)))
        for name, entry in chosen(effort).items():
            if n_tasks <= entry.most_tasks and not entry.one_task and n_tasks <= y.size:
                ready = entry.play(X[:few], y[:few], n_tasks)
                size = size_of(name, "tasks", ready, FEATURES)
                yield from compare(size, beside_limit(entry, ready), effort)


def similarities(effort: Effort) -> Rows:
    """Yield the learners of similarities beside BLAS's rank-1 updates, by features."""
    for d in (100, 300, 1000):
        X, _ = streams.dense_data(500, d)
        n = max(BLOCK // 8, int(min(4 * BLOCK, effort.numbers * 20 / d**2)))
        triplets = streams.triplets(n, 500, TASKS)
        for learner in (OMTRSL(C=0.1, b=1.0), OSTRSL(C=0.1)):
            shared = isinstance(learner, OMTRSL)
            limit = rank_one_updates(X, triplets, TASKS, shared)
            size = {"learner": type(learner).__name__, "layout": "triplets", "n_tasks": TASKS}
            contenders = [
                Contender("ours", n, partial(learn_similarities, learner, X, triplets)),
                Contender("limit", n, lambda limit=limit: limit),  # type: ignore[misc]
            ]
            yield from compare(size | {"n_features": d, "nonzeros": d}, contenders, effort)


def learn_similarities(learner: SimilarityLearner, X: np.ndarray, triplets: Triplets) -> Call:
    """Return the learning from triplets with matrices that have been created and written to."""
    state = Similarities(learner.policy(TASKS), X, TASKS)
    state.own.fill(0.0)
    state.shared.fill(0.0)

    def call() -> None:
        for start in range(0, triplets.y.size, BLOCK):  # as they are drawn
            part = Triplets(*(array[start : start + BLOCK] for array in triplets))
            state.learn(part, np.zeros(part.y.size))

    return call


def grids(effort: Effort) -> Rows:
    """Yield the grids of ROM's tables whose points share their state, beside point by point."""
    for table in ("rom-table1", "rom-table2"):
        met = set()
        for cell in each_cell(planned(table, Request("as_published"))):
            experiment, place = cell.experiment, (cell.dataset, cell.algorithm)
            learner = new_learner(experiment.algorithm, experiment.points[0])
            if place not in met and can_share(learner):
                met.add(place)
                yield from grid(table, *place, experiment, effort)


def grid(table: str, dataset: str, algorithm: str, experiment: Any, effort: Effort) -> Rows:
    """Yield the points of a grid played together on a first repeat, beside some of them alone."""
    setting = setting_of(experiment.unit(0, 0))
    examples, stream = in_order(setting.source, setting.stream)
    shape = setting.shape(examples, stream)
    most = min(effort.slow * 12, 4 * effort.numbers // shape.n_features)
    points = experiment.points[: max(2, most)]
    all_learners = [new_learner(experiment.algorithm, point) for point in points]
    drawn = np.random.default_rng(0).permutation(len(all_learners))[: max(2, effort.slow // 10)]

    def together() -> list[int]:
        traces = share(all_learners, examples, stream, shape)
        return [int(trace.mistakes.sum()) for trace, _ in traces]

    def alone() -> int:
        return sum(Play(all_learners[p], examples, stream, shape).mistakes() for p in drawn)

    n, expected = stream.example.size, together()
    size = {"learner": algorithm, "layout": f"{table}, {dataset}", "n_tasks": shape.n_tasks}
    size |= {"n_features": shape.n_features, "nonzeros": shape.n_features}
    contenders = [
        Contender("ours", n * len(points), lambda: lambda: sum(together()), sum(expected)),
        Contender("point by point", n * drawn.size, lambda: alone, sum(expected[p] for p in drawn)),
    ]
    yield from compare(size, contenders, effort)
