"""Common to the cluster engines: workers that come and go, and errors of lost clusters."""

from __future__ import annotations

import time

from omtl.compute.engines.pool import LOOK
from omtl.util.errors import UserError

LOOPBACK = "127.0.0.1"
"""The address on which our own clusters listen."""

RETRIES = 3
"""Number of times a cluster reassigns a task whose worker has died."""

BACKLOG = 16
"""Minimum number of tasks given to a cluster, so that one that grows on demand sees the demand."""


class Cluster:
    """Workers on other machines, which may come and go."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._capacity = 0
        self._looked = -LOOK

    def capacity(self) -> int:
        """Return the number of workers, checked twice a second."""
        if time.monotonic() - self._looked >= LOOK:
            self._capacity = self._now()
            self._looked = time.monotonic()
        return self._capacity

    def backlog(self) -> int:
        """Two per worker, so that none waits; more if the cluster may grow."""
        return max(2 * self._capacity, BACKLOG if self._address else 1)

    def _now(self) -> int:
        raise NotImplementedError


def unreachable(engine: str, address: str, fault: Exception) -> UserError:
    """Return the error of a cluster that cannot be used."""
    what = f"no cluster of {engine} answers at {address!r}" if address else f"{engine} cannot start"
    return UserError(f"{what} ({' '.join(str(fault).split())[:200]}); see docs/cluster.md")


def gone(engine: str, address: str) -> UserError:
    """Return the error for a scheduler that has ended meanwhile."""
    where = f" at {address}" if address else ""
    return UserError(
        f"the scheduler of {engine}{where} is gone; start it again, then run the same command: "
        "finished units are kept"
    )
