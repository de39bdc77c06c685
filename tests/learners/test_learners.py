"""Every learner agrees with its plain transcription, and keeps the rules that all learners share.

The scores are compared example by example: from the compiled loop, from the same loop in plain
Python, on dense and on sparse rows, and from the oracle (`omtl.reference`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import (
    THOROUGH,
    TOLERANCE,
    VARIANTS,
    Case,
    cases,
    compare,
    learner_classes,
    oracle_steps,
    problem,
)

from omtl.data.examples import examples_of
from omtl.data.networks import mixing_matrix
from omtl.data.streams import Stream, Tasks
from omtl.kernel import network as network_vectors
from omtl.kernel import pulled
from omtl.kernel.play import play
from omtl.kernel.rules import Shape
from omtl.learners import coml, dom, passive_aggressive, perceptron
from omtl.learners.adagrad import AdaGrad
from omtl.learners.admm import CADMM, DADMM
from omtl.learners.alma import ALMA
from omtl.learners.arow import AROW
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.gradient import GradientDescent
from omtl.learners.hedge import HedgedMultiTask
from omtl.learners.majority import Majority
from omtl.learners.multitask_arow import MultiTaskAROW
from omtl.learners.neighbours import NeighbourhoodMT
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.learners.passive_aggressive import PassiveAggressive, PassiveAggressiveII
from omtl.learners.peers import Humble, Peer
from omtl.learners.perceptron import Perceptron
from omtl.learners.romco import ROMCO
from omtl.learners.second_order import SecondOrderPerceptron
from omtl.learners.selective import SelectivePerceptron
from omtl.learners.soft_confidence import SCW
from omtl.learners.within_online import OnlineWithinOnline
from omtl.reference import ReferenceStep
from omtl.reference.problems import recorded
from omtl.util.errors import UserError

INFINITY = float("inf")


# Random small problems


etas = st.floats(-5.0, 2.0).map(lambda power: 10.0**power)
relations = st.one_of(st.just(0.0), st.floats(0.0, 256.0))
strengths = st.one_of(st.just(1.0), st.floats(0.01, 1.0))
alphas = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
aggressiveness = st.one_of(st.just(INFINITY), st.floats(-3.0, 2.0).map(lambda power: 10.0**power))
leanings = st.one_of(st.just(0.0), st.floats(0.0, 0.9))


@THOROUGH
@given(
    cases(),
    st.builds(Perceptron, etas, st.sampled_from([0.0, 1.0]), st.booleans()),
)
def test_perceptron_is_its_oracle(case: Case, learner: Perceptron) -> None:
    """The perceptron, alone and pooled, by mistakes and by margin."""
    compare(learner, case)


@THOROUGH
@given(
    cases(),
    st.builds(PassiveAggressive, aggressiveness, st.booleans(), st.sampled_from([0.0, 1.0])),
)
def test_passive_aggressive_is_its_oracle(case: Case, learner: PassiveAggressive) -> None:
    """PA and PA-I, alone and pooled."""
    compare(learner, case)


@THOROUGH
@given(cases(empty_rows=False), st.builds(COML, aggressiveness, leanings, st.booleans()))
def test_coml_is_its_oracle(case: Case, learner: COML) -> None:
    """COML, without empty rows."""
    compare(learner, case)


budgets = st.sampled_from([INFINITY, 5.0])
powers_of_ten = st.floats(-3.0, 3.0).map(lambda power: 10.0**power)

BASELINES = {
    "GradientDescent": st.builds(GradientDescent, etas, st.booleans(), st.integers(0, 2)),
    "AdaGrad": st.builds(AdaGrad, etas, st.booleans()),
    "AROW": st.builds(AROW, powers_of_ten, st.booleans()),
    "Majority": st.builds(Majority),
    "MultiTaskAROW": st.builds(
        MultiTaskAROW, st.floats(-3.0, 3.0).map(lambda power: 10.0**power), st.floats(0.0, 1.0)
    ),
    "ParameterFree": st.one_of(
        st.builds(
            ParameterFree,
            st.floats(least, 20.0),
            st.floats(0.1, 10.0),
            st.floats(0.1, 10.0),
            st.integers(0, 1),
            st.booleans(),
            st.just(refined),
        )
        for least, refined in ((0.5, False), (10.0, True))  # refined bets need |⟨g, v⟩| ≤ L R
    ),
    "OnlineWithinOnline": st.builds(
        OnlineWithinOnline, powers_of_ten, st.floats(0.0, 10.0), st.integers(0, 2)
    ),
    "ROMCO": st.builds(ROMCO, etas, st.floats(0.0, 2.0), st.floats(0.0, 2.0)),
    "CADMM": st.builds(CADMM, *[st.floats(0.1, 10.0)] * 2, *[st.floats(0.01, 1.0)] * 4),
    "LazyParameterFree": st.builds(
        LazyParameterFree,
        st.floats(10.0, 20.0),
        st.floats(0.1, 10.0),
        st.floats(0.1, 10.0),
        st.integers(0, 1),
        st.booleans(),
    ),
    "Peer": st.builds(
        Peer,
        st.floats(0.1, 10.0),
        st.floats(0.1, 10.0),
        st.one_of(st.just(0.0), st.floats(0.1, 50.0)),
        st.booleans(),
        st.booleans(),
        budgets,
        st.booleans(),
    ),
    "Humble": st.builds(Humble, st.floats(0.1, 10.0), st.floats(0.0, 4.0), st.booleans(), budgets),
    "SelectivePerceptron": st.builds(
        SelectivePerceptron,
        st.one_of(st.just(INFINITY), st.floats(0.01, 10.0)),
        st.one_of(st.just(INFINITY), st.floats(0.0, 9.0)),
        st.booleans(),
    ),
    "HedgedMultiTask": st.builds(HedgedMultiTask, etas, st.integers(2, 9)),
    "PassiveAggressiveII": st.builds(PassiveAggressiveII, powers_of_ten, st.booleans()),
    "ALMA": st.builds(ALMA, st.floats(0.05, 1.0), st.booleans()),
    "SCW": st.builds(SCW, powers_of_ten, st.floats(0.51, 0.99), st.booleans()),
    "SecondOrderPerceptron": st.builds(SecondOrderPerceptron, powers_of_ten, st.booleans()),
}


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_is_its_oracle(name: str) -> None:
    """The baselines of ours, alone and pooled; any row may be empty."""

    @THOROUGH
    @given(cases(), BASELINES[name])
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case)

    agree()


def by_column(by_node: bool, by_row: bool) -> st.SearchStrategy[DOM2]:
    """Return a strategy of DOM-II in one of its variants."""
    return st.builds(DOM2, etas, alphas, st.just(by_node), st.just(by_row))


NETWORKED = {
    "NS": (st.builds(NS, etas, strengths), True),
    "NeighbourhoodMT": (st.builds(NeighbourhoodMT, etas, st.floats(0.0, 9.0)), True),
    "DST": (st.builds(DST, etas), False),
    "DADMM": (
        st.builds(DADMM, *[st.floats(0.1, 10.0)] * 2, *[st.floats(0.01, 1.0)] * 4),
        True,
    ),
    "DOM1": (st.builds(DOM1, etas, relations), False),
    "DOM2": (by_column(False, False), False),
    "DOM2-by_row": (by_column(False, True), False),
    "DOM2-by_node": (by_column(True, False), True),
    "DOM2-by_node-by_row": (by_column(True, True), True),
    "DA": (st.builds(DA, etas, relations), False),
}


@pytest.mark.parametrize("name", NETWORKED)
def test_networked_learner_is_its_oracle(name: str) -> None:
    """On networks whose combination loses nothing (A invertible), a node may meet many tasks."""
    learners, a_node_a_task = NETWORKED[name]

    @THOROUGH
    @given(cases(a_node_a_task, lossless=True), learners)
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case)

    agree()


@pytest.mark.parametrize("name", NETWORKED)
def test_networked_learner_is_its_oracle_on_any_network(name: str) -> None:
    """On networks whose combination loses modes too (full; A singular), one example a node."""
    learners, a_node_a_task = NETWORKED[name]

    @THOROUGH
    @given(cases(a_node_a_task, at_most_one=True), learners)
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case)

    agree()


@pytest.mark.parametrize("name", ["DST", "DOM1", "DOM2", "DOM2-by_row", "DA"])
def test_many_examples_a_node_on_any_network(name: str) -> None:
    """Nodes that meet several tasks a round, on networks whose combination loses modes too."""
    learners, _ = NETWORKED[name]

    @THOROUGH
    @given(cases(), learners)
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case)

    agree()


# Corners


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
    "learner",
    [
        NS(0.05),
        DST(0.05),
        DOM1(0.05, 3.0),
        DOM2(0.05, 0.4),
        DOM2(0.05, 0.4, False, True),
        DA(0.5, 3.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("tail", ["ring", "fast"])
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


@pytest.mark.parametrize("learner", [DOM2(1.0, 0.3), DOM2(1.0, 0.3, False, True)], ids=repr)
def test_relations_are_a_softmax_however_large_the_losses(learner: DOM2) -> None:
    """Eq. 13 where every exp(−loss) is below the smallest number: the smallest loss still wins."""
    case = problem((60, 60, 60), n_features=5, mixing=lazy_ring(3))
    tasks = case.tasks
    case = case._replace(tasks=Tasks(1e3 * tasks.X, tasks.y, tasks.task, tasks.names))
    compare(learner, case)


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


# Rules that all learners share


every_learner = pytest.mark.parametrize("learner", VARIANTS, ids=repr)


def test_learners_are_found() -> None:
    """The conformance tests below see all learners, and the oracles know those of today."""
    found = set(learner_classes())
    assert found >= {Perceptron, PassiveAggressive, COML, NS, DST, DOM1, DOM2, DA}
    for module in (perceptron, passive_aggressive, coml, dom):
        assert any(each.__module__ == module.__name__ for each in found)
    assert len({repr(learner) for learner in VARIANTS}) == len(VARIANTS) >= len(found)


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
    one, other = (
        play(learner, examples_of(c.tasks), c.stream, c.shape)[0] for c in (case, renamed)
    )
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
    trace, _ = play(learner, examples_of(case.tasks), case.stream, case.shape)
    assert trace.updates.sum() == got.fired.sum() <= case.stream.example.size - 2


@pytest.mark.parametrize("learner", [NS(0.1), DOM2(0.1, 0.5, by_node=True)], ids=repr)
def test_a_node_a_task_is_required(learner: Any) -> None:
    """Learners whose nodes are tasks refuse another network, and say what to set."""
    with pytest.raises(UserError, match=r"set network\.n_nodes=3"):
        learner.new_state(Shape(3, 2, mixing_matrix(4)))


def test_oracle_steps_are_steps() -> None:
    """The oracles see every event once, in order."""
    case = problem((3, 2))
    for learner in VARIANTS:
        steps = list(oracle_steps(learner, case))
        assert len(steps) == 5
        assert all(isinstance(step, ReferenceStep) for step in steps)
