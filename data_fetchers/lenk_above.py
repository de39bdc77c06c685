"""The computers of `data_fetchers.lenk`: is a person's rating above the mean?"""

from __future__ import annotations

from pathlib import Path

from data_fetchers import lenk
from data_fetchers._classes import above_mean
from data_fetchers.lenk import CITATION, FILES, LICENCE, N_FEATURES
from omtl.data.streams import Tasks

NAME = "lenk_above"
FOLDER = "lenk"

__all__ = ["CITATION", "FILES", "FOLDER", "LICENCE", "NAME", "load"]


def load(
    *,
    home: Path | None = None,
    n_features: int = N_FEATURES,
    mean_of: str = "all",
    n_tasks: int | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each person.

    Parameters
    ----------
    home, n_features
        As in `data_fetchers.lenk.load`.
    mean_of : {"all", "task"}
        The mean of all ratings or of the person's own.
    n_tasks : int, optional
        Number of tasks, the first ones; all of them by default.

    Returns
    -------
    Tasks
        X : ndarray of shape (3600, n_features) for all persons; y: +1 for a rating above the mean.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is unknown, or the parsed counts are not as expected.
    """
    return above_mean(NAME, lenk.load(home=home, n_features=n_features), mean_of, n_tasks)
