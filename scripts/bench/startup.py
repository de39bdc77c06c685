"""How long the program takes before it computes: the command line, and the first call."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

from omtl.util.paths import ROOT
from scripts.bench.effort import Effort

FIRST_CALL = """
import sys, time
from scripts.bench import ours, streams
kernel = ours.KERNELS[sys.argv[1]]
X, y = streams.dense_data(90, 10)
ready = ours.ready(kernel, X, y, 1 if sys.argv[1] in ours.SINGLE else 9)
before = time.perf_counter(), time.process_time()
ours.mistakes(ready)
print(time.perf_counter() - before[0], time.process_time() - before[1])
"""

FIRST_CALLS = ("PA", "COML", "ROM-PGD", "AKLO", "OMTL-vN")
"""Kernels whose first calls are timed, of little and of much code."""

COMMANDS = {
    "python alone": ["-c", "pass"],
    "omtl --help": ["-m", "omtl", "--help"],
    "omtl table --help": ["-m", "omtl", "table", "--help"],
}


class StartRow(NamedTuple):
    """Seconds of a start, over its turns: elapsed, and of the processor."""

    what: str
    kernel: str
    turns: int
    seconds_median: float
    seconds_min: float
    seconds_max: float
    processor_median: float


class Spent(NamedTuple):
    """Seconds of a turn."""

    elapsed: float
    processor: float


def process(arguments: list[str], cache: str | None = None) -> tuple[Spent, str]:
    """Return what a process took, and what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = cache
    before, used = time.perf_counter(), _used_by_children()
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Spent(time.perf_counter() - before, _used_by_children() - used), done.stdout


def _used_by_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def summed(what: str, kernel: str, turns: list[Spent]) -> StartRow:
    """Return a row of some turns."""
    elapsed, processor = zip(*turns, strict=True)
    median = statistics.median
    return StartRow(
        what, kernel, len(turns), median(elapsed), min(elapsed), max(elapsed), median(processor)
    )


def measure(effort: Effort) -> list[StartRow]:
    """Return the rows of all starts; the commands take turns, and so do cold and warm calls."""
    commands: dict[str, list[Spent]] = {name: [] for name in COMMANDS}
    for _ in range(3 * effort.processes):
        for name, arguments in COMMANDS.items():
            commands[name].append(process(arguments)[0])
    rows = [summed(name, "", turns) for name, turns in commands.items()]
    for kernel in (name for name in FIRST_CALLS if not effort.kernels or name in effort.kernels):
        print(f"first call of {kernel}", file=sys.stderr, flush=True)
        calls: dict[str, list[Spent]] = {"first call, cold": [], "first call, warm": []}
        for _ in range(effort.processes):
            with tempfile.TemporaryDirectory() as cache:
                for turns in calls.values():
                    _, told = process(["-c", FIRST_CALL, kernel], cache)
                    turns.append(Spent(*map(float, told.split()[-2:])))
        rows += [summed(name, kernel, turns) for name, turns in calls.items()]
    return rows
