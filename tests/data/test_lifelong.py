"""The AKLO paper's learners agree with their plain transcription; what they know can be kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, Case, cases, compare, life
from profiles import powers

from omtl.data.examples import examples_of
from omtl.data.streams import Stream, Tasks, lifelong
from omtl.kernel.play import play
from omtl.learners.lifelong import AKLO, OGD
from omtl.reference.problems import recorded


@st.composite
def lives(draw: st.DrawFn) -> Case:
    """Draw a small problem whose tasks come one after the other."""
    case = draw(cases())
    known, task = np.unique(case.tasks.task, return_inverse=True)
    names = tuple(case.tasks.names[k] for k in known)
    tasks = Tasks(case.tasks.X, case.tasks.y, task.astype(np.int64), names)
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Case(tasks, lifelong(tasks, order), case.mixing)


lams = powers(-3.0, 3.0)
margins = st.sampled_from([0.0, 1.0])
shifts = st.sampled_from([0, 1])
of_paper = st.tuples(lams, st.booleans(), st.booleans(), st.booleans()).map(
    lambda options: AKLO(*options)
)
of_readings = st.builds(
    AKLO,
    lams,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    clip=st.integers(0, 3),
    own_clip=st.sampled_from([0, 2, 3]),
    fading=st.integers(0, 1),
    alpha_last=st.sampled_from([0.0, 0.5, 1.0]),
    loss=st.integers(0, 2),
    epsilon_factor=st.sampled_from([1.0, 2.0, 8.0]),
    shift=shifts,
    margin=margins,
)
LEARNERS = {
    "ITOL, TOL": st.builds(OGD, lams, st.booleans(), shifts, margins),
    "the paper's four": of_paper,
    "all readings": of_readings,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("stream", ["lifelong", "rounds"])
def test_learner_is_its_oracle(name: str, stream: str) -> None:
    """Every score and every step, on tasks one after the other and on tasks that alternate."""

    @THOROUGH
    @given(lives() if stream == "lifelong" else cases(), LEARNERS[name])
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case)

    agree()


FOUR = [AKLO(0.01, sample, uniform) for sample in (False, True) for uniform in (False, True)]
DOUBLING = [each._replace(doubling=True) for each in FOUR]


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


def test_an_unknown_horizon_doubles() -> None:
    """Where the learner is not told how many examples come, it does as `doubling` says."""
    case = life((30, 20, 25))
    untold = case.shape._replace(n_examples=())
    examples = examples_of(case.tasks)
    for learner in FOUR:
        traces = [
            play(learner, examples, case.stream, untold)[0],
            play(learner._replace(doubling=True), examples, case.stream, case.shape)[0],
        ]
        for one, other in zip(*traces, strict=True):
            np.testing.assert_array_equal(one, other)


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
