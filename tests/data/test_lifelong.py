"""The AKLO paper's learners: what they know can be kept, and rehearsed."""

from __future__ import annotations

import numpy as np
import pytest
from learner_cases import Case, life

from omtl.data.examples import examples_of
from omtl.data.streams import Stream, Tasks
from omtl.learners.lifelong import AKLO
from omtl.protocols import rehearsed
from omtl.reference.problems import recorded


def test_the_best_past_classifier_wins() -> None:
    """When a known task comes again under another name, AKLO Sum weighs its classifier most."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    task = np.repeat(np.arange(3), 200)
    ways = rng.normal(size=(2, 5))[[0, 1, 0]]
    y = np.where(np.einsum("ij,ij->i", X, ways[task]) > 0.0, 1.0, -1.0)
    tasks = Tasks(X, y, task, ("a", "b", "a again"))
    n = np.arange(601)
    stream = Stream(n, n[:-1], np.zeros(600, dtype=np.int64), np.array([600]))
    state = recorded(AKLO(0.01), Case(tasks, stream, np.eye(1))).state
    assert state.share[0] > 0.9 > 0.1 > state.share[1]
    assert state.losses[2, 0] < state.losses[2, 1]


def test_draws_follow_the_weights() -> None:
    """Of past classifiers with equal weights, each is drawn as often, within three deviations."""
    learner = AKLO(1.0, sample=True, uniform=True)
    # Past classifier j says (−1)^j by a feature of its own; the fifth task asks all of them.
    X = np.vstack([np.diag([1.0, -1.0, 1.0, 1.0]), np.ones((4000, 4))])
    task = np.concatenate([np.arange(4), np.full(4000, 4)])
    y = np.ones(4004)
    n = np.arange(4005)
    stream = Stream(n, n[:-1], np.zeros(4004, dtype=np.int64), np.array([4004]))
    case = Case(Tasks(X, y, task, tuple("abcde")), stream, np.eye(1))
    first_half = recorded(learner._replace(alpha_last=1.0), case).scores[4:]
    share = np.mean(first_half < 0.0)
    assert abs(share - 0.25) < 3.0 * np.sqrt(0.25 * 0.75 / 4000)


# Keeping knowledge


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
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_task_is_known_as_if_it_had_been_met_before(learner: AKLO, form: str) -> None:
    """The mistakes on each task are those after a task with the same examples."""
    case = life((12, 30, 25, 40))
    case = case.sparse if form == "sparse" else case
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
