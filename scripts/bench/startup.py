"""How long the program takes before it computes: the command line, and the first call."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from scripts.bench.effort import Effort
from scripts.bench.measure import printed, spread

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


Turns = list[tuple[float, float]]
"""Seconds of each turn: elapsed, and of the processor."""


def process(arguments: list[str]) -> tuple[float, float]:
    """Return the seconds that a process took: elapsed, and of the processor."""
    before, used = time.perf_counter(), sum(os.times()[2:4])  # by children
    printed(arguments)
    return time.perf_counter() - before, sum(os.times()[2:4]) - used


def summed(what: str, kernel: str, turns: Turns) -> StartRow:
    """Return a row of some turns."""
    elapsed, processor = zip(*turns, strict=True)
    return StartRow(what, kernel, len(turns), *spread(elapsed), statistics.median(processor))


def measure(effort: Effort, folder: Path) -> list[StartRow]:
    """Return the rows of all starts; the commands take turns, and so do cold and warm calls."""
    commands: dict[str, Turns] = {name: [] for name in COMMANDS}
    for _ in range(3 * effort.processes):
        for name, arguments in COMMANDS.items():
            commands[name].append(process(arguments))
    rows = [summed(name, "", turns) for name, turns in commands.items()]
    for kernel in (name for name in FIRST_CALLS if not effort.kernels or name in effort.kernels):
        print(f"first call of {kernel}", file=sys.stderr, flush=True)
        calls: dict[str, Turns] = {"first call, cold": [], "first call, warm": []}
        for _ in range(effort.processes):
            cache = tempfile.mkdtemp(dir=folder)
            for turns in calls.values():
                output = printed(["-c", FIRST_CALL, kernel], NUMBA_CACHE_DIR=cache)
                elapsed, processor = map(float, output.split()[-2:])
                turns.append((elapsed, processor))
        rows += [summed(name, kernel, turns) for name, turns in calls.items()]
    return rows
