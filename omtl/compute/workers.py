"""Workers: threads or processes of this machine, or a cluster of Dask or Ray.

A worker takes one batch after the other; those of a cluster come and go, and may all be gone. Both
schedulers reassign a batch whose worker dies, three times by default. A cluster opens once per
process and closes when it ends; without an address, it consists of workers on this machine that
accept only local connections.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import lru_cache
from itertools import islice
from multiprocessing.pool import ThreadPool
from typing import Any, ClassVar

from omtl.experiment.specs import ParallelSpec
from omtl.util.errors import UserError

LOOPBACK = "127.0.0.1"
"""The address on which our own clusters listen."""

BACKLOG = 64
"""Minimum number of batches given to a cluster, for the workers that join later."""

LOOK = 0.5
"""Seconds without a result after which workers are looked at."""

ANSWER = 10.0
"""Seconds after which a cluster's head that does not answer is considered gone."""

Task = Callable[[], Any]


class Workers:
    """Threads of this process, which do not keep it from ending; base of clusters.

    A thread may keep a process of its own (`omtl.compute.own_process`), which ends with it.

    Parameters
    ----------
    jobs : int
    """

    def __init__(self, jobs: int) -> None:
        self.count = self.backlog = jobs
        self._pool = ThreadPool(jobs)

    def submit(self, task: Task) -> Future[Any]:
        """Let a worker call a function."""
        future: Future[Any] = Future()
        self._pool.apply_async(
            task, callback=future.set_result, error_callback=future.set_exception
        )
        return future

    def look(self) -> None:
        """Look after workers; raise UserError if they are gone for good."""

    def end(self, is_early: bool) -> None:  # noqa: ARG002
        """Stop; if that is early, forget what is under way."""
        self._pool.terminate()

    def returned_by(self, tasks: Iterator[Task]) -> Generator[Any, None, None]:
        """Yield what functions return, as they end; raise what the first that fails raises."""
        under_way: set[Future[Any]] = set()
        is_early = True
        try:
            while True:
                given = islice(tasks, self.backlog - len(under_way))
                under_way.update(map(self.submit, given))
                if not under_way:
                    is_early = False
                    return
                ended, under_way = wait(under_way, LOOK, FIRST_COMPLETED)
                failed = [one for one in ended if one.cancelled() or one.exception()]
                yield from (one.result() for one in ended.difference(failed))
                if failed or not ended:
                    self.look()
                for one in failed:
                    one.result()
        finally:
            self.end(is_early)


class Cluster(Workers):
    """Workers that may be on other machines.

    Parameters
    ----------
    address : str
        Of a scheduler; empty for workers on this machine.
    jobs : int
        How many workers are wanted at least.
    """

    name: ClassVar[str]

    def __init__(self, address: str, jobs: int) -> None:
        self._address, self._jobs, self._has_none = address, jobs, False
        self._where = f"{self.name} at {address}" if address else self.name

    def n_workers(self) -> int:
        """Return the number of workers; raise UserError if the scheduler is gone."""
        raise NotImplementedError

    def look(self) -> None:
        """Count the workers; say that there are none."""
        n_workers = self.n_workers()
        self.count = max(n_workers, self._jobs)
        self.backlog = max(2 * self.count, BACKLOG if self._address else 1)
        had_none, self._has_none = self._has_none, not n_workers
        if self._has_none and not had_none:
            print(f"omtl: {self._where} has no workers now; waiting for one", file=sys.stderr)

    def end(self, is_early: bool) -> None:
        """Leave workers to the cluster."""

    def gone(self) -> UserError:
        """Return the error for a scheduler that has ended meanwhile."""
        cluster.cache_clear()
        return UserError(
            f"the scheduler of {self._where} is gone; start it again, then run the same command: "
            "finished units are kept"
        )


def ignore_interrupts() -> None:
    """Let Ctrl-C do nothing in this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Dask(Cluster):
    """The workers of a Dask scheduler."""

    name = "dask"

    def __init__(self, address: str, jobs: int) -> None:
        super().__init__(address, jobs)
        from distributed import Client, LocalCluster

        for name in logging.root.manager.loggerDict:  # errors are reported in our own words
            if name.partition(".")[0] in ("distributed", "tornado"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        if self._address:
            self.client = Client(self._address, timeout=ANSWER)
        else:
            dashboard = f"{LOOPBACK}:0"
            workers = LocalCluster(
                n_workers=self._jobs,
                threads_per_worker=1,
                host=LOOPBACK,
                dashboard_address=dashboard,
            )
            atexit.register(workers.close)
            self.client = Client(workers)
            self.client.run(ignore_interrupts)  # Ctrl-C is for this process
        atexit.register(self.client.close)
        self._executor = self.client.get_executor(pure=False)

    def n_workers(self) -> int:
        """Return the number of workers' threads."""
        try:
            if self.client.status != "running":
                raise self.gone()
            return sum(self.client.nthreads().values())
        except (OSError, ValueError, TypeError, AttributeError) as fault:
            raise self.gone() from fault

    def submit(self, task: Task) -> Future[Any]:
        """Let a worker call it."""
        if self.client.status != "running":
            raise self.gone()
        return self._executor.submit(task)

    def end(self, is_early: bool) -> None:
        """Cancel what is under way."""
        if is_early and self.client.status == "running":
            self._executor.shutdown(wait=False)
            self._executor = self.client.get_executor(pure=False)


def call(task: Task) -> Any:
    """Call a function, as a task of Ray."""
    return task()


class Ray(Cluster):
    """The workers of a Ray cluster.

    When a run stops, running tasks finish and their results are discarded: `ray.cancel` of a task
    that is just being sent to a worker aborts this process (ray 2.60).
    """

    name = "ray"

    def __init__(self, address: str, jobs: int) -> None:
        super().__init__(address, jobs)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send usage statistics
        if not self._address:  # as on systems for which it makes no clusters: it is then local
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
        import ray

        if ":" in self._address:  # or ray would try for minutes
            knock(self._address)
        own = {"num_cpus": self._jobs, "_node_ip_address": LOOPBACK, "include_dashboard": False}
        where = {"address": self._address} if self._address else {"address": "local", **own}
        on_terminate = signal.getsignal(signal.SIGTERM)
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
        if threading.current_thread() is threading.main_thread():  # where ray replaces it
            signal.signal(signal.SIGTERM, on_terminate)
        atexit.register(ray.shutdown)
        self._ray = ray

    def n_workers(self) -> int:
        """Return the number of workers.

        Ray itself would look for a lost head for a minute, and then end this process; and it would
        go on without the node by which this process takes part until it ends this process too.
        """
        context = self._ray.get_runtime_context()
        try:
            knock(self._address if "://" in self._address else context.gcs_address)
            nodes = [node for node in self._ray.nodes() if node["Alive"]]
        except (OSError, self._ray.exceptions.RayError) as fault:
            raise self.gone() from fault
        if context.get_node_id() not in {node["NodeID"] for node in nodes}:
            raise self.gone()
        return int(sum(node["Resources"].get("CPU", 0) for node in nodes))

    def submit(self, task: Task) -> Future[Any]:
        """Let a worker call it."""
        return self._ray.remote(call).remote(task).future()


def knock(address: str) -> None:
    """Raise an OSError unless somebody listens at an address."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    socket.create_connection((host, int(port)), ANSWER).close()


CLUSTERS: dict[str, type[Cluster]] = {"dask": Dask, "ray": Ray}


@lru_cache
def cluster(name: str, address: str, jobs: int, process: int) -> Cluster:  # noqa: ARG001
    """Return a cluster, which this process keeps until it ends; a fork does not inherit it.

    Raises
    ------
    UserError
        If the engine is not installed, or its cluster does not answer or cannot start.
    """
    try:
        return CLUSTERS[name](address, jobs)
    except ImportError as fault:
        raise UserError(
            f"parallel={name} needs a package that is not installed ({fault}); install it with: "
            "pip install 'omtl[engines]'"
        ) from fault
    except (OSError, ValueError, RuntimeError) as fault:
        what = f"no cluster of {name} answers at {address!r}" if address else f"{name} cannot start"
        guard = (
            "" if address else "; a script needs `if __name__ == '__main__':` before what it runs"
        )
        raise UserError(
            f"{what} ({' '.join(str(fault).split())[:200]}){guard}; see docs/cluster.md"
        ) from fault


def open_workers(parallel: ParallelSpec, most: int) -> Workers:
    """Return the workers of an engine; threads at most so many.

    Raises
    ------
    UserError
        If the engine is not installed, or its cluster cannot be reached.
    """
    if parallel.backend not in CLUSTERS:
        return Workers(min(parallel.n_jobs, most))
    address = parallel.address or ""
    workers = cluster(parallel.backend, address, parallel.n_jobs, os.getpid())
    workers.look()
    return workers
