"""Every learner agrees with its plain transcription, and keeps the rules that all learners share.

The scores are compared example by example: from the compiled loop, from the same loop in plain
Python, on dense and on sparse rows, and from the oracle (`omtl.reference`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from learner_cases import (
    Case,
    compare,
    problem,
)

from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks
from omtl.kernel import network as network_vectors
from omtl.kernel import pulled
from omtl.kernel.rules import Shape
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.reference.problems import recorded
from omtl.util.errors import UserError


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


@pytest.mark.parametrize("learner", [NS(0.1), DOM2(0.1, 0.5, by_node=True)], ids=repr)
def test_a_node_a_task_is_required(learner: Any) -> None:
    """Learners whose nodes are tasks refuse another network, and say what to set."""
    with pytest.raises(UserError, match=r"set network\.n_nodes=3"):
        learner.new_state(Shape(3, 2, mixing_matrix(4)))
