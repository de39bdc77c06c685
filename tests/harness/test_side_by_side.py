"""Jobs side by side: each ends in its place, whatever becomes of the others."""

from __future__ import annotations

import math
import os
import signal

import pytest

from omtl.compute.independent_jobs import Job, JobOutcome, run_jobs
from omtl.util.errors import UserError, WriteError
from omtl.util.files import write_whole
from omtl.util.paths import ROOT

THREADS = {"backend": "threading", "jobs": 2}
ALONE = {"backend": "threading", "jobs": 1}


def refuse(name: str) -> None:
    """Find a mistake that a user can mend."""
    raise UserError(f"no {name}")


@pytest.mark.parametrize("parallel", [THREADS, ALONE, {"backend": "sequential", "jobs": -1}])
def test_each_job_ends_in_its_place(parallel: dict[str, object]) -> None:
    """What is returned, and the fault of what fails."""
    jobs = [
        Job("a root", math.sqrt, (4.0,)),
        Job("no root", math.sqrt, (-4.0,)),
        Job("a file", (ROOT / "no such file").read_text, ()),
        Job("a power", pow, (2, 3)),
    ]
    root, no_root, file, power = run_jobs(jobs, parallel)
    assert root == JobOutcome("a root", 2.0)
    assert (no_root.what, no_root.returned) == ("no root", None)
    assert no_root.fault.startswith("ValueError: ")
    assert file.fault.startswith("FileNotFoundError: ")
    assert power == JobOutcome("a power", 8)


def test_a_user_error_is_told_as_it_is() -> None:
    """Without its kind."""
    assert run_jobs([Job("it", refuse, ("table 'x'",))], ALONE)[0].fault == "no table 'x'"


def test_what_cannot_be_kept_stops_all() -> None:
    """As the others could not be kept either."""
    job = Job("a file", write_whole, (ROOT / "Makefile" / "below a file", b""))
    for parallel in (THREADS, ALONE):
        with pytest.raises(WriteError):
            run_jobs([job, Job("a power", pow, (2, 3))], parallel)


def test_a_process_that_dies_is_told() -> None:
    """Once for each job that has no end."""
    jobs = [Job("it", signal.raise_signal, (signal.SIGKILL,)), Job("more", os.getpid, ())]
    died, _ = run_jobs(jobs, THREADS)
    assert "a process died" in died.fault


def test_no_jobs_end_at_once() -> None:
    """Nothing is started for nothing."""
    assert run_jobs([], THREADS) == []
