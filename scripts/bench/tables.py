"""Whole tables: how they scale over jobs, what a process costs, and what memory they share.

Each run is a process of its own with a store of its own. What is compiled is compiled before.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from omtl.util.paths import kept
from scripts.bench.effort import Effort
from scripts.bench.measure import printed, spread


class Way(NamedTuple):
    """A way to play a table: an option of conf/parallel, and the number of jobs."""

    name: str
    parallel: str
    jobs: int


WAYS = (
    Way("1 job", "threads", 1),
    Way("2 jobs, threads", "threads", 2),
    Way("2 jobs, processes", "processes", 2),
)


class TableRow(NamedTuple):
    """A way to play a table; ratios are its seconds divided by those of the first way.

    `beside` are seconds that the process takes besides computing: starting, importing, planning.
    `busy` is the share of the computing time in which each job kept a core busy, where all are
    threads of one process. `units` are those of the run, `failed` those without a result (their
    data cannot be had).
    """

    table: str
    repeats: int
    way: str
    units: int
    failed: int
    seconds: float
    ratio_median: float
    ratio_min: float
    ratio_max: float
    busy: float | None
    beside: float
    loads: int
    mebibytes: float


def played(table: str, repeats: int, way: Way, points: int, folder: Path) -> dict[str, Any]:
    """Return what a run of a table says of itself, with the seconds of the whole process.

    It finds data and compiled code where they are, and has a new store in a folder.
    """
    arguments = ["-m", "scripts.bench.play_table", table, "--repeats", str(repeats)]
    arguments += ["--points", str(points), "--jobs", str(way.jobs), "--parallel", way.parallel]
    arguments += ["--store", tempfile.mkdtemp(dir=folder)]
    data = os.environ.get("OMTL_DATA") or str(kept() / "data")
    began = time.perf_counter()
    output = printed(arguments, OMTL_DATA=data)
    return json.loads(output.splitlines()[-1]) | {"whole": time.perf_counter() - began}


def measure_table(table: str, repeats: int, effort: Effort, folder: Path) -> Iterator[TableRow]:
    """Yield a row for each way to play a table, in turns."""
    played(table, repeats, WAYS[0], effort.points, folder)  # compiles
    turns = [
        [played(table, repeats, way, effort.points, folder) for way in WAYS]
        for _ in range(effort.processes)
    ]
    for number, way in enumerate(WAYS):
        mine = [turn[number] for turn in turns]
        ratios = [turn[number]["seconds"] / turn[0]["seconds"] for turn in turns]
        busy = [one["processor"] / one["seconds"] / way.jobs for one in mine]
        yield TableRow(
            table,
            repeats,
            way.name,
            mine[0]["units"],
            mine[0]["failed"],
            median(one["seconds"] for one in mine),
            *spread(ratios),
            median(busy) if way.parallel == "threads" else None,
            median(one["whole"] - one["seconds"] for one in mine),
            max(one["loads"] for one in mine),
            median(one["mebibytes"] for one in mine),
        )


def measure(effort: Effort, folder: Path) -> list[TableRow]:
    """Return the rows of the tables."""
    rows: list[TableRow] = []
    for table in effort.whole:
        for repeats in effort.repeats:
            print(f"{table}, {repeats} repeats", file=sys.stderr, flush=True)
            rows += measure_table(table, repeats, effort, folder)
    return rows
