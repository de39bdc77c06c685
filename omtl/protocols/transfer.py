"""Learn one task after the other, and score each task's held-out examples on the way.

Transfer is that of Lopez-Paz and Ranzato ("Gradient episodic memory for continual learning", 2017),
with the area under the ROC curve in place of the accuracy. R_{i,k} is the area on task k after the
i-th task of the stream was learnt, and k the task's place in the stream:

    forward transfer to k = R_{k-1,k} - R_{0,k}
    backward transfer to k = R_{T,k} - R_{k,k}

The first task has no forward transfer, and the last no backward transfer.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from omtl.data.streams import one_by_one
from omtl.kernel.loop import run
from omtl.kernel.play import new_trace
from omtl.protocols.heldout import NEEDS as NEEDS
from omtl.protocols.heldout import HeldOutPart, area_of_each, play_parts, scores_of, split_parts
from omtl.protocols.setting import Setting, by_learner, starts_of_tasks


def play_grid(learners: Iterable[Any], setting: Setting) -> dict[str, np.ndarray]:
    """Play each learner on a repeat's training examples, and score its test examples.

    Returns
    -------
    dict of str to ndarray
        As of `omtl.protocols.heldout.play_grid`, and with P learners and K tasks ``forward`` and
        ``backward`` (P, K), nan where they are not defined.

    Raises
    ------
    UserError
        If the protocol does not fit the data, or tasks alternate in the stream.
    """
    learners = list(learners)
    parts = split_parts(setting)
    arrays = play_parts(learners, parts, setting.protocol)
    return arrays | by_learner([transfer(learner, parts[0]) for learner in learners])


def transfer(learner: Any, part: HeldOutPart) -> dict[str, np.ndarray]:
    """Return a learner's ``forward`` and ``backward`` transfer to each task.

    Scores are those of copies of its state, because scoring may change a state: a learner may see
    that a task begins.
    """
    examples, stream = part.examples, part.stream
    task, n_tasks = examples.task[stream.example], part.shape.n_tasks
    begins = starts_of_tasks(task, "transfer is measured")

    def area(state: Any, k: np.intp | int) -> float:
        scored = replace(part, held_out=part.held_out[part.task == k])
        return float(area_of_each(scores_of(learner, deepcopy(state), scored)[0], scored)[k])

    untaught, state = learner.new_state(part.shape), learner.new_state(part.shape)
    forward, just_learnt = np.full((2, n_tasks), np.nan)
    for first, last in zip(begins, np.append(begins[1:], task.size), strict=True):
        k = task[first]
        if first:
            forward[k] = area(state, k) - area(untaught, k)
        piece = one_by_one(stream.example[first:last], np.array([last - first]))
        run(learner, state, examples, piece, new_trace(n_tasks, 1))
        just_learnt[k] = area(state, k)
    backward = np.array([area(state, k) for k in range(n_tasks)]) - just_learnt
    backward[task[-1]] = np.nan
    return {"forward": forward, "backward": backward}
