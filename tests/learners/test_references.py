"""Every learner agrees with its plain transcription on random streams.

The scores are compared example by example: from the compiled loop, from the same loop in plain
Python, on dense and on sparse rows, and from the oracle (`omtl.reference`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import LAYOUTS, THOROUGH, Case, cases, compare
from profiles import powers

from omtl.data.streams import Tasks, lifelong
from omtl.sklearn.parameters import declared_entries


def between(low: float, high: float, *others: float) -> st.SearchStrategy[float]:
    """Return a strategy of numbers from an interval, or others."""
    return st.one_of(*map(st.just, others), st.floats(low, high))


sizes = powers(-3.0, 3.0)
weights = st.just(0.0) | powers(-6.0, 3.0)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("a", "kappa", "lam", "r"), sizes),
    **dict.fromkeys(("b1", "b2", "bias_wealth", "rho", "wealth"), st.floats(0.1, 10.0)),
    **dict.fromkeys(("lam1", "lam2"), st.floats(0.0, 2.0)),
    **dict.fromkeys(("lam3", "lam4"), st.floats(0.01, 1.0)),
    "C": powers(-3.0, 2.0),
    "alpha": between(0.0, 1.0, 0.0, 1.0),
    "alpha_last": st.sampled_from([0.0, 0.5, 1.0]),
    "b": between(0.0, 256.0, 0.0),
    "budget": st.sampled_from([math.inf, 5.0]),
    "c": st.floats(0.0, 1.0),
    "clip": st.integers(0, 3),
    "epoch": st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    "epsilon_factor": st.sampled_from([1.0, 2.0, 8.0]),
    "eta": powers(-5.0, 2.0),
    "fading": st.integers(0, 1),
    "lipschitz": st.floats(10.0, 20.0),
    "loss": st.integers(0, 2),
    "margin": st.sampled_from([0.0, 1.0]),
    "mu": between(0.0, 0.9, 0.0),
    "n_experts": st.integers(2, 9),
    "own_clip": st.sampled_from([0, 2, 3]),
    "rate": powers(-3.0, 0.0),
    "shift": st.sampled_from([0, 1]),
    "strength": between(0.01, 1.0, 1.0),
    # Where a learner has its own.
    "ALMA.alpha": st.floats(0.05, 1.0),
    "COML.C": st.just(math.inf) | powers(-3.0, 2.0),
    "Humble.C": st.floats(0.0, 4.0),
    "Humble.b": st.floats(0.1, 10.0),
    "LazyParameterFree.loss": st.integers(0, 1),
    "OMTLLogDet.eta": powers(-2.0, 2.0),
    "OMTLVonNeumann.eta": powers(-2.0, 2.0),
    "OSGL.r": between(1.0, 8.0, 1.0),
    "OnlineWithinOnline.eta": st.floats(0.0, 10.0),
    "ParameterFree.lipschitz": st.floats(0.5, 20.0),
    "ParameterFree.loss": st.integers(0, 1),
    "PassiveAggressive.C": st.just(math.inf) | powers(-3.0, 2.0),
    "Peer.lam": between(0.1, 50.0, 0.0),
    "SCW.eta": st.floats(0.51, 0.99),
    "SelectivePerceptron.a": between(0.01, 10.0, math.inf),
    "SelectivePerceptron.b": between(0.0, 9.0, math.inf),
    **dict.fromkeys(("ROMPGD.eta", "MultiPerceptron.eta"), powers(-6.0, 1.0)),
    **{f"{rom}.{name}": weights for rom in ("ROMPGD", "ROMRDA") for name in ("alpha", "beta")},
    "ROMPGD.gamma": weights | powers(-2.0, 1.0),
    "ROMRDA.gamma": weights | powers(-1.5, 1.0),
}
"""What each hyper-parameter may be; those that are not listed are switches."""


def is_valid(learner: Any) -> bool:
    """Whether the hyper-parameters fit each other: refined bets need |⟨g, v⟩| ≤ L R."""
    return not getattr(learner, "refined", False) or learner.lipschitz >= 10.0


def learners(kind: type) -> st.SearchStrategy[Any]:
    """Return a strategy of a learner with any hyper-parameters."""
    drawn = {
        name: VALUES.get(f"{kind.__name__}.{name}", VALUES.get(name, st.booleans()))
        for name in kind._fields  # type: ignore[attr-defined]
    }
    return st.builds(kind, **drawn).filter(is_valid)


@st.composite
def lives(draw: st.DrawFn) -> Case:
    """Draw a small problem whose tasks come one after the other."""
    case = draw(cases())
    known, task = np.unique(case.tasks.task, return_inverse=True)
    names = tuple(case.tasks.names[k] for k in known)
    tasks = Tasks(case.tasks.X, case.tasks.y, task.astype(np.int64), names)
    order = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return Case(tasks, lifelong(tasks, order), case.mixing)


A_NODE_A_TASK = ("DADMM", "NS", "NeighbourhoodMT")


def streams(learner: Any) -> st.SearchStrategy[Case]:
    """Return a strategy of problems that a learner can play."""
    name = type(learner).__name__
    if name in A_NODE_A_TASK or getattr(learner, "by_node", False):
        return cases(True, at_most_one=True) | cases(True, lossless=True)
    if "network" in declared_entries()[name].takes:
        # Combining in a network that is not lossless (full; A singular) loses modes.
        return cases() | cases(lossless=True) | cases(at_most_one=True)
    return cases(empty_rows=False) if name == "COML" else cases() | lives()


BOTH = [
    pytest.param(kind, layout, marks=[] if layout == LAYOUTS[kind] else [pytest.mark.deep])
    for kind in LAYOUTS
    for layout in ("dense", "sparse")
]


@pytest.mark.parametrize(("kind", "layout"), BOTH)
def test_a_learner_is_its_reference(kind: type, layout: str) -> None:
    """Every score and every step, on tasks of unequal sizes, with empty rows."""

    @THOROUGH
    @given(st.data())
    def agree(data: st.DataObject) -> None:
        learner = data.draw(learners(kind))
        compare(learner, data.draw(streams(learner)), layout)

    agree()
