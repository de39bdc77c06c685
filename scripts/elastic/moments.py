"""Moments at which something happens to a run or its cluster, and what must hold after each."""

from __future__ import annotations

import json
import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from omtl.compute.store import Store
from omtl.experiment.playing import compute
from scripts.demands import BrokenError, demand, stored
from scripts.elastic.client import UNITS, client, start, units
from scripts.elastic.clusters import CLUSTERS, cluster_of

PATIENCE = 300.0
"""Seconds after which a run counts as hanging."""

EVENTS = ("a worker joins", "a worker is killed", "the scheduler is killed")
STOPS = ("SIGKILL", "SIGINT", "SIGTERM")


class Run:
    """A client that is under way."""

    def __init__(self, engine: str, address: str, folder: Path) -> None:
        for name in ("reported", "err"):
            (folder / name).write_text("")
        self.folder = folder
        self.process = start(client, engine, address, folder, err=folder / "err")

    def reported(self) -> int:
        """Return how many units it has reported as done."""
        return sum(int(line) for line in (self.folder / "reported").read_text().split())

    def wait_for(self, count: int) -> None:
        """Wait until it has reported so many units, or has ended."""
        until = time.monotonic() + PATIENCE
        while self.reported() < count and self.process.is_alive() and time.monotonic() < until:
            time.sleep(0.005)

    def wait(self) -> int:
        """Return the status, when it has ended; one that does not end is killed."""
        self.process.join(PATIENCE)
        self.process.kill()
        self.process.join()
        self.err = (self.folder / "err").read_text()
        return self.process.exitcode


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
        time.sleep(drawn.uniform(0.0, 0.2))
    left = run.reported() < UNITS
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
    kept, reported = stored(folder / "store"), run.reported()
    demand(len(kept) >= reported, f"{reported} were reported as done, {len(kept)} are stored")
    demand("Traceback" not in run.err, f"said {run.err!r}")
    if event == "the scheduler is killed":
        explained = "is gone; start it again" in run.err or "no cluster of" in run.err
        demand(status == 0 or (status == 2 and explained), f"status {status}: {run.err}")
        cluster.begin()
    elif event in EVENTS:
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
            event = drawn.choice((*EVENTS, *STOPS) if engine in CLUSTERS else STOPS)
            try:
                left = moment(event, engine, cluster, drawn, folder)
                demand(bits(Store(folder / "store")) == bits(alone), "other bits")
            except BrokenError as broken:
                fault = str(broken)
                print(f"{engine}, moment {number}, {event}: {fault}", flush=True)
            yield event, left, fault
