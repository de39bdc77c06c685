"""Clusters whose schedulers and workers are processes of their own, which come and go."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from omtl.util.paths import ROOT
from scripts.elastic.client import dask_worker, start


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class DaskCluster:
    """A scheduler of dask and workers with a thread each, which are processes of their own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Start the scheduler."""
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        self.scheduler = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def join(self) -> None:
        """Start a worker."""
        self.workers.append(start(dask_worker, self.address))

    def leave(self) -> None:
        """Kill the worker that is there longest."""
        if self.workers:
            self.workers[0].kill()
            self.workers.pop(0).join()

    def fall(self) -> None:
        """Kill the scheduler, and the workers."""
        self.scheduler.kill()
        self.scheduler.wait()
        while self.workers:
            self.leave()


class RayCluster:
    """A head of ray without workers, and nodes of one each, which are processes of their own."""

    def __init__(self) -> None:
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Start the head."""
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "1"  # several nodes on one machine
        os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")  # a busy machine
        os.environ.setdefault("PYTHONPATH", str(ROOT))
        from ray.cluster_utils import Cluster

        self._cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
        )
        self.address = self._cluster.address

    def join(self) -> None:
        """Start a node with one worker."""
        self.workers.append(self._cluster.add_node(num_cpus=1, wait=False))

    def leave(self) -> None:
        """Kill the node that is there longest."""
        if self.workers:
            self._cluster.remove_node(self.workers.pop(0), allow_graceful=False)

    def fall(self) -> None:
        """Kill the head and all nodes."""
        self.workers.clear()
        self._cluster.shutdown()


class NoCluster:
    """An engine of this machine only, whose workers come and go with the run."""

    address = ""
    workers: tuple[()] = ()

    def begin(self) -> None:
        """There is nothing to begin, to join, to leave or to end."""

    join = leave = fall = begin


CLUSTERS: dict[str, Any] = {"dask": DaskCluster, "ray": RayCluster}


@contextmanager
def cluster_of(engine: str) -> Iterator[Any]:
    """Give a cluster of an engine; end it."""
    cluster = CLUSTERS.get(engine, NoCluster)()
    try:
        yield cluster
    finally:
        with suppress(Exception):
            cluster.fall()
