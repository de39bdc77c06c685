"""The interface of all engines: pools that accept tasks and return finished results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Function = Callable[[Any], Any]
Ends = tuple[list[Any], Exception | None]

LOOK = 0.5
"""Seconds to wait for a task to finish, and between checks of a cluster's capacity."""


class Pool(Protocol):
    """A pool that computes tasks."""

    def capacity(self) -> int:
        """Return the number of tasks that it can currently work on at once."""

    def backlog(self) -> int:
        """Return the minimum number of tasks to give it."""

    def submit(self, task: Any) -> None:
        """Accept a task."""

    def ended(self) -> Ends:
        """Return what tasks returned that have ended since, and why one of them failed, if any did.

        Where none has ended, wait a moment.
        """

    def close(self) -> None:
        """Abandon unfinished tasks."""
