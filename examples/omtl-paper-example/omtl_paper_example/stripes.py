"""Stripes: points in the plane, labelled by the side of a line that turns from task to task.

Licence: none needed, drawn here.
"""

from __future__ import annotations

import numpy as np

from data_fetchers.fetch import RemoteFile
from omtl.data.streams import Tasks

NAME = "omtl_paper_example.stripes"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True


def load(*, rng: np.random.Generator, n_tasks: int = 4, n_examples: int = 100) -> Tasks:
    """Draw the tasks.

    Parameters
    ----------
    rng : numpy.random.Generator
    n_tasks, n_examples : int
        Examples are of each task.
    """
    X = rng.normal(size=(n_tasks * n_examples, 2))
    task = np.repeat(np.arange(n_tasks), n_examples)
    angle = 0.3 * task
    y = np.where(np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] > 0.0, 1.0, -1.0)
    return Tasks(X, y, task, tuple(f"task {k + 1}" for k in range(n_tasks)))
