"""The synthetic draw that the authors of C-ADMM and D-ADMM ship with their program.

Five tasks of 10,000 examples with 9 features, drawn once by their generator (Alberta-Lee/NC-24,
``src/gendata.py``): the weights of the tasks walk with steps of standard deviation 0.1.

Licence: unstated.
"""

from __future__ import annotations

import io

import numpy as np

from data_fetchers._catalogue import catalogued, check_counts, fetched
from omtl.data.streams import Tasks

NAME, LICENCE, CITATION, FILES = catalogued("nc24", "li2025online")


def parse(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return features, shape (n_tasks, n_examples, n_features), and labels −1 or +1."""
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        return held["xs"].astype(np.float64), held["ys"].astype(np.float64)


def load() -> Tasks:
    """Download the file if necessary, and return its tasks.

    Returns
    -------
    Tasks
        X : ndarray of shape (50000, 9).

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        The parsed counts are not as expected.
    """
    X, y = parse(fetched(NAME, FILES)[0])
    n_tasks, n_examples, n_features = X.shape
    check_counts(NAME, {"tasks": n_tasks, "examples": y.size, "features": n_features})
    names = tuple(f"task {k + 1}" for k in range(n_tasks))
    task = np.repeat(np.arange(n_tasks), n_examples)
    return Tasks(X.reshape(-1, n_features), y.ravel(), task, names)
