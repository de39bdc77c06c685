"""How the cost of an example grows: with features, with nonzeros, with tasks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scripts.bench import streams
from scripts.bench.effort import Effort
from scripts.bench.kernels import FEATURES, beside_limit, elsewhere, plays, similarity_benchmarks
from scripts.bench.measure import Benchmark
from scripts.bench.ours import KERNELS, MULTI

WITH_RIVALS = ("PA", "OGD")
"""Kernels whose rivals are timed at every size; their own cost is what the table compares."""

SPARSE_WITH_ALL = (100, 100_000)
"""Nonzeros and features of the sparse rows that every kernel is timed on."""

FEWEST_EXAMPLES = 20
MOST_WEIGHTS = 20_000_000
"""Numbers in all weight vectors, beyond which memory, not time, is the question."""


def by_features(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield every kernel on dense rows of each width."""
    for d in effort.dense:
        X, y = streams.dense_data(max(FEWEST_EXAMPLES, effort.numbers // d), d)
        for name, ready in plays(KERNELS, X, y, effort):
            # At the width of `kernels` they are there.
            alone = name not in WITH_RIVALS or d == FEATURES
            others = [] if alone else elsewhere(name, ready, effort, folder)
            yield beside_limit(name, "dense", ready, others)


def by_nonzeros(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield PA on sparse rows of every size with its rivals, and every kernel on one."""
    sizes = [(nonzeros, d) for d in effort.features for nonzeros in effort.nonzeros]
    with_all = SPARSE_WITH_ALL if SPARSE_WITH_ALL in sizes else sizes[0]
    for nonzeros, d in sizes:
        X, y = streams.sparse_data(max(FEWEST_EXAMPLES, effort.numbers // nonzeros), nonzeros, d)
        kernels = KERNELS if (nonzeros, d) == with_all else {"PA": KERNELS["PA"]}
        for name, ready in plays(kernels, X, y, effort):
            others = elsewhere(name, ready, effort, folder) if name in WITH_RIVALS else []
            yield beside_limit(name, "sparse", ready, others)


def by_tasks(effort: Effort) -> Iterator[Benchmark]:
    """Yield every kernel of many tasks with each number of them."""
    d = min(FEATURES, max(effort.dense))
    X, y = streams.dense_data(effort.numbers // d, d)
    for n_tasks in effort.tasks:
        few = max(n_tasks, min(y.size, MOST_WEIGHTS // (n_tasks * d)))
        able = {name: kernel for name, kernel in MULTI.items() if n_tasks <= kernel.most_tasks}
        for name, ready in plays(able, X[:few], y[:few], effort, n_tasks):
            yield beside_limit(name, "tasks", ready, [])


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield all sizes."""
    yield from by_features(effort, folder)
    yield from by_nonzeros(effort, folder)
    yield from by_tasks(effort)
    yield from similarity_benchmarks(effort, effort.square, slow=False)
