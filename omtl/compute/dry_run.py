"""The plan of a run: how many units it would compute, and roughly how long that takes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from omtl.compute.progress import duration

VARIABLE = "OMTL_DRY_RUN"


def is_dry() -> bool:
    """Whether this is a dry run."""
    return VARIABLE in os.environ


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
