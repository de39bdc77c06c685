"""What `scripts.elastic` breaks: runs, and workers of dask, forked from a process that is warm.

That process has this module and all that it needs loaded, and the units' learner compiled
(`scripts.elastic.warm`), so that a run begins at once. A fork ends as any program does.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from omtl.compute import engine as compute_engine
from omtl.compute.progress import Progress
from omtl.compute.store import Store
from omtl.experiment.config import load_option, resolve_jobs
from omtl.experiment.unit import Unit
from omtl.util.signals import ended
from scripts.perceptrons import perceptrons

UNITS = 60


def units() -> list[Unit]:
    """Return units that take some milliseconds each."""
    return perceptrons(UNITS, n_examples=3000, n_features=50, n_tasks=8)


def nap(seconds: float) -> int:
    """Sleep; return the number of the process."""
    time.sleep(seconds)
    return os.getpid()


def start(function: Callable[..., int], *given: Any, err: Path | None = None) -> Any:
    """Run a function in a fork of the warm process, which ends with the status it returns."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["scripts.elastic.warm"])
    process = forks.Process(target=_in_fork, args=(function, given, err))
    process.start()
    return process


def _in_fork(function: Callable[..., int], given: tuple[Any, ...], err: Path | None) -> None:
    out = os.open(err or os.devnull, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for number in (1, 2):
        os.dup2(out, number)
    # Who is begun in the background ignores Ctrl-C, and so would all runs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        raise SystemExit(function(*given))
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run has ended, and said what it says
        threading._shutdown()  # type: ignore[attr-defined]  # a fork of this kind would do neither
        atexit._run_exitfuncs()


def client(engine: str, address: str, folder: Path) -> int:
    """Compute the units that a store lacks; note in a file how many are reported as done."""

    class Told(Progress):
        def done(self, n: int = 1, name: str = "") -> None:
            with (folder / "reported").open("a") as file:
                file.write(f"{n}\n")
            super().done(n, name)

    compute_engine.Progress = Told  # type: ignore[misc]
    parallel = resolve_jobs(load_option("parallel", engine), 2)
    if address:
        parallel["address"] = address

    def job() -> int:
        outcome = compute_engine.run(units(), Store(folder / "store"), parallel, quiet=True)
        what = {"computed": outcome.computed, "failed": len(outcome.failed)}
        (folder / "outcome").write_text(json.dumps(what))
        return 0

    return ended(job)


def dask_worker(address: str) -> int:
    """Serve a scheduler of dask with one thread, until it is gone."""
    from distributed.cli.dask_worker import main

    words = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    main([address, *words, "--death-timeout", "60"], standalone_mode=False)
    return 0
