"""Simulating a thousand workers: what the one process that hands out units costs, and can feed.

``python -m scripts.simulation`` runs the code that hands out, takes back and stores units, on
100,000 of them. The workers are simulated: they take a unit's seconds on a clock of their own,
which also advances by the time that the central process really computes. What a real cluster would
send is sent: tasks are pickled, results unpickled, each unit is stored on the disk. The network and
the cluster's own scheduler, which is given 200 tasks a second at most, cost nothing here.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from omtl.compute import engines, parallel_jobs, worker
from omtl.compute.store import Store
from omtl.experiment.host import host
from omtl.experiment.unit import Result, Unit
from scripts.perceptrons import perceptrons
from scripts.records import publish

RUNS = ((300, 0.1), (1000, 0.5))
"""Workers, and seconds of a unit, that are simulated."""

TIMES = 3
"""How often runs by threads are measured, of which the best counts."""

LATENCY = 0.002
"""Seconds that a task needs to a worker and its results need back."""

COLUMNS = (
    "workers",
    "seconds of a unit",
    "units",
    "central CPU a unit, µs",
    "units a task",
    "workers busy, %",
    "units a second",
)


def tiny(unit: Unit, seconds: float = 1e-6) -> Result:
    """Return a small result with the facts of a real one."""
    facts = {"unit": unit.identity, "data_sha256": "", "task_names": [], "seconds": seconds}
    return Result({"mistakes": np.ones(100)}, facts | {"host": host()})


def anew(given: list[Unit]) -> list[Unit]:
    """Return the units as they are when they have just been planned."""
    return [Unit(**{name: getattr(unit, name) for name in Unit.__match_args__}) for unit in given]


class Simulated:
    """Workers that only take time, on a clock that also counts what this process computes."""

    def __init__(self, workers: int, seconds: float) -> None:
        self._workers, self._seconds = workers, seconds
        self._free = [0.0] * workers
        self._under_way: list[tuple[float, int, bytes]] = []
        self.now = self.busy = self.central = 0.0
        self.tasks = 0
        self._since = time.thread_time()

    def _count(self) -> None:
        """Let the clock advance by what has been computed since the last call."""
        spent = time.thread_time() - self._since
        self.now += spent
        self.central += spent

    def capacity(self) -> int:
        """As many as there are."""
        return self._workers

    def backlog(self) -> int:
        """As a cluster's."""
        return 2 * self._workers

    def submit(self, task: Any) -> None:
        """Give a task to the worker that is free first."""
        sent = pickle.dumps(task, protocol=5)
        self._count()
        lasts = self._seconds * len(task.units)
        begin = max(heapq.heappop(self._free), self.now + LATENCY / 2)
        heapq.heappush(self._free, begin + lasts)
        self.busy += lasts
        given = pickle.loads(sent)
        done = [
            worker.Done(unit, tiny(unit, self._seconds), None, "simulated", None, 1)
            for unit in given.units
        ]
        end = begin + lasts + LATENCY / 2
        heapq.heappush(self._under_way, (end, self.tasks, pickle.dumps(done, protocol=5)))
        self.tasks += 1
        self._since = time.thread_time()

    def ended(self) -> tuple[list[Any], None]:
        """Return what has ended by now; where nothing has, wait for the next."""
        self._count()
        self._since = time.thread_time()
        self.now = max(self.now, self._under_way[0][0])
        ended = []
        while self._under_way and self._under_way[0][0] <= self.now:
            ended.append(pickle.loads(heapq.heappop(self._under_way)[2]))
        return ended, None

    def close(self) -> None:
        """Count what was computed last."""
        self._count()


def simulated(given: list[Unit], workers: int, seconds: float, folder: Path) -> tuple[str, ...]:
    """Return the row of a simulated run."""
    pool = Simulated(workers, seconds)
    engines.ENGINES["simulated"] = lambda *_: pool
    parallel = {"name": "simulated", "backend": "simulated", "jobs": workers}
    fresh = anew(given)
    outcome = parallel_jobs.run(fresh, Store(folder), parallel, quiet=True)
    assert outcome.computed == len(given)
    return (
        f"{workers:,}",
        f"{seconds:g}",
        f"{len(given):,}",
        f"{1e6 * pool.central / len(given):.0f}",
        f"{len(given) / pool.tasks:.0f}",
        f"{100 * pool.busy / (workers * pool.now):.0f}",
        f"{len(given) / pool.now:,.0f}",
    )


def by_threads(given: list[Unit], folder: Path) -> tuple[float, float, float]:
    """Return CPU seconds a unit of a run by two threads, and of joblib alone; and wall seconds.

    The best of some times each, as other programs only slow it.
    """
    assert all(unit.identity for unit in given)
    alone, ours, walls = [], [], []
    parallel: Mapping[str, Any] = {"name": "threads", "backend": "threading", "jobs": 2}
    honest, worker.compute = worker.compute, tiny
    try:
        for number in range(TIMES):
            started = time.process_time()
            pool = joblib.Parallel(2, "threading", return_as="generator_unordered", batch_size=1)
            for _ in pool(joblib.delayed(tiny)(unit) for unit in given):
                pass
            alone.append(time.process_time() - started)
            fresh = anew(given)
            started, wall = time.process_time(), time.monotonic()
            parallel_jobs.run(fresh, Store(folder / str(number)), parallel, quiet=True)
            ours.append(time.process_time() - started)
            walls.append(time.monotonic() - wall)
    finally:
        worker.compute = honest
    return min(ours) / len(given), min(alone) / len(given), min(walls) / len(given)


def main() -> int:
    """Measure, and write the page."""
    top = argparse.ArgumentParser(description="Simulate a thousand workers.")
    top.add_argument("--units", type=int, default=100_000, help="default: 100,000")
    top.add_argument("--only-threads", action="store_true", help="compare with joblib only")
    chosen = top.parse_args()
    given = perceptrons(chosen.units)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        ours, alone, wall = by_threads(given, Path(name) / "threads")
        text = (
            f"By two threads on one machine, {len(given):,} units that do nothing cost "
            f"{1e6 * ours:.0f} µs of CPU each, {ours / alone:.1f} times what joblib's threads "
            f"alone cost ({1e6 * alone:.0f} µs), and {1e6 * wall:.0f} µs of time, storing "
            f"included; the best of {TIMES} times."
        )
        print(text, flush=True)
        if chosen.only_threads:
            return 0
        for workers, seconds in RUNS:
            rows.append(simulated(given, workers, seconds, Path(name) / str(workers)))
            print(*rows[-1], flush=True)
    publish("simulation", COLUMNS, rows, text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
