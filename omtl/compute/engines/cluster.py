"""What the engines of clusters share: workers that come and go, and what is said of a lost one."""

from __future__ import annotations

import time

from omtl.compute.engines.pool import LOOK
from omtl.util.errors import UserError

LOOPBACK = "127.0.0.1"
"""Where clusters that we start ourselves listen."""

RETRIES = 3
"""How often a cluster gives a task to another worker after one has died of it."""

BACKLOG = 16
"""Tasks that a cluster is given at least, so that one that grows by need sees the need."""


class Cluster:
    """Workers of other machines, which may come and go."""

    def __init__(self, address: str) -> None:
        self._address = address
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


def unreachable(engine: str, address: str, fault: Exception) -> UserError:
    """Return the error of a cluster that cannot be used."""
    what = f"no cluster of {engine} answers at {address!r}" if address else f"{engine} cannot start"
    return UserError(f"{what} ({' '.join(str(fault).split())[:200]}); see docs/cluster.md")


def gone(engine: str, address: str) -> UserError:
    """Return the error of a scheduler that has ended meanwhile."""
    where = f" at {address}" if address else ""
    return UserError(
        f"the scheduler of {engine}{where} is gone; start it again, then run the same command: "
        "finished units are kept"
    )
