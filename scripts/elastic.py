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
import io
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

from omtl.compute import parallel_jobs
from omtl.compute.progress import Progress
from omtl.compute.segments import scan
from omtl.compute.store import Store
from omtl.experiment.config import load_option, resolve_jobs
from omtl.experiment.unit import Unit, compute
from omtl.tables.plan import Experiment
from omtl.util.files import write_whole
from omtl.util.signals import ended
from scripts.in_page import fill, table

ROOT = Path(__file__).resolve().parents[1]
UNITS = 60
PATIENCE = 300.0
"""Seconds after which a run counts as hanging."""

ENGINES = ("threads", "processes", "dask", "ray")
EVENTS = ("a worker joins", "a worker is killed", "the scheduler is killed")
STOPS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)


def units() -> list[Unit]:
    """Return units that take some milliseconds each."""
    reading: dict[str, Any] = {"name": "as_written", "answers": {}}
    experiment = Experiment.compose("pm", "random_walk", "rounds", None, reading)
    experiment.dataset["options"] |= {"n_examples": 3000, "n_features": 50, "n_tasks": 8}
    return experiment.repeats(0, UNITS)


def nap(seconds: float) -> int:
    """Sleep; return the number of the process."""
    time.sleep(seconds)
    return os.getpid()


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _started(*words: str, **more: Any) -> subprocess.Popen[Any]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **more.pop("environment", {})}
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=ROOT,
        env=environment,
        stdout=more.pop("stdout", subprocess.DEVNULL),
        stderr=more.pop("stderr", subprocess.DEVNULL),
        **more,
    )


class DaskCluster:
    """A scheduler of dask and workers with a thread each, which are processes of their own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[Any]] = []
        self.begin()

    def begin(self) -> None:
        """Start the scheduler."""
        words = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
        self.scheduler = _started("-m", "distributed.cli.dask_scheduler", *words)

    def join(self) -> int:
        """Start a worker; return the number of its process."""
        words = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1")
        words += ("--death-timeout", "60")
        self.workers.append(_started("-m", "distributed.cli.dask_worker", self.address, *words))
        return self.workers[-1].pid

    def leave(self) -> None:
        """Kill the worker that is there longest."""
        if self.workers:
            self.workers[0].kill()
            self.workers.pop(0).wait()

    def fall(self) -> None:
        """Kill the scheduler, whose workers then end."""
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


def client(engine: str, address: str, folder: Path) -> int:
    """Compute the units that a store lacks; note in a file how many are reported as done."""

    class Told(Progress):
        def done(self, n: int = 1, name: str = "") -> None:
            with (folder / "told").open("a") as file:
                file.write(f"{n}\n")
            super().done(n, name)

    parallel_jobs.Progress = Told  # type: ignore[misc]
    parallel = resolve_jobs(load_option("parallel", engine), 2)
    if address:
        parallel["address"] = address

    def job() -> int:
        outcome = parallel_jobs.run(units(), Store(folder / "store"), parallel, quiet=True)
        print(json.dumps({"computed": outcome.computed, "failed": len(outcome.failed)}))
        return 0

    return ended(job)


class Run:
    """A client that is under way."""

    def __init__(self, engine: str, address: str, folder: Path) -> None:
        (folder / "told").write_text("")
        self.folder = folder
        self._err = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the run
        self.process = _started(
            *("-m", "scripts.elastic", "--client", str(folder), "--engine", engine),
            *("--address", address),
            stdout=subprocess.PIPE,
            stderr=self._err,
            text=True,
        )

    def told(self) -> int:
        """Return how many units it has reported as done."""
        return sum(int(float(line)) for line in (self.folder / "told").read_text().split())

    def wait_for(self, count: int) -> None:
        """Wait until it has reported so many units, or has ended."""
        until = time.monotonic() + PATIENCE
        while self.told() < count and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)

    def wait(self) -> int:
        """Return the status, when it has ended."""
        try:
            self.out, _ = self.process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.out, _ = self.process.communicate()
        self._err.seek(0)
        self.err = self._err.read()
        return self.process.returncode


def stored(folder: Path) -> dict[str, tuple[str, int]]:
    """Return where each stored unit is."""
    found = {}
    for path in sorted((folder / "store").glob("*.units")):
        for record in scan(path):
            found[record.key.hex()] = path.name, record.begin
    return found


class BrokenError(Exception):
    """Something that must hold does not."""


def demand(holds: bool, what: str) -> None:
    """Raise `BrokenError` if something does not hold."""
    if not holds:
        raise BrokenError(what)


def events_of(engine: str) -> list[str]:
    """Return what may happen to a run by an engine."""
    return [*(EVENTS if engine in CLUSTERS else ()), *(stop.name for stop in STOPS)]


def moment(event: str, engine: str, cluster: Any, drawn: random.Random, folder: Path) -> None:
    """Break a run, let it end, and demand what must hold.

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
        run.process.send_signal(signal.Signals[event])
    status = run.wait()
    kept, told = stored(folder), run.told()
    demand(len(kept) >= told, f"{told} were reported as done, {len(kept)} are stored")
    demand("Traceback" not in run.err, f"said {run.err!r}")
    if event == "the scheduler is killed":
        demand(status in (0, 2), f"status {status}: {run.err}")
        cluster.begin()
    elif not stopped:
        demand(status == 0, f"status {status}: {run.err}")
    if engine in CLUSTERS and not cluster.workers:
        cluster.join()
    again = Run(engine, cluster.address, folder)
    demand(again.wait() == 0, f"went on with status {again.process.returncode}: {again.err}")
    computed = json.loads(again.out.splitlines()[-1])["computed"]
    demand(computed == UNITS - len(kept), f"computed {computed}, {len(kept)} were stored")
    now = stored(folder)
    demand(len(now) == UNITS, f"{len(now)} units are stored")
    demand(all(now[key] == place for key, place in kept.items()), "stored units were written again")


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


def suite(engine: str, moments: int, seed: int, tell: Any = print) -> list[tuple[str, str]]:
    """Break runs of an engine at so many moments; return what happened, and what went wrong."""
    found = []
    with tempfile.TemporaryDirectory() as name, cluster_of(engine) as cluster:
        alone = Store(Path(name) / "alone")
        for unit in units():
            alone.save(unit, compute(unit))
        for number in range(moments):
            folder = Path(name) / str(number)
            folder.mkdir()
            drawn, fault = random.Random(f"{seed} {number}"), ""
            event = drawn.choice(events_of(engine))
            try:
                moment(event, engine, cluster, drawn, folder)
                demand(bits(Store(folder / "store")) == bits(alone), "other bits")
            except BrokenError as broken:
                fault = str(broken)
                tell(f"{engine}, moment {number}: {fault}")
            found.append((event, fault))
    return found


COLUMNS = ("engine", "what happened", "times", "as demanded")


def main() -> int:
    """Run the suite, and write what came of it if nothing went wrong."""
    top = argparse.ArgumentParser(description="Break runs on clusters at random moments.")
    top.add_argument("--engine", action="append", choices=ENGINES, help="default: each")
    top.add_argument("--moments", type=int, default=200, help="on each engine; default: 200")
    top.add_argument("--seed", type=int, default=0)
    top.add_argument("--client", type=Path, help=argparse.SUPPRESS)
    top.add_argument("--address", default="", help=argparse.SUPPRESS)
    given = top.parse_args()
    if given.client:
        return client(given.engine[0], given.address, given.client)
    rows, wrong = [], 0
    for engine in given.engine or ENGINES:
        found = suite(engine, given.moments, given.seed)
        wrong += sum(bool(fault) for _, fault in found)
        good = Counter(event for event, fault in found if not fault)
        rows += [
            (engine, event, str(times), str(good[event]))
            for event, times in sorted(Counter(event for event, _ in found).items())
        ]
        print(*rows, sep="\n", flush=True)
    if not wrong:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
        write_whole(ROOT / "results" / "trust" / "elastic.csv", text.getvalue())
        head = f"{given.moments} moments on each engine, drawn with seed {given.seed}:"
        fill(ROOT / "docs" / "trust.md", "elastic", [head, "", *table(COLUMNS, rows)])
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
