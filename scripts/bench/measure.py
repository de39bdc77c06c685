"""Contenders that take turns, and what is noted of them."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from omtl.util.paths import ROOT
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


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median, the least and the most of what turns have measured."""
    return statistics.median(values), min(values), max(values)


def printed(arguments: Sequence[str], **variables: str) -> str:
    """Return what Python prints in a process of its own, with variables of its environment."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


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
    kernel, layout, contenders, *size = benchmark
    first, *others = contenders
    wrong = [contender.start()() for contender in contenders]  # also compiles
    own: list[float] = []
    times: list[list[float]] = [[] for _ in others]
    ratios: list[list[float]] = [[] for _ in others]
    for _ in range(effort.turns):
        for contender, seconds, ratio in zip(others, times, ratios, strict=True):
            own.append(turn(first, effort.seconds))
            spent = turn(contender, effort.seconds)
            if spent > 0.0 and own[-1] > 0.0:
                seconds.append(spent)
                ratio.append(spent / own[-1])
    results = zip(contenders, [own, *times], [[1.0], *ratios], wrong, strict=True)
    for contender, seconds, ratio, found in results:
        if not seconds:
            print(f"{contender.name}: too short to be measured", file=sys.stderr)
            continue
        yield Row(
            kernel,
            layout,
            *size,
            contender.name,
            contender.examples,
            statistics.median(seconds),
            *spread(ratio),
            contender.passes,
            found if contender.expected is not None else None,
            contender.expected,
        )


def measure_all(
    benchmarks: Callable[[Effort, Path], Iterable[Benchmark]], effort: Effort, folder: Path
) -> list[Row]:
    """Return the rows of all benchmarks, telling on the way which one runs."""
    rows: list[Row] = []
    for each in benchmarks(effort, folder):
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


def in_words(row: Iterable[Any]) -> list[str]:
    """Return the values of a row as text: six digits are more than a time has."""
    return [
        "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        for value in row
    ]
