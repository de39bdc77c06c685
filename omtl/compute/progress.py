"""Progress of a run: a bar on a terminal, an occasional plain line elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager

EVERY = 30.0
"""Seconds between two plain lines."""

STARTING = "new code is compiled first"


class Progress(AbstractContextManager["Progress"]):
    """Progress of a number of units on standard error.

    Parameters
    ----------
    total : int
        How many units there are.
    quiet : bool
        Whether to show nothing.
    """

    def __init__(self, total: int, quiet: bool = False) -> None:
        from tqdm.auto import tqdm  # it loads slowly

        self._total, self._done = total, 0
        self._quiet = quiet or not total
        self._started = self._told = time.monotonic()
        self._bar = tqdm(
            total=total,
            unit="unit",
            desc=STARTING,
            disable=self._quiet or None,
            file=sys.stderr,
            smoothing=0.05,
        )

    def __exit__(self, *_: object) -> None:
        """End the bar."""
        self._bar.close()

    def done(self, n: int = 1, name: str = "") -> None:
        """Count units that are done; `name` is that of the last one."""
        if n == 0:
            return
        if not self._done:
            self._bar.set_description_str("", refresh=False)
        self._done += n
        if name:
            self._bar.set_postfix_str(name, refresh=False)
        self._bar.update(n)
        now = time.monotonic()
        if self._bar.disable and not self._quiet and now - self._told >= EVERY:
            self._told = now
            left = (now - self._started) / self._done * (self._total - self._done)
            print(
                f"omtl: {self._done} of {self._total} units done, about {duration(left)} left",
                file=sys.stderr,
                flush=True,
            )


def duration(seconds: float) -> str:
    """Return a rough time in words."""
    for size, unit in ((3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(1.0, seconds):.0f} seconds"
