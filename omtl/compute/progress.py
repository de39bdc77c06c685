"""Progress of a run: a bar on a terminal, an occasional plain line elsewhere; and its plan."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass
from statistics import fmean

from omtl.util.screen import plural

SOON, EVERY = 1.0, 10.0
"""Seconds until the first plain line, and between two others."""

DRY_RUN = "OMTL_DRY_RUN"


class Progress(AbstractContextManager["Progress"]):
    """Progress of a number of units, or of something else, on standard error.

    Parameters
    ----------
    total : int
        How many units there are.
    quiet : bool
        Whether to show nothing.
    each, starting : str
        What one of them is, and what happens until the first is done.
    news : callable, optional
        Called now and then, returns a line on what is known meanwhile, or nothing.
    """

    def __init__(
        self,
        total: int,
        quiet: bool = False,
        each: str = "unit",
        starting: str = "new code is compiled first",
        news: Callable[[], str] | None = None,
    ) -> None:
        from tqdm.auto import tqdm  # it loads slowly

        self._bar = tqdm(
            total=total,
            unit=each,
            desc=starting,
            disable=quiet or None,
            file=sys.stderr,
            bar_format="{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]",
        )
        self._total, self._done, self._told = total, 0, time.monotonic()
        self._all = plural(total, each)
        self._has_lines = bool(self._bar.disable) and not quiet
        self._news, self._news_due = None if quiet else news, 0.0
        self._first_line = threading.Timer(SOON, self._tell, [f"{self._all}: {starting}"])
        self._first_line.daemon = True
        if self._has_lines:
            self._first_line.start()

    def __exit__(self, *_: object) -> None:
        """End the bar."""
        self._first_line.cancel()
        self._bar.close()

    def done(self, name: str, seconds_left: float | None = None) -> None:
        """Count one that is done, and tell the time left if it is known."""
        self._first_line.cancel()
        self._done += 1
        left = ""
        if seconds_left is not None and self._done < self._total:
            left = f", about {duration(seconds_left)} left"
        if not self._bar.disable:
            self._bar.set_description_str("", refresh=False)
            self._bar.set_postfix_str(f"{name}{left}", refresh=False)
        self._bar.update()
        if self._has_lines and time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            self._tell(f"{self._done} of {self._all} done{left}")
        if self._news is not None and time.monotonic() >= self._news_due:
            text = self._news()
            self._news_due = time.monotonic() + (EVERY if text else SOON)
            if text:
                self._tell(text)

    def _tell(self, text: str) -> None:
        self._bar.write(f"omtl: {text}", file=sys.stderr)  # above the bar, if there is one


def duration(seconds: float) -> str:
    """Return a rough time in words."""
    for size, unit in ((3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {unit}"
    return plural(max(1, round(seconds)), "second")


def is_dry() -> bool:
    """Whether this is a dry run."""
    return DRY_RUN in os.environ


@dataclass(eq=False)
class DryRunPlan(Exception):  # noqa: N818 - it is not a fault
    """A run was only planned.

    Parameters
    ----------
    n_units, n_missing : int
        Number of units needed, and number missing from the store.
    seconds : float or None
        Duration of a unit; None if no similar one is stored.
    jobs : int
        Number of units computed at once.
    """

    n_units: int
    n_missing: int
    seconds: float | None
    jobs: int

    @classmethod
    def of_all(cls, plans: Sequence[DryRunPlan]) -> DryRunPlan:
        """Return the plan of several runs, one after another."""
        units, missing, seconds, jobs = zip(*map(astuple, plans), strict=True)
        known = [one for one in seconds if one is not None]
        return cls(sum(units), sum(missing), fmean(known) if known else None, jobs[0])

    def summary(self, seconds: float | None = None) -> str:
        """Return the plan as a sentence.

        Parameters
        ----------
        seconds : float, optional
            Duration of a unit, if known from elsewhere.
        """
        each = self.seconds if self.seconds is not None else seconds
        text = f"{plural(self.n_units, 'unit')}, {self.n_missing} of them to compute"
        if not self.n_missing:
            return text
        if each is None:
            return (
                f"{text}; how long that takes is unknown, because no similar units are stored yet"
            )
        return f"{text}: about {duration(each * self.n_missing / self.jobs)}"
