"""Computing the units that the store lacks, each stored as it ends.

Workers (`omtl.compute.workers`) need no store: they return results, and the process that hands out
units stores them.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import inf
from statistics import fmean
from typing import Any

from threadpoolctl import threadpool_limits

from data_fetchers.fetch import DataMissing
from omtl.compute.own_process import CAN_ISOLATE, LostProcess, call_apart
from omtl.compute.progress import DryRunPlan, Progress, is_dry
from omtl.compute.store import Store, StoredRow
from omtl.experiment.config import number_of_jobs
from omtl.experiment.playing import compute, data_notes
from omtl.experiment.unit import Result, Unit
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import home_folder
from omtl.util.user_errors import describe_fault
from omtl.util.user_folder import make_importable

ATTEMPTS = 3
"""Number of times in a row that workers may die without a finished unit in between."""

BATCH_SECONDS = 0.2
"""Duration of a batch of short units."""

MOST = 256
"""Maximum number of units in a batch."""

TURNS = 4
"""Minimum number of remaining batches for each worker, so that all end at about the same time."""

FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Failure:
    """Why a unit has no result; `missing_data` if its data set is unavailable."""

    reason: str
    missing_data: bool = False


Ends = dict[str, Result | Failure]
"""Results and failures of units, by their keys."""


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
    """

    computed: int = 0
    reused: int = 0
    failed: dict[str, Failure] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, part: Outcome) -> None:
        """Add the outcomes of further units."""
        self.computed += part.computed
        self.reused += part.reused
        self.failed |= part.failed
        self.seconds |= part.seconds

    @property
    def is_broken(self) -> bool:
        """Whether a unit failed for another reason than missing data."""
        return any(not failure.missing_data for failure in self.failed.values())


def why_lacking(
    units: Sequence[Unit], n_stored: int, failed: Mapping[str, Failure], known: str = ""
) -> str:
    """Return why not all of these units are stored: a failure, a known reason, or the number."""
    reasons = [failed[unit.key].reason for unit in units if unit.key in failed] if failed else []
    return next(iter(reasons), known) or f"{n_stored} of {len(units)} repeats are stored"


@lru_cache
def this_process() -> str:
    """Return a unique name for this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def one_thread() -> threadpool_limits:
    """Limit linear algebra to one thread: the bits of sums depend on the number of threads."""
    import scipy.linalg  # noqa: F401 - only libraries that are loaded are limited

    return threadpool_limits(limits=1, user_api="blas")


_one_thread = lru_cache(one_thread)
"""Limits a worker for good."""


def compute_unit(unit: Unit, asked_by: str) -> Result | Failure:
    """Compute a unit for a process; return its result, or the reason if it failed.

    Raises
    ------
    WriteError
        If the disk is full, which affects all units.
    """
    if this_process() != asked_by:
        _one_thread()
    make_importable()
    try:
        if not unit.is_same_here():
            raise UserError(
                f"{this_process()} has different code or data from the process that requested "
                f"{unit.name}; make its checkout and data the same"
            )
        return compute(unit)
    except UserError as fault:
        return Failure(str(fault), missing_data=isinstance(fault, DataMissing))
    except SystemExit as end:
        return Failure(f"{unit.name}: its code asked Python to exit (status {end.code})")
    except Exception as fault:  # one failure must not affect other units
        if isinstance(fault, OSError) and fault.errno in FULL:
            raise cannot_write(fault.filename or home_folder(), fault) from fault
        return Failure(f"{unit.name}: {describe_fault(fault)}")


def compute_batch(
    units: list[Unit], asked_by: str, seconds: float | None, mib: int | None, apart: bool
) -> Ends:
    """Compute units in a worker, one by one.

    Those of a user's learner are isolated where the system can do it, and so are all if they have
    limits: such a unit fails if its process is lost. `apart` isolates all.

    Raises
    ------
    LostProcess
        If the process of another unit is lost.
    """
    ends: Ends = {}
    is_limited = seconds is not None or mib is not None
    for unit in units:
        if is_limited and not CAN_ISOLATE:
            ends[unit.key] = Failure(
                f"{unit.name}: parallel.unit_seconds and unit_mib do not work on this system; "
                "leave them out"
            )
        elif CAN_ISOLATE and (apart or is_limited or unit.is_own):
            try:
                ends[unit.key] = call_apart(compute_unit, unit, asked_by, seconds=seconds, mib=mib)
            except LostProcess as fault:
                if not (is_limited or unit.is_own):
                    raise
                ends[unit.key] = Failure(f"{unit.name}: {fault}")
        else:
            ends[unit.key] = compute_unit(unit, asked_by)
    return ends


Kind = tuple[str, str, str]


def kind_of(unit: Unit) -> Kind:
    """Return a unit's kind: what determines its code and data."""
    return unit.algorithm.learner, unit.protocol.module, unit.dataset.name


class Batches(Iterator[list[Unit]]):
    """Units in the order in which workers get them, several at a time if they are short.

    The first units of all kinds come first, one at a time: they compile learners and load data.

    Parameters
    ----------
    units : sequence of Unit
    workers : int
        Number of workers, as far as is known.
    is_wanted : callable
        Whether a unit is still to be computed when its turn comes.
    """

    def __init__(
        self, units: Sequence[Unit], workers: int, is_wanted: Callable[[Unit], bool]
    ) -> None:
        first = {kind_of(unit): unit for unit in reversed(units)}
        ahead = {unit.key: unit for unit in reversed(first.values())}
        self._waiting = deque((ahead | {unit.key: unit for unit in units}).values())
        self._workers, self._is_wanted = workers, is_wanted
        self._left = Counter(map(kind_of, units))
        self._timed: dict[Kind, tuple[int, float]] = {}  # units after the first, their seconds

    def __next__(self) -> list[Unit]:
        """Return the units of the next batch."""
        batch: list[Unit] = []
        most = min(MOST, max(1, len(self._waiting) // (TURNS * self._workers)))
        seconds = 0.0
        while self._waiting and len(batch) < most and seconds < BATCH_SECONDS:
            unit = self._waiting.popleft()
            if self._is_wanted(unit):
                batch.append(unit)
                seconds += self._mean(kind_of(unit), inf)
        if not batch:
            raise StopIteration
        return batch

    def note(self, unit: Unit, seconds: float) -> None:
        """Take note of a finished unit's duration."""
        kind = kind_of(unit)
        count, total = self._timed.get(kind, (-1, -seconds))
        self._timed[kind] = count + 1, total + seconds
        self._left[kind] -= 1

    def _mean(self, kind: Kind, unknown: float) -> float:
        count, total = self._timed.get(kind, (0, 0.0))
        return total / count if count else unknown

    @property
    def seconds_left(self) -> float | None:
        """The time left; None until a kind of units has been timed without compiling."""
        means = [total / count for count, total in self._timed.values() if count]
        if not means:
            return None
        mean = fmean(means)
        left = sum(count * self._mean(kind, mean) for kind, count in self._left.items())
        return left / self._workers


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Give an event that the first Ctrl-C sets, so that units under way can end.

    The second one stops at once. Where somebody else is in charge of Ctrl-C, nothing changes.
    """
    asked = threading.Event()

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()
        print(
            "\nomtl: stopping after the units under way; press again to stop now", file=sys.stderr
        )

    is_main = threading.current_thread() is threading.main_thread()
    in_charge = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if in_charge:
        signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        if in_charge:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _answers(
    left: dict[str, Unit], store: Store, parallel: Mapping[str, Any], stop: threading.Event
) -> Generator[tuple[Ends, float | None], None, None]:
    """Yield workers' answers and the time left; if a worker dies, another one computes its units.

    Raises
    ------
    UserError
        If workers die again and again, or the engine is unavailable.
    """
    from omtl.compute.workers import PROCESSES, open_workers  # which stored units do without

    name = parallel["backend"]
    how = (*(parallel.get(f"unit_{limit}") for limit in ("seconds", "mib")), name == PROCESSES)
    attempts = 0

    def is_wanted(unit: Unit) -> bool:
        return not (stop.is_set() or store.has(unit))

    while left and not stop.is_set():
        workers = open_workers(parallel, len(left))
        batches = Batches(list(left.values()), workers.count, is_wanted)
        tasks = (partial(compute_batch, units, this_process(), *how) for units in batches)
        try:
            with closing(workers.returned_by(tasks)) as answers:
                for ends in answers:
                    attempts = 0
                    for key, end in ends.items():
                        seconds = end.facts["seconds"] if isinstance(end, Result) else 0.0
                        batches.note(left.pop(key), seconds)
                    yield ends, batches.seconds_left
            return
        except UserError:
            raise
        except Exception as fault:  # `compute_unit` catches those of units: this is the engine's
            attempts += 1
            cause = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
            if attempts == ATTEMPTS:
                raise UserError(
                    f"workers of {name} died {attempts} times without "
                    f"finishing a unit in between ({cause}); give them more memory or fewer jobs, "
                    "then run the same command again: finished units are kept"
                ) from fault
            print(f"omtl: a worker died ({cause}); its units are reassigned", file=sys.stderr)


@lru_cache(None)
def _say_once(note: str) -> None:
    print(f"omtl: {note}", file=sys.stderr)


def run_units(
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
    wanted = {unit.key: unit for unit in units}
    outcome = Outcome()
    outcome.seconds = seconds = store.seconds(wanted.values())
    outcome.reused = len(seconds)
    left = {key: unit for key, unit in wanted.items() if key not in seconds}
    if is_dry():
        each = fmean(seconds.values()) if seconds else None
        raise DryRunPlan(len(wanted), len(left), each, number_of_jobs(parallel))
    if not left:
        return outcome
    for dataset in {unit.dataset.name: unit.dataset for unit in left.values()}.values():
        for note in data_notes(dataset):
            _say_once(note)
    with (
        Progress(len(left), quiet) as bar,
        asked_to_stop() as stop,
        one_thread(),
        closing(_answers(left, store, parallel, stop)) as answers,
    ):
        for ends, seconds_left in answers:
            found = {key: end for key, end in ends.items() if isinstance(end, Result)}
            store.add([StoredRow.of(wanted[key], result) for key, result in found.items()])
            outcome.computed += len(found)
            seconds |= {key: result.facts["seconds"] for key, result in found.items()}
            outcome.failed |= {key: end for key, end in ends.items() if isinstance(end, Failure)}
            for key in ends:
                bar.done(wanted[key].name, seconds_left)
        if stop.is_set():
            raise KeyboardInterrupt
    elsewhere = store.seconds(left.values())  # another run has stored them meanwhile
    outcome.reused += len(elsewhere)
    seconds |= elsewhere
    return outcome
