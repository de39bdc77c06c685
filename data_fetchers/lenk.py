"""How likely each of 180 persons is to buy 20 personal computers.

The survey of Lenk, DeSarbo, Green and Young (1996): a person rates 20 descriptions of a computer
from 0 to 10, and a task is a person. A description has 13 attributes of two levels, coded -1 and
+1, and a constant 1. The file is that of many papers on multi-task learning; it has 16 computers
per person for training and 4 for testing, which are combined here, in this order.

Targets are real numbers, so ``load`` returns `RealTasks`, unless they are made classes.

Licence: unstated.
"""

from __future__ import annotations

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import above_mean, check_counts, checked_choices, matlab
from omtl.data.streams import RealTasks, Tasks

NAME, LICENCE, CITATION, FILES = catalogued("lenk", "lenk1996hierarchical")

N_FEATURES = 13
PARTS = {"Traindata": 16, "Testdata": 4}
"""The file's tables, and the number of computers per person in each."""


def parse(content: bytes) -> np.ndarray:
    """Return attributes, constant and rating, shape (n_persons, 20, 15)."""
    held = matlab(content)
    parts = [
        np.asarray(held[part], dtype=np.float64).reshape(-1, each, N_FEATURES + 2)
        for part, each in PARTS.items()
    ]
    return np.concatenate(parts, axis=1)


def load(
    *,
    n_features: int = N_FEATURES,
    above_mean_of: str | None = None,
    n_tasks: int | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each person.

    Parameters
    ----------
    n_features : {13, 14}
        The attributes alone, or with the constant.
    above_mean_of : {"all", "task"}, optional
        Make classes of the ratings: +1 above the mean of all ratings, or of the person's own.
    n_tasks : int, optional
        Number of tasks, the first ones; all of them by default.

    Returns
    -------
    RealTasks
        X : ndarray of shape (3600, 13), or 14 columns; y: ratings, or `Tasks` with classes.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    checked_choices(NAME, "n_features", [n_features], (N_FEATURES, N_FEATURES + 1))
    table = parse(fetched(NAME, FILES)[0])
    check_counts(NAME, {"persons": len(table)})
    rows = table.reshape(-1, N_FEATURES + 2)
    X = np.ascontiguousarray(rows[:, :n_features])
    task = np.repeat(np.arange(len(table)), table.shape[1])
    names = tuple(f"person {k + 1}" for k in range(len(table)))
    return above_mean(NAME, RealTasks(X, rows[:, -1].copy(), task, names), above_mean_of, n_tasks)
