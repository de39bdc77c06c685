"""The kinds of faults, each brought about at a random moment, and what must hold after it."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from omtl.compute.store import FILE
from omtl.util.ending import INTERRUPTED, TERMINATED, WRONG_USE
from scripts.faults.runs import CLUSTERS, UNITS, Place, Run

STOPPED = "stopped; finished units are kept"


@dataclass
class Ground:
    """What a moment needs.

    Parameters
    ----------
    folder : Path
        An empty one.
    calm : Place
        That of an undisturbed run.
    engine : str
    cluster : DaskCluster or RayCluster, optional
    drawn : random.Random
    undo : ExitStack
        What is done at the end of the moment.
    """

    folder: Path
    calm: Place
    engine: str
    cluster: Any
    drawn: random.Random
    undo: ExitStack

    def place(self, name: str, home: Path | None = None) -> Place:
        """Return a new place."""
        return Place(self.folder / name, home)

    def start(self, place: Place, files: int | None = None) -> Run:
        """Begin a run on the engine, on some workers."""
        if self.cluster and not self.cluster.workers:
            self.cluster.join()
        return place.start(self.engine, self.cluster.address if self.cluster else "", files)

    def sleep(self, run: Run) -> bool:
        """Wait for a moment of the start, or for some units; return whether the run is alive."""
        if self.drawn.random() < 0.2:
            time.sleep(self.drawn.uniform(0.0, 0.5))
        else:
            run.sleep_until(self.drawn.random())
        return run.is_alive()

    def resume(self, place: Place) -> None:
        """Run again; all must be as if nothing had happened, and no unit computed twice."""
        kept = place.stored()
        self.start(place).ends()
        assert place.results() == self.calm.results(), "went on to other bytes"
        now, computed = place.stored(), place.computed()
        assert len(now) == UNITS, f"{len(now)} of {UNITS} units are stored"
        assert computed == UNITS - len(kept), f"computed {computed}, {len(kept)} were stored"
        assert kept.items() <= now.items(), "stored units changed"
        assert not place.left_over(), f"left over: {place.left_over()}"


def stop(ground: Ground, place: Place, number: int, status: int) -> bool:
    """Send the run a signal."""
    run = ground.start(place)
    ground.sleep(run)
    time.sleep(ground.drawn.uniform(0.0, 0.05))
    run.process.send_signal(number)
    run.ends(status, says=STOPPED)
    return len(place.stored()) < UNITS


def worker_joins(ground: Ground, place: Place) -> bool:
    """Begin without workers, as in the queue of a cluster."""
    while ground.cluster.workers:
        ground.cluster.leave()
    run = place.start(ground.engine, ground.cluster.address)
    time.sleep(ground.drawn.uniform(0.0, 2.0))
    ground.cluster.join()
    run.sleep_until(ground.drawn.random())
    ground.cluster.join()
    run.ends()
    return True


def worker_dies(ground: Ground, place: Place) -> bool:
    """Kill a worker; others do its units."""
    run = ground.start(place)
    run.sleep_until(ground.drawn.random())
    if ground.cluster:
        ground.cluster.leave()
        ground.cluster.join()
    else:
        while run.is_alive() and not run.workers():
            time.sleep(0.005)
        # None is left where the run has ended, or the one that was there a moment ago.
        with suppress(ProcessLookupError, IndexError):
            os.kill(ground.drawn.choice(run.workers()), signal.SIGKILL)
    is_broken = run.is_alive()
    run.ends()
    return is_broken


def scheduler_dies(ground: Ground, place: Place) -> bool:
    """Kill the scheduler and all workers; the run says so, and a new scheduler goes on."""
    run = ground.start(place)
    ground.sleep(run)
    ground.cluster.fall()
    is_broken = run.ends(WRONG_USE, says="is gone; start it again|no cluster of")
    ground.cluster.begin()
    return is_broken


def disk_fills_up(ground: Ground, place: Place) -> bool:
    """Run on a disk with too little room at any of the writes, and make room.

    Without the right to mount one, files are limited in size.
    """
    sizes = [path.stat().st_size for path in ground.calm.folder.rglob("*") if path.is_file()]
    may_mount = ["unshare", "--mount", "true"]
    if subprocess.run(may_mount, check=False, capture_output=True).returncode:
        run = ground.start(place)
        most = (ground.drawn.randrange(4096, max(sizes)),) * 2
        resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, most)
        return run.ends(WRONG_USE, says="make room")
    room = 4096 * ground.drawn.randrange(8, 2 * sum(1 + size // 4096 for size in sizes))
    disk = str(place.folder)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "none", disk], check=True)
    ground.undo.callback(subprocess.run, ["umount", "--lazy", disk], check=True)
    place.write_experiment()
    run = ground.start(place)
    run.wait()
    subprocess.run(["mount", "-o", f"remount,size={2**28}", disk], check=True)
    return run.ends(WRONG_USE, says="make room")


def killed_between_files(ground: Ground, place: Place) -> bool:
    """Kill the run between two files of results: each is there whole, or not at all."""
    calm = ground.calm.results()
    run = ground.start(place, files=ground.drawn.randrange(len(calm)))
    assert run.ends(-signal.SIGKILL), "it was not killed"
    written = place.results().items()
    assert written <= calm.items(), "a file is not whole"
    return len(written) < len(calm)


def two_versions(ground: Ground, place: Place) -> bool:  # noqa: ARG001
    """Two versions of a learner's code on one store at once: neither takes the other's units."""
    changes = ("", ""), ("(self.eta * y", "(0.5 * self.eta * y")
    places, alone = [], []
    for number, change in enumerate(changes):
        own = ground.place(f"alone{number}")
        places.append(ground.place(f"version{number}", ground.folder / "home"))
        for each in (own, places[-1]):
            each.write_learner(*change)
        ground.start(own).ends()
        alone.append(own.results())
    assert alone[0] != alone[1], "both versions learn alike"
    for is_again in (False, True):
        runs = [ground.start(each) for each in places]
        for run, each, results in zip(runs, places, alone, strict=True):
            run.ends()
            assert each.results() == results, "other bytes"
            assert not (is_again and each.computed()), f"computed {each.computed()} again"
    return True


def two_runs(ground: Ground, place: Place) -> bool:
    """Run the command twice at once on one store, and kill one of them."""
    other = ground.place("other", place.home)
    runs = [ground.start(each) for each in (place, other)]
    is_broken = ground.sleep(runs[0])
    if ground.drawn.random() < 0.5:
        runs[0].process.kill()
    runs[1].ends()
    assert other.results() == ground.calm.results(), "two at once made other bytes"
    runs[0].wait()
    return is_broken


def byte_changes(ground: Ground, place: Place) -> bool:
    """Change a byte of the store: no result is taken from it, and all others are kept."""
    ground.start(place).wait()
    path = place.home / "store" / FILE
    content = bytearray(path.read_bytes())
    at = ground.drawn.randrange(len(content))
    content[at] ^= 1 << ground.drawn.randrange(8)
    path.write_bytes(content)
    run = ground.start(place)
    run.ends()
    assert place.results() == ground.calm.results(), f"byte {at}: other bytes"
    assert not place.computed() or "damaged" in run.said(), f"byte {at}: said {run.said()!r}"
    return True


EVERYWHERE, ELSEWHERE = ("threads", "processes", *CLUSTERS), tuple(CLUSTERS)

KINDS: dict[str, tuple[Callable[[Ground, Place], bool], tuple[str, ...]]] = {
    "SIGKILL": (partial(stop, number=signal.SIGKILL, status=-signal.SIGKILL), EVERYWHERE),
    "SIGINT": (partial(stop, number=signal.SIGINT, status=INTERRUPTED), EVERYWHERE),
    "SIGTERM": (partial(stop, number=signal.SIGTERM, status=TERMINATED), EVERYWHERE),
    "worker-joins": (worker_joins, ELSEWHERE),
    "worker-dies": (worker_dies, ("processes", *ELSEWHERE)),
    "scheduler-dies": (scheduler_dies, ELSEWHERE),
    "disk-fills-up": (disk_fills_up, ("threads",)),
    "killed-between-files": (killed_between_files, ("threads",)),
    "two-versions": (two_versions, ("threads",)),
    "two-runs": (two_runs, ("threads", "processes")),
    "byte-changes": (byte_changes, ("threads",)),
}
"""Each kind of fault: what brings it about in a run, and the engines on which it can come about."""
