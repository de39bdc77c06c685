"""Contenders that take turns, and what is noted of them."""

from __future__ import annotations

import csv
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.bench.effort import Effort

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
    passes : float, optional
        Passes over the example's numbers, each to a weight vector, that it needs an example.
    clock : callable
        By default the thread's own time, which leaves out what other processes take.
    beside : callable, optional
        Seconds that one call spends on what is not to be counted, measured in each turn.
    """

    name: str
    examples: int
    start: Callable[[], Go]
    expected: int | None = None
    passes: float | None = None
    clock: Callable[[], float] = time.thread_time
    beside: Callable[[], float] | None = None


class Benchmark(NamedTuple):
    """Contenders that do the same; the first is what the others are compared with.

    Parameters
    ----------
    kernel, layout : str
        What is timed, on which kind of rows or stream.
    contenders : tuple of Contender
    n_tasks, n_features, nonzeros : int
        Size of the problem: tasks, features, nonzeros of a row.
    """

    kernel: str
    layout: str
    contenders: tuple[Contender, ...]
    n_tasks: int
    n_features: int
    nonzeros: int


class Row(NamedTuple):
    """One line of a result; ratios are times divided by those of the benchmark's first contender.

    Where equal algorithms are compared, `mistakes` and `mistakes_of_ours` are those on the same
    examples.
    """

    kernel: str
    layout: str
    n_tasks: int
    n_features: int
    nonzeros: int
    contender: str
    examples: int
    seconds_per_example: float
    ratio_median: float
    ratio_min: float
    ratio_max: float
    passes: float | None
    mistakes: int | None
    mistakes_of_ours: int | None


def once(contender: Contender) -> float:
    """Return the seconds of one call."""
    go = contender.start()
    before = contender.clock()
    go()
    spent = contender.clock() - before
    return spent - (contender.beside() if contender.beside else 0.0)


def turn(contender: Contender, seconds: float) -> float:
    """Return the median time an example in calls that fill some seconds.

    It is not a number where what is not to be counted took longer than the call: on a busy machine,
    of a short one.
    """
    times: list[float] = []
    began = time.perf_counter()
    while not times or time.perf_counter() - began < seconds:
        times.append(once(contender))
    median = statistics.median(times)
    return median / contender.examples if median > 0.0 else math.nan


def measure(benchmark: Benchmark, effort: Effort) -> Iterator[Row]:
    """Yield a row for each contender that could be measured."""
    first, *others = benchmark.contenders
    wrong = [contender.start()() for contender in benchmark.contenders]  # also compiles
    own: list[float] = []
    times: list[list[float]] = [[] for _ in others]
    ratios: list[list[float]] = [[] for _ in others]
    for _ in range(effort.turns):
        for k, contender in enumerate(others):
            own.append(turn(first, effort.seconds))
            spent = turn(contender, effort.seconds)
            if spent > 0.0 and own[-1] > 0.0:
                times[k].append(spent)
                ratios[k].append(spent / own[-1])
    results = zip(benchmark.contenders, [own, *times], [[1.0], *ratios], wrong, strict=True)
    for contender, seconds, ratio, found in results:
        if not seconds:
            print(f"{contender.name}: too short to be measured", file=sys.stderr)
            continue
        yield Row(
            benchmark.kernel,
            benchmark.layout,
            benchmark.n_tasks,
            benchmark.n_features,
            benchmark.nonzeros,
            contender.name,
            contender.examples,
            statistics.median(seconds),
            statistics.median(ratio),
            min(ratio),
            max(ratio),
            contender.passes,
            found if contender.expected is not None else None,
            contender.expected,
        )


def measure_all(benchmarks: Iterable[Benchmark], effort: Effort) -> list[Row]:
    """Return the rows of all benchmarks, telling on the way which one runs."""
    rows: list[Row] = []
    for each in benchmarks:
        size = f"{each.n_tasks} tasks, {each.nonzeros} of {each.n_features} features"
        print(f"{each.kernel}, {each.layout}: {size}", file=sys.stderr, flush=True)
        rows += measure(each, effort)
    return rows


IN_32_BITS = "Vowpal Wabbit"
"""What begins the names of contenders whose numbers have 32 bits."""

DRAWN = ("dense", "sparse")
"""Layouts of streams of random numbers; the others are of tables, whose features may be counts."""


def agrees(row: Row) -> bool:
    """Whether the contender made the mistakes of ours.

    Sums in another order may turn a prediction, and the first, a tie, is each library's own. On
    counts many margins are 1 but for rounding, so that of 32 bits decides which examples are learnt
    from: there, such contenders are not held to our mistakes (on AKLO's spam, our loop in 32 bits
    makes just theirs).
    """
    if row.mistakes is None or row.mistakes_of_ours is None:
        return True
    if row.contender.startswith(IN_32_BITS) and row.layout not in DRAWN:
        return True
    return abs(row.mistakes - row.mistakes_of_ours) <= row.n_tasks + row.examples // 500


def written(value: Any) -> str:
    """Return a value as it stands in a result: six digits are more than a time has."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def table_of(rows: Sequence[Any], fields: Sequence[str]) -> list[list[str]]:
    """Return rows as text, below the names of their fields."""
    return [list(fields), *([written(value) for value in row] for row in rows)]


def read(path: Path) -> list[dict[str, str]]:
    """Return the lines of a result, none if it has not been made."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
