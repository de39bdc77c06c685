"""The engines that compute tasks: threads, processes, and clusters of dask and ray.

An engine is a pool: it reports its capacity, accepts tasks, and returns finished results.
Its capacity is queried again and again, so workers may join and leave a cluster at any time.
Clusters open once per process and close when it ends; without an address, they start workers on
this machine that accept only local connections.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from typing import Any

import joblib

from omtl.compute.engines.dask_cluster import Dask
from omtl.compute.engines.local import Alone, Processes, Threads
from omtl.compute.engines.pool import Function, Pool
from omtl.compute.engines.ray_cluster import Ray
from omtl.experiment.config import choose
from omtl.util.errors import UserError

Take = Callable[[int], Any]
Results = Generator[list[Any], None, None]


def _jobs(parallel: Mapping[str, Any]) -> int:
    jobs = int(parallel["jobs"])
    return joblib.cpu_count() if jobs < 1 else jobs


ENGINES: dict[str, Callable[[Function, Mapping[str, Any], int], Pool]] = {
    "sequential": lambda function, _, __: Alone(function),
    "threading": lambda function, how, most: Threads(function, min(_jobs(how), most)),
    "loky": lambda function, how, most: Processes(function, min(_jobs(how), most)),
    "dask": lambda function, how, _: Dask(function, how.get("address", ""), _jobs(how)),
    "ray": lambda function, how, _: Ray(function, how.get("address", ""), _jobs(how)),
}
"""How to open each pool, given a function, a config and the maximum number of tasks."""


def results(function: Function, take: Take, parallel: Mapping[str, Any], most: int) -> Results:
    """Yield the results of a function for tasks, in lists, in any order.

    A list is empty if nothing has finished for a moment.

    Parameters
    ----------
    function : callable
        A function in a module of the package, which workers import.
    take : callable
        Returns the next task, given the current number of workers, or None if there is none left.
    parallel : mapping
        An option of ``conf/parallel``.
    most : int
        Maximum number of tasks, which limits the number of threads or processes.

    Raises
    ------
    UserError
        If the engine is unknown or not installed, or its cluster cannot be reached or is gone.
    """
    engine = ENGINES[choose("parallel.backend", parallel["backend"], list(ENGINES))]
    try:
        pool = engine(function, parallel, most)
    except ImportError as fault:
        raise UserError(
            f"parallel={parallel['backend']} needs a package that is not installed ({fault}); "
            "install it with: pip install 'omtl[engines]'"
        ) from fault
    with closing(pool):
        yield from _turns(pool, take, parallel)


def _turns(pool: Pool, take: Take, parallel: Mapping[str, Any]) -> Results:
    """Hand out tasks up to the capacity, yield finished results, and repeat."""
    under_way, more, warned = 0, True, False
    while True:
        workers = pool.capacity()
        while more and under_way < pool.backlog():
            task = take(workers)
            more = task is not None
            if more:
                pool.submit(task)
                under_way += 1
        if not under_way:
            return
        if not workers and not warned:
            where = f" at {parallel['address']}" if parallel.get("address") else ""
            print(
                f"omtl: {parallel['backend']}{where} has no workers now; waiting for one",
                file=sys.stderr,
            )
        warned = not workers
        returned, fault = pool.ended()
        if returned or fault is None:
            yield returned
        if fault is not None:
            raise fault
        under_way -= len(returned)
