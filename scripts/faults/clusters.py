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


def free_port() -> int:
    """Return a port of this machine on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_dask(program: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a program of Dask."""
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.{program}", *words, "--no-dashboard"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


class DaskCluster:
    """A scheduler of Dask and workers with a thread each."""

    def __init__(self) -> None:
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[Any] = []
        self.begin()

    def begin(self) -> None:
        """Start the scheduler."""
        words = ["--host", "127.0.0.1", "--port", str(self.port), "--no-show"]
        self.scheduler = start_dask("dask_scheduler", *words)

    def join(self) -> None:
        """Start a worker."""
        words = ["--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--death-timeout", "60"]
        self.workers.append(start_dask("dask_worker", self.address, *words))

    def leave(self) -> None:
        """Kill the worker that has been there longest."""
        if self.workers:
            self.workers[0].kill()
            self.workers.pop(0).wait()

    def fall(self) -> None:
        """Kill the scheduler, and the workers."""
        self.scheduler.kill()
        self.scheduler.wait()
        while self.workers:
            self.leave()


class RayCluster:
    """A head of Ray without workers, and nodes with one each."""

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
        """Kill the node that has been there longest."""
        if self.workers:
            self._cluster.remove_node(self.workers.pop(0), allow_graceful=False)

    def fall(self) -> None:
        """Kill the head and all nodes."""
        self.workers.clear()
        self._cluster.shutdown()


CLUSTERS: dict[str, Any] = {"dask": DaskCluster, "ray": RayCluster}


@contextmanager
def cluster_of(engine: str) -> Iterator[Any]:
    """Give a cluster of an engine, and end it; None for the engines of this machine."""
    cluster = CLUSTERS[engine]() if engine in CLUSTERS else None
    try:
        yield cluster
    finally:
        with suppress(Exception):
            if cluster:
                cluster.fall()
