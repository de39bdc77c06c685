"""Computing units in parallel, each stored as it ends.

Workers need no store: they return their results, and the main process stores them at once. So the
same code serves threads, processes, and clusters whose machines share no files.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from omtl.compute import code_log, memory
from omtl.compute.dry_run import Planned, is_dry
from omtl.compute.engines import results
from omtl.compute.progress import Progress
from omtl.compute.queue import Dispatch
from omtl.compute.store import Store
from omtl.compute.worker import Done, Failure, Work, compute_all, this_process
from omtl.experiment.loading import notes_on
from omtl.experiment.unit import Unit
from omtl.util.errors import UserError

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
"""Exceptions that engines raise when a worker has died, by module."""

ATTEMPTS = 3
"""Number of times in a row that workers may die without a finished unit in between."""

_TOLD: set[str] = set()

SYNC_SECONDS = 0.2
"""Seconds after which saved results are flushed to disk and reported."""


@dataclass
class Outcome:
    """The outcome of the requested units.

    Parameters
    ----------
    computed, reused : int
        Number of units computed now, and number found in the store.
    failed : dict of str to Failure
        The failures, by the unit's key.
    seconds : dict of str to float
        The duration of each stored unit when it was computed, by key.
    peaks : dict of str to float or None
        Peak memory of each computing process, in MiB, since the start of the table
        (`omtl.compute.memory.begin`); None if unknown.
    loads : dict of str to int
        Number of data sets that each of them has loaded.
    """

    computed: int = 0
    reused: int = 0
    failed: dict[str, Failure] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    peaks: dict[str, float | None] = field(default_factory=dict)
    loads: dict[str, int] = field(default_factory=dict)

    def add(self, part: Outcome) -> None:
        """Add the outcomes of further units."""
        self.computed += part.computed
        self.reused += part.reused
        self.failed |= part.failed
        self.seconds |= part.seconds
        for process, peak in part.peaks.items():
            self.note_peak(process, peak)
        self.loads |= part.loads

    def note_peak(self, process: str, peak: float | None) -> None:
        """Keep the largest peak of a process; None if one is unknown."""
        earlier = self.peaks.get(process, 0.0)
        self.peaks[process] = None if peak is None or earlier is None else max(earlier, peak)

    @property
    def is_broken(self) -> bool:
        """Whether a unit failed for another reason than missing data."""
        return any(not failure.missing_data for failure in self.failed.values())

    @property
    def peak_mib(self) -> float | None:
        """The sum of the processes' peaks: an upper bound on the run's memory.

        None if that of a process is unknown.
        """
        self.note_peak(this_process(), memory.peak_since())
        known = [peak for peak in self.peaks.values() if peak is not None]
        return sum(known) if len(known) == len(self.peaks) else None


def why_lacking(
    units: Sequence[Unit], n_stored: int, failed: Mapping[str, Failure], known: str = ""
) -> str:
    """Return why not all of these units are stored: a failure, a known reason, or the number."""
    reasons = [failed[unit.key].reason for unit in units if unit.key in failed] if failed else []
    return next(iter(reasons), known) or f"{n_stored} of {len(units)} repeats are stored"


def _deaths() -> tuple[type[Exception], ...]:
    """Return the exceptions of `DEAD` from modules that are in use."""
    return tuple(
        getattr(sys.modules[module], name)
        for module, names in DEAD.items()
        if sys.modules.get(module) is not None  # None if its import is blocked
        for name in names
    )


def as_done(
    units: Sequence[Unit], store: Store, parallel: Mapping[str, Any]
) -> Generator[list[Done | None], None, None]:
    """Compute units and yield finished ones; None for one stored by another run.

    If a worker dies, another one computes its units.

    Raises
    ------
    UserError
        If workers die again and again, or the engine is unavailable.
    Exception
        Any other exception of the engine: computing again would not help.
    """
    left = {unit.key: unit for unit in units}
    limits = {name: parallel.get(f"unit_{name}") for name in ("seconds", "mib")}
    elsewhere: list[str] = []

    def take(workers: int) -> Work | None:
        """Return the next units that no other run has stored."""
        while given := dispatch.take(workers):
            store.refresh()
            stored = [unit for unit in given if store.knows(unit) and store.has(unit)]
            for unit in stored:
                elsewhere.append(unit.key)
                dispatch.meet(unit)
            if wanted := [unit for unit in given if unit not in stored] if stored else given:
                return Work(wanted, memory.mark(), **limits)
        return None

    attempts = 0
    while left:
        dispatch = Dispatch(left.values())
        try:
            with closing(results(compute_all, take, parallel, len(left))) as stream:
                for ended in stream:
                    dones = [done for task in ended for done in task]
                    for done in dones:
                        attempts = 0
                        del left[done.unit.key]
                        took = done.result.facts["seconds"] if done.result else None
                        dispatch.meet(done.unit, took)
                    yield dones
        except Exception as fault:  # `compute_all` catches those of units: this is the engine's
            if not isinstance(fault, _deaths()):
                raise
            attempts += 1
            cause = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
            if attempts == ATTEMPTS:
                raise UserError(
                    f"workers of {parallel['backend']} died {attempts} times without "
                    f"finishing a unit in between ({cause}); give them more memory or fewer jobs, "
                    "then run the same command again: finished units are kept"
                ) from fault
            print(f"omtl: a worker died ({cause}); its units are reassigned", file=sys.stderr)
        for key in elsewhere:
            del left[key]
        yield [None] * len(elsewhere)
        elsewhere.clear()


class _Saving:
    """Results on their way into the store: several are flushed to disk at a time.

    Only then are they counted and reported as done.
    """

    def __init__(self, store: Store, bar: Progress, outcome: Outcome) -> None:
        self._store, self._bar, self._outcome = store, bar, outcome
        self._saved: list[Done] = []
        self._synced = time.monotonic()

    def take(self, done: Done | None) -> None:
        """Save a result, or count a failed unit; None means that another run has stored it."""
        if done is None:
            self._outcome.reused += 1
            self._bar.done()
            return
        self._outcome.note_peak(done.worker, done.peak_mib)
        self._outcome.loads[done.worker] = done.loads
        if done.result is None:
            assert done.failure is not None
            self._outcome.failed[done.unit.key] = done.failure
            self._bar.done()
        else:
            self._store.save(done.unit, done.result)
            self._saved.append(done)

    def is_due(self, idle: bool) -> bool:
        """Whether to flush saved results: nothing else to do, or it is time."""
        return bool(self._saved) and (idle or time.monotonic() - self._synced > SYNC_SECONDS)

    def sync(self) -> None:
        """Flush saved results to disk, and report them."""
        self._store.sync()
        for done in self._saved:
            assert done.result is not None
            self._outcome.seconds[done.unit.key] = done.result.facts["seconds"]
        self._outcome.computed += len(self._saved)
        self._bar.done(len(self._saved), self._saved[-1].unit.name if self._saved else "")
        self._saved.clear()
        self._synced = time.monotonic()


def _tell_notes(units: Sequence[Unit]) -> None:
    """Print what the user should know of their own tables, once in this process."""
    for dataset in {unit.dataset["name"]: unit.dataset for unit in units}.values():
        for note in notes_on(dataset):
            if note not in _TOLD:
                _TOLD.add(note)
                print(f"omtl: {note}", file=sys.stderr)


def run(
    units: Sequence[Unit], store: Store, parallel: Mapping[str, Any], quiet: bool = False
) -> Outcome:
    """Compute the units that are missing from the store.

    Parameters
    ----------
    units : sequence of Unit
        The required units; a unit requested twice is computed once.
    store : Store
        The store of results.
    parallel : mapping
        An option of ``conf/parallel``: its ``backend``, how many ``jobs`` (−1 for all cores), and
        the ``address`` of a cluster.
    quiet : bool
        Whether to show no progress bar.

    Raises
    ------
    WriteError
        If a result cannot be stored; earlier ones are.
    UserError
        If the engine is unavailable, or its workers die again and again.
    """
    wanted = list({unit.key: unit for unit in units}.values())
    store.refresh()
    seconds = {
        unit.key: facts["seconds"]
        for unit in wanted
        if store.knows(unit) and (facts := store.facts(unit)) is not None
    }
    missing = [unit for unit in wanted if unit.key not in seconds]
    for change in code_log.changed(store, missing) if missing else []:
        print(f"omtl: {change}", file=sys.stderr)
    if is_dry():
        each = sum(seconds.values()) / len(seconds) if seconds else None
        raise Planned(len(wanted), len(missing), each, int(parallel["jobs"]))
    _tell_notes(missing)
    outcome = Outcome(reused=len(seconds), seconds=seconds)
    with Progress(len(missing), quiet) as bar, closing(as_done(missing, store, parallel)) as stream:
        saving = _Saving(store, bar, outcome)
        try:
            for ended in stream:
                for done in ended:
                    saving.take(done)
                if saving.is_due(idle=not ended):
                    saving.sync()
        finally:
            saving.sync()
    for unit in missing:  # another run may have stored some first
        known = unit.key in outcome.seconds or unit.key in outcome.failed
        if not known and (facts := store.facts(unit)) is not None:
            outcome.seconds[unit.key] = facts["seconds"]
    return outcome
