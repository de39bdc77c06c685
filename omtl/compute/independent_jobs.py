"""Independent jobs in parallel processes, where one failure leaves the others alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from omtl.compute.workers import Processes
from omtl.experiment.config import number_of_jobs
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
    except UserError as fault:
        return JobOutcome(job.what, None, str(fault))
    except Exception as fault:  # one failure must not affect other jobs
        return JobOutcome(job.what, None, f"{type(fault).__name__}: {fault}")


def run_jobs(jobs: Sequence[Job], parallel: Mapping[str, Any]) -> list[JobOutcome]:
    """Run all jobs in as many local processes as the engine has jobs; return their outcomes.

    Parameters
    ----------
    jobs : sequence of Job
        Their functions must be in modules of the package.
    parallel : mapping
        An option of ``conf/parallel``.
    """
    tasks = (partial(_attempt_numbered, number, job) for number, job in enumerate(jobs))
    ends: dict[int, JobOutcome] = {}
    try:
        if jobs:
            ends.update(Processes(min(number_of_jobs(parallel), len(jobs))).returned_by(tasks))
    except BrokenExecutor:
        died = "a process died meanwhile; provide more memory or use fewer jobs, then run it again"
        ends |= {n: JobOutcome(job.what, None, died) for n, job in enumerate(jobs) if n not in ends}
    return [ends[number] for number in range(len(jobs))]


def _attempt_numbered(number: int, job: Job) -> tuple[int, JobOutcome]:
    return number, attempt(job)
