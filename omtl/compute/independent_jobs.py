"""Independent jobs in parallel processes, where one failure leaves the others alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.pool import ThreadPool
from typing import Any

from omtl.compute.own_process import LostProcess, call_apart
from omtl.experiment.specs import ParallelSpec
from omtl.util.errors import UserError, WriteError


@dataclass(frozen=True)
class Job:
    """A job: a description, and a function with its arguments."""

    what: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class JobOutcome:
    """The result of a job, or None and the reason why it failed (`fault`)."""

    what: str
    returned: Any
    fault: str = ""


def attempt(job: Job) -> JobOutcome:
    """Run a job.

    Raises
    ------
    WriteError
        If its results cannot be written, which would affect other jobs too.
    """
    try:
        return JobOutcome(job.what, job.function(*job.arguments))
    except WriteError:
        raise
    except Exception as fault:  # one failure must not affect other jobs
        kind = "" if isinstance(fault, UserError) else f"{type(fault).__name__}: "
        return JobOutcome(job.what, None, f"{kind}{fault}")


def attempt_apart(job: Job) -> JobOutcome:
    """Run a job in this thread's process, if the system has them; WriteError as in `attempt`."""
    try:
        return call_apart(attempt, job)
    except LostProcess as fault:
        return JobOutcome(
            job.what, None, f"{fault}; provide more memory or use fewer jobs, then run it again"
        )


def run_jobs(jobs: Sequence[Job], parallel: ParallelSpec) -> list[JobOutcome]:
    """Run all jobs in as many local processes as the engine has jobs; return their outcomes.

    Parameters
    ----------
    jobs : sequence of Job
        Their functions must be in modules of the package.
    parallel : ParallelSpec
    """
    if not jobs:
        return []
    with ThreadPool(min(parallel.n_jobs, len(jobs))) as pool:
        return pool.map(attempt_apart, jobs, chunksize=1)
