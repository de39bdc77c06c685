"""Fit on training examples, then score those held out (the OSMTL paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from omtl.data.preparation import with_unit_rows
from omtl.data.streams import Tasks
from omtl.learners.batch import Fit
from omtl.protocols.setting import Setting, by_learner, refuse_scaled
from omtl.protocols.splits import areas, split_and_folds

NEEDS = ("fit",)
"""Methods that a learner must have."""


def areas_of(fit: Fit, held_out: Tasks) -> np.ndarray:
    """Return the area under the ROC curve of each task, shape (n_tasks,); nan for one class."""
    n_tasks = len(held_out.names)
    scores = np.empty(held_out.y.size)
    for k in range(n_tasks):
        mine = held_out.task == k
        scores[mine] = held_out.X[mine] @ fit.weights[k]
    return areas(np.nan_to_num(scores), held_out.y, held_out.task, n_tasks)


def mean_area(found: list[np.ndarray]) -> float:
    """Return the mean of all defined areas; nan if there are none."""
    every = np.concatenate(found)
    every = every[np.isfinite(every)]
    return float(every.mean()) if every.size else float("nan")


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Fit each learner on the training examples of a repeat, and score its test examples.

    Training sets of several sizes are nested if their sampling is plain.

    Returns
    -------
    dict of str to ndarray
        With P learners and K tasks: ``auc`` (P, K), nan for a task without both classes in the
        test; ``found_eta`` (P, K, K), the weight of task j in what task k learnt; ``diverged``
        (P,), the number of weights that are not finite; ``examples`` (K,), the number of training
        examples; and ``validation`` (P,), the mean area over the tasks and the held-out parts of a
        cross-validation, if the protocol has `folds`; a small held-out part often has a single
        class, and no area.

    Raises
    ------
    UserError
        If the protocol does not fit the data.
    """
    refuse_scaled(setting)
    protocol, tasks = setting.protocol, setting.tasks
    pairs = split_and_folds(tasks, protocol, setting.rng)
    shorten = with_unit_rows if protocol["unit_rows_to_learn"] else lambda part: part
    parts = [(shorten(tasks.taken(learnt)), tasks.taken(held_out)) for learnt, held_out in pairs]
    records = []
    for learner in learners:
        fits = [
            learner.fit(learnt, setting.rng("learner", part=number))
            for number, (learnt, _) in enumerate(parts)
        ]
        found = [areas_of(fit, held_out) for fit, (_, held_out) in zip(fits, parts, strict=True)]
        wild = sum(int(np.sum(~np.isfinite(fit.weights))) for fit in fits)
        records.append({"auc": found[0], "found_eta": fits[0].eta, "diverged": wild})
        if protocol["folds"]:
            records[-1]["validation"] = mean_area(found[1:])
    counts = np.bincount(tasks.task[pairs[0][0]], minlength=len(tasks.names))
    return by_learner(records) | {"examples": counts}
