"""Workers: in this process, in others of this machine, or of a cluster of Dask or Ray.

A worker takes one batch after the other; those of a cluster come and go, and may all be gone. Both
schedulers reassign the batches of dead workers. A cluster opens once per process and closes when it
ends; without an address, it consists of workers on this machine that accept only local connections.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import lru_cache
from itertools import islice
from multiprocessing.pool import ThreadPool
from typing import Any

from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.utils import kill_process_tree

from omtl.compute.own_process import end_with
from omtl.experiment.config import number_of_jobs
from omtl.experiment.schema import choose
from omtl.util.errors import UserError
from omtl.util.user_folder import VARIABLE

LOOPBACK = "127.0.0.1"
"""The address on which our own clusters listen."""

RETRIES = 3
"""Number of times a cluster reassigns a batch whose worker has died."""

BACKLOG = 64
"""Minimum number of batches given to a cluster, for the workers that join later."""

LOOK = 0.5
"""Seconds without a result after which workers are looked at."""

ANSWER = 10.0
"""Seconds after which a cluster's head that does not answer is considered gone."""

IDLE = 300
"""Seconds after which an idle process ends."""

Task = Callable[[], Any]


class Workers:
    """Workers that call functions.

    Parameters
    ----------
    count : int
        Their number, as far as is known.
    """

    def __init__(self, count: int) -> None:
        self.count = self.backlog = count

    def submit(self, task: Task) -> Future[Any]:
        """Let a worker call a function."""
        raise NotImplementedError

    def look(self) -> None:
        """Look after workers that return nothing; raise UserError if they are gone for good."""

    def end(self, is_early: bool) -> None:
        """Stop; if that is early, forget what is under way."""

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


class InThisThread(Workers):
    """Calls each function at once."""

    def submit(self, task: Task) -> Future[Any]:
        """Call it."""
        future: Future[Any] = Future()
        try:
            future.set_result(task())
        except Exception as fault:
            future.set_exception(fault)
        return future


class Threads(Workers):
    """Threads of this process, which do not keep it from ending."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._pool = ThreadPool(count)

    def submit(self, task: Task) -> Future[Any]:
        """Let a thread call it."""
        future: Future[Any] = Future()
        self._pool.apply_async(
            task, callback=future.set_result, error_callback=future.set_exception
        )
        return future

    def end(self, is_early: bool) -> None:  # noqa: ARG002
        """Let idle threads end."""
        self._pool.terminate()


class Processes(Workers):
    """Processes of this machine, which wait a while for further functions."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self._pool = get_reusable_executor(
            count,
            timeout=IDLE,
            initializer=_begin_process,
            initargs=(os.getpid(), os.environ.get(VARIABLE, "")),
        )
        self._dead: set[Any] = set()

    def submit(self, task: Task) -> Future[Any]:
        """Let a process call it."""
        return self._pool.submit(task)

    def look(self) -> None:
        """End the pool if a process died while it sent a result: loky waits for the rest for ever.

        This takes names that loky (3.6) keeps to itself.
        """
        processes = list(self._pool._processes.values())
        earlier, self._dead = self._dead, {one for one in processes if not one.is_alive()}
        if self._dead & earlier and not self._pool._flags.broken:
            self._pool._result_queue._writer.close()  # a result ends with those that may send it
            for process in processes:
                kill_process_tree(process)

    def end(self, is_early: bool) -> None:
        """Kill processes at work."""
        if is_early:
            self._pool.shutdown(wait=False, kill_workers=True)


def _begin_process(parent: int, own: str) -> None:
    """Prepare a local process: it ends with its parent, and leaves Ctrl-C to it."""
    end_with(parent)
    leave_ctrl_c()
    os.environ[VARIABLE] = own


def leave_ctrl_c() -> None:
    """Let this worker ignore Ctrl-C, which is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Cluster(Workers):
    """Workers that may be on other machines.

    Parameters
    ----------
    name, address : str
        Of the engine, and of its scheduler; no address for workers on this machine.
    jobs : int
        How many workers are wanted at least.
    """

    def __init__(self, name: str, address: str, jobs: int) -> None:
        self._address, self._client = address, connected(name, address, jobs)
        self._where = f"{name} at {address}" if address else name
        self._has_none = False
        super().__init__(max(self.n_workers(), jobs))
        self.backlog = max(2 * self.count, BACKLOG if address else 1)

    def n_workers(self) -> int:
        """Return the number of workers; raise UserError if the scheduler is gone."""
        raise NotImplementedError

    def look(self) -> None:
        """Say that there are no workers."""
        had_none, self._has_none = self._has_none, not self.n_workers()
        if self._has_none and not had_none:
            print(f"omtl: {self._where} has no workers now; waiting for one", file=sys.stderr)

    def gone(self) -> UserError:
        """Return the error for a scheduler that has ended meanwhile."""
        connected.cache_clear()
        return UserError(
            f"the scheduler of {self._where} is gone; start it again, then run the same command: "
            "finished units are kept"
        )


class Dask(Cluster):
    """The workers of a Dask scheduler."""

    def __init__(self, name: str, address: str, jobs: int) -> None:
        super().__init__(name, address, jobs)
        self._executor = self._client.get_executor(pure=False)

    def n_workers(self) -> int:
        """Return the number of workers' threads."""
        try:
            if self._client.status != "running":
                raise self.gone()
            return sum(self._client.nthreads().values())
        except (OSError, ValueError, TypeError, AttributeError) as fault:
            raise self.gone() from fault

    def submit(self, task: Task) -> Future[Any]:
        """Let a worker call it."""
        if self._client.status != "running":
            raise self.gone()
        return self._executor.submit(task)

    def end(self, is_early: bool) -> None:
        """Cancel what is under way."""
        if is_early and self._client.status == "running":
            self._executor.shutdown(wait=False)


def call(task: Task) -> Any:
    """Call a function, as a task of Ray."""
    return task()


class Ray(Cluster):
    """The workers of a Ray cluster.

    When a run stops, running tasks finish and their results are discarded: `ray.cancel` of a task
    that is just being sent to a worker aborts this process (ray 2.60).
    """

    def n_workers(self) -> int:
        """Return the number of workers.

        Ray itself would look for a lost head for a minute, and then end this process; and it would
        go on without the node by which this process takes part until it ends this process too.
        """
        ray = self._client
        context = ray.get_runtime_context()
        try:
            knock(self._address if "://" in self._address else context.gcs_address)
            nodes = [node for node in ray.nodes() if node["Alive"]]
        except (OSError, ray.exceptions.RayError) as fault:
            raise self.gone() from fault
        if context.get_node_id() not in {node["NodeID"] for node in nodes}:
            raise self.gone()
        return int(sum(node["Resources"].get("CPU", 0) for node in nodes))

    def submit(self, task: Task) -> Future[Any]:
        """Let a worker call it."""
        return self._client.remote(max_retries=RETRIES)(call).remote(task).future()


def _open_dask(address: str, jobs: int) -> Any:
    """Return a client of Dask."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": RETRIES})
    for name in logging.root.manager.loggerDict:  # errors are reported in our own words
        if name.partition(".")[0] in ("distributed", "tornado"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
    if address:
        client = Client(address, timeout=10)
    else:
        dashboard = f"{LOOPBACK}:0"
        workers = LocalCluster(jobs, 1, host=LOOPBACK, dashboard_address=dashboard)
        atexit.register(workers.close)
        client = Client(workers)
        client.run(leave_ctrl_c)
    atexit.register(client.close)
    return client


def knock(address: str) -> None:
    """Raise an OSError unless somebody listens at an address."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    socket.create_connection((host, int(port)), ANSWER).close()


def _open_ray(address: str, jobs: int) -> Any:
    """Return ray, connected to a cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send usage statistics
    if not address:  # as on systems for which it makes no clusters: it then listens to nobody else
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    import ray

    if ":" in address:  # or ray would try for minutes
        knock(address)
    own = {"num_cpus": jobs, "_node_ip_address": LOOPBACK, "include_dashboard": False}
    where = {"address": address} if address else {"address": "local", **own}
    on_terminate = signal.getsignal(signal.SIGTERM)
    ray.init(logging_level=logging.ERROR, log_to_driver=False, **where)
    if threading.current_thread() is threading.main_thread():  # where ray replaces it
        signal.signal(signal.SIGTERM, on_terminate)
    atexit.register(ray.shutdown)
    return ray


@lru_cache
def connected(name: str, address: str, jobs: int) -> Any:
    """Return what is connected to a cluster; without an address, one of so many workers here.

    Raises
    ------
    UserError
        If the engine is not installed, or its cluster does not answer or cannot start.
    """
    try:
        return (_open_dask if name == "dask" else _open_ray)(address, jobs)
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


HERE = {"sequential": InThisThread, "threading": Threads, "loky": Processes}
CLUSTERS = {"dask": Dask, "ray": Ray}

BACKENDS = [*HERE, *CLUSTERS]


def open_workers(parallel: Mapping[str, Any], most: int) -> Workers:
    """Return the workers of an engine, at most so many on this machine.

    Raises
    ------
    UserError
        If the engine is unknown or not installed, or its cluster cannot be reached.
    """
    name = choose("parallel.backend", parallel["backend"], BACKENDS)
    if name in HERE:
        return HERE[name](min(number_of_jobs(parallel), most))
    return CLUSTERS[name](name, str(parallel.get("address") or ""), number_of_jobs(parallel))
