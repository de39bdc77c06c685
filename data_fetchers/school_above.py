"""The pupils of `data_fetchers.school`: is an exam score above the mean?"""

from __future__ import annotations

from pathlib import Path

from data_fetchers import school
from data_fetchers._classes import above_mean
from data_fetchers.school import CITATION, FILES, LICENCE
from omtl.data.streams import Tasks

NAME = "school_above"
FOLDER = "school"

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(
    *,
    home: Path | None = None,
    coding: str = "zero_one",
    mean_of: str = "all",
    n_tasks: int | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each school.

    Parameters
    ----------
    home, coding
        As in `data_fetchers.school.load`.
    mean_of : {"all", "task"}
        The mean of all scores or of the school's own.
    n_tasks : int, optional
        Number of tasks, the first ones; all of them by default.

    Returns
    -------
    Tasks
        X : ndarray of shape (15362, 26) for all schools; y: +1 for a score above the mean.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is unknown, or the parsed counts are not as expected.
    """
    return above_mean(NAME, school.load(home=home, coding=coding), mean_of, n_tasks)
