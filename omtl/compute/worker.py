"""Workers: computing units, each with a result or the reason for having none."""

from __future__ import annotations

import errno
import os
import socket
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from data_fetchers.fetch import DataMissing
from omtl.compute import memory
from omtl.compute.one_thread import one_thread
from omtl.compute.own_process import Apart, Lost
from omtl.experiment import loading
from omtl.experiment.unit import Result, Unit, compute
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import kept
from omtl.util.raised import describe
from omtl.util.user_folder import VARIABLE, make_importable

FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Failure:
    """Why a unit has no result; `missing_data` if its data set is unavailable."""

    reason: str
    missing_data: bool = False


@dataclass(frozen=True)
class Done:
    """A worker's answer: a unit's result or failure, and facts about the worker."""

    unit: Unit
    result: Result | None
    failure: Failure | None
    worker: str
    peak_mib: float | None
    loads: int


@lru_cache
def this_process() -> str:
    """Return a unique name for this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def compute_one(unit: Unit, mark: str = "") -> Done:
    """Compute a unit; return its result, or the reason if it failed.

    Parameters
    ----------
    unit : Unit
    mark : str
        The start of this process's memory measurement (`omtl.compute.memory`).

    Raises
    ------
    WriteError
        If the disk is full, which affects all units.
    """
    make_importable()
    with one_thread():
        return _computed(unit, mark)


def _computed(unit: Unit, mark: str, is_last: bool = True, is_known: bool = False) -> Done:
    """Compute a unit by one thread.

    The last unit of a task reports the peak of memory. If the unit's code and files are known to be
    those of this process, they are not compared.
    """
    memory.follow(mark)
    result, failure = None, None
    try:
        if not is_known and not unit.is_same_here():
            raise UserError(
                f"{this_process()} has different code or data from the process that requested "
                f"{unit.name}; make its checkout and data the same"
            )
        result = compute(unit)
    except UserError as fault:
        failure = Failure(str(fault), missing_data=isinstance(fault, DataMissing))
    except SystemExit as end:
        failure = Failure(f"{unit.name}: its code asked Python to exit (status {end.code})")
    except Exception as fault:  # one failure must not affect other units
        if isinstance(fault, OSError) and fault.errno in FULL:
            raise cannot_write(fault.filename or kept(), fault) from fault
        failure = Failure(f"{unit.name}: {describe(fault)}")
    peak = memory.peak_since() if is_last else 0.0
    return Done(unit, result, failure, this_process(), peak, loading.times_loaded())


def _made_of_the_same(unit: Unit, other: Unit) -> bool:
    """Whether two units differ only in their repeat, by a quick check."""
    return (
        unit.algorithm is other.algorithm
        and unit.dataset is other.dataset
        and unit.protocol is other.protocol
    )


class Work(NamedTuple):
    """A task for a worker.

    Parameters
    ----------
    units : list of Unit
    mark : str
        The start of the worker's memory measurement (`omtl.compute.memory`).
    seconds : float or None
    mib : int or None
        Limits of each unit.
    """

    units: list[Unit]
    mark: str
    seconds: float | None
    mib: int | None


_local = threading.local()


def compute_all(work: Work) -> list[Done]:
    """Compute units in a worker, one by one.

    Those of a user's learner are isolated, and so are all if they have limits.
    """
    dones: list[Done] = []
    is_limited = work.seconds is not None or work.mib is not None
    is_apart = is_known = False  # of units made of the same as the last one
    make_importable()
    with one_thread():
        for unit in work.units:
            if not dones or not _made_of_the_same(unit, dones[-1].unit):
                is_apart, is_known = is_limited or unit.is_own, False
            if is_apart:
                done = _apart(unit, work)
            else:
                done = _computed(unit, work.mark, unit is work.units[-1], is_known)
            is_known = done.result is not None
            dones.append(done)
    return dones


def _apart(unit: Unit, work: Work) -> Done:
    """Compute a unit in a process of its own."""
    kind = work.mib, os.environ.get(VARIABLE)
    if getattr(_local, "kind", None) != kind or _local.apart.is_lost():
        _local.kind, _local.apart = kind, Apart(work.mib)
    try:
        return _local.apart.ask(compute_one, unit, work.mark, seconds=work.seconds)
    except Lost as fault:
        failure = Failure(f"{unit.name}: {fault}")
        return Done(unit, None, failure, this_process(), memory.peak_since(), 0)
