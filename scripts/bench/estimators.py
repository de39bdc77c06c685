"""What users call, beside what others call: one example at a time, arrays, mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from omtl.river import MultiTask
from omtl.sklearn import DOM1, ROMPGD, PassiveAggressive
from scripts.bench import streams
from scripts.bench.others import RIVER, as_dicts, river_play, vowpal_wabbit
from scripts.bench.turns import Contender, Effort, compare

FEATURES = 100
EXAMPLES = 100_000
BATCH = 100

STREAM = 10
"""How many times as many examples come one by one as of slow contenders elsewhere: a stream's
first call, which looks up compiled code, takes as long as 200 to 300 others."""

ESTIMATORS: dict[str, tuple[Any, int]] = {
    "PA": (PassiveAggressive(C=np.inf), 1),
    "ROM-PGD": (ROMPGD(), 9),
    "DOM-I": (DOM1(), 9),
}
"""What is timed, with its number of tasks."""


def estimators(effort: Effort) -> Iterator[dict[str, Any]]:
    """Yield the estimators called one example at a time, and on arrays."""
    X, y = streams.dense_data(EXAMPLES if effort.seconds else effort.slow, FEATURES)
    for name, (model, n_tasks) in ESTIMATORS.items():
        size = {"learner": name, "n_tasks": n_tasks, "n_features": FEATURES}
        few = slice(0, STREAM * effort.slow)
        one = one_by_one(model, n_tasks, X[few], y[few])
        yield from compare({**size, "layout": "one by one"}, one, effort)
        yield from compare({**size, "layout": "arrays"}, on_arrays(model, n_tasks, X, y), effort)


def one_by_one(model: Any, n_tasks: int, X: np.ndarray, y: np.ndarray) -> list[Contender]:
    """Return `predict_one` and `learn_one`, and the same in river and Vowpal Wabbit."""
    task, labels = (np.arange(y.size) % n_tasks).tolist(), (y > 0.0).tolist()
    rows, of_river = list(X), as_dicts(X)
    with_task = [{"task": k, **x} for k, x in zip(task, of_river, strict=True)]

    def begun() -> tuple[Any]:
        return (clone(model).begin(FEATURES, [False, True], range(n_tasks)),)

    def ours(begun: Any) -> int:
        wrong = 0
        for x, label, k in zip(rows, labels, task, strict=True):
            wrong += begun.predict_one(x, k) != label
            begun.learn_one(x, label, k)
        return wrong

    def adapted() -> tuple[MultiTask]:
        return (MultiTask(clone(model), tasks=tuple(range(n_tasks))),)

    in_river, adapted_to_river = (
        partial(river_play, each, labels) for each in (of_river, with_task)
    )
    return [
        Contender("ours", y.size, ours, begun),
        Contender("our river adapter", y.size, adapted_to_river, adapted),
        Contender("river's PA", y.size, in_river, lambda: (RIVER["PA"](),)),
        vowpal_wabbit(X, y),
    ]


def on_arrays(model: Any, n_tasks: int, X: np.ndarray, y: np.ndarray) -> list[Contender]:
    """Return `fit` and `partial_fit` beside one product of the array with a vector."""
    task, w = np.arange(y.size) % n_tasks, np.ones(FEATURES)

    def product() -> None:
        X @ w

    def fit(rows: np.ndarray) -> None:
        clone(model).fit(rows, y, task)

    def begun() -> tuple[Any]:
        return (clone(model).begin(FEATURES, [-1.0, 1.0], range(n_tasks)),)

    def in_parts(begun: Any) -> None:
        for start in range(0, y.size, BATCH):
            part = slice(start, start + BATCH)
            begun.partial_fit(X[part], y[part], task[part])

    return [
        Contender("product with a vector", y.size, product),
        Contender("fit", y.size, partial(fit, X)),
        Contender("fit, float32", y.size, partial(fit, X.astype(np.float32))),
        Contender(f"partial_fit, {BATCH} at a time", y.size, in_parts, begun),
    ]
