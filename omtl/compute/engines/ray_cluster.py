"""The engine of ray: an existing cluster's workers, or workers on this machine."""

from __future__ import annotations

import atexit
import logging
import os
import socket
from functools import lru_cache
from typing import Any

from omtl.compute.engines.cluster import LOOPBACK, RETRIES, Cluster, gone, unreachable
from omtl.compute.engines.pool import LOOK, Ends, Function
from omtl.util.errors import UserError

ANSWER = 10.0
"""Seconds after which a cluster's head that does not answer is considered gone."""


class Ray(Cluster):
    """The workers of a ray cluster, which reassigns the tasks of dead workers.

    When it is closed, running tasks finish and their results are discarded: `ray.cancel` of a
    task that is just being sent to a worker aborts this process (ray 2.60, "Tried to complete task
    that was not pending").
    """

    def __init__(self, function: Function, address: str, jobs: int) -> None:
        super().__init__(address)
        self._ray = ray = open_ray(address, jobs)
        _, client, server = str(address).rpartition("ray://")
        head: str = server if client else ray.get_runtime_context().gcs_address
        self._host, _, self._port = head.rpartition(":")
        self._node = ray.get_runtime_context().get_node_id()
        self._task = ray.remote(max_retries=RETRIES)(function)
        self._under_way: list[Any] = []

    def _head_answers(self) -> bool:
        """Whether it does; ray would look for it for a minute, and then end this process."""
        try:
            socket.create_connection((self._host, int(self._port)), ANSWER).close()
        except OSError:
            return False
        return True

    def _nodes(self) -> list[dict[str, Any]]:
        """Return the nodes that are alive.

        Raises
        ------
        UserError
            If the head is gone, or the node by which this process takes part: ray would go on
            without it until it ends this process too.
        """
        nodes = self._ray.nodes() if self._head_answers() else []
        alive = [node for node in nodes if node["Alive"]]
        if self._node not in {node["NodeID"] for node in alive}:
            raise gone("ray", self._address)
        return alive

    def _now(self) -> int:
        return int(sum(node["Resources"].get("CPU", 0) for node in self._nodes()))

    def submit(self, task: Any) -> None:
        """Accept a task."""
        self._under_way.append(self._task.remote(task))

    def ended(self) -> Ends:
        """Return finished results."""
        wait = self._ray.wait
        first, rest = wait(self._under_way, timeout=LOOK)
        others, self._under_way = wait(rest, num_returns=len(rest), timeout=0) if rest else ([], [])
        returned, faults = [], []
        for end in first + others:
            try:
                returned.append(self._ray.get(end))
            except self._ray.exceptions.RayError as fault:
                faults.append(getattr(fault, "cause", None) or fault)
        if faults:
            try:
                self._nodes()
            except UserError as fault:
                return returned, fault
        return returned, next(iter(faults), None)

    def close(self) -> None:
        """Forget unfinished tasks."""
        self._under_way.clear()


@lru_cache
def open_ray(address: str, jobs: int) -> Any:
    """Return ray, connected to a cluster; without an address, to a local one with this many
    workers.

    Raises
    ------
    UserError
        If it does not answer or cannot start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would send usage statistics
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
        raise unreachable("ray", address, fault) from fault
    atexit.register(ray.shutdown)
    return ray
