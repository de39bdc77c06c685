"""Every learner agrees with its plain transcription on random streams.

The scores are compared example by example: from the compiled loop, from the same loop in plain
Python, on dense and on sparse rows, and from the oracle (`omtl.reference`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, TOLERANCE, WIDE_TOLERANCE, Case, cases, compare, learner_classes
from profiles import powers

from omtl.data.streams import Tasks, lifelong
from omtl.learners.adagrad import AdaGrad
from omtl.learners.admm import CADMM, DADMM
from omtl.learners.alma import ALMA
from omtl.learners.arow import AROW
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.gradient import GradientDescent
from omtl.learners.hedge import HedgedMultiTask
from omtl.learners.lifelong import AKLO, OGD
from omtl.learners.majority import Majority
from omtl.learners.multitask_arow import MultiTaskAROW
from omtl.learners.neighbours import NeighbourhoodMT
from omtl.learners.omtl import OMTLBatchOpt, OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.learners.passive_aggressive import PassiveAggressive, PassiveAggressiveII
from omtl.learners.peers import Humble, Peer
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.learners.romco import ROMCO
from omtl.learners.second_order import SecondOrderPerceptron
from omtl.learners.selective import SelectivePerceptron
from omtl.learners.soft_confidence import SCW
from omtl.learners.within_online import OnlineWithinOnline

GROWN = 1e60
"""Scores larger than this, of learners whose steps grow without bound, are not compared."""

Learners = st.SearchStrategy[Any]
BUILT: set[type] = set()
"""The learners of the tables below."""


def build(learner: type, *values: Any) -> Learners:
    """Return a strategy of a learner; values that are no strategies are themselves."""
    BUILT.add(learner)
    drawn = [one if isinstance(one, st.SearchStrategy) else st.just(one) for one in values]
    return st.tuples(*drawn).map(lambda values: learner(*values))


def between(low: float, high: float, *others: float) -> st.SearchStrategy[float]:
    """Return a strategy of numbers from an interval, or others."""
    return st.one_of(*map(st.just, others), st.floats(low, high))


@st.composite
def lives(draw: st.DrawFn) -> Case:
    """Draw a small problem whose tasks come one after the other."""
    case = draw(cases())
    known, task = np.unique(case.tasks.task, return_inverse=True)
    names = tuple(case.tasks.names[k] for k in known)
    tasks = Tasks(case.tasks.X, case.tasks.y, task.astype(np.int64), names)
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Case(tasks, lifelong(tasks, order), case.mixing)


switch = st.booleans()
etas = powers(-5.0, 2.0)
rates = powers(-3.0, 3.0)
C = st.one_of(st.just(math.inf), powers(-3.0, 2.0))
margins, losses, shifts = st.sampled_from([0.0, 1.0]), st.integers(0, 2), st.sampled_from([0, 1])
budgets = st.sampled_from([math.inf, 5.0])

BASELINES: dict[str, Learners] = {
    "Perceptron": build(Perceptron, etas, margins, switch),
    "PassiveAggressive": build(PassiveAggressive, C, switch, margins),
    "PassiveAggressiveII": build(PassiveAggressiveII, rates, switch),
    "GradientDescent": build(GradientDescent, etas, switch, losses),
    "AdaGrad": build(AdaGrad, etas, switch),
    "AROW": build(AROW, rates, switch),
    "Majority": build(Majority),
    "MultiTaskAROW": build(MultiTaskAROW, rates, st.floats(0.0, 1.0)),
    "ParameterFree": st.one_of(
        build(
            ParameterFree,
            *(st.floats(least, 20.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0)),
            *(st.integers(0, 1), switch, refined),
        )
        for least, refined in ((0.5, False), (10.0, True))  # refined bets need |⟨g, v⟩| ≤ L R
    ),
    "LazyParameterFree": build(
        LazyParameterFree,
        *(st.floats(10.0, 20.0), st.floats(0.1, 10.0), st.floats(0.1, 10.0)),
        *(st.integers(0, 1), switch),
    ),
    "OnlineWithinOnline": build(OnlineWithinOnline, rates, st.floats(0.0, 10.0), losses),
    "ROMCO": build(ROMCO, etas, st.floats(0.0, 2.0), st.floats(0.0, 2.0)),
    "Peer": build(
        Peer,
        *(st.floats(0.1, 10.0), st.floats(0.1, 10.0), between(0.1, 50.0, 0.0)),
        *(switch, switch, budgets, switch),
    ),
    "Humble": build(Humble, st.floats(0.1, 10.0), st.floats(0.0, 4.0), switch, budgets),
    "SelectivePerceptron": build(
        SelectivePerceptron, between(0.01, 10.0, math.inf), between(0.0, 9.0, math.inf), switch
    ),
    "HedgedMultiTask": build(HedgedMultiTask, etas, st.integers(2, 9)),
    "ALMA": build(ALMA, st.floats(0.05, 1.0), switch),
    "SCW": build(SCW, rates, st.floats(0.51, 0.99), switch),
    "SecondOrderPerceptron": build(SecondOrderPerceptron, rates, switch),
    "CADMM": build(CADMM, *[st.floats(0.1, 10.0)] * 2, *[st.floats(0.01, 1.0)] * 4),
}

relations, alphas = between(0.0, 256.0, 0.0), between(0.0, 1.0, 0.0, 1.0)
ON_NETWORKS: dict[str, Learners] = {
    "DST": build(DST, etas),
    "DOM1": build(DOM1, etas, relations),
    "DOM2": build(DOM2, etas, alphas, False, switch),
    "DA": build(DA, etas, relations),
}
A_NODE_A_TASK: dict[str, Learners] = {
    "NS": build(NS, etas, between(0.01, 1.0, 1.0)),
    "NeighbourhoodMT": build(NeighbourhoodMT, etas, st.floats(0.0, 9.0)),
    "DOM2, by node": build(DOM2, etas, alphas, True, switch),
    "DADMM": build(DADMM, *[st.floats(0.1, 10.0)] * 2, *[st.floats(0.01, 1.0)] * 4),
}

weights, waits = st.one_of(st.just(0.0), powers(-6.0, 3.0)), st.sampled_from([0.0, 0.3, 0.5, 1.0])
omtl_etas, few = st.one_of(st.just(0.0), powers(-6.0, 1.0)), powers(-3.0, 0.0)
OF_ROM: dict[str, Learners] = {
    "ROM-PGD": build(ROMPGD, powers(-6.0, 1.0), weights, weights, weights),
    "ROM-PGD, few outliers": build(ROMPGD, few, weights, weights, powers(-2, 1), switch),
    "ROM-RDA": build(ROMRDA, rates, weights, weights, weights),
    "ROM-RDA, few outliers": build(ROMRDA, rates, weights, weights, powers(-1.5, 1)),
    "Multi-P": build(MultiPerceptron, st.floats(0.0, 64.0), powers(-3, 1), margins),
    "OMTL, covariance": build(OMTLCovariance, waits, few, margins, *[switch] * 3),
    "OMTL, BatchOpt": build(OMTLBatchOpt, waits, few, margins, *[switch] * 2),
    "OMTL, LogDet": build(OMTLLogDet, omtl_etas, waits, few, margins, *[switch] * 4),
    "OMTL, von Neumann": build(OMTLVonNeumann, omtl_etas, waits, few, margins, switch),
}

steps, lams = powers(-3.0, 2.0), powers(-2.0, 2.0)
OF_OSMTL: dict[str, Learners] = {
    "OSGL": build(OSGL, steps, between(1.0, 8.0, 1.0)),
    "OSGL, implicit": build(OSGLImplicit, steps),
    "OSMTL-e": build(OSMTLExponential, steps, alphas, lams, margins, *[switch] * 2),
    "OSMTL-t": build(OSMTLThreshold, steps, alphas, lams, margins, *[switch] * 4),
}

LIFELONG: dict[str, Learners] = {
    "ITOL, TOL": build(OGD, rates, switch, shifts, margins),
    "AKLO": build(AKLO, rates, *[switch] * 3),
    "AKLO, all readings": st.builds(
        AKLO,
        *(rates, switch, switch, switch),
        clip=st.integers(0, 3),
        own_clip=st.sampled_from([0, 2, 3]),
        fading=st.integers(0, 1),
        alpha_last=st.sampled_from([0.0, 0.5, 1.0]),
        loss=losses,
        epsilon_factor=st.sampled_from([1.0, 2.0, 8.0]),
        shift=shifts,
        margin=margins,
    ),
}


class Played(NamedTuple):
    """How learners are played beside their references."""

    on: st.SearchStrategy[Case]
    learners: dict[str, Learners]
    tolerance: float = TOLERANCE
    grown: float | None = None


ON_ANY_NETWORK = cases() | cases(lossless=True) | cases(at_most_one=True)
WITH_A_NODE_A_TASK = cases(True, at_most_one=True) | cases(True, lossless=True)

PLAYED = [
    Played(cases(), BASELINES),
    Played(cases(empty_rows=False), {"COML": build(COML, C, between(0.0, 0.9, 0.0), switch)}),
    Played(cases() | lives(), LIFELONG),
    Played(ON_ANY_NETWORK, ON_NETWORKS),
    Played(WITH_A_NODE_A_TASK, A_NODE_A_TASK),
    Played(cases(), OF_ROM, WIDE_TOLERANCE, GROWN),
    Played(cases(), OF_OSMTL, WIDE_TOLERANCE),
]
"""Combining in a network that is not lossless (full; A singular) loses modes."""


BY_NAME = {name: played for played in PLAYED for name in played.learners}


@pytest.mark.parametrize("name", BY_NAME)
def test_a_learner_is_its_reference(name: str) -> None:
    """Every score and every step, on tasks of unequal sizes, with empty rows."""
    played = BY_NAME[name]

    @THOROUGH
    @given(played.on, played.learners[name])
    def agree(case: Case, learner: Any) -> None:
        compare(learner, case, tolerance=played.tolerance, grown=played.grown)

    agree()


def test_all_learners_are_played() -> None:
    """A learner that is added has a place in the tables above."""
    assert set(learner_classes()) == BUILT
