"""The engines that compute tasks: threads, processes, and clusters of dask and ray.

An engine is a pool: it says how many tasks it can work on, takes tasks, and returns what has ended.
It is asked for its capacity at every turn, so workers may join and leave a cluster at any time.
Clusters open once per process and close when it ends; without an address, they start workers on
this machine that listen to nobody else.
"""

from __future__ import annotations

import atexit
import logging
import os
import socket
import sys
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from contextlib import closing
from functools import lru_cache
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Protocol

import joblib

from omtl.compute.orphans import end_with
from omtl.experiment.config import choose
from omtl.util.errors import UserError

LOOPBACK = "127.0.0.1"

RETRIES = 3
"""How often a cluster gives a task to another worker after one has died of it."""

LOOK = 0.5
"""Seconds between two looks at a cluster's capacity."""

ANSWER = 10.0
"""Seconds in which the head of a cluster answers, or it is gone."""

BACKLOG = 16
"""Tasks that a cluster is given at least, so that one that grows by need sees the need."""

IDLE = 300
"""Seconds after which worker processes without work end."""

ONE_THREAD = {
    f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
}
"""Environment of worker processes, whose number is that of the cores."""

Function = Callable[[Any], Any]
Take = Callable[[int], Any]
Results = Generator[list[Any], None, None]


class Pool(Protocol):
    """What computes tasks."""

    def capacity(self) -> int:
        """Return how many tasks it can work on at a time, now."""

    def backlog(self) -> int:
        """Return how many tasks it is given at least."""

    def submit(self, task: Any) -> None:
        """Take a task."""

    def ended(self) -> list[Any]:
        """Return what tasks returned that have ended since; wait a moment where none has.

        Where one raised, what others returned comes first, and the fault with the next call.
        """

    def close(self) -> None:
        """Let go of the tasks that have not ended."""


class Alone:
    """This process itself, which works on one task at a time."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._tasks: list[Any] = []

    def capacity(self) -> int:
        """One."""
        return 1

    def backlog(self) -> int:
        """One: a task is chosen when the one before has ended."""
        return 1

    def submit(self, task: Any) -> None:
        """Take a task."""
        self._tasks.append(task)

    def ended(self) -> list[Any]:
        """Work on what was taken."""
        tasks, self._tasks = self._tasks, []
        return [self._function(task) for task in tasks]

    def close(self) -> None:
        """Nothing is under way."""


class _Local:
    """Workers of this machine, each of which puts what has ended into a queue."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._fault: BaseException | None = None

    def capacity(self) -> int:
        """As many as there are workers."""
        return self._jobs

    def backlog(self) -> int:
        """Two for each worker, so that none waits."""
        return 2 * self._jobs

    def _unpacked(self, end: Any) -> Any:
        raise NotImplementedError

    def ended(self) -> list[Any]:
        """Return what has ended."""
        if self._fault is not None:
            raise self._fault
        returned: list[Any] = []
        try:
            returned.append(self._unpacked(self._ended.get(timeout=LOOK)))
            while True:
                returned.append(self._unpacked(self._ended.get_nowait()))
        except Empty:
            return returned
        except Exception as fault:
            if not returned:
                raise
            self._fault = fault
            return returned


class Threads(_Local):
    """Threads of this process, which end with it."""

    def __init__(self, function: Function, jobs: int) -> None:
        super().__init__(jobs)
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        for _ in range(jobs):
            Thread(target=self._work, args=(function,), daemon=True).start()

    def _work(self, function: Function) -> None:
        while (given := self._tasks.get()) is not None:
            try:
                self._ended.put((function(given[0]), None))
            except BaseException as fault:  # whoever waits for the task is to know
                self._ended.put((None, fault))

    def submit(self, task: Any) -> None:
        """Take a task."""
        self._tasks.put((task,))

    def _unpacked(self, end: tuple[Any, BaseException | None]) -> Any:
        if end[1] is not None:
            raise end[1]
        return end[0]

    def close(self) -> None:
        """Let threads end after the task that each works on."""
        while not self._tasks.empty():
            self._tasks.get()
        for _ in range(self._jobs):
            self._tasks.put(None)


class Processes(_Local):
    """Processes of this machine, by loky; they serve the next pool too, and end with this one."""

    def __init__(self, function: Function, jobs: int) -> None:
        from joblib.externals.loky import get_reusable_executor
        from joblib.externals.loky.backend import get_context

        super().__init__(jobs)
        self._function = function
        self._under_way: set[Future[Any]] = set()
        self._executor = get_reusable_executor(
            jobs,
            context=get_context("loky"),  # which does not run the user's script again
            timeout=IDLE,
            initializer=end_with,
            initargs=(os.getpid(),),
            env=ONE_THREAD,
        )

    def submit(self, task: Any) -> None:
        """Take a task."""
        future = self._executor.submit(self._function, task)
        self._under_way.add(future)
        future.add_done_callback(self._ended.put)

    def _unpacked(self, end: Any) -> Any:
        self._under_way.discard(end)
        return end.result()

    def close(self) -> None:
        """End the workers where they work on something.

        Not before what was submitted last is on its way to them: a thread of loky (3.6.0) that
        still looks for it then would print a `KeyError`.
        """
        until = time.monotonic() + LOOK
        while self._waiting() and time.monotonic() < until:
            time.sleep(0.001)
        if self._under_way:
            self._executor.shutdown(kill_workers=True)

    def _waiting(self) -> bool:
        """Whether some task has neither been handed to a worker nor ended."""
        return not all(future.running() or future.done() for future in self._under_way)


class _Cluster:
    """Workers of other machines, which may come and go."""

    def __init__(self, function: Function, address: str) -> None:
        self._function, self._address = function, address
        self._capacity = 0
        self._looked = -LOOK

    def capacity(self) -> int:
        """Return how many workers there are, looked for twice a second."""
        if time.monotonic() - self._looked >= LOOK:
            self._capacity = self._now()
            self._looked = time.monotonic()
        return self._capacity

    def backlog(self) -> int:
        """Two for each worker, so that none waits; more where the cluster may grow."""
        return max(2 * self._capacity, BACKLOG if self._address else 1)

    def _now(self) -> int:
        raise NotImplementedError


class Dask(_Cluster):
    """The workers of a dask scheduler, which gives the task of one that dies to another."""

    def __init__(self, function: Function, address: str, jobs: int) -> None:
        super().__init__(function, address)
        self._client = open_dask(address, jobs)
        from distributed import as_completed

        self._under_way = as_completed(loop=self._client.loop)
        self._failed: list[Any] = []

    def _now(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, ValueError, TypeError, AttributeError) as fault:
            raise _gone("dask", self._address) from fault

    def submit(self, task: Any) -> None:
        """Take a task."""
        if self._client.status != "running":
            raise _gone("dask", self._address)
        self._under_way.add(self._client.submit(self._function, task, pure=False))

    def ended(self) -> list[Any]:
        """Return what has ended."""
        condition = self._under_way.thread_condition
        with condition:
            if not self._under_way.has_ready():
                condition.wait(LOOK)
        futures = self._under_way.next_batch(block=False)
        good = [future for future in futures if future.status == "finished"]
        self._failed += [future for future in futures if future.status != "finished"]
        if self._client.status != "running":
            raise _gone("dask", self._address)
        if self._failed and not good:
            self._failed[0].result()
        return self._client.gather(good)

    def close(self) -> None:
        """Cancel what has not ended."""
        if self._under_way.futures and self._client.status == "running":
            self._client.cancel(list(self._under_way.futures), force=True)


class Ray(_Cluster):
    """The workers of a ray cluster, which gives the task of one that dies to another.

    Where it is closed, what was handed out runs to its end and is thrown away: `ray.cancel` of a
    task that is just being sent to a worker aborts this process (ray 2.60, "Tried to complete task
    that was not pending").
    """

    def __init__(self, function: Function, address: str, jobs: int) -> None:
        open_ray(address, jobs)
        super().__init__(function, address)
        import ray

        self._ray = ray
        _, client, server = str(address).rpartition("ray://")
        head: str = server if client else ray.get_runtime_context().gcs_address
        self._host, _, self._port = head.rpartition(":")
        self._task = ray.remote(max_retries=RETRIES)(function)
        self._under_way: list[Any] = []
        self._failed: list[Any] = []

    def _look_for_head(self) -> None:
        """Raise where it is gone: ray would look for it for a minute, and then end this process."""
        try:
            socket.create_connection((self._host, int(self._port)), ANSWER).close()
        except OSError as fault:
            raise _gone("ray", self._address) from fault

    def _now(self) -> int:
        self._look_for_head()
        return int(self._ray.cluster_resources().get("CPU", 0))

    def submit(self, task: Any) -> None:
        """Take a task."""
        self._under_way.append(self._task.remote(task))

    def ended(self) -> list[Any]:
        """Return what has ended."""
        wait = self._ray.wait
        first, rest = wait(self._under_way, timeout=LOOK)
        others, self._under_way = wait(rest, num_returns=len(rest), timeout=0) if rest else ([], [])
        returned = []
        for end in first + others:
            try:
                returned.append(self._ray.get(end))
            except self._ray.exceptions.RayError as fault:
                self._failed.append(fault)
        if self._failed and not returned:
            self._look_for_head()
            first_fault = self._failed[0]
            raise getattr(first_fault, "cause", None) or first_fault
        return returned

    def close(self) -> None:
        """Forget what has not ended."""
        self._under_way.clear()


@lru_cache
def open_dask(address: str, jobs: int) -> Any:
    """Return a client of a scheduler of dask; without an address, start one with so many workers.

    Raises
    ------
    UserError
        If it does not answer or cannot start.
    """
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": RETRIES})
    for name in logging.root.manager.loggerDict:  # faults are told in a sentence of ours
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
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
    return client


@lru_cache
def open_ray(address: str, jobs: int) -> None:
    """Connect to a cluster of ray; without an address, start one with so many workers.

    Raises
    ------
    UserError
        If it does not answer or cannot start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to its makers
    if not address:  # as on systems for which it makes no clusters: it then listens to nobody else
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    where: dict[str, Any] = (
        {"address": address}
        if address
        else {
            "address": "local",
            "num_cpus": jobs,
            "_node_ip_address": LOOPBACK,
            "include_dashboard": False,
        }
    )
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
    except (OSError, ValueError, RuntimeError) as fault:
        raise _unreachable("ray", address, fault) from fault
    atexit.register(ray.shutdown)


def _unreachable(engine: str, address: str, fault: Exception) -> UserError:
    what = f"no cluster of {engine} answers at {address!r}" if address else f"{engine} cannot start"
    return UserError(f"{what} ({' '.join(str(fault).split())[:200]}); see docs/cluster.md")


def _gone(engine: str, address: str) -> UserError:
    open_dask.cache_clear()
    where = f" at {address}" if address else ""
    return UserError(
        f"the scheduler of {engine}{where} is gone; start it again, then run the same command: "
        "finished units are kept"
    )


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
"""How each pool is opened: for a function, a config, and as many tasks as there are at most."""


def results(function: Function, take: Take, parallel: Mapping[str, Any], most: int) -> Results:
    """Yield what a function returns for tasks, in lists of what has ended, in whatever order.

    A list is empty where nothing has ended for a moment.

    Parameters
    ----------
    function : callable
        Of a module of the package: workers import it.
    take : callable
        Given how many workers there are now, returns the next task; None where there is none left.
    parallel : mapping
        An option of ``conf/parallel``.
    most : int
        How many tasks there are at most: more threads or processes are not started.

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
    """Hand out as much as there is room for now, yield what has ended, and begin again."""
    under_way, more, told = 0, True, False
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
        if not workers and not told:
            where = f" at {parallel['address']}" if parallel.get("address") else ""
            print(
                f"omtl: {parallel['backend']}{where} has no workers now; waiting for one",
                file=sys.stderr,
            )
        told = not workers
        ended = pool.ended()
        under_way -= len(ended)
        yield ended
