"""The kinds of faults, each brought about at a random moment, and what must hold after it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from omtl.compute.store import FILE
from omtl.util.status import INTERRUPTED, TERMINATED, WRONG_USE
from scripts.faults.runs import CLUSTERS, UNITS, Place, Run, demand

STATUS = {"SIGKILL": -signal.SIGKILL, "SIGINT": INTERRUPTED, "SIGTERM": TERMINATED}
STOPPED = "stopped; finished units are kept"


@dataclass
class Ground:
    """What a moment needs.

    Parameters
    ----------
    folder : Path
        An empty one.
    compiled : Path
        The folder of compiled code.
    calm : dict of str to bytes
        The files of an undisturbed run.
    engine : str
    cluster : DaskCluster or RayCluster, optional
    drawn : random.Random
    """

    folder: Path
    compiled: Path
    calm: dict[str, bytes]
    engine: str
    cluster: Any
    drawn: random.Random

    def place(self, name: str = "place", home: Path | None = None) -> Place:
        """Return a new place."""
        return Place(self.folder / name, self.compiled, home)

    def start(self, place: Place, **harm: int) -> Run:
        """Begin a run on the engine, on some workers."""
        while self.cluster and len(self.cluster.workers) < 1:
            self.cluster.join()
        return place.start(self.engine, self.cluster.address if self.cluster else "", **harm)

    def moment(self) -> float:
        """Return a moment for `Run.sleep_until`: one of the start, or when some units are done."""
        return self.drawn.uniform(-0.5, 0.0) if self.drawn.random() < 0.2 else self.drawn.random()

    def resume(self, place: Place) -> None:
        """Run again; all must be as if nothing had happened, and no unit computed twice."""
        kept = place.stored()
        self.start(place).ends()
        demand(place.results() == self.calm, "went on to other bytes")
        now, computed = place.stored(), place.computed()
        demand(len(now) == UNITS, f"{len(now)} of {UNITS} units are stored")
        demand(computed == UNITS - len(kept), f"computed {computed}, {len(kept)} were stored")
        demand(kept.items() <= now.items(), "stored units changed")
        demand(not place.left_over(), f"left over: {place.left_over()}")


def stop(name: str) -> Callable[[Ground], bool]:
    """Return the fault of a signal."""

    def fault(ground: Ground) -> bool:
        place = ground.place()
        run = ground.start(place)
        run.sleep_until(ground.moment())
        time.sleep(ground.drawn.uniform(0.0, 0.05))
        run.signal(signal.Signals[name])
        run.ends(STATUS[name], says=STOPPED)
        is_broken = len(place.stored()) < UNITS
        ground.resume(place)
        return is_broken

    return fault


def worker_joins(ground: Ground) -> bool:
    """Begin without workers, as in the queue of a cluster."""
    while ground.cluster.workers:
        ground.cluster.leave()
    place = ground.place()
    run = place.start(ground.engine, ground.cluster.address)
    time.sleep(ground.drawn.uniform(0.0, 2.0))
    ground.cluster.join()
    run.sleep_until(ground.drawn.random())
    ground.cluster.join()
    run.ends()
    ground.resume(place)
    return True


def worker_dies(ground: Ground) -> bool:
    """Kill a worker; others do its units."""
    place = ground.place()
    run = ground.start(place)
    run.sleep_until(ground.drawn.random())
    if ground.cluster:
        ground.cluster.leave()
        ground.cluster.join()
    else:
        workers = run.workers()
        while run.is_alive() and not workers:
            time.sleep(0.005)
            workers = run.workers()
        if workers:
            with suppress(ProcessLookupError):
                os.kill(ground.drawn.choice(workers), signal.SIGKILL)
    is_broken = run.is_alive()
    run.ends()
    ground.resume(place)
    return is_broken


def scheduler_dies(ground: Ground) -> bool:
    """Kill the scheduler and all workers; the run says so, and a new scheduler goes on."""
    place = ground.place()
    run = ground.start(place)
    run.sleep_until(ground.moment())
    ground.cluster.fall()
    is_broken = run.ends(WRONG_USE, says="is gone; start it again|no cluster of")
    ground.cluster.begin()
    ground.resume(place)
    return is_broken


@cache
def can_mount() -> bool:
    """Whether this process may mount a disk of its own."""
    return not subprocess.run(
        ["unshare", "--mount", "true"], check=False, capture_output=True
    ).returncode


def disk_fills_up(ground: Ground) -> bool:
    """Run on a disk with too little room at any of the writes, and make room.

    Without the right to mount one, files are limited in size.
    """
    place = ground.place()
    calm = ground.place("calm")
    ground.start(calm).ends()
    sizes = [path.stat().st_size for path in calm.folder.rglob("*") if path.is_file()]
    if not can_mount():
        run = ground.start(place, most_bytes=ground.drawn.randrange(4096, max(sizes)))
        run.wait()
    else:
        pages = sum(1 + size // 4096 for size in sizes)
        room = ground.drawn.randrange(8, 2 * pages)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={4096 * room}", "none", str(place.folder)]
        subprocess.run(mount, check=True)
        place.write_experiment()
        run = ground.start(place)
        run.wait()
        more = ["mount", "-o", f"remount,size={2**28}", str(place.folder)]
        subprocess.run(more, check=True)
    try:
        is_broken = run.ends(WRONG_USE, says="make room")
        ground.resume(place)
    finally:
        if can_mount():
            subprocess.run(["umount", "--lazy", str(place.folder)], check=True)
    return is_broken


def killed_between_files(ground: Ground) -> bool:
    """Kill the run between two files of results: each is there whole, or not at all."""
    place = ground.place()
    run = ground.start(place, files=ground.drawn.randrange(len(ground.calm)))
    demand(run.ends(-signal.SIGKILL), "it was not killed")
    written = place.results().items()
    demand(written <= ground.calm.items(), "a file is not whole")
    ground.resume(place)
    return len(written) < len(ground.calm)


def two_versions(ground: Ground) -> bool:
    """Two versions of a learner's code on one store at once: neither takes the other's units."""
    home = ground.folder / "home"
    changes = ("", ""), ("(self.eta * y", "(0.5 * self.eta * y")
    places, alone = [], []
    for number, change in enumerate(changes):
        own = ground.place(f"alone{number}")
        places.append(ground.place(f"version{number}", home))
        for place in (own, places[-1]):
            place.write_learner(*change)
        ground.start(own).ends()
        alone.append(own.results())
    demand(alone[0] != alone[1], "both versions learn alike")
    for computed in (None, 0):
        runs = [ground.start(place) for place in places]
        for run, place, results in zip(runs, places, alone, strict=True):
            run.ends()
            demand(place.results() == results, "other bytes")
            demand(computed in (None, place.computed()), f"computed {place.computed()} again")
    return True


def two_runs(ground: Ground) -> bool:
    """Run the command twice at once on one store, and kill one of them."""
    home = ground.folder / "home"
    places = [ground.place(name, home) for name in ("one", "other")]
    one, other = [ground.start(place) for place in places]
    is_broken = one.sleep_until(ground.moment())
    if ground.drawn.random() < 0.5:
        one.signal(signal.SIGKILL)
    other.ends()
    demand(places[1].results() == ground.calm, "two at once made other bytes")
    one.wait()
    ground.resume(places[0])
    return is_broken


def byte_changes(ground: Ground) -> bool:
    """Change a byte of the store: no result is taken from it, and all others are kept."""
    place = ground.place()
    ground.start(place).wait()
    path = place.home / "store" / FILE
    content = bytearray(path.read_bytes())
    at = ground.drawn.randrange(len(content))
    content[at] ^= 1 << ground.drawn.randrange(8)
    path.write_bytes(content)
    run = ground.start(place)
    run.ends()
    demand(place.results() == ground.calm, f"byte {at}: other bytes")
    demand(not place.computed() or "damaged" in run.said(), f"byte {at}: said {run.said()!r}")
    ground.resume(place)
    return True


EVERYWHERE, ELSEWHERE = ("threads", "processes", *CLUSTERS), tuple(CLUSTERS)

KINDS: dict[str, tuple[Callable[[Ground], bool], tuple[str, ...]]] = {
    **{name: (stop(name), EVERYWHERE) for name in STATUS},
    "worker-joins": (worker_joins, ELSEWHERE),
    "worker-dies": (worker_dies, ("processes", *ELSEWHERE)),
    "scheduler-dies": (scheduler_dies, ELSEWHERE),
    "disk-fills-up": (disk_fills_up, ("threads",)),
    "killed-between-files": (killed_between_files, ("threads",)),
    "two-versions": (two_versions, ("threads",)),
    "two-runs": (two_runs, ("threads", "processes")),
    "byte-changes": (byte_changes, ("threads",)),
}
"""Each kind of fault: what brings it about, and the engines on which it can come about."""
