"""The engines that units are computed by: joblib's own, and clusters of dask and ray.

An engine opens once a process, when it is first needed, and closes when the process ends. Without
an address it starts workers on this machine that listen to nobody else.
"""

from __future__ import annotations

import atexit
import logging
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import lru_cache
from typing import Any

import joblib

from omtl.compute.orphans import end_with
from omtl.experiment.config import choose
from omtl.util.errors import UserError

LOOPBACK = "127.0.0.1"
RETRIES = 3
"""How often a cluster gives a unit to another worker after one has died of it."""

Function = Callable[[Any], Any]
Results = Generator[Any, None, None]

# In batches of more than one, units that are done would wait for others to be stored.
AS_THEY_END: dict[str, Any] = {"return_as": "generator_unordered", "batch_size": 1}


@lru_cache
def open_dask(address: str, jobs: int) -> int:
    """Connect to a scheduler of dask, or start one with so many workers; return how many it has."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": RETRIES})
    try:
        if address:
            client = Client(address, timeout=10)
        else:
            cluster = LocalCluster(
                n_workers=jobs,
                threads_per_worker=1,
                host=LOOPBACK,
                dashboard_address=f"{LOOPBACK}:0",
                silence_logs="CRITICAL",
            )
            atexit.register(cluster.close)
            client = Client(cluster)
    except (OSError, ValueError, RuntimeError) as fault:
        raise _unreachable("dask", address, fault) from fault
    atexit.register(client.close)
    return max(1, sum(client.nthreads().values()))


@lru_cache
def open_ray(address: str, jobs: int) -> int:
    """Connect to a cluster of ray, or start one with so many workers; return how many it has."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    if not address:  # as on systems for which it makes no clusters: it then listens to nobody else
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray
    from ray.util.joblib import register_ray

    where: dict[str, Any] = (
        {"address": address}
        if address
        else {"num_cpus": jobs, "_node_ip_address": LOOPBACK, "include_dashboard": False}
    )
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
    except (OSError, ValueError, RuntimeError) as fault:
        raise _unreachable("ray", address, fault) from fault
    atexit.register(ray.shutdown)
    register_ray()
    return max(1, int(ray.cluster_resources().get("CPU", jobs)))


def _unreachable(engine: str, address: str, fault: Exception) -> UserError:
    what = f"no cluster of {engine} answers at {address!r}" if address else f"{engine} cannot start"
    return UserError(f"{what} ({' '.join(str(fault).split())[:200]}); see docs/cluster.md")


def by_joblib(
    function: Function, items: Iterator[Any], parallel: Mapping[str, Any], n_items: int
) -> Results:
    """Compute by threads or processes of this machine."""
    jobs = min(joblib.effective_n_jobs(int(parallel["jobs"])), n_items)
    given = AS_THEY_END
    if parallel["backend"] == "loky":  # those of dask and ray end with their parents by themselves
        given = given | {"initializer": end_with, "initargs": (os.getpid(),)}
    return _by_pool(joblib.Parallel(jobs, parallel["backend"], **given), function, items)


def by_dask(
    function: Function,
    items: Iterator[Any],
    parallel: Mapping[str, Any],
    n_items: int,  # noqa: ARG001
) -> Results:
    """Compute by the workers of a cluster of dask, which gives the units of one that dies again."""
    jobs = open_dask(parallel.get("address", ""), _workers(parallel))
    with joblib.parallel_config("dask"):
        pool = joblib.Parallel(jobs, **AS_THEY_END)
    return _by_pool(pool, function, items)


def _by_pool(pool: joblib.Parallel, function: Function, items: Iterator[Any]) -> Results:
    stream = pool(joblib.delayed(function)(item) for item in items)
    try:
        for returned in stream:  # noqa: UP028 -- `yield from` would close the stream, and warn
            yield returned
    finally:
        with warnings.catch_warnings(action="ignore"):  # of work that a stop throws away
            stream.close()


def by_ray(
    function: Function,
    items: Iterator[Any],
    parallel: Mapping[str, Any],
    n_items: int,  # noqa: ARG001
) -> Results:
    """Compute by the workers of a cluster of ray, which gives the units of one that dies again.

    Ray's backend for joblib returns results only when all have ended; these come one by one. Where
    the stream is closed, what was handed out runs to its end and is thrown away: `ray.cancel` of a
    task that is just being sent to a worker aborts this process (ray 2.60, "Tried to complete task
    that was not pending").
    """
    jobs = open_ray(parallel.get("address", ""), _workers(parallel))
    import ray

    task = ray.remote(max_retries=RETRIES)(function)
    waiting: list[Any] = []

    def next_ended() -> Any:
        (ended,), waiting[:] = ray.wait(waiting)
        return ray.get(ended)

    try:
        for item in items:
            waiting.append(task.remote(item))
            if len(waiting) > 2 * jobs:  # enough that no worker waits
                yield next_ended()
        while waiting:
            yield next_ended()
    except ray.exceptions.RayTaskError as fault:
        raise fault.cause from fault


def _workers(parallel: Mapping[str, Any]) -> int:
    """Return how many workers to start where there is no cluster."""
    jobs = int(parallel["jobs"])
    return joblib.cpu_count() if jobs < 1 else jobs


ENGINES: dict[str, Callable[[Function, Iterator[Any], Mapping[str, Any], int], Results]] = {
    "sequential": by_joblib,
    "threading": by_joblib,
    "loky": by_joblib,
    "dask": by_dask,
    "ray": by_ray,
}
"""What computes items by a function, and yields what it returns in whatever order they end."""


def results(
    function: Function, items: Iterator[Any], parallel: Mapping[str, Any], n_items: int
) -> Results:
    """Yield what a function returns for each of the items, in whatever order they end.

    Parameters
    ----------
    function : callable
        Of a module of the package: workers import it.
    items : iterator
        Taken only as workers become free.
    parallel : mapping
        An option of ``conf/parallel``.
    n_items : int
        How many items there are at most: more threads or processes are not started.

    Raises
    ------
    UserError
        If the engine is unknown or not installed, or its cluster cannot be reached.
    """
    engine = ENGINES[choose("parallel.backend", parallel["backend"], list(ENGINES))]
    try:
        yield from engine(function, items, parallel, n_items)
    except ImportError as fault:
        raise UserError(
            f"parallel={parallel['backend']} needs a package that is not installed ({fault}); "
            "install it with: pip install 'omtl[engines]'"
        ) from fault
