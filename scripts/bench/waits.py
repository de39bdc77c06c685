"""What a person waits for: whole commands, each a process of its own."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from omtl.util.paths import ROOT
from scripts.bench.turns import Effort

TABLE = ["table", "dom-table1", "--repeats", "2"]

COMMANDS: dict[str, list[str]] = {
    "omtl --help": ["--help"],
    "omtl list": ["list"],
    "omtl explain dom-table1 'PA on Synthetic'": ["explain", "dom-table1", "PA on Synthetic"],
    "omtl table dom-table1 --repeats 2, everything stored": TABLE,
}
"""Commands that are timed in turns, in a home where everything is stored."""


def seconds_of(arguments: list[str], home: str) -> tuple[float, float]:
    """Return the elapsed and the processor's seconds of a command.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMTL_HOME": home}
    before, used = time.perf_counter(), sum(os.times()[2:4])  # by children
    command = [sys.executable, "-m", "omtl", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"omtl {' '.join(arguments)}: {done.stderr.strip()}")
    return time.perf_counter() - before, sum(os.times()[2:4]) - used


def waits(effort: Effort) -> Iterator[dict[str, Any]]:
    """Yield the seconds of commands, the first table from an empty home included."""
    with tempfile.TemporaryDirectory() as home:
        first = seconds_of(TABLE, home)
        yield row("omtl table dom-table1 --repeats 2, nothing stored or compiled", [first])
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
        for _ in range(effort.turns):
            for name, arguments in COMMANDS.items():
                times[name].append(seconds_of(arguments, home))
        for name, turns in times.items():
            yield row(name, turns)


def row(command: str, turns: list[tuple[float, float]]) -> dict[str, Any]:
    """Return the medians of a command's turns."""
    elapsed, processor = zip(*turns, strict=True)
    medians = {"seconds": statistics.median(elapsed), "cpu_seconds": statistics.median(processor)}
    return {"command": command, "turns": len(turns), **medians, "longest": max(elapsed)}
