"""Whole tables: how they scale over jobs, what a process costs, and what memory they share.

Each run is a process of its own with a store of its own. What is compiled is compiled before.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from omtl.util.paths import ROOT, kept
from scripts.bench.effort import Effort


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


def environment() -> dict[str, str]:
    """Return the environment of a process that finds data and compiled code where they are."""
    data = os.environ.get("OMTL_DATA") or str(kept() / "data")
    return {**os.environ, "OMTL_DATA": data, "PYTHONPATH": str(ROOT)}


def played(table: str, repeats: int, way: Way, effort: Effort, store: Path) -> dict[str, Any]:
    """Return what a run of a table says of itself, with the seconds of the whole process."""
    options = {
        "repeats": repeats,
        "points": effort.points,
        "jobs": way.jobs,
        "parallel": way.parallel,
        "store": store,
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "scripts.bench.play_table", table, *arguments],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1]) | {"whole": time.perf_counter() - began}


def measure_table(table: str, repeats: int, effort: Effort) -> Iterator[TableRow]:
    """Yield a row for each way to play a table, in turns."""
    runs: dict[str, list[dict[str, Any]]] = {way.name: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        stores = (Path(folder) / str(k) for k in range(1000))
        played(table, repeats, WAYS[0], effort, next(stores))  # compiles
        for _ in range(effort.processes):
            for way in WAYS:
                runs[way.name].append(played(table, repeats, way, effort, next(stores)))
    first = runs[WAYS[0].name]
    for way in WAYS:
        mine = runs[way.name]
        ratios = [one["seconds"] / other["seconds"] for one, other in zip(mine, first, strict=True)]
        in_threads = way.parallel == "threads"
        busy = [one["processor"] / one["seconds"] / way.jobs for one in mine]
        yield TableRow(
            table,
            repeats,
            way.name,
            mine[0]["units"],
            mine[0]["failed"],
            statistics.median(one["seconds"] for one in mine),
            statistics.median(ratios),
            min(ratios),
            max(ratios),
            statistics.median(busy) if in_threads else None,
            statistics.median(one["whole"] - one["seconds"] for one in mine),
            max(one["loads"] for one in mine),
            statistics.median(one["mebibytes"] for one in mine),
        )


def measure(effort: Effort) -> list[TableRow]:
    """Return the rows of the tables."""
    rows: list[TableRow] = []
    for table in effort.whole:
        for repeats in effort.repeats:
            print(f"{table}, {repeats} repeats", file=sys.stderr, flush=True)
            rows += measure_table(table, repeats, effort)
    return rows
