"""Computing units in parallel, each stored as it ends.

Workers need no store: they return what they computed, and the one process that was started stores
it at once. So the same code serves threads, processes, and clusters whose machines share no files.
"""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple

from data_fetchers.fetch import DataMissing
from omtl.compute import code_log, memory
from omtl.compute.dry_run import Planned, is_dry
from omtl.compute.engines import results
from omtl.compute.one_thread import one_thread
from omtl.compute.own_process import Apart, Lost
from omtl.compute.progress import Progress
from omtl.compute.queue import Dispatch
from omtl.compute.store import Store
from omtl.experiment import loading
from omtl.experiment.unit import Result, Unit, compute
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import kept
from omtl.util.raised import describe
from omtl.util.user_folder import VARIABLE, make_importable

DEAD = {
    "builtins": ("ConnectionError", "TimeoutError"),
    "concurrent.futures": ("BrokenExecutor", "CancelledError"),
    "joblib.externals.loky.process_executor": ("ShutdownExecutorError",),
    "distributed": ("KilledWorker",),
    "distributed.comm": ("CommClosedError",),
    "ray.exceptions": (
        "LocalRayletDiedError",
        "NodeDiedError",
        "ObjectLostError",
        "OutOfMemoryError",
        "RaySystemError",
        "TaskCancelledError",
        "WorkerCrashedError",
    ),
}
"""What engines raise where a worker has died, by their modules."""

ATTEMPTS = 3
"""How often in a row workers may die without any unit done in between."""

SYNC_SECONDS = 0.2
"""Seconds after which what was saved is brought to the disk, and reported."""

FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Failure:
    """Why a unit has no result; `missing_data` where its data set is unavailable."""

    reason: str
    missing_data: bool = False


@dataclass
class Outcome:
    """What became of the units that were asked for.

    Parameters
    ----------
    computed, reused : int
        How many were computed now, and how many were in the store.
    failed : dict of str to Failure
        By the key of each unit that failed, why.
    seconds : dict of str to float
        By the key of each unit that is stored, how long it took when it was computed.
    peaks : dict of str to float or None
        The most memory that each process that computed has held, in MiB, since the table was begun
        (`omtl.compute.memory.begin`); None where that cannot be told.
    loads : dict of str to int
        How many data sets each of them has loaded.
    """

    computed: int = 0
    reused: int = 0
    failed: dict[str, Failure] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float | None] = field(default_factory=dict)
    loads: dict[str, int] = field(default_factory=dict)

    def add(self, part: Outcome) -> None:
        """Count what became of further units."""
        self.computed += part.computed
        self.reused += part.reused
        self.failed |= part.failed
        self.seconds |= part.seconds
        for process, peak in part.peaks.items():
            self.note_peak(process, peak)
        self.loads |= part.loads

    def note_peak(self, process: str, peak: float | None) -> None:
        """Keep the largest peak of a process; None where one is not known."""
        earlier = self.peaks.get(process, 0.0)
        self.peaks[process] = None if peak is None or earlier is None else max(earlier, peak)

    @property
    def peak_mib(self) -> float | None:
        """The sum of the most that each process has held: the run has held no more at any time.

        None where that of a process is not known.
        """
        self.note_peak(this_process(), memory.peak_since())
        known = [peak for peak in self.peaks.values() if peak is not None]
        return sum(known) if len(known) == len(self.peaks) else None


@dataclass(frozen=True)
class Done:
    """What a worker returns: a unit's result or why it has none, and how the worker fares."""

    unit: Unit
    result: Result | None
    failure: Failure | None
    worker: str
    peak_mib: float | None
    loads: int


@lru_cache
def this_process() -> str:
    """Return a name of this process that no other has."""
    return f"{socket.gethostname()}:{os.getpid()}"


def why_lacking(units: Sequence[Unit], n_stored: int, failed: Mapping[str, Failure]) -> str:
    """Return why not all of these units are stored: the first one's failure, or how many are."""
    reasons = [failed[unit.key].reason for unit in units if unit.key in failed]
    return reasons[0] if reasons else f"{n_stored} of {len(units)} repeats are stored"


def worker(unit: Unit, mark: str = "", is_last: bool = True, before: Unit | None = None) -> Done:
    """Compute a unit; return its result, or the reason if it failed.

    Parameters
    ----------
    unit : Unit
    mark : str
        Since when this process's memory is measured (`omtl.compute.memory`).
    is_last : bool
        Whether it is the last one of its task, which reports the peak of them all.
    before : Unit, optional
        One of the same task that this process had the code and the files for.

    Raises
    ------
    WriteError
        If the disk is full, which no other unit would mend.
    """
    memory.follow(mark)
    result, failure = None, None
    try:
        if not (before and _made_of_the_same(unit, before)) and not unit.is_same_here():
            raise UserError(
                f"{this_process()} has other code or files than the process that asks it for "
                f"{unit.name}; bring its checkout and its data to the same state"
            )
        make_importable()
        with one_thread():
            result = compute(unit)
    except UserError as fault:
        failure = Failure(str(fault), missing_data=isinstance(fault, DataMissing))
    except SystemExit as end:
        failure = Failure(f"{unit.name}: its code asked Python to exit (status {end.code})")
    except Exception as fault:  # any fault of one unit must leave the others alone
        if isinstance(fault, OSError) and fault.errno in FULL:
            raise cannot_write(fault.filename or kept(), fault) from fault
        failure = Failure(f"{unit.name}: {describe(fault)}")
    peak = memory.peak_since() if is_last else 0.0
    return Done(unit, result, failure, this_process(), peak, loading.times_loaded())


def _made_of_the_same(unit: Unit, other: Unit) -> bool:
    """Whether two units differ in their repeat only, as far as that can be told at once."""
    parts = ("algorithm", "dataset", "protocol")
    return all(getattr(unit, part) is getattr(other, part) for part in parts)


class Asked(NamedTuple):
    """What a worker is asked to compute.

    Parameters
    ----------
    units : list of Unit
    mark : str
        Since when the worker's memory is measured (`omtl.compute.memory`).
    seconds : float or None
    mib : int or None
        Limits of each unit.
    """

    units: list[Unit]
    mark: str
    seconds: float | None
    mib: int | None


_local = threading.local()


def asked(work: Asked) -> list[Done]:
    """Compute units in a worker, one after the other."""
    dones: list[Done] = []
    with one_thread():
        for unit in work.units:
            before = dones[-1].unit if dones and dones[-1].result else None
            dones.append(one(unit, work, before))
    return dones


def one(unit: Unit, work: Asked, before: Unit | None) -> Done:
    """Compute a unit; apart, where its learner is the user's or it has a limit."""
    if work.seconds is None and work.mib is None and not unit.is_own:
        return worker(unit, work.mark, unit is work.units[-1], before)
    kind = work.mib, os.environ.get(VARIABLE)
    if getattr(_local, "kind", None) != kind or _local.apart.is_lost():
        _local.kind, _local.apart = kind, Apart(work.mib)
    try:
        return _local.apart.ask(worker, unit, work.mark, seconds=work.seconds)
    except Lost as fault:
        failure = Failure(f"{unit.name}: {fault}")
        return Done(unit, None, failure, this_process(), memory.peak_since(), 0)


def _deaths() -> tuple[type[Exception], ...]:
    """Return the exceptions of `DEAD` that can be raised: those of modules that are in use."""
    return tuple(
        getattr(sys.modules[module], name)
        for module, names in DEAD.items()
        if sys.modules.get(module) is not None  # None where its import is forbidden
        for name in names
    )


def as_done(
    units: Sequence[Unit], store: Store, parallel: Mapping[str, Any]
) -> Generator[list[Done | None], None, None]:
    """Compute units and yield those that have ended since; None for one that another run stored.

    Where a worker dies, what it worked on is computed by another.

    Raises
    ------
    UserError
        If workers die again and again, or the engine is unavailable.
    Exception
        Whatever else the engine raises, as it is: computing again would not mend it.
    """
    left = {unit.key: unit for unit in units}
    limits = {name: parallel.get(f"unit_{name}") for name in ("seconds", "mib")}
    elsewhere: list[str] = []

    def still_wanted(dispatch: Dispatch, workers: int) -> Asked | None:
        while given := dispatch.take(workers):
            store.refresh()
            stored = [unit for unit in given if store.knows(unit) and store.has(unit)]
            for unit in stored:
                elsewhere.append(unit.key)
                dispatch.meet(unit)
            if wanted := [unit for unit in given if unit not in stored] if stored else given:
                return Asked(wanted, memory.mark(), **limits)
        return None

    attempts = 0
    while left:
        dispatch = Dispatch(left.values())
        take = partial(still_wanted, dispatch)
        try:
            with closing(results(asked, take, parallel, len(left))) as stream:
                for ended in stream:
                    dones = [done for task in ended for done in task]
                    for done in dones:
                        attempts = 0
                        del left[done.unit.key]
                        took = done.result.facts["seconds"] if done.result else None
                        dispatch.meet(done.unit, took)
                    yield dones
        except Exception as fault:  # `worker` catches those of units: this is the engine's
            if not isinstance(fault, _deaths()):
                raise
            attempts += 1
            told = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
            if attempts == ATTEMPTS:
                raise UserError(
                    f"workers of {parallel['backend']} died {attempts} times with no unit "
                    f"done in between ({told}); give them more memory or fewer jobs, then run the "
                    "same command again: finished units are kept"
                ) from fault
            print(f"omtl: a worker died ({told}); its units are begun again", file=sys.stderr)
        for key in elsewhere:
            del left[key]
        yield [None] * len(elsewhere)
        elsewhere.clear()


def run(
    units: Sequence[Unit], store: Store, parallel: Mapping[str, Any], quiet: bool = False
) -> Outcome:
    """Compute the units that the store lacks.

    Parameters
    ----------
    units : sequence of Unit
        What is needed; a unit that is asked for twice is computed once.
    store : Store
        Where results are and go.
    parallel : mapping
        An option of ``conf/parallel``: its ``backend``, how many ``jobs`` (−1 for all cores), and
        the ``address`` of a cluster.
    quiet : bool
        Whether to show no progress bar.

    Raises
    ------
    WriteError
        If a result cannot be stored; those before it are.
    UserError
        If the engine is unavailable, or its workers die again and again.
    """
    wanted = list({unit.key: unit for unit in units}.values())
    store.refresh()
    stored = {
        unit.key: facts
        for unit in wanted
        if store.knows(unit) and (facts := store.facts(unit)) is not None
    }
    missing = [unit for unit in wanted if unit.key not in stored]
    outcome = Outcome(reused=len(stored))
    for told in code_log.changed(store, missing) if missing else []:
        print(f"omtl: {told}", file=sys.stderr)
    if is_dry():
        times = [facts["seconds"] for facts in stored.values() if facts]
        each = sum(times) / len(times) if times else None
        raise Planned(len(wanted), len(missing), each, int(parallel["jobs"]))
    bar = Progress(len(missing), quiet)
    saved: list[Done] = []
    synced = time.monotonic()

    def report() -> None:
        """Count what was saved, when it is on the disk."""
        nonlocal synced
        store.sync()
        for done in saved:
            assert done.result is not None
            stored[done.unit.key] = done.result.facts
        outcome.computed += len(saved)
        bar.done(len(saved), saved[-1].unit.name if saved else "")
        saved.clear()
        synced = time.monotonic()

    with bar, closing(as_done(missing, store, parallel)) as stream:
        try:
            for ended in stream:
                for done in ended:
                    if done is None:
                        outcome.reused += 1
                    elif done.result is None:
                        assert done.failure is not None
                        outcome.failed[done.unit.key] = done.failure
                    else:
                        store.save(done.unit, done.result)
                        saved.append(done)
                    if done is not None:
                        outcome.note_peak(done.worker, done.peak_mib)
                        outcome.loads[done.worker] = done.loads
                    if done is None or done.result is None:
                        bar.done()
                if saved and (not ended or time.monotonic() - synced > SYNC_SECONDS):
                    report()
        finally:
            report()
    for unit in missing:
        if unit.key not in stored and unit.key not in outcome.failed:  # another run was faster
            stored[unit.key] = store.facts(unit) or {}
    outcome.seconds = {key: facts["seconds"] for key, facts in stored.items() if facts}
    return outcome
