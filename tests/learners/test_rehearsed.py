"""AKLO with a base that has the task's own last classifier too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import life
from scipy import sparse

from omtl.data.examples import examples_of
from omtl.data.preparation import prepared_data
from omtl.data.streams import Tasks
from omtl.learners.lifelong import AKLO, OGD
from omtl.protocols import cumulative, rehearsed
from omtl.protocols.setting import Setting
from omtl.reference.problems import Case, recorded
from omtl.util.errors import UserError
from omtl.util.seeds import generator

SUMS = [AKLO(0.01, clip=clip, uniform=uniform) for clip in (0, 1) for uniform in (False, True)]
SAMPLES = [AKLO(0.01, sample=True, uniform=uniform) for uniform in (False, True)]


def setting_for(tasks: Tasks, **changed: Any) -> Setting:
    """Return a repeat of the protocol on tasks."""
    return Setting(
        source=prepared_data(tasks),
        protocol={"stream": "lifelong", "checkpoints": 10} | changed,
        network=None,
        rng=lambda of, **more: generator(1, of=of, **more),
    )


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


@pytest.mark.parametrize("learner", SAMPLES, ids=repr)
def test_a_draw_from_equal_classifiers_is_that_classifier(learner: AKLO) -> None:
    """The second of two equal tasks has one classifier twice in its base."""
    case = life((20, 20))
    half = np.tile(np.arange(20), 2)
    tasks = Tasks(case.tasks.X[half], case.tasks.y[half], case.tasks.task, case.tasks.names)
    case = case._replace(tasks=tasks)
    stream = case.stream._replace(example=np.arange(40), checkpoint=1 + np.arange(40))
    examples = examples_of(tasks)
    drawn, summed = (
        rehearsed.rehearse(one, examples, stream, case.shape)["checkpoint_mistakes"]
        for one in (learner, AKLO(0.01, uniform=True))
    )
    assert drawn.tolist() == summed.tolist()


def test_arrays_are_those_of_a_play() -> None:
    """Without a second task nothing is rehearsed; other learners play once."""
    for sizes, learner in (((50,), AKLO(0.1)), ((30, 20, 25), OGD(0.1)), ((30, 20), AKLO(0.1))):
        setting = setting_for(life(sizes).tasks)
        got = rehearsed.play_grid([learner, learner], setting)
        plain = cumulative.play_grid([learner, learner], setting)
        assert {name: array.shape for name, array in got.items()} == {
            name: array.shape for name, array in plain.items()
        }
        np.testing.assert_array_equal(got["seen"], plain["seen"])
        np.testing.assert_array_equal(got["updates"], plain["updates"])
        np.testing.assert_array_equal(got["checkpoint_mistakes"][:, -1], got["mistakes"].sum(1))
        if len(sizes) == 1 or isinstance(learner, OGD):
            np.testing.assert_array_equal(got["mistakes"], plain["mistakes"])
            np.testing.assert_array_equal(got["checkpoint_mistakes"], plain["checkpoint_mistakes"])
            np.testing.assert_allclose(got["checkpoint_loss"], plain["checkpoint_loss"])


def test_features_of_one_example_count() -> None:
    """An example that is met again has them, though they are dropped."""
    tasks = life((15, 15, 15), 3).tasks
    X = np.hstack([tasks.X, np.diag(np.linspace(0.5, 3.0, 45)), np.diag(np.ones(45))])
    reduced = setting_for(Tasks(sparse.csr_array(X), tasks.y, tasks.task, tasks.names))
    assert reduced.source.is_reduced
    found = rehearsed.whole(reduced.source).tasks.X
    np.testing.assert_allclose((found @ found.T).toarray(), X @ X.T, atol=1e-12)
    dense = setting_for(Tasks(X, tasks.y, tasks.task, tasks.names))
    assert not dense.source.is_reduced
    learners = [AKLO(0.01, clip=1), AKLO(0.01, uniform=True)]
    np.testing.assert_array_equal(
        rehearsed.play_grid(learners, reduced)["mistakes"],
        rehearsed.play_grid(learners, dense)["mistakes"],
    )


def test_refusals() -> None:
    case = life((10, 10))
    with pytest.raises(UserError, match=r"protocol\.timed"):
        rehearsed.play_grid([AKLO(0.1)], setting_for(case.tasks, timed=3))
    with pytest.raises(UserError, match="one after the other"):
        rehearsed.play_grid([AKLO(0.1)], setting_for(case.tasks, stream="rounds"))
