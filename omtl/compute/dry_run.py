"""The plan of a run: how many units it would compute, and roughly how long that takes."""

from __future__ import annotations

import os

from omtl.compute.progress import duration

VARIABLE = "OMTL_DRY_RUN"


def is_dry() -> bool:
    """Whether nothing is to be computed."""
    return VARIABLE in os.environ


class Planned(Exception):  # noqa: N818 - it is no fault
    """A run was only planned.

    Parameters
    ----------
    n_units, n_missing : int
        Units that it needs, and those that the store lacks.
    seconds : float or None
        How long one takes; None where none like it is stored.
    jobs : int
        How many are computed at once; -1 for one on each core.
    """

    def __init__(self, n_units: int, n_missing: int, seconds: float | None, jobs: int) -> None:
        super().__init__(n_units, n_missing, seconds, jobs)
        self.n_units, self.n_missing, self.seconds = n_units, n_missing, seconds
        self.jobs = jobs if jobs > 0 else os.cpu_count() or 1

    def told(self, seconds: float | None = None) -> str:
        """Return the plan as a sentence.

        Parameters
        ----------
        seconds : float, optional
            How long a unit takes, where that is known from elsewhere.
        """
        each = self.seconds if self.seconds is not None else seconds
        text = f"{self.n_units} units, {self.n_missing} of them to compute"
        if not self.n_missing:
            return text
        if each is None:
            return f"{text}; how long that takes is not known, as nothing like it is stored yet"
        return f"{text}: about {duration(each * self.n_missing / self.jobs)}"
