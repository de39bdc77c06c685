"""What users call, beside what others call: an example at a time, arrays, mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import linear_model
from sklearn.base import clone

from omtl.data.rows import rows_of, square_norms
from omtl.kernel.resumed_loop import Batch
from omtl.river import MultiTask
from omtl.sklearn import DOM1, ROMPGD, PassiveAggressive
from omtl.sklearn.base import MultiTaskClassifier
from scripts.bench import streams
from scripts.bench.effort import Effort
from scripts.bench.measure import Benchmark, Contender, Go
from scripts.bench.rivals import VowpalWabbit, river_play

N_FEATURES = 100
MINI_BATCH = 100
ARRAY = 10**5
"""Examples from which on an array is to cost what the bare loop costs."""

LEARNERS: dict[str, tuple[MultiTaskClassifier, int]] = {
    "PA": (PassiveAggressive(C=np.inf), 1),
    "ROM-PGD": (ROMPGD(), 9),
    "DOM-I": (DOM1(), 9),
}
"""What is timed, with its number of tasks."""


def one_by_one(model: MultiTaskClassifier, examples: list[tuple[Any, Any, Any]]) -> int:
    """Predict, then learn, one example after the other; return the mistakes."""
    wrong = 0
    for x, y, task in examples:
        wrong += model.predict_one(x, task) != y
        model.learn_one(x, y, task)
    return wrong


def benchmarks(effort: Effort, folder: Path) -> Iterator[Benchmark]:
    """Yield the benchmarks of single examples, and of arrays."""
    n = effort.slow
    X, y = streams.dense_data(ARRAY if effort.seconds else n, N_FEATURES)
    for name, learner in LEARNERS.items():
        yield of_examples(name, learner, X[:n], y[:n], folder)
        yield of_arrays(name, learner, X, y)


def of_examples(
    name: str, learner: tuple[Any, int], X: np.ndarray, y: np.ndarray, folder: Path
) -> Benchmark:
    """Return the benchmark of `predict_one` and `learn_one`."""
    model, m = learner
    task, labels = (np.arange(y.size) % m).tolist(), (y > 0.0).tolist()
    dicts = [dict(enumerate(row)) for row in X.tolist()]
    in_river = [({"task": k, **x}, label) for x, label, k in zip(dicts, labels, task, strict=True)]

    def ours() -> Go:
        begun = clone(model).begin(N_FEATURES, [False, True], range(m))
        rows = list(zip(X, labels, task, strict=True))
        begun.learn_one(*rows[0])
        return lambda: one_by_one(begun, rows)

    def adapted() -> Go:
        begun = MultiTask(clone(model), tasks=tuple(range(m)))
        begun.learn_one(*in_river[0])
        return lambda: river_play(begun, *map(list, zip(*in_river, strict=True)))

    def river() -> Go:
        begun = linear_model.PAClassifier(mode=0, learn_intercept=False)
        return lambda: river_play(begun, dicts, labels)

    contenders = (
        Contender("ours", y.size, ours),
        Contender("our river adapter", y.size, adapted),
        Contender("river", y.size, river),
        Contender("Vowpal Wabbit, Python", y.size, VowpalWabbit(X, y, folder).parsed),
    )
    return Benchmark(name, "one by one", contenders, m, N_FEATURES, N_FEATURES)


def of_arrays(name: str, learner: tuple[Any, int], X: np.ndarray, y: np.ndarray) -> Benchmark:
    """Return the benchmark of `fit` and `partial_fit`, beside the compiled loop alone."""
    model, m = learner
    task = np.arange(y.size) % m
    parts = [slice(begin, begin + MINI_BATCH) for begin in range(0, y.size, MINI_BATCH)]

    def begun() -> MultiTaskClassifier:
        return clone(model).begin(N_FEATURES, [-1.0, 1.0], range(m))

    def bare() -> Go:
        engine = begun()._compiled()
        batch = Batch(rows_of(X), y, task, task, np.asarray(square_norms(X)))
        scores = np.empty(y.size)
        return lambda: engine.many(batch, scores, True, True)

    def whole() -> Go:
        return lambda: clone(model).fit(X, y, task)

    def in_parts() -> Go:
        learns = begun().partial_fit

        def go() -> None:
            for part in parts:
                learns(X[part], y[part], task[part])

        return go

    contenders = (
        Contender("bare loop", y.size, bare),
        Contender("fit", y.size, whole),
        Contender("partial_fit, 100 at a time", y.size, in_parts),
    )
    return Benchmark(name, "arrays", contenders, m, N_FEATURES, N_FEATURES)
