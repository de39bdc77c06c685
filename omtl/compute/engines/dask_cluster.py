"""The engine of dask: an existing scheduler's workers, or workers on this machine."""

from __future__ import annotations

import atexit
import logging
from functools import lru_cache
from typing import Any

from omtl.compute.engines.cluster import LOOPBACK, RETRIES, Cluster, gone, unreachable
from omtl.compute.engines.pool import LOOK, Ends, Function
from omtl.util.errors import UserError


class Dask(Cluster):
    """The workers of a dask scheduler, which reassigns the tasks of dead workers."""

    def __init__(self, function: Function, address: str, jobs: int) -> None:
        super().__init__(address)
        self._function = function
        self._client = open_dask(address, jobs)
        from distributed import as_completed

        self._under_way = as_completed(loop=self._client.loop)

    def _now(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, ValueError, TypeError, AttributeError) as fault:
            raise self._gone() from fault

    def submit(self, task: Any) -> None:
        """Accept a task."""
        if self._client.status != "running":
            raise self._gone()
        self._under_way.add(self._client.submit(self._function, task, pure=False))

    def ended(self) -> Ends:
        """Return finished results."""
        condition = self._under_way.thread_condition
        with condition:
            if not self._under_way.has_ready():
                condition.wait(LOOK)
        futures = self._under_way.next_batch(block=False)
        if self._client.status != "running":
            raise self._gone()
        good = [future for future in futures if future.status == "finished"]
        returned = self._client.gather(good)
        try:
            for future in futures:
                if future.status != "finished":
                    future.result()
        except Exception as fault:
            return returned, fault
        return returned, None

    def close(self) -> None:
        """Cancel unfinished tasks."""
        if self._under_way.futures and self._client.status == "running":
            self._client.cancel(list(self._under_way.futures), force=True)

    def _gone(self) -> UserError:
        open_dask.cache_clear()
        return gone("dask", self._address)


@lru_cache
def open_dask(address: str, jobs: int) -> Any:
    """Return a client of a dask scheduler; without an address, start one with this many workers.

    Raises
    ------
    UserError
        If it does not answer or cannot start.
    """
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": RETRIES})
    for name in logging.root.manager.loggerDict:  # errors are reported in our own words
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
        raise unreachable("dask", address, fault) from fault
    atexit.register(client.close)
    return client
