"""The clusters of Dask and Ray as backends of joblib: workers come and go, and may all be gone.

joblib's own backend of Dask counts the workers once, at the start, and gives little to those that
join later; Ray's cannot return results as they end. Both schedulers reassign the tasks of dead
workers. A cluster opens once per process and closes when it ends; without an address, it consists
of workers on this machine that accept only local connections.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

from joblib.parallel import ParallelBackendBase

from omtl.util.errors import UserError

LOOPBACK = "127.0.0.1"
"""The address on which our own clusters listen."""

RETRIES = 3
"""Number of times a cluster reassigns a task whose worker has died."""

BACKLOG = 64
"""Minimum number of tasks given to a cluster, for the workers that join later."""

LOOK = 0.5
"""Seconds between checks of a cluster."""

ANSWER = 10.0
"""Seconds after which a cluster's head that does not answer is considered gone."""


class Cluster(ParallelBackendBase):
    """A backend of joblib whose workers are on other machines, and may come and go.

    Parameters
    ----------
    name, address : str
        Of the engine, and of its scheduler; no address for workers on this machine.
    client : object
        What is connected to it.
    """

    supports_retrieve_callback = True

    def __init__(self, name: str, address: str, client: Any) -> None:
        super().__init__(nesting_level=0)
        self._name, self._address, self._client = name, address, client
        self._under_way: set[Future[Any]] = set()
        self._ended = threading.Event()

    def workers(self) -> int:
        """Return the number of workers.

        Raises
        ------
        UserError
            If the scheduler is gone.
        """
        raise NotImplementedError

    def send(self, function: Callable[[], Any]) -> Future[Any]:
        """Let a worker call a function."""
        raise NotImplementedError

    def backlog(self, workers: int) -> int:
        """Return how many tasks to give it: two per worker, and some for those that join later."""
        return max(2 * workers, BACKLOG if self._address else 1)

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return the number of workers, at least two: joblib itself would compute for one."""
        return max(2, n_jobs)

    def start_call(self) -> None:
        """Begin to watch the cluster."""
        self._ended.clear()
        threading.Thread(target=self._watch, daemon=True).start()

    def stop_call(self) -> None:
        """Watch no longer."""
        self._ended.set()

    def submit(self, func: Callable[[], Any], callback: Any = None) -> Future[Any]:
        """Accept a task."""
        future: Future[Any] = Future()
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        future.add_done_callback(callback)
        self.send(func).add_done_callback(partial(_settle, future))
        return future

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        """Return what a task returned, or raise what it raised."""
        try:
            return out.result()
        except Exception as fault:
            raise getattr(fault, "cause", None) or fault from None

    def abort_everything(self, ensure_ready: bool = True) -> None:  # noqa: ARG002
        """Forget the tasks that are under way."""
        self._under_way.clear()

    def gone(self) -> UserError:
        """Return the error for a scheduler that has ended meanwhile."""
        cluster.cache_clear()
        where = f" at {self._address}" if self._address else ""
        return UserError(
            f"the scheduler of {self._name}{where} is gone; start it again, then run the same "
            "command: finished units are kept"
        )

    def _watch(self) -> None:
        """Say that there are no workers; if the scheduler is gone, end all tasks."""
        warned = False
        while not self._ended.wait(LOOK):
            try:
                workers = self.workers()
            except UserError as fault:
                for future in list(self._under_way):
                    with suppress(InvalidStateError):
                        future.set_exception(fault)
                return
            if not workers and not warned:
                where = f" at {self._address}" if self._address else ""
                print(
                    f"omtl: {self._name}{where} has no workers now; waiting for one",
                    file=sys.stderr,
                )
            warned = not workers


def _settle(future: Future[Any], ended: Future[Any]) -> None:
    """Let a future end as another one has ended, unless it was given up."""
    with suppress(InvalidStateError):
        try:
            future.set_result(ended.result())
        except Exception as fault:
            future.set_exception(fault)


class Dask(Cluster):
    """The workers of a Dask scheduler."""

    def workers(self) -> int:
        """Return the number of workers' threads."""
        try:
            if self._client.status != "running":
                raise self.gone()
            return sum(self._client.nthreads().values())
        except (OSError, ValueError, TypeError, AttributeError) as fault:
            raise self.gone() from fault

    def send(self, function: Callable[[], Any]) -> Future[Any]:
        """Let a worker call a function."""
        if self._client.status != "running":
            raise self.gone()
        return self._executor.submit(function)

    def start_call(self) -> None:
        """Begin to watch the cluster."""
        self._executor = self._client.get_executor(pure=False)
        super().start_call()

    def abort_everything(self, ensure_ready: bool = True) -> None:
        """Cancel the tasks that are under way."""
        if self._client.status == "running":
            self._executor.shutdown(wait=False)
        super().abort_everything(ensure_ready)


def call(function: Callable[[], Any]) -> Any:
    """Call a function, as a task of Ray."""
    return function()


class Ray(Cluster):
    """The workers of a Ray cluster.

    When a run stops, running tasks finish and their results are discarded: `ray.cancel` of a task
    that is just being sent to a worker aborts this process (ray 2.60).
    """

    def workers(self) -> int:
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

    def send(self, function: Callable[[], Any]) -> Future[Any]:
        """Let a worker call a function."""
        return self._client.remote(max_retries=RETRIES)(call).remote(function).future()


def leave_ctrl_c() -> None:
    """Let this worker ignore Ctrl-C, which is for the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
def cluster(name: str, address: str, jobs: int) -> Cluster:
    """Return the backend of an engine's cluster; without an address, of one with so many workers.

    Raises
    ------
    UserError
        If the engine is not installed, or its cluster does not answer or cannot start.
    """
    kind, connect = (Dask, _open_dask) if name == "dask" else (Ray, _open_ray)
    try:
        return kind(name, address, connect(address, jobs))
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
