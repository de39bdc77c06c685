"""Time the kernels beside other libraries, plain loops and the machine's limit, in one run.

Contenders of a benchmark take turns, the first of them before each other one, and each is compared
with the turn of the first just before it: what else the machine does then troubles both. A turn
runs the same call several times and counts its median. Compiling and preparing are not timed.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table
from river import linear_model, optim
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from threadpoolctl import threadpool_limits

from omtl.files import write_whole
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.networks import mixing_matrix
from omtl.ops import square_norms
from omtl.paths import RESULTS
from omtl.play import Examples, examples_of, new_trace, play, play_compiled
from omtl.preparation import fed, in_order
from omtl.rules import Learner, Shape
from omtl.streams import Stream, Tasks, checkpoints, rounds

ETA = 0.1
"""Learning rate of all gradient steps."""

NOISE = 0.1
"""Share of labels that are turned round, so that learning never ends."""

HUGE = 1e300
"""Stands for C = ∞ where a library takes finite numbers only."""

Go = Callable[[], int | None]
"""What is timed; returns the number of mistakes, or None where nothing is predicted."""


class Contender(NamedTuple):
    """One way to do what a benchmark times.

    Parameters
    ----------
    name : str
    examples : int
        How many examples one call takes.
    start : callable
        Prepares one call, untimed, and returns it.
    expected : int, optional
        The mistakes of ours on the same examples, where the algorithm is the same.
    work : float
        Units of work an example (`Benchmark.unit`).
    """

    name: str
    examples: int
    start: Callable[[], Go]
    expected: int | None = None
    work: float = 0.0


class Benchmark(NamedTuple):
    """Contenders that do the same; the first is what the others are compared with.

    Parameters
    ----------
    name : str
    contenders : tuple of Contender
    unit : str
        What `Contender.work` counts, in billions a second.
    clock : callable
        By default the thread's own time, which leaves out what other processes take.
    """

    name: str
    contenders: tuple[Contender, ...]
    unit: str = ""
    clock: Callable[[], float] = time.thread_time


class Row(NamedTuple):
    """One line of the result; the ratios are times, divided by those of the first contender."""

    benchmark: str
    contender: str
    examples: int
    seconds_per_example_median: float
    ratio_to_ours_median: float
    ratio_min: float
    ratio_max: float
    mistakes: int | None
    mistakes_of_ours: int | None
    rate: str


class Effort(NamedTuple):
    """How much a run does.

    Parameters
    ----------
    rounds : int
        Turns of each contender.
    seconds : float
        How long a turn lasts at least.
    numbers : int
        Numbers in a dense data set of any width, and nonzeros in a sparse one.
    slow : int
        Examples that the slow contenders get at most.
    dense, nonzeros, limit : tuple of int
        Widths of the dense examples, nonzeros of the sparse ones, widths of the bare loop.
    task_examples : int
        Examples of each of the tasks on a network.
    plays : int
        Plays that threads and processes share, a multiple of the jobs.
    """

    rounds: int
    seconds: float
    numbers: int
    slow: int
    dense: tuple[int, ...]
    nonzeros: tuple[int, ...]
    limit: tuple[int, ...]
    task_examples: int
    plays: int


FULL = Effort(
    rounds=9,
    seconds=0.1,
    numbers=2_000_000,
    slow=500,
    dense=(10, 100, 1000),
    nonzeros=(10, 100, 1000),
    limit=(100, 1000, 10_000),
    task_examples=2000,
    plays=2000,
)
QUICK = Effort(
    rounds=2,
    seconds=0.0,
    numbers=20_000,
    slow=40,
    dense=(10, 100),
    nonzeros=(10, 100),
    limit=(100,),
    task_examples=20,
    plays=4,
)


# Data


class Play(NamedTuple):
    """All that a play needs, as `omtl.play.play` takes it."""

    learner: Learner
    examples: Examples
    stream: Stream
    shape: Shape

    def first(self, n_rounds: int) -> Play:
        """Return the play of the first rounds alone."""
        start = self.stream.start[: n_rounds + 1]
        return self._replace(
            stream=Stream(
                start,
                self.stream.example[: start[-1]],
                self.stream.node[: start[-1]],
                checkpoints(start.size - 1, 100),
            )
        )

    @property
    def size(self) -> int:
        """Number of examples."""
        return self.stream.example.size


def mistakes(ready: Play, compiled: bool = True) -> int:
    """Play, and return the number of mistakes."""
    return int(play(*ready, compiled=compiled)[0].mistakes.sum())


def one_task(learner: Learner, X: np.ndarray | sparse.csr_array, y: np.ndarray) -> Play:
    """Return the play of one task's examples in their order."""
    n, n_features = X.shape
    tasks = Tasks(X, y, np.zeros(n, dtype=np.int64), ("only",))
    stream = Stream(
        np.arange(n + 1), np.arange(n), np.zeros(n, dtype=np.int64), checkpoints(n, 100)
    )
    shape = Shape(1, n_features, np.ones((1, 1)), sparse=sparse.issparse(X))
    return Play(learner, examples_of(tasks), stream, shape)


def noisy_labels(score: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return the signs of the scores, some of them turned round."""
    signs = np.where(score > 0.0, 1.0, -1.0)
    return np.where(random.random(score.size) < NOISE, -signs, signs)


def dense_data(n: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return normal examples of about unit length, and noisy labels of a linear teacher."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, n_features)) / np.sqrt(n_features)
    return X, noisy_labels(X @ random.standard_normal(n_features), random)


def sparse_data(n: int, nonzeros: int, n_features: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Return examples with as many nonzeros each, spread evenly, and labels as in `dense_data`."""
    random = np.random.default_rng(0)
    width = n_features // nonzeros
    indices = np.arange(nonzeros) * width + random.integers(width, size=(n, nonzeros))
    values = random.standard_normal(n * nonzeros) / np.sqrt(nonzeros)
    X = sparse.csr_array(
        (values, indices.ravel(), np.arange(n + 1) * nonzeros), shape=(n, n_features)
    )
    return X, noisy_labels(X @ random.standard_normal(n_features), random)


# Dense examples: the same algorithms elsewhere


def numpy_pa(X: np.ndarray, y: np.ndarray) -> int:
    """Passive-aggressive learning in plain NumPy."""
    w = np.zeros(X.shape[1])
    wrong = 0
    for x, label in zip(X, y.tolist(), strict=True):
        score = w @ x
        wrong += not label * score > 0.0
        loss = 1.0 - label * score
        if loss > 0.0:
            w += (label * loss / (x @ x)) * x
    return wrong


def numpy_ogd(X: np.ndarray, y: np.ndarray) -> int:
    """Online gradient descent on the hinge loss in plain NumPy."""
    w = np.zeros(X.shape[1])
    wrong = 0
    for x, label in zip(X, y.tolist(), strict=True):
        score = w @ x
        wrong += not label * score > 0.0
        if label * score <= 1.0:
            w += (ETA * label) * x
    return wrong


def river_play(model: Any, rows: list[dict[int, float]], labels: list[bool]) -> int:
    """Let a model of river predict, then learn, one example after the other."""
    wrong = 0
    for x, label in zip(rows, labels, strict=True):
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return wrong


def sklearn_play(model: SGDClassifier, X: np.ndarray, y: np.ndarray) -> int:
    """Let a model of scikit-learn predict, then learn, one example after the other."""
    wrong = 0
    for i in range(y.size):
        wrong += not y[i] * model.decision_function(X[i : i + 1])[0] > 0.0
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    return wrong


Preparation = Callable[[np.ndarray, np.ndarray], Callable[[], Go]]
"""Prepares a data set for a library, and returns what starts a play."""


def with_numpy(function: Callable[[np.ndarray, np.ndarray], int]) -> Preparation:
    """Return the preparation for a loop over rows."""
    return lambda X, y: lambda: partial(function, X, y)


def with_river(model: Callable[[], Any]) -> Preparation:
    """Return the preparation for a model of river: rows as dictionaries, labels as truths."""

    def prepare(X: np.ndarray, y: np.ndarray) -> Callable[[], Go]:
        rows = [dict(enumerate(row)) for row in X.tolist()]
        labels = (y > 0.0).tolist()
        return lambda: partial(river_play, model(), rows, labels)

    return prepare


def with_sklearn(**options: Any) -> Preparation:
    """Return the preparation for scikit-learn, where an example of zeros sets up the weights."""

    def prepare(X: np.ndarray, y: np.ndarray) -> Callable[[], Go]:
        def start() -> Go:
            model = SGDClassifier(loss="hinge", penalty=None, fit_intercept=False, **options)
            model.partial_fit(np.zeros_like(X[:1]), y[:1], classes=[-1.0, 1.0])
            return partial(sklearn_play, model, X, y)

        return start

    return prepare


class Algorithm(NamedTuple):
    """A learner of ours, and the same algorithm elsewhere."""

    learner: Learner
    elsewhere: dict[str, Preparation]


ALGORITHMS = {
    "PA": Algorithm(
        PassiveAggressive(),
        {
            "NumPy": with_numpy(numpy_pa),
            "river": with_river(lambda: linear_model.PAClassifier(mode=0, learn_intercept=False)),
            "scikit-learn": with_sklearn(learning_rate="pa1", eta0=HUGE),
        },
    ),
    "OGD": Algorithm(
        Perceptron(eta=ETA, margin=1.0),
        {
            "NumPy": with_numpy(numpy_ogd),
            "river": with_river(
                lambda: linear_model.LogisticRegression(
                    optimizer=optim.SGD(ETA), loss=optim.losses.Hinge(), intercept_lr=0.0
                )
            ),
            "scikit-learn": with_sklearn(learning_rate="constant", eta0=ETA),
        },
    ),
}


def with_norms(ready: Play, X: np.ndarray) -> int:
    """Play, and count the squared norms, which are otherwise computed once for all plays."""
    square_norms(X)
    return mistakes(ready)


def dense_benchmarks(effort: Effort) -> Iterator[Benchmark]:
    """Yield each algorithm on dense examples, ours and elsewhere."""
    for d in effort.dense:
        X, y = dense_data(effort.numbers // d, d)
        few = min(effort.slow, y.size)
        for name, algorithm in ALGORITHMS.items():
            ready = one_task(algorithm.learner, X, y)
            all_ours, few_ours = mistakes(ready), mistakes(ready.first(few))
            elsewhere = (
                Contender(label, few, prepare(X[:few], y[:few]), few_ours)
                for label, prepare in algorithm.elsewhere.items()
            )
            yield Benchmark(
                f"{name}, dense, d = {d}",
                (
                    Contender("ours", y.size, partial(partial, mistakes, ready), all_ours),
                    Contender(
                        "ours, with norms", y.size, partial(partial, with_norms, ready, X), all_ours
                    ),
                    *elsewhere,
                ),
            )


# Sparse examples: time by nonzeros, not by features

FEATURES = 20_000
LONGER = 10
"""How many times longer the long weight vector is."""


def in_touched_state(ready: Play) -> Go:
    """Return the bare play, whose state has been created and written to."""
    state = ready.learner.new_state(ready.shape)
    for array in state:
        array.fill(0.0)
    trace = new_trace(ready.shape.n_tasks, ready.stream.checkpoint.size)

    def go() -> int:
        play_compiled(ready.learner, state, ready.examples, ready.stream, trace)
        return int(trace.mistakes.sum())

    return go


def new_touched_state(learner: Learner, shape: Shape) -> None:
    """Create a state and write to it."""
    for array in learner.new_state(shape):
        array.fill(0.0)


def sparse_benchmarks(effort: Effort) -> Iterator[Benchmark]:
    """Yield PA on sparse rows, with a weight vector that is longer, and rows spread over it."""
    learner = PassiveAggressive()
    for nonzeros in effort.nonzeros:
        X, y = sparse_data(effort.numbers // nonzeros, nonzeros, FEATURES)
        longer = (X.shape[0], LONGER * FEATURES)
        plays = {
            f"{FEATURES:,} features": X,
            f"{LONGER * FEATURES:,} features": sparse.csr_array(
                (X.data, X.indices, X.indptr), shape=longer
            ),
            f"{LONGER * FEATURES:,} features, spread": sparse.csr_array(
                (X.data, LONGER * X.indices, X.indptr), shape=longer
            ),
        }
        expected = mistakes(one_task(learner, X, y))
        yield Benchmark(
            f"PA, sparse, {nonzeros} nonzeros",
            tuple(
                Contender(
                    name,
                    y.size,
                    partial(in_touched_state, one_task(learner, rows, y)),
                    expected,
                    nonzeros,
                )
                for name, rows in plays.items()
            ),
            unit="billion nonzeros/s",
        )
    yield Benchmark(
        "PA, new state",
        tuple(
            Contender(
                f"{n:,} features",
                1,
                partial(partial, new_touched_state, learner, Shape(1, n, np.ones((1, 1)))),
            )
            for n in (FEATURES, LONGER * FEATURES)
        ),
    )


# Learners on a network, compiled and not

N_TASKS = 9
NETWORK_FEATURES = 100
NETWORKS = ("full", "ring")

LEARNERS: dict[str, tuple[Learner, Sequence[str]]] = {
    "COML": (COML(C=1.0, mu=0.5), ("full",)),
    "NS": (NS(eta=ETA), NETWORKS),
    "DST": (DST(eta=ETA), NETWORKS),
    "DA": (DA(eta=ETA, b=3.0), NETWORKS),
    "DOM-I": (DOM1(eta=ETA, b=3.0), NETWORKS),
    "DOM-II": (DOM2(eta=ETA, alpha=0.5), NETWORKS),
}
"""Each learner, and the networks on which its cost differs."""


def on_network(learner: Learner, topology: str, task_examples: int) -> Play:
    """Return a learner's play of tasks whose examples are dealt to the nodes of a network."""
    random = np.random.default_rng(0)
    n = N_TASKS * task_examples
    X, y = dense_data(n, NETWORK_FEATURES)
    tasks = Tasks(
        X, y, np.repeat(np.arange(N_TASKS), task_examples), tuple(map(str, range(N_TASKS)))
    )
    stream = rounds(tasks, random, random, n_nodes=N_TASKS)
    examples, stream = in_order(fed(tasks), stream)
    mixing = mixing_matrix(N_TASKS, topology)
    return Play(learner, examples, stream, Shape(N_TASKS, NETWORK_FEATURES, mixing))


def network_benchmarks(effort: Effort) -> Iterator[Benchmark]:
    """Yield each learner on a network beside its plain loop."""
    for name, (learner, topologies) in LEARNERS.items():
        for topology in topologies:
            ready = on_network(learner, topology, effort.task_examples)
            few = ready.first(max(1, effort.slow // N_TASKS))
            yield Benchmark(
                f"{name}, {topology}, {N_TASKS} tasks, d = {NETWORK_FEATURES}",
                (
                    Contender(
                        "ours", ready.size, partial(partial, mistakes, ready), mistakes(ready)
                    ),
                    Contender(
                        "plain loop",
                        few.size,
                        partial(partial, mistakes, few, compiled=False),
                        mistakes(few),
                    ),
                ),
            )


# Threads and processes

JOBS = 2


def play_often(times: int, *parts: Any) -> int:
    """Play several times, and return the mistakes of all."""
    return sum(int(play(*parts)[0].mistakes.sum()) for _ in range(times))


def share(ready: Play, plays: int, jobs: int, **options: Any) -> int:
    """Share plays among jobs, and return the mistakes of all."""
    call = joblib.delayed(play_often)(plays // JOBS, *ready)
    return sum(joblib.Parallel(n_jobs=jobs, max_nbytes=None, **options)([call] * JOBS))


def scaling_benchmarks(effort: Effort) -> Iterator[Benchmark]:
    """Yield independent plays one after the other, in threads and in processes."""
    d = NETWORK_FEATURES
    X, y = dense_data(effort.numbers // 10 // d, d)
    ready = one_task(PassiveAggressive(), X, y)
    expected = effort.plays * mistakes(ready)
    ways: dict[str, dict[str, Any]] = {
        "one after the other": {"jobs": 1},
        f"{JOBS} threads": {"jobs": JOBS, "backend": "threading"},
        f"{JOBS} processes": {"jobs": JOBS, "backend": "loky"},
    }
    yield Benchmark(
        f"{effort.plays} plays of PA, d = {d}",
        tuple(
            Contender(
                name,
                effort.plays * ready.size,
                partial(partial, share, ready, effort.plays, **options),
                expected,
            )
            for name, options in ways.items()
        ),
        clock=time.perf_counter,
    )


# The machine's limit


@njit(fastmath=True, nogil=True)
def bare_steps(X: np.ndarray, y: np.ndarray) -> int:
    """Take a product and a step at each row, with no machinery and sums in any order."""
    w = np.zeros(X.shape[1])
    wrong = 0
    for i in range(X.shape[0]):
        score = 0.0
        for k in range(X.shape[1]):
            score += w[k] * X[i, k]
        if not y[i] * score > 0.0:
            wrong += 1
        step = ETA * y[i]
        for k in range(X.shape[1]):
            w[k] += step * X[i, k]
    return wrong


@njit(fastmath=True, nogil=True)
def total(X: np.ndarray) -> float:
    """Read each number once."""
    result = 0.0
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            result += X[i, k]
    return result


def read_once(X: np.ndarray) -> None:
    """Read each number once; nothing is predicted."""
    total(X)


def limit_benchmarks(effort: Effort) -> Iterator[Benchmark]:
    """Yield a learner that steps at each example, the bare loop, and reading the rows alone."""
    for d in effort.limit:
        X, y = dense_data(effort.numbers // d, d)
        ready = one_task(Perceptron(eta=ETA, margin=float("inf")), X, y)
        expected = mistakes(ready)
        size = float(8 * d)
        yield Benchmark(
            f"a product and a step each, d = {d}",
            (
                Contender("ours", y.size, partial(partial, mistakes, ready), expected, size),
                Contender("bare loop", y.size, partial(partial, bare_steps, X, y), expected, size),
                Contender("reading alone", y.size, partial(partial, read_once, X), work=size),
            ),
            unit="GB/s",
        )


# Measuring

BENCHMARKS: dict[str, Callable[[Effort], Iterator[Benchmark]]] = {
    "dense": dense_benchmarks,
    "sparse": sparse_benchmarks,
    "network": network_benchmarks,
    "scaling": scaling_benchmarks,
    "limit": limit_benchmarks,
}


def turn(contender: Contender, clock: Callable[[], float], seconds: float) -> float:
    """Return the median time an example in calls that fill some seconds."""
    times: list[float] = []
    while not times or sum(times) < seconds:
        go = contender.start()
        before = clock()
        go()
        times.append(clock() - before)
    return statistics.median(times) / contender.examples


def rate(work: float, seconds: float, unit: str) -> str:
    """Return work by time in its unit, or nothing where there is no work to count."""
    return f"{work / seconds / 1e9:.3g} {unit}" if unit and seconds > 0.0 else ""


def measure(benchmark: Benchmark, effort: Effort) -> Iterator[Row]:
    """Yield a row for each contender."""
    first, *others = benchmark.contenders
    wrong = [contender.start()() for contender in benchmark.contenders]  # also compiles
    own: list[float] = []
    times: list[list[float]] = [[] for _ in others]
    ratios: list[list[float]] = [[] for _ in others]
    for _ in range(effort.rounds):
        for k, contender in enumerate(others):
            own.append(turn(first, benchmark.clock, effort.seconds))
            times[k].append(turn(contender, benchmark.clock, effort.seconds))
            ratios[k].append(times[k][-1] / own[-1])
    results = zip(benchmark.contenders, [own, *times], [[1.0], *ratios], wrong, strict=True)
    for contender, seconds, ratio, found in results:
        median = statistics.median(seconds)
        yield Row(
            benchmark.name,
            contender.name,
            contender.examples,
            median,
            statistics.median(ratio),
            min(ratio),
            max(ratio),
            found,
            contender.expected,
            rate(contender.work, median, benchmark.unit),
        )


def agrees(row: Row) -> bool:
    """Whether the contender made the mistakes of ours.

    Sums in another order may turn a prediction, and the first, a tie, is each library's own.
    """
    if row.mistakes is None or row.mistakes_of_ours is None:
        return True
    return abs(row.mistakes - row.mistakes_of_ours) <= 1 + row.examples // 1000


# Targets


class Target(NamedTuple):
    """Bounds that a ratio must keep."""

    benchmark: str
    contender: str
    at_least: float = 0.0
    at_most: float = float("inf")


TARGETS = (
    Target("PA, dense, d = 100", "river", at_least=300.0),
    Target("PA, dense, d = 100", "scikit-learn", at_least=2000.0),
    *(
        Target(f"PA, sparse, {nonzeros} nonzeros", f"{LONGER * FEATURES:,} features", at_most=1.15)
        for nonzeros in FULL.nonzeros
    ),
)


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each target whose benchmark was run."""
    found = {(row.benchmark, row.contender): row.ratio_to_ours_median for row in rows}
    sentences = []
    for target in TARGETS:
        ratio = found.get(target[:2])
        if ratio is None:
            continue
        word = "pass" if target.at_least <= ratio <= target.at_most else "FAIL"
        bound = (
            f"at least {target.at_least:g}" if target.at_least else f"at most {target.at_most:g}"
        )
        sentences.append(
            f"{word}: {target.benchmark}, {target.contender}: {ratio:,.2f} ({bound} wanted)"
        )
    return sentences


# Reporting

QUICK_RUN = "A quick run shows that all works; its times mean nothing."

TITLES = (
    "benchmark",
    "contender",
    "examples",
    "time an example",
    "ratio",
    "min to max",
    "mistakes",
    "ours there",
    "rate",
)

NOTES = (
    "Ratios are times, divided by those of the benchmark's first contender; median over the "
    "rounds, with the smallest and the largest. The same examples come in the same order; slow "
    "contenders get the first of them only, and `ours there` are the mistakes of ours on these."
)


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def figure(ratio: float) -> str:
    """Return a ratio with about three digits."""
    return f"{ratio:,.0f}" if ratio >= 100.0 else f"{ratio:.3g}"


def cells(row: Row) -> tuple[str, ...]:
    """Return what the tables show of a row."""
    counts = ("" if count is None else str(count) for count in row[7:9])
    return (
        row.benchmark,
        row.contender,
        f"{row.examples:,}",
        duration(row.seconds_per_example_median),
        figure(row.ratio_to_ours_median),
        f"{figure(row.ratio_min)} to {figure(row.ratio_max)}",
        *counts,
        row.rate,
    )


def processor() -> str:
    """Return the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def header() -> str:
    """Return the processor and the versions."""
    packages = ("numpy", "numba", "river", "scikit-learn", "joblib")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


def markdown(rows: Sequence[Row], sentences: Sequence[str]) -> str:
    """Return the table and the verdicts as a page."""
    lines = [f"| {' | '.join(part)} |" for part in (TITLES, ["---"] * len(TITLES))]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    return "\n".join([header(), "", NOTES, "", *lines, "", *(f"- {s}" for s in sentences), ""])


def comma_separated(rows: Sequence[Row]) -> str:
    """Return the rows with all their digits, without the rate, which follows from them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields[:-1])
    writer.writerows(row[:-1] for row in rows)
    return text.getvalue()


def show(rows: Sequence[Row], sentences: Sequence[str]) -> None:
    """Print the table and the verdicts."""
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(header(), highlight=False)
    table = Table(*TITLES)
    for column in table.columns[2:]:
        column.justify = "right"
    for before, row in zip([None, *rows], rows, strict=False):
        if before is not None and before.benchmark != row.benchmark:
            table.add_section()
        table.add_row(*cells(row))
    console.print(table)
    for sentence in sentences:
        console.print(sentence, highlight=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks, print and write their table; return 1 if equals made other mistakes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tiny run, to see that it works")
    parser.add_argument("--folder", type=Path, default=RESULTS / "bench", help="where files go")
    parser.add_argument("--only", nargs="+", choices=BENCHMARKS, help="not all benchmarks")
    options = parser.parse_args(arguments)
    effort = QUICK if options.quick else FULL
    rows: list[Row] = []
    with threadpool_limits(1):
        for name in options.only or BENCHMARKS:
            for benchmark in BENCHMARKS[name](effort):
                print(benchmark.name, file=sys.stderr)
                rows += measure(benchmark, effort)
    sentences = [QUICK_RUN] if options.quick else verdicts(rows)
    show(rows, sentences)
    write_whole(options.folder / "kernels.csv", comma_separated(rows))
    write_whole(options.folder / "kernels.md", markdown(rows, sentences))
    apart = [row for row in rows if not agrees(row)]
    for row in apart:
        print(
            f"{row.benchmark}: {row.contender} made {row.mistakes} mistakes where ours made "
            f"{row.mistakes_of_ours}, so it is not the same algorithm",
            file=sys.stderr,
        )
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())
