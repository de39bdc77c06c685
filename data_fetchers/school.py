"""Exam scores of pupils of 139 London schools.

The data of the Inner London Education Authority (1985 to 1987), as used in multi-task papers since
Bakker and Heskes (2003): 15,362 pupils; a task is a school. Two features are percentages of the
school, the others are indicators of the year, gender, the band in verbal reasoning, ethnic group,
the school's gender and denomination. The file's last feature is a constant, and two features encode
gender; without the constant and one of these there are 26, as in papers with 26 features.

Targets are real numbers, so ``load`` returns `RealTasks`, unless they are made classes.

Licence: of the data unstated; the file's repository has GPL-2.0.
"""

from __future__ import annotations

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import above_mean, check_counts, checked_choices, joined_cells, matlab
from omtl.data.streams import RealTasks, Tasks

NAME, LICENCE, CITATION, FILES = catalogued(
    "school", "bakker2003task", licence="unstated; the repository's is GPL-2.0"
)

PERCENTAGES = (3, 4)
"""Numeric columns; all others are 0 or 1."""
LEFT_OUT = (5, 27)
"""One of the two columns of gender, and the constant."""
CODINGS = ("zero_one", "signs")
"""The values of a two-valued column: 0 and 1, or -1 and +1."""


def parse(content: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, scores and schools, from 0."""
    held = matlab(content)
    X = np.concatenate([np.asarray(cell, dtype=np.float64) for cell in held["X"].ravel()])
    y, school = joined_cells(held["Y"])
    return X, y.astype(np.float64), school


def load(
    *,
    coding: str = "zero_one",
    above_mean_of: str | None = None,
    n_tasks: int | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each school.

    Parameters
    ----------
    coding : {"zero_one", "signs"}
        The coding of two-valued features.
    above_mean_of : {"all", "task"}, optional
        Make classes of the scores: +1 above the mean of all scores, or of the school's own.
    n_tasks : int, optional
        Number of tasks, the first ones; all of them by default.

    Returns
    -------
    RealTasks
        X : ndarray of shape (15362, 26); y: exam scores, 1 to 70, or `Tasks` with classes.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    checked_choices(NAME, "coding", [coding], CODINGS)
    X, y, task = parse(fetched(NAME, FILES)[0])
    names = tuple(f"school {k + 1}" for k in range(task[-1] + 1))
    check_counts(NAME, {"schools": len(names), "pupils": len(y), "features": X.shape[1]})
    if coding == "signs":
        two_valued = np.setdiff1d(np.arange(X.shape[1]), PERCENTAGES)
        X[:, two_valued] = 2.0 * X[:, two_valued] - 1.0
    real = RealTasks(np.delete(X, LEFT_OUT, axis=1), y, task, names)
    return above_mean(NAME, real, above_mean_of, n_tasks)
