"""How the cost of an example grows: with features, with nonzeros, with tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scripts.bench import ours, streams
from scripts.bench.effort import Effort
from scripts.bench.kernels import (
    FEATURES,
    TASKS,
    counterpart_of,
    cut,
    elsewhere,
    limit_of,
    ours_first,
    similarity_benchmarks,
    wanted,
)
from scripts.bench.measure import Benchmark, Contender
from scripts.bench.ours import KERNELS, MULTI, Kernel, Play

WITH_RIVALS = ("PA", "OGD")
"""Kernels whose rivals are timed at every size; their own cost is what the table compares."""

SPARSE_WITH_ALL = (100, 100_000)
"""Nonzeros and features of the sparse rows that every kernel is timed on."""

FEWEST_EXAMPLES = 20
MOST_WEIGHTS = 20_000_000
"""Numbers in all weight vectors, beyond which memory, not time, is the question."""


def sized(
    named: tuple[str, Kernel], ready: Play, layout: str, nonzeros: int, others: list[Contender]
) -> Benchmark:
    """Return a benchmark of ours beside its limit, its counterpart and others."""
    name, kernel = named
    limit, passes = limit_of(kernel, ready)
    beside = [counterpart_of(kernel, ready)] if name in MULTI else []
    contenders = (ours_first(ready, passes), limit, *beside, *others)
    shape = ready.shape
    return Benchmark(name, layout, contenders, shape.n_tasks, shape.n_features, nonzeros)


def by_features(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield every kernel on dense rows of each width."""
    for d in effort.dense:
        X, y = streams.dense_data(max(FEWEST_EXAMPLES, effort.numbers // d), d)
        for name, kernel in wanted(KERNELS, effort):
            n_tasks = TASKS if name in MULTI else 1
            ready = cut(ours.ready(kernel, X, y, n_tasks), effort)
            # At the width of `kernels` they are there.
            others = (
                elsewhere(name, ready, effort, folder)
                if name in WITH_RIVALS and d != FEATURES
                else []
            )
            yield sized((name, kernel), ready, "dense", d, others)


def by_nonzeros(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield PA on sparse rows of every size with its rivals, and every kernel on one."""
    every = SPARSE_WITH_ALL if SPARSE_WITH_ALL[1] in effort.features else None
    sizes = [(nonzeros, d) for d in effort.features for nonzeros in effort.nonzeros]
    for nonzeros, d in sizes:
        X, y = streams.sparse_data(max(FEWEST_EXAMPLES, effort.numbers // nonzeros), nonzeros, d)
        all_here = (nonzeros, d) == (every or sizes[0])
        for name, kernel in wanted(KERNELS, effort):
            if name != "PA" and not all_here:
                continue
            n_tasks = TASKS if name in MULTI else 1
            ready = cut(ours.ready(kernel, X, y, n_tasks), effort)
            others = elsewhere(name, ready, effort, folder) if name in WITH_RIVALS else []
            yield sized((name, kernel), ready, "sparse", nonzeros, others)


def by_tasks(effort: Effort) -> Iterator[Benchmark]:
    """Yield every kernel of many tasks with each number of them."""
    d = min(FEATURES, max(effort.dense))
    X, y = streams.dense_data(effort.numbers // d, d)
    for n_tasks in effort.tasks:
        for name, kernel in wanted(MULTI, effort):
            if n_tasks > kernel.most_tasks:
                continue
            few = max(n_tasks, min(y.size, MOST_WEIGHTS // (n_tasks * d)))
            ready = cut(ours.ready(kernel, X[:few], y[:few], n_tasks), effort)
            yield sized((name, kernel), ready, "tasks", d, [])


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield all sizes."""
    yield from by_features(effort, folder)
    yield from by_nonzeros(effort, folder)
    yield from by_tasks(effort)
    yield from similarity_benchmarks(effort, effort.square, slow=False)
