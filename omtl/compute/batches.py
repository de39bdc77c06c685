"""Units in batches, as the engine hands them out, and computing a batch in a worker."""

from __future__ import annotations

import errno
import os
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from math import inf
from statistics import fmean

from threadpoolctl import threadpool_limits

from data_fetchers.fetch import DataMissing
from omtl.compute.engine import Failure
from omtl.compute.own_process import LostProcess, call_apart
from omtl.compute.workers import Workers
from omtl.experiment.loading import load_prepared
from omtl.experiment.playing import compute
from omtl.experiment.specs import ParallelSpec
from omtl.experiment.unit import Result, Unit
from omtl.util.compile_cache import is_compiling
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import home_folder
from omtl.util.user_errors import describe_fault
from omtl.util.user_folder import begin_call, make_importable

BATCH_SECONDS = 0.2
"""Duration of a batch of short units."""

MOST = 256
"""Maximum number of units in a batch."""

TURNS = 4
"""Minimum number of remaining batches for each worker, so that all end at about the same time."""

LONG_LOAD = 1.0
"""Seconds of loading data that are longer than waiting for a compiler, most of the time."""

FULL = (errno.ENOSPC, errno.EDQUOT)


Ends = dict[str, Result | Failure]
"""Results and failures of units, by their keys."""


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
    MemoryError
        If there is too little memory.
    """
    if this_process() != asked_by:
        _one_thread()
    make_importable()
    try:
        if not unit.is_same_here():
            begin_call()  # the user may have edited a file between two runs
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
    except MemoryError:  # which this process may lack for words too
        raise
    except Exception as fault:  # one failure must not affect other units
        if isinstance(fault, OSError) and fault.errno in FULL:
            raise cannot_write(fault.filename or home_folder(), fault) from fault
        return Failure(f"{unit.name}: {describe_fault(fault)}")


def compute_batch(units: list[Unit], asked_by: str, parallel: ParallelSpec) -> Ends:
    """Compute units in a worker, one by one.

    Those of a user's learner are isolated where the system can do it, and so are all if they have
    limits: such a unit fails if its process is lost. ``processes`` isolates all.

    Raises
    ------
    LostProcess
        If the process of another unit is lost.
    """
    ends: Ends = {}
    seconds, mib = parallel.unit_seconds, parallel.unit_mib
    is_limited = seconds is not None or mib is not None
    for unit in units:
        try:
            if parallel.backend == "processes" or is_limited or unit.is_own:
                end = call_apart(compute_unit, unit, asked_by, seconds=seconds, mib=mib)
            else:
                end = compute_without_waiting(unit, asked_by)
        except LostProcess as fault:
            if not (is_limited or unit.is_own):
                raise
            end = Failure(f"{unit.name}: {fault}")
        except MemoryError as fault:
            how = "use fewer workers (jobs=1), or raise parallel.unit_mib if it is set"
            end = Failure(f"{unit.name}: {describe_fault(fault).rstrip(': ')}; {how}")
        ends[unit.key] = end
    return ends


Kind = tuple[str, ...]

_BEGUN: set[Kind] = set()
"""Kinds of units whose code and data this process has, or is about to have."""


def kind_of(unit: Unit) -> Kind:
    """Return a unit's kind: what determines its code and data.

    Full networks have code of their own, as one vector is enough for all their nodes.
    """
    network = unit.network.topology if unit.network else ""
    shape = network if network in ("", "full") else "other"
    return unit.algorithm.learner, unit.protocol.module, unit.dataset.name, shape


def compute_without_waiting(unit: Unit, asked_by: str) -> Result | Failure:
    """Compute a unit here, or in another process if it would wait for a thread that compiles.

    Only one thread of a process can compile at a time; data are loaded here meanwhile. It waits if
    the other process would load them as long, or if there is no memory for one.
    """
    kind = kind_of(unit)
    if kind not in _BEGUN and is_compiling():
        started = time.monotonic()
        with suppress(Exception):  # which occurs again, and is described
            load_prepared(unit.dataset, unit.seed, unit.draw, is_reduced=not unit.foreign)
        if is_compiling() and time.monotonic() - started < LONG_LOAD:
            with suppress(LostProcess):
                return call_apart(compute_unit, unit, asked_by)
    _BEGUN.add(kind)
    return compute_unit(unit, asked_by)


def handing_order(units: Sequence[Unit]) -> list[Unit]:
    """Return units by data set, so that each is loaded once, with its learners in turn.

    The first unit of each kind, which compiles it, comes before the others; those of a learner on
    other networks come when all learners have come, so that workers seldom compile the same code
    at the same time. The first of all on a data set loads it, while others are computed on the one
    before.
    """
    names = sorted({unit.dataset.name for unit in units})
    begun: set[int] = set()
    met: Counter[Kind] = Counter()
    places: list[tuple[int, bool, int]] = []
    for unit in units:
        kind, number = kind_of(unit), names.index(unit.dataset.name)
        learner = kind[:-1]  # whatever the network
        place = number, kind in met, met[learner]
        places.append(place if number in begun else (number - 1, True, -1))
        begun.add(number)
        met.update([kind, learner])
    return [units[i] for _, i in sorted(zip(places, range(len(units)), strict=True))]


class Batches(Iterator[list[Unit]]):
    """Units in the order in which workers get them, several at a time if they are short.

    The first units of all kinds come early on each data set (`handing_order`), one at a time.

    Parameters
    ----------
    units : sequence of Unit
    workers : Workers
        Those who compute; on a cluster they come and go.
    wanted : callable
        Returns those units of a batch that are still to be computed when its turn comes.
    """

    def __init__(
        self, units: Sequence[Unit], workers: Workers, wanted: Callable[[list[Unit]], list[Unit]]
    ) -> None:
        self._waiting = deque(handing_order(units))
        self._workers, self._wanted = workers, wanted
        self._left = Counter(map(kind_of, units))
        self._timed: dict[Kind, tuple[int, float]] = {}  # units after the first, their seconds

    def __next__(self) -> list[Unit]:
        """Return the units of the next batch."""
        batch: list[Unit] = []
        while self._waiting and not batch:
            most = min(MOST, max(1, len(self._waiting) // (TURNS * self._workers.count)))
            seconds, means = 0.0, self._means()
            while self._waiting and len(batch) < most and seconds < BATCH_SECONDS:
                batch.append(self._waiting.popleft())
                seconds += means.get(kind_of(batch[-1]), inf)
            batch = self._wanted(batch)
        if not batch:
            raise StopIteration
        return batch

    def note(self, unit: Unit, seconds: float) -> None:
        """Take note of a finished unit's duration."""
        kind = kind_of(unit)
        count, total = self._timed.get(kind, (-1, -seconds))
        self._timed[kind] = count + 1, total + seconds
        self._left[kind] -= 1

    def _means(self) -> dict[Kind, float]:
        return {kind: total / count for kind, (count, total) in self._timed.items() if count}

    @property
    def seconds_left(self) -> float | None:
        """The time left; None until a kind of units has been timed without compiling."""
        means = self._means()
        if not means:
            return None
        mean = fmean(means.values())
        left = sum(count * means.get(kind, mean) for kind, count in self._left.items())
        return left / self._workers.count
