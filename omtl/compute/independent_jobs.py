"""Independent jobs in parallel processes, where one failure leaves the others alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from multiprocessing.pool import ThreadPool
from typing import Any

from omtl.compute.engine import Failure
from omtl.compute.own_process import LostProcess, call_apart
from omtl.experiment.specs import ParallelSpec
from omtl.util.errors import UserError, WriteError

Job = Callable[[], Any]


def attempt(job: Job) -> Any:
    """Return what a job returns, or a `Failure`.

    Raises
    ------
    WriteError
        If its results cannot be written, which would affect other jobs too.
    """
    try:
        return job()
    except WriteError:
        raise
    except Exception as fault:  # one failure must not affect other jobs
        kind = "" if isinstance(fault, UserError) else f"{type(fault).__name__}: "
        return Failure(f"{kind}{fault}")


def attempt_apart(job: Job) -> Any:
    """Run a job in this thread's process, if the system has them; WriteError as in `attempt`."""
    try:
        return call_apart(attempt, job)
    except LostProcess as fault:
        return Failure(f"{fault}; provide more memory or use fewer jobs, then run it again")


def run_jobs(jobs: Sequence[Job], parallel: ParallelSpec) -> list[Any]:
    """Run jobs, of functions in modules, in as many local processes as the engine has jobs.

    Returns
    -------
    list
        What each returned, or its `Failure`.
    """
    with ThreadPool(min(parallel.n_jobs, max(1, len(jobs)))) as pool:
        return pool.map(attempt_apart, jobs, chunksize=1)
