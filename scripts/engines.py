"""Measuring what each engine adds to a unit, and what that makes of a sweep of many.

``python -m scripts.engines`` gives units that do nothing, and return results of a common size, to
two workers of each engine of ``conf/parallel``; clusters are started on this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from omtl.compute.engines import results
from omtl.compute.store import Store
from omtl.experiment.config import load_option, options, resolve_jobs
from omtl.experiment.unit import Result, Unit
from scripts.perceptrons import perceptrons
from scripts.records import TRUST, publish

WORKERS = 2
SWEEP = 10_000
UNIT_SECONDS = (0.1, 1.0, 10.0)
CLUSTER = 64
"""Workers of the cluster that is projected to."""

NUMBERS = 15_000
"""Numbers in a result: 120 kB."""

COLUMNS = (
    "engine",
    "start, s",
    "overhead a unit, ms",
    "with storing, ms",
    "units a second",
    *(f"{SWEEP:,} units of {unit:g} s, {CLUSTER} workers, min" for unit in UNIT_SECONDS),
)


def nothing(unit: Unit) -> Result:  # noqa: ARG001
    """Return a result of a common size."""
    return Result({"numbers": np.ones(NUMBERS)}, {})


def seconds_of(parallel: dict[str, Any], count: int) -> float:
    """Return the time that so many units take, in seconds."""
    waiting = iter(perceptrons(count))
    started = time.perf_counter()
    with closing(results(nothing, lambda _: next(waiting, None), parallel, count)) as stream:
        returned = sum(map(len, stream))
    assert returned == count
    return time.perf_counter() - started


def storing(count: int) -> float:
    """Return the time that storing takes a unit, in seconds."""
    given = perceptrons(count)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        started = time.perf_counter()
        for unit in given:
            store.save(unit, nothing(unit))
        store.sync()
        return (time.perf_counter() - started) / count


def row_of(name: str, count: int, times: int, stored: float) -> tuple[str, ...]:
    """Return an engine's row: the best of several times, as other programs only slow it."""
    parallel = resolve_jobs(load_option("parallel", name), WORKERS)
    first = seconds_of(parallel, WORKERS)
    overhead = min(seconds_of(parallel, count) / count for _ in range(times))
    start = max(0.0, first - WORKERS * overhead)
    each = overhead + stored
    # Workers work side by side; giving out, taking back and storing is done by one process.
    sweeps = [start + SWEEP * max(unit / CLUSTER, each) for unit in UNIT_SECONDS]
    return (
        name,
        f"{start:.1f}",
        f"{1e3 * overhead:.2f}",
        f"{1e3 * each:.2f}",
        f"{1.0 / each:.0f}",
        *(f"{sweep / 60:.1f}" if name in ("dask", "ray") else "" for sweep in sweeps),
    )


def main() -> int:
    """Measure all engines and write the table."""
    top = argparse.ArgumentParser(description="Measure what each engine adds to a unit.")
    top.add_argument("--units", type=int, default=300, help="how many; default: 300")
    top.add_argument("--times", type=int, default=3, help="of which the best counts; default: 3")
    top.add_argument("--folder", type=Path, default=TRUST, help="where the results go")
    chosen = top.parse_args()
    stored = min(storing(chosen.units) for _ in range(chosen.times))
    rows = []
    for name in dict.fromkeys(("serial", "threads", "processes", *options("parallel"))):
        rows.append(row_of(name, chosen.units, chosen.times, stored))
        print(*rows[-1], flush=True)
    head = (
        f"{chosen.units} units that do nothing and return {NUMBERS * 8 // 1000} kB, "
        f"{WORKERS} workers on one machine ({joblib.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} in the end), the best of {chosen.times} times. Storing a "
        f"result takes {1e3 * stored:.2f} ms. The last columns are projected, not run."
    )
    publish("engines", COLUMNS, rows, head, chosen.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
