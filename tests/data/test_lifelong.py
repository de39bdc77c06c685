"""The AKLO paper's learners: what they know can be kept, and rehearsed."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import Case, life

from omtl.data.examples import examples_of
from omtl.data.streams import Tasks
from omtl.learners.lifelong import AKLO
from omtl.protocols import rehearsed
from omtl.reference.problems import recorded

SUMS = [AKLO(0.01, clip=clip, uniform=uniform) for clip in (0, 1) for uniform in (False, True)]


def with_rehearsal(case: Case, last: int) -> Case:
    """Return the tasks up to one of them, with that one twice: under a new number, and its own."""
    task = case.tasks.task[case.stream.example]
    order = list(dict.fromkeys(task.tolist()))
    before = np.isin(task, order[:last])
    own = task == order[last]
    example = np.concatenate([case.stream.example[part] for part in (before, own, own)])
    number = np.concatenate([task[before], np.full(own.sum(), len(order)), task[own]])
    tasks = Tasks(
        case.tasks.X[example], case.tasks.y[example], number, (*case.tasks.names, "rehearsed")
    )
    every = np.arange(example.size)
    stream = case.stream._replace(
        start=np.arange(example.size + 1),
        example=every,
        node=np.zeros_like(every),
        checkpoint=every[-1:] + 1,
    )
    return Case(tasks, stream, case.mixing)


@pytest.mark.parametrize("learner", SUMS, ids=repr)
def test_the_task_is_known_as_if_it_had_been_met_before(learner: AKLO) -> None:
    """The mistakes on each task are those after a task with the same examples."""
    case = life((12, 30, 25, 40))
    stream = case.stream._replace(checkpoint=1 + np.arange(case.stream.example.size))
    got = rehearsed.rehearse(learner, examples_of(case.tasks), stream, case.shape)
    wrong = np.diff(got["checkpoint_mistakes"], prepend=0)
    lost = np.diff(got["checkpoint_loss"], prepend=0.0)
    task = case.tasks.task[case.stream.example]
    for c, k in enumerate(dict.fromkeys(task.tolist())):
        there = case if c == 0 else with_rehearsal(case, c)
        scores = recorded(learner, there).scores[there.tasks.task[there.stream.example] == k]
        y = case.tasks.y[case.stream.example][task == k]
        assert wrong[task == k].tolist() == (y * scores <= 0.0).tolist()
        assert got["mistakes"][k] == wrong[task == k].sum()
        np.testing.assert_allclose(lost[task == k], np.maximum(0.0, 1.0 - y * scores), atol=1e-9)
