"""Landmines and clutter, seen by a radar, in 29 fields.

The landmine data of Xue, Liao, Carin and Krishnapuram (2007): 14,820 places, each with 9 features
of the radar's image (4 moments, 3 correlations, an energy ratio, a spatial variance), of which 904
are landmines. A task is a field. Fields 1 to 15 are of foliated ground, 16 to 29 of bare earth or
desert; this comes from the literature, not the file.

Two public repositories have the original file of the authors, whose own address has it in a zip
archive. The features are scaled by the authors. The file is not in random order: landmines come
early in a field. Of the first 150 places of each field 10.1% are landmines, of all places 6.1%.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import (
    check_counts,
    checked_choices,
    joined_cells,
    matlab,
    sampled,
    selected,
    sizes,
)
from omtl.data.streams import Tasks

NAME, LICENCE, CITATION, FILES = catalogued("landmine", "xue2007multitask")

FIRST_DESERT = 16
"""The first field of bare earth or desert; those before it are foliated."""
SUBSETS = {"all": tuple(range(1, 30)), "osmtl19": (*range(1, 11), *range(16, 25))}
"""Named choices of fields. The OSMTL paper has 19, the first 10 of them foliated, without saying
which; these are the fields in its first author's script for the next paper."""


def parse(content: bytes) -> Tasks:
    """Return all fields as tasks.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: cells ``feature`` and ``label``, one a field; a label is 0 or 1.
    """
    held = matlab(content)
    features = [np.asarray(cell, dtype=np.float64) for cell in held["feature"].ravel()]
    label, task = joined_cells(held["label"])
    names = tuple(task_name(k + 1) for k in range(len(features)))
    return Tasks(np.concatenate(features), np.where(label == 1, 1.0, -1.0), task, names)


def task_name(field: int) -> str:
    """Return the name of a field's task: 'field 16 (desert)'."""
    return f"field {field} ({'foliated' if field < FIRST_DESERT else 'desert'})"


def load(
    *,
    tasks: str | Sequence[int] = "all",
    per_task: int | None = None,
    sample_seed: int | None = 0,
    positives: float | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each field.

    Parameters
    ----------
    tasks : {"all", "osmtl19"} or sequence of int
        A choice of ``SUBSETS``, or the fields' numbers, from 1, in the tasks' order.
    per_task : int, optional
        Number of examples to keep per task, drawn uniformly without replacement; default: all.
    sample_seed : int, optional
        Decides the draw; null for the first examples instead of a draw.
    positives : float, optional
        Share of landmines among the kept examples; default: as they come.

    Returns
    -------
    Tasks
        X : ndarray of shape (n_places, 9), 14,820 places in all. The rows of a task are in the
        file's order, and its name gives its field's number and ground (`task_name`).

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        A task is unknown or too small, or the parsed counts are not as expected.
    """
    if isinstance(tasks, str):
        checked_choices(NAME, "tasks", [tasks], SUBSETS)
        tasks = SUBSETS[tasks]
    fields = checked_choices(NAME, "tasks", tasks, SUBSETS["all"])
    places = parse(fetched(NAME, FILES)[0])
    check_counts(NAME, {"features": places.X.shape[1]} | sizes(places, "places", "landmines"))
    part = selected(places, [task_name(field) for field in fields])
    return sampled(NAME, part, per_task, sample_seed, positives)
