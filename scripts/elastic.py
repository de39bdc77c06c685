"""Breaking runs on clusters at random moments: workers join and leave, schedulers and runs die.

``python -m scripts.elastic --engine dask --moments 200`` starts a cluster as its users do, by a
scheduler and workers that are processes of their own, and a run that uses it by its address. At
random moments a worker joins, a worker is killed, the scheduler is killed, or the run is stopped.
Then the run goes on, or the same run is started again. In the end all units must be stored with the
bits of an undisturbed run, none that was reported as done may be lost, and none that was stored may
be computed again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from omtl.compute.parallel_jobs import SYNC_SECONDS
from omtl.compute.store import Store
from omtl.experiment.unit import compute
from omtl.util.paths import ROOT
from scripts.demands import BrokenError, demand, stored
from scripts.elastic_client import UNITS, client, dask_worker, start, units
from scripts.records import TRUST, fill, table, write_csv

RECORD = TRUST / "elastic.csv"
PATIENCE = 300.0
"""Seconds after which a run counts as hanging."""

ENGINES = ("threads", "processes", "dask", "ray")
EVENTS = ("a worker joins", "a worker is killed", "the scheduler is killed")
STOPS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class DaskCluster:
    """A scheduler of dask and workers with a thread each, which are processes of their own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Start the scheduler."""
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        self.scheduler = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def join(self) -> None:
        """Start a worker."""
        self.workers.append(start(dask_worker, self.address))

    def leave(self) -> None:
        """Kill the worker that is there longest."""
        if self.workers:
            self.workers[0].kill()
            self.workers.pop(0).join()

    def fall(self) -> None:
        """Kill the scheduler, and the workers."""
        self.scheduler.kill()
        self.scheduler.wait()
        while self.workers:
            self.leave()

    def end(self) -> None:
        """End all."""
        self.fall()


class RayCluster:
    """A head of ray without workers, and nodes of one each, which are processes of their own."""

    def __init__(self) -> None:
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Start the head."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "1"  # several nodes on one machine
        os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine
        os.environ.setdefault("PYTHONPATH", str(ROOT))
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        self.address = self._cluster.address

    def join(self) -> None:
        """Start a node with one worker."""
        self.workers.append(self._cluster.add_node(num_cpus=1, wait=False))

    def leave(self) -> None:
        """Kill the node that is there longest."""
        if self.workers:
            self._cluster.remove_node(self.workers.pop(0), allow_graceful=False)

    def fall(self) -> None:
        """Kill the head and all nodes."""
        self.workers.clear()
        self._cluster.shutdown()

    def end(self) -> None:
        """End all."""
        self.fall()


class NoCluster:
    """An engine of this machine only, whose workers come and go with the run."""

    address = ""
    workers: tuple[()] = ()

    def begin(self) -> None:
        """There is nothing to begin, to join, to leave or to end."""

    join = leave = fall = end = begin


CLUSTERS: dict[str, Any] = {"dask": DaskCluster, "ray": RayCluster}


class Run:
    """A client that is under way."""

    def __init__(self, engine: str, address: str, folder: Path) -> None:
        for name in ("told", "err"):
            (folder / name).write_text("")
        self.folder = folder
        self.process = start(client, engine, address, folder, err=folder / "err")

    def told(self) -> int:
        """Return how many units it has reported as done."""
        return sum(int(float(line)) for line in (self.folder / "told").read_text().split())

    def wait_for(self, count: int) -> None:
        """Wait until it has reported so many units, or has ended."""
        until = time.monotonic() + PATIENCE
        while self.told() < count and self.process.is_alive() and time.monotonic() < until:
            time.sleep(0.005)

    def wait(self) -> int:
        """Return the status, when it has ended; one that does not end is killed."""
        self.process.join(PATIENCE)
        self.process.kill()
        self.process.join()
        self.err = (self.folder / "err").read_text()
        return self.process.exitcode


def events_of(engine: str) -> list[str]:
    """Return what may happen to a run by an engine."""
    return [*(EVENTS if engine in CLUSTERS else ()), *(stop.name for stop in STOPS)]


def moment(event: str, engine: str, cluster: Any, drawn: random.Random, folder: Path) -> bool:
    """Break a run, let it end, demand what must hold; return whether it had units left then.

    Parameters
    ----------
    event : str
        What happens; it does at a moment between the run's first unit and its last.
    engine : str
    cluster : DaskCluster, RayCluster or NoCluster
    drawn : random.Random
        Of the moment.
    folder : Path
        Of the store.

    Raises
    ------
    BrokenError
        If something else holds.
    """
    while len(cluster.workers) > drawn.randint(0, 2):
        cluster.leave()
    if event != EVENTS[0] and not cluster.workers:
        cluster.join()
    run = Run(engine, cluster.address, folder)
    if event != EVENTS[0]:
        run.wait_for(drawn.randrange(UNITS))
        time.sleep(drawn.uniform(0.0, SYNC_SECONDS))
    left = run.told() < UNITS
    stopped = event in {stop.name for stop in STOPS}
    if event == "a worker joins":
        cluster.join()
    elif event == "a worker is killed":
        cluster.leave()
        time.sleep(drawn.uniform(0.0, 1.0))
        cluster.join()
    elif event == "the scheduler is killed":
        cluster.fall()
    else:
        with suppress(ProcessLookupError):  # it has ended
            os.kill(run.process.pid, signal.Signals[event])
    status = run.wait()
    kept, told = stored(folder / "store"), run.told()
    demand(len(kept) >= told, f"{told} were reported as done, {len(kept)} are stored")
    demand("Traceback" not in run.err, f"said {run.err!r}")
    if event == "the scheduler is killed":
        told_why = "is gone; start it again" in run.err or "no cluster of" in run.err
        demand(status == 0 or (status == 2 and told_why), f"status {status}: {run.err}")
        cluster.begin()
    elif not stopped:
        demand(status == 0, f"status {status}: {run.err}")
    if engine in CLUSTERS and not cluster.workers:
        cluster.join()
    again = Run(engine, cluster.address, folder)
    demand(again.wait() == 0, f"went on with status {again.process.exitcode}: {again.err}")
    computed = json.loads((folder / "outcome").read_text())["computed"]
    demand(computed == UNITS - len(kept), f"computed {computed}, {len(kept)} were stored")
    now = stored(folder / "store")
    demand(len(now) == UNITS, f"{len(now)} units are stored")
    demand(all(now[key] == place for key, place in kept.items()), "stored units were written again")
    return left


@contextmanager
def cluster_of(engine: str) -> Iterator[Any]:
    """Give a cluster of an engine; end it."""
    cluster = CLUSTERS.get(engine, NoCluster)()
    try:
        yield cluster
    finally:
        with suppress(Exception):
            cluster.end()


def bits(store: Store) -> list[dict[str, bytes]]:
    """Return the arrays of all units."""
    found = [store.load(unit) for unit in units()]
    return [{name: a.tobytes() for name, a in r.arrays.items()} for r in found if r is not None]


def suite(engine: str, numbers: range, seed: int) -> Iterator[tuple[str, bool, str]]:
    """Break runs at moments of these numbers; yield events, whether units were left, and faults."""
    with tempfile.TemporaryDirectory() as name, cluster_of(engine) as cluster:
        alone = Store(Path(name) / "alone")
        for unit in units():
            alone.save(unit, compute(unit))
        for number in numbers:
            folder = Path(name) / str(number)
            folder.mkdir()
            drawn, left, fault = random.Random(f"{seed} {number}"), False, ""
            event = drawn.choice(events_of(engine))
            try:
                left = moment(event, engine, cluster, drawn, folder)
                demand(bits(Store(folder / "store")) == bits(alone), "other bits")
            except BrokenError as broken:
                fault = str(broken)
                print(f"{engine}, moment {number}, {event}: {fault}", flush=True)
            yield event, left, fault


COLUMNS = ("engine", "what happened", "times", "before all units were done", "as demanded")


def record(engine: str, event: str, counts: tuple[int, ...], add: bool) -> None:
    """Add a moment's counts to the record; the first replaces the engine's earlier ones."""
    known: dict[tuple[str, str], tuple[int, ...]] = {}
    with suppress(FileNotFoundError), RECORD.open(encoding="utf-8", newline="") as file:
        known = {(row[0], row[1]): tuple(map(int, row[2:])) for row in [*csv.reader(file)][1:]}
    known = {key: earlier for key, earlier in known.items() if add or key[0] != engine}
    earlier = known.get((engine, event), (0,) * len(counts))
    known[engine, event] = tuple(map(sum, zip(earlier, counts, strict=True)))
    rows = [
        (*key, *map(str, known[key]))
        for key in sorted(known, key=lambda key: (ENGINES.index(key[0]), key[1]))
    ]
    write_csv(RECORD, COLUMNS, rows)
    moments = Counter[str]()
    for (name, _), (times, *_) in known.items():
        moments[name] += times
    head = ", ".join(f"{moments[name]} with {name}" for name in ENGINES if name in moments)
    fill(ROOT / "docs" / "trust.md", "elastic", [f"Moments: {head}.", "", *table(COLUMNS, rows)])


def main() -> int:
    """Run the suite, and record what comes of it."""
    top = argparse.ArgumentParser(description="Break runs on clusters at random moments.")
    top.add_argument("--engine", action="append", choices=ENGINES, help="default: each")
    top.add_argument("--moments", type=int, default=200, help="on each engine; default: 200")
    top.add_argument("--first", type=int, default=0, help="go on from it, and add to the record")
    top.add_argument("--seed", type=int, default=0)
    given = top.parse_args()
    wrong = 0
    for engine in given.engine or ENGINES:
        numbers = range(given.first, given.first + given.moments)
        moments = suite(engine, numbers, given.seed)
        for number, (event, left, fault) in zip(numbers, moments, strict=True):
            record(engine, event, (1, left, not fault), add=number > 0)
            wrong += bool(fault)
        print(f"{engine}: {given.moments} moments; {wrong} went wrong so far", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
