"""What all engines are: pools that take tasks and return what has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Function = Callable[[Any], Any]
Ends = tuple[list[Any], Exception | None]

LOOK = 0.5
"""Seconds that a pool waits for a task to end, and between two looks at a cluster's capacity."""


class Pool(Protocol):
    """What computes tasks."""

    def capacity(self) -> int:
        """Return how many tasks it can work on at a time, now."""

    def backlog(self) -> int:
        """Return how many tasks it is given at least."""

    def submit(self, task: Any) -> None:
        """Take a task."""

    def ended(self) -> Ends:
        """Return what tasks returned that have ended since, and why one of them failed, if any did.

        Where none has ended, wait a moment.
        """

    def close(self) -> None:
        """Let go of the tasks that have not ended."""
