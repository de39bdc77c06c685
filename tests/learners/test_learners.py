"""Every learner agrees with its plain transcription, and keeps the rules that all learners share.

The scores are compared example by example: from the compiled loop, from the same loop in plain
Python, on dense and on sparse rows, and from the oracle (`omtl.reference`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import (
    TOLERANCE,
    VARIANTS,
    Case,
    compare,
    problem,
)

from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks
from omtl.kernel import network as network_vectors
from omtl.kernel import pulled
from omtl.kernel.rules import Shape
from omtl.learners import dom
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.majority import Majority
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.reference.problems import recorded, traced
from omtl.util.errors import UserError


def lazy_ring(n_nodes: int) -> np.ndarray:
    """Return a ring that loses no mode whatever its size."""
    return 0.7 * np.eye(n_nodes) + 0.3 * mixing_matrix(n_nodes, "ring")


def test_coml_scale_does_not_underflow() -> None:
    """COML over thousands of rounds: (1 − μ) to the number of steps is far below 1e-308."""
    learner = COML(C=0.5, mu=0.9)
    case = problem((3000, 2500), n_features=6)
    compare(learner, case, plain=False)
    got = recorded(learner, case)
    assert got.fired.sum() > 1000
    assert np.all(got.state.scale > pulled.SMALLEST_SCALE * 0.1)
    assert np.all(got.state.pull <= 1.0 + 1e-12)


@pytest.mark.parametrize(
    ("learner", "tail"),
    [
        (NS(0.05), "ring"),
        (DST(0.05), "fast"),
        (DOM1(0.05, 3.0), "ring"),
        (DOM1(0.05, 3.0), "fast"),
        (DOM2(0.05, 0.4), "ring"),
        (DOM2(0.05, 0.4, False, True), "fast"),
        (DA(0.5, 3.0), "fast"),
    ],
    ids=repr,
)
def test_fast_decaying_modes_do_not_underflow(learner: Any, tail: str) -> None:
    """Thousands of rounds where decay to the number of rounds is far below 1e-308."""
    n_tasks = 5 if tail == "ring" else 2
    fast = np.array([[0.5 + 1e-7, 0.5 - 1e-7], [0.5 - 1e-7, 0.5 + 1e-7]])
    mixing = mixing_matrix(5, "ring") if tail == "ring" else fast
    case = problem((1500,) * n_tasks, n_features=3, mixing=mixing)
    compare(learner, case, plain=False)
    state = recorded(learner, case).state
    net = getattr(state, "net", state)
    if not isinstance(net, network_vectors.NodeVectors):  # which are in no modes
        assert 1500 * np.log10(np.abs(net.decay[-1])) < -320
        assert np.all(np.abs(net.scale) >= network_vectors.SMALLEST_SCALE)
    assert np.all(np.isfinite(net.W.vectors))


@pytest.mark.parametrize("topology", ["ring", "grid"])
def test_a_node_that_has_heard_of_nothing_predicts_exactly_zero(topology: str) -> None:
    """A score of 0 is a tie, thus a mistake; rounding must not turn it into a label.

    Only node 0 learns, in round 0; in round 1 the nodes that are two links away know nothing.
    """
    mixing = mixing_matrix(9, topology)
    far = np.flatnonzero(mixing[:, 0] == 0.0)
    X = np.random.default_rng(0).normal(size=(1 + far.size, 4))
    tasks = Tasks(
        X, np.ones(1 + far.size), np.arange(1 + far.size), tuple("abcdefghi"[: 1 + far.size])
    )
    stream = Stream(
        start=np.array([0, 1, 1 + far.size]),
        example=np.arange(1 + far.size),
        node=np.concatenate([[0], far]),
        checkpoint=np.array([2]),
    )
    got = recorded(DOM1(1.0, 4.0), Case(tasks, stream, mixing))
    np.testing.assert_array_equal(got.scores, 0.0)


every_learner = pytest.mark.parametrize("learner", VARIANTS, ids=repr)


@every_learner
def test_names_of_tasks_do_not_matter(learner: Any) -> None:
    """Renumbering the tasks (and, with them, the nodes) renumbers the mistakes.

    The examples come in the same order, so that this also holds where tasks share a vector. Ties
    are left out, as rounding may break them (`test_a_node_that_has_heard_of_nothing...`).
    """
    if getattr(learner, "single", False):
        pytest.skip("of peers that are trusted alike, the first is asked")
    case = problem((9, 6, 8, 7), mixing=lazy_ring(4))
    new = np.array([2, 0, 3, 1])
    old = np.argsort(new)
    tasks, stream = case.tasks, case.stream
    renamed = Case(
        Tasks(tasks.X, tasks.y, new[tasks.task], tuple(tasks.names[k] for k in old)),
        stream._replace(node=new[stream.node]),
        np.ascontiguousarray(case.mixing[np.ix_(old, old)]),
    )
    before, after = recorded(learner, case), recorded(learner, renamed)
    np.testing.assert_allclose(after.scores, before.scores, rtol=1e-9, atol=1e-9)
    one, other = traced(learner, case), traced(learner, renamed)
    tied = tasks.task[stream.example[np.abs(before.scores) <= TOLERANCE]]
    ties = np.bincount(tied, minlength=4)
    assert np.all(np.abs(other.mistakes[new] - one.mistakes) <= ties)
    np.testing.assert_array_equal(other.updates[new], one.updates)


def in_parallel(learner: Any) -> bool:
    """Return whether a learner's tasks do not see each other within a round."""
    if isinstance(learner, Perceptron | PassiveAggressive):
        return not learner.pooled
    return type(learner).__module__ == dom.__name__


@pytest.mark.parametrize("learner", [each for each in VARIANTS if in_parallel(each)], ids=repr)
@pytest.mark.parametrize("topology", ["full", "ring", "lazy ring"])
def test_nodes_work_at_the_same_time(learner: Any, topology: str) -> None:
    """Within a round, the order in which nodes come up does not matter (algorithms 1 and 2)."""
    mixing = lazy_ring(4) if topology == "lazy ring" else mixing_matrix(4, topology)
    case = problem((9, 6, 8, 7), mixing=mixing)
    stream = case.stream
    order = np.arange(stream.example.size)
    for a, b in zip(stream.start[:-1], stream.start[1:], strict=True):
        order[a:b] = order[a:b][::-1]
    backwards = stream._replace(example=stream.example[order], node=stream.node[order])
    before = recorded(learner, case).scores
    after = recorded(learner, case._replace(stream=backwards)).scores
    np.testing.assert_allclose(after, before[order], rtol=1e-9, atol=1e-9)


@every_learner
def test_an_empty_row_is_not_learnt_from(learner: Any) -> None:
    """An empty row scores 0, from a learner that looks at rows, and is no step."""
    case = problem((4, 4), mixing=lazy_ring(2))
    empty = case.stream.example[2:4]
    case.tasks.X[empty] = 0.0
    got = recorded(learner, case)
    if not isinstance(learner, Majority):
        np.testing.assert_array_equal(got.scores[2:4], 0.0)
    trace = traced(learner, case)
    assert trace.updates.sum() == got.fired.sum() <= case.stream.example.size - 2


@pytest.mark.parametrize("learner", [NS(0.1), DOM2(0.1, 0.5, by_node=True)], ids=repr)
def test_a_node_a_task_is_required(learner: Any) -> None:
    """Learners whose nodes are tasks refuse another network, and say what to set."""
    with pytest.raises(UserError, match=r"set network\.n_nodes=3"):
        learner.new_state(Shape(3, 2, mixing_matrix(4)))
