"""Labelled rows of many tasks, in the form that compiled code reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.data.rows import Rows, rows_of, square_norms
from omtl.data.streams import Tasks


class Examples(NamedTuple):
    """Labelled rows, in the form that compiled code reads."""

    rows: Rows
    y: np.ndarray
    task: np.ndarray
    square_norm: np.ndarray


def examples_of(tasks: Tasks) -> Examples:
    """Return the tasks' examples, in the form that compiled code reads."""
    return Examples(rows_of(tasks.X), tasks.y, tasks.task, square_norms(tasks.X))
