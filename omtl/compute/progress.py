"""Progress of a run: a bar on a terminal, an occasional plain line elsewhere; and its plan."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from statistics import fmean

SOON, EVERY = 1.0, 10.0
"""Seconds until the first plain line, and between two others."""

DRY_RUN = "OMTL_DRY_RUN"

STARTING = "new code is compiled first"


class Progress(AbstractContextManager["Progress"]):
    """Progress of a number of units on standard error.

    The time left is estimated from units of the same kind, without the first of each kind, which
    also compiles its code and loads its data.

    Parameters
    ----------
    kinds : iterable of hashable
        The kind of each unit.
    workers : int
        How many units are computed at once.
    quiet : bool
        Whether to show nothing.
    """

    def __init__(self, kinds: Iterable[Hashable], workers: int, quiet: bool = False) -> None:
        from tqdm.auto import tqdm  # it loads slowly

        self._left, self._workers, self._done = Counter(kinds), workers, 0
        self._begun: set[Hashable] = set()
        self._timed = Counter[Hashable]()
        self._seconds: dict[Hashable, float] = defaultdict(float)
        self._total = self._left.total()
        self._quiet, self._told = quiet or not self._total, time.monotonic()
        self._bar = tqdm(
            total=self._total,
            unit="unit",
            desc=STARTING,
            disable=self._quiet or None,
            file=sys.stderr,
            bar_format="{desc}{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]",
        )
        self._first_line = threading.Timer(SOON, self._tell, [f"{self._total} units: {STARTING}"])
        self._first_line.daemon = True
        if self._has_lines:
            self._first_line.start()

    def __exit__(self, *_: object) -> None:
        """End the bar."""
        self._first_line.cancel()
        self._bar.close()

    def done(self, kind: Hashable, seconds: float, name: str) -> None:
        """Count a unit that is done."""
        self._first_line.cancel()
        self._bar.set_description_str("", refresh=False)
        self._done += 1
        self._left[kind] -= 1
        if kind in self._begun:
            self._timed[kind] += 1
            self._seconds[kind] += seconds
        self._begun.add(kind)
        if not self._bar.disable:
            self._bar.set_postfix_str(f"{name}{self._time_left()}", refresh=False)
        self._bar.update()
        if time.monotonic() - self._told >= EVERY:
            self._told = time.monotonic()
            self._tell(f"{self._done} of {self._total} units done{self._time_left()}")

    @property
    def seconds_left(self) -> float | None:
        """The time left; None until a kind of units has been timed without compiling."""
        means = {kind: self._seconds[kind] / n for kind, n in self._timed.items()}
        if not means:
            return None
        other = fmean(means.values())
        left = sum(n * means.get(kind, other) for kind, n in self._left.items())
        return left / self._workers

    def _time_left(self) -> str:
        """Return the time left as the end of a line."""
        left = self.seconds_left
        return "" if left is None else f", about {duration(left)} left"

    @property
    def _has_lines(self) -> bool:
        """Whether lines are printed, as there is no bar."""
        return bool(self._bar.disable) and not self._quiet

    def _tell(self, text: str) -> None:
        """Print a line where there is no bar."""
        if self._has_lines:
            print(f"omtl: {text}", file=sys.stderr, flush=True)


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
        Number of units computed at once.
    """

    def __init__(self, n_units: int, n_missing: int, seconds: float | None, jobs: int) -> None:
        super().__init__(n_units, n_missing, seconds, jobs)
        self.n_units, self.n_missing, self.seconds = n_units, n_missing, seconds
        self.jobs = jobs

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
