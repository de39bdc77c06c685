"""Measuring what each engine adds to a unit, beside joblib's threads without an engine.

``python -m scripts.engines`` computes small units by two workers of each engine of
``conf/parallel``; clusters are started on this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import joblib

from omtl.compute.engine import run
from omtl.compute.store import Store
from omtl.experiment.config import load_option, options, resolve_jobs
from omtl.experiment.unit import Unit, compute
from scripts.perceptrons import perceptrons
from scripts.records import TRUST, publish

WORKERS = 2
COLUMNS = ("engine", "first units, s", "ms a unit", "beside joblib alone")


def units_of(count: int) -> list[Unit]:
    """Return units that take a millisecond or two."""
    return perceptrons(count, n_examples=200, n_features=20, n_tasks=8)


def seconds_of(name: str, count: int) -> float:
    """Return the time that an engine takes for so many units, storing included."""
    parallel = resolve_jobs(load_option("parallel", name), WORKERS)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        assert run(units_of(count), Store(Path(folder)), parallel, quiet=True).computed == count
        return time.perf_counter() - started


def seconds_alone(count: int) -> float:
    """Return the time that joblib's threads take to compute so many units and keep nothing."""
    started = time.perf_counter()
    joblib.Parallel(WORKERS, "threading")(joblib.delayed(compute)(u) for u in units_of(count))
    return time.perf_counter() - started


def main() -> int:
    """Measure all engines and write the table."""
    top = argparse.ArgumentParser(description="Measure what each engine adds to a unit.")
    top.add_argument("--units", type=int, default=2000, help="how many; default: 2000")
    top.add_argument("--times", type=int, default=3, help="of which the best counts; default: 3")
    top.add_argument("--folder", type=Path, default=TRUST, help="where the results go")
    chosen = top.parse_args()
    compute(units_of(1)[0])
    alone = min(seconds_alone(chosen.units) for _ in range(chosen.times)) / chosen.units
    rows = []
    for name in dict.fromkeys(("serial", "threads", "processes", *options("parallel"))):
        first = seconds_of(name, WORKERS)
        each = min(seconds_of(name, chosen.units) for _ in range(chosen.times)) / chosen.units
        rows.append((name, f"{first:.1f}", f"{1e3 * each:.2f}", f"{each / alone:.2f}"))
        print(*rows[-1], flush=True)
    head = (
        f"{chosen.units} units by {WORKERS} workers on one machine ({joblib.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f} in the end), the best of {chosen.times} times, storing "
        f"included. joblib's threads alone, without storing: {1e3 * alone:.2f} ms a unit."
    )
    publish("engines", COLUMNS, rows, head, chosen.folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
