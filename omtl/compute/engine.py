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
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from threadpoolctl import threadpool_limits

from data_fetchers.fetch import DataMissing
from omtl.compute.own_process import CAN_ISOLATE, Apart, LostProcess
from omtl.compute.progress import DryRunPlan, Progress, is_dry
from omtl.compute.store import Store, StoredRow
from omtl.experiment.config import number_of_jobs
from omtl.experiment.playing import compute, data_notes
from omtl.experiment.unit import Result, Unit
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import home_folder
from omtl.util.user_errors import describe_fault
from omtl.util.user_folder import VARIABLE, make_importable

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


@lru_cache
def _one_thread() -> None:
    """Limit linear algebra in this worker."""
    one_thread()


def one_thread() -> threadpool_limits:
    """Limit linear algebra to one thread: the bits of sums depend on the number of threads."""
    import scipy.linalg  # noqa: F401 - only libraries that are loaded are limited

    return threadpool_limits(limits=1, user_api="blas")


def compute_unit(unit: Unit) -> Result | Failure:
    """Compute a unit; return its result, or the reason if it failed.

    Raises
    ------
    WriteError
        If the disk is full, which affects all units.
    """
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


_local = threading.local()


def _compute_apart(unit: Unit, seconds: float | None, mib: int | None) -> Result | Failure:
    """Compute a unit in a process of its own, which this thread keeps for its next units."""
    kind = mib, os.environ.get(VARIABLE)
    if getattr(_local, "kind", None) != kind or _local.apart.is_lost():
        _local.kind, _local.apart = kind, Apart(mib)
    try:
        return _local.apart.ask(compute_unit, unit, seconds=seconds)
    except LostProcess as fault:
        return Failure(f"{unit.name}: {fault}")


def compute_batch(
    units: list[Unit], asked_by: str, seconds: float | None = None, mib: int | None = None
) -> Ends:
    """Compute units in a worker, one by one.

    Those of a user's learner are isolated where the system can do it, and so are all if they have
    limits.
    """
    if this_process() != asked_by:
        _one_thread()
    ends: Ends = {}
    is_limited = seconds is not None or mib is not None
    for unit in units:
        if is_limited and not CAN_ISOLATE:
            ends[unit.key] = Failure(
                f"{unit.name}: parallel.unit_seconds and unit_mib do not work on this system; "
                "leave them out"
            )
        elif is_limited or (unit.is_own and CAN_ISOLATE):
            ends[unit.key] = _compute_apart(unit, seconds, mib)
        else:
            ends[unit.key] = compute_unit(unit)
    return ends


Kind = tuple[str, str, str]


def kind_of(unit: Unit) -> Kind:
    """Return a unit's kind: what determines its code and data."""
    return unit.algorithm.learner, unit.protocol.module, unit.dataset.name


class Batches(Iterator[list[Unit]]):
    """Units in the order in which workers get them, several at a time if they are short.

    The first unit of a kind compiles its learner and loads its data, while others of its kind would
    only wait: meanwhile, other workers get units of known kinds, the longest first.

    Parameters
    ----------
    units : iterable of Unit
    workers : int
        Number of workers, as far as is known.
    is_wanted : callable
        Whether a unit is still to be computed when its turn comes.
    """

    def __init__(
        self, units: Sequence[Unit], workers: int, is_wanted: Callable[[Unit], bool]
    ) -> None:
        self._waiting: dict[Kind, deque[Unit]] = {}
        for unit in units:
            self._waiting.setdefault(kind_of(unit), deque()).append(unit)
        self._left, self._workers, self._is_wanted = len(units), workers, is_wanted
        self._seconds: dict[Kind, float] = {}
        self._first: set[Kind] = set()

    def __next__(self) -> list[Unit]:
        """Return the units of the next batch."""
        while self._waiting:
            if units := [unit for unit in self._take() if self._is_wanted(unit)]:
                return units
        raise StopIteration

    def _take(self) -> list[Unit]:
        known = [kind for kind in self._waiting if kind in self._seconds]
        new = [kind for kind in self._waiting if kind not in {*self._seconds, *self._first}]
        count = 1
        if new and not (known and self._first):
            kind = new[0]
            self._first.add(kind)
        elif known:
            kind = max(known, key=self._seconds.__getitem__)
            enough = BATCH_SECONDS / max(self._seconds[kind], 1e-6)
            count = int(max(1, min(enough, self._left / (TURNS * self._workers), MOST)))
        else:
            kind = next(iter(self._waiting))
        units = self._waiting[kind]
        taken = [units.popleft() for _ in range(min(count, len(units)))]
        self._left -= len(taken)
        if not units:
            del self._waiting[kind]
        return taken

    def note(self, unit: Unit, seconds: float) -> None:
        """Take note of a finished unit's duration."""
        kind = kind_of(unit)
        self._seconds[kind] = (self._seconds.get(kind, seconds) + seconds) / 2.0
        self._first.discard(kind)


class Stop(AbstractContextManager["Stop"]):
    """Ctrl-C: the first lets the units that are under way end, the second stops at once."""

    def __init__(self) -> None:
        self.asked = False
        self._in_charge = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )

    def __enter__(self) -> Stop:
        """Take charge of Ctrl-C, unless somebody else is."""
        if self._in_charge:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        """Give it back."""
        if self._in_charge:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _note(self, number: int, frame: Any) -> None:
        if self.asked:
            signal.default_int_handler(number, frame)
        self.asked = True
        print(
            "\nomtl: stopping after the units under way; press again to stop now", file=sys.stderr
        )


def _answers(
    left: dict[str, Unit], store: Store, parallel: Mapping[str, Any], stop: Stop
) -> Generator[Ends, None, None]:
    """Yield workers' answers; if a worker dies, another one computes its units.

    Raises
    ------
    UserError
        If workers die again and again, or the engine is unavailable.
    """
    from omtl.compute.workers import open_workers  # joblib, which stored units do without

    limits = [parallel.get(f"unit_{name}") for name in ("seconds", "mib")]
    attempts = 0
    while left and not stop.asked:
        workers = open_workers(parallel, len(left))
        batches = Batches(
            list(left.values()), workers.count, lambda unit: not stop.asked and not store.has(unit)
        )
        tasks = (partial(compute_batch, units, this_process(), *limits) for units in batches)
        try:
            with closing(workers.returned_by(tasks)) as answers:
                for ends in answers:
                    attempts = 0
                    for key, end in ends.items():
                        unit = left.pop(key)
                        seconds = end.facts["seconds"] if isinstance(end, Result) else 0.0
                        batches.note(unit, seconds)
                    yield ends
            return
        except UserError:
            raise
        except Exception as fault:  # `compute_unit` catches those of units: this is the engine's
            attempts += 1
            cause = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
            if attempts == ATTEMPTS:
                raise UserError(
                    f"workers of {parallel['backend']} died {attempts} times without "
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
    stored = {key: facts for key, unit in wanted.items() if (facts := store.facts(unit))}
    outcome = Outcome(reused=len(stored))
    outcome.seconds = {key: facts["seconds"] for key, facts in stored.items()}
    left = {key: unit for key, unit in wanted.items() if key not in stored}
    if is_dry():
        each = sum(outcome.seconds.values()) / len(stored) if stored else None
        raise DryRunPlan(len(wanted), len(left), each, number_of_jobs(parallel))
    if not left:
        return outcome
    for dataset in {unit.dataset.name: unit.dataset for unit in left.values()}.values():
        for note in data_notes(dataset):
            _say_once(note)
    missing = dict(left)
    with (
        Progress(map(kind_of, missing.values()), number_of_jobs(parallel), quiet) as bar,
        Stop() as stop,
        one_thread(),
        closing(_answers(left, store, parallel, stop)) as answers,
    ):
        for ends in answers:
            found = {key: end for key, end in ends.items() if isinstance(end, Result)}
            store.add([StoredRow.of(missing[key], result) for key, result in found.items()])
            outcome.add(
                Outcome(
                    len(found),
                    failed={key: end for key, end in ends.items() if isinstance(end, Failure)},
                    seconds={key: result.facts["seconds"] for key, result in found.items()},
                )
            )
            for key in ends:
                bar.done(kind_of(missing[key]), outcome.seconds.get(key, 0.0), missing[key].name)
        if stop.asked:
            raise KeyboardInterrupt
    for key, unit in left.items():  # another run has stored them meanwhile
        if facts := store.facts(unit):
            outcome.seconds[key] = facts["seconds"]
            outcome.reused += 1
    return outcome
