"""Progress of a run: a bar on a terminal, an occasional plain line elsewhere; and its plan."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

EVERY = 30.0
"""Seconds between two plain lines."""

DRY_RUN = "OMTL_DRY_RUN"

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


def is_dry() -> bool:
    """Whether this is a dry run."""
    return DRY_RUN in os.environ


class DryRunPlan(Exception):  # noqa: N818 - it is no fault
    """A run was only planned.

    Parameters
    ----------
    n_units, n_missing : int
        Number of units needed, and number missing from the store.
    seconds : float or None
        Duration of a unit; None if no similar one is stored.
    jobs : int
        Number of units computed at once; -1 for one per core.
    """

    def __init__(self, n_units: int, n_missing: int, seconds: float | None, jobs: int) -> None:
        super().__init__(n_units, n_missing, seconds, jobs)
        self.n_units, self.n_missing, self.seconds = n_units, n_missing, seconds
        self.jobs = jobs if jobs > 0 else os.cpu_count() or 1

    @classmethod
    def of_all(cls, plans: Sequence[DryRunPlan]) -> DryRunPlan:
        """Return the plan of several runs, one after another."""
        known = [plan.seconds for plan in plans if plan.seconds is not None]
        seconds = sum(known) / len(known) if known else None
        units, missing = (sum(n) for n in zip(*(plan.args[:2] for plan in plans), strict=True))
        return cls(units, missing, seconds, plans[0].jobs)

    def summary(self, seconds: float | None = None) -> str:
        """Return the plan as a sentence.

        Parameters
        ----------
        seconds : float, optional
            Duration of a unit, if known from elsewhere.
        """
        each = self.seconds if self.seconds is not None else seconds
        text = f"{self.n_units} units, {self.n_missing} of them to compute"
        if not self.n_missing:
            return text
        if each is None:
            return (
                f"{text}; how long that takes is unknown, because no similar units are stored yet"
            )
        return f"{text}: about {duration(each * self.n_missing / self.jobs)}"
