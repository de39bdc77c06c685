"""The kinds of fault: how each is brought about at a moment of a run, and what the run must do."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from scripts.demands import BrokenError, demand
from scripts.faults.mounts import can_mount, mount
from scripts.faults.runs import UNITS, Place, Run, write_experiment

STOPPED = "omtl: stopped; finished units are kept, the same command goes on from there"


@dataclass(frozen=True)
class Calm:
    """An undisturbed run: what it made, how long it took, and what room.

    Parameters
    ----------
    results : dict of str to bytes
        The files of the table.
    seconds : float
        Until the table was written; later, a fault changes nothing.
    seconds_processes : float
        Of a run on processes, to its very end: one of them may die there too.
    pages, largest : int
        Room for all files, in pages, and for the largest one of the store, in bytes.
    """

    results: dict[str, bytes]
    seconds: float
    seconds_processes: float
    pages: int
    largest: int


class TooLateError(Exception):
    """The run had ended before the fault came; another moment is drawn."""


Happen = Callable[[Place, random.Random, Calm], None]


class Fault(NamedTuple):
    """A kind of fault: its share of the moments, how it comes about, and what becomes of a run."""

    share: float
    happen: Happen
    becomes: str


def stop_by(number: signal.Signals, status: int, sentence: str) -> Happen:
    """Return the fault of a signal, after which the run must end with a status and a sentence."""

    def fault(place: Place, moments: random.Random, calm: Calm) -> None:
        run = place.start()
        if not run.sleep_until(moments.uniform(0.0, calm.seconds)):
            run.wait()
            raise TooLateError
        os.kill(run.pid, number)
        run.wait()
        if run.has_written:
            raise TooLateError
        demand(run.status == status, f"status {run.status}, not {status}: {run.errors}")
        said = [line for line in run.errors.splitlines() if line and "press again" not in line]
        demand(said == [sentence] * bool(sentence), f"said {run.errors!r}")

    return fault


def refused(run: Run) -> None:
    """Demand that a run tells that it cannot write, where and why, in one sentence."""
    if run.status == 0:
        raise TooLateError
    demand(run.status == 2, f"status {run.status}: {run.errors}")
    lines = run.errors.strip().splitlines()
    demand(len(lines) == 1 and "cannot be written (" in lines[0], f"said {run.errors!r}")


def disk_full(place: Place, moments: random.Random, calm: Calm) -> None:
    """Run on a disk too small; without the right to mount one, with files bounded in size."""
    if not can_mount():
        refused(place.run(limit=moments.randrange(1, calm.largest)))
        return
    pages = moments.randrange(8, calm.pages)
    mount(place.folder, "-t", "tmpfs", "-o", f"size={pages * 4096},mode=755", "none")
    write_experiment(place.folder)
    run = place.run()
    mount(place.folder, "-o", f"remount,size={calm.pages * 16384}")
    refused(run)


def read_only(place: Place, moments: random.Random, calm: Calm) -> None:
    """Let the folder become read-only under the run, which takes the right to mount."""
    mount(place.folder, "--bind", str(place.folder))
    run = place.start()
    run.sleep_until(moments.uniform(0.0, calm.seconds))
    while run.is_alive():
        with suppress(BrokenError):  # busy while a file is being written
            mount(place.folder, "-o", "remount,bind,ro")
            break
    run.wait()
    mount(place.folder, "-o", "remount,bind,rw")
    refused(run)


def results_a_file(place: Place, moments: random.Random, calm: Calm) -> None:
    """Put a file where the folder of results is to be."""
    results, aside = place.folder / "results" / "partial", place.folder / "aside"
    run = place.start()
    run.sleep_until(moments.uniform(0.0, calm.seconds))
    with suppress(FileNotFoundError):
        results.rename(aside)
    with suppress(IsADirectoryError):
        results.write_text("in the way")
    run.wait()
    if run.status == 0:
        raise TooLateError
    if results.is_file():
        results.unlink()
    shutil.rmtree(aside, ignore_errors=True)
    demand(len(place.stored()) == UNITS, "not all units are stored")
    refused(run)


def worker_dies(place: Place, moments: random.Random, calm: Calm) -> None:
    """Kill a worker process; the run goes on without it."""
    run = place.start("processes")
    run.sleep_until(moments.uniform(0.0, calm.seconds_processes))
    while run.is_alive() and not (workers := run.workers()):
        time.sleep(0.005)
    if not run.is_alive():
        run.wait()
        raise TooLateError
    with suppress(ProcessLookupError):
        os.kill(moments.choice(workers), signal.SIGKILL)
    run.wait()
    demand(run.status == 0, f"status {run.status}: {run.errors}")
    demand(place.results() == calm.results, "the run that lost a worker made other bytes")


FAULTS = {
    "SIGKILL": Fault(0.34, stop_by(signal.SIGKILL, -signal.SIGKILL, ""), "killed"),
    "SIGINT": Fault(0.2, stop_by(signal.SIGINT, 130, STOPPED), "one sentence, status 130"),
    "SIGTERM": Fault(0.2, stop_by(signal.SIGTERM, 143, STOPPED), "one sentence, status 143"),
    "disk full": Fault(0.1, disk_full, "one sentence, status 2"),
    "folder turns read-only": Fault(0.06, read_only, "one sentence, status 2"),
    "results folder is a file": Fault(
        0.06, results_a_file, "one sentence, status 2, all units kept"
    ),
    "a worker process dies": Fault(0.04, worker_dies, "its units begun again, status 0"),
}


def kinds_of(moments: int) -> list[str]:
    """Return the kind of each moment, by their shares; each kind that can be has one at least."""
    possible = {
        kind: fault for kind, fault in FAULTS.items() if can_mount() or fault.happen != read_only
    }
    counts = {kind: max(1, round(fault.share * moments)) for kind, fault in possible.items()}
    counts["SIGKILL"] = max(1, counts["SIGKILL"] + moments - sum(counts.values()))
    return [kind for kind, count in counts.items() for _ in range(count)]
