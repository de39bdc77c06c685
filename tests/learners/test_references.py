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
from learner_cases import LAYOUTS, THOROUGH, cases, compare
from profiles import powers

from omtl.data.streams import Tasks, lifelong
from omtl.reference.problems import Case
from omtl.sklearn.parameters import declared_entries

CHOICES: dict[str, tuple[Any, ...]] = {
    "clip": (0, 1, 2, 3),
    "fading": (0, 1),
    "loss": (0, 1, 2),
    "margin": (0.0, 1.0),
    "n_experts": (2, 3, 9),
    "own_clip": (0, 2, 3),
    "shift": (0, 1),
    **dict.fromkeys(("LazyParameterFree.loss", "ParameterFree.loss"), (0, 1)),
}
"""The values of hyper-parameters that are no measures."""

SIZES = {"eta": (-5.0, 2.0), "lam1": (-2.0, 0.3), "lam2": (-2.0, 0.3), "lipschitz": (0.5, 1.3)}
"""Powers of ten between which a hyper-parameter is, where not all are of use."""

ONLY = {"CADMM.eta": (1.0, 3.0)}
"""Those of one learner, where steps of other sizes enlarge each rounding."""


def values(kind: type, name: str) -> st.SearchStrategy[Any]:
    """Return a strategy of values that a hyper-parameter may have, as its learner declares."""
    own = f"{kind.__name__}.{name}"
    if own in ONLY:
        return powers(*ONLY[own])
    chosen = CHOICES.get(own, CHOICES.get(name))
    if chosen:
        return st.sampled_from(chosen)
    declared = declared_entries()[kind.__name__].values
    if name not in declared:
        return st.booleans()
    sizes = powers(*SIZES.get(name, (-3.0, 2.0)))
    special = st.sampled_from([0.0, 1.0, math.inf])
    return st.one_of(sizes, st.floats(0.01, 1.0), special).filter(declared[name][1])


def is_valid(learner: Any) -> bool:
    """Whether the hyper-parameters fit each other: refined bets need |⟨g, v⟩| ≤ L R."""
    return not getattr(learner, "refined", False) or learner.lipschitz >= 10.0


def learners(kind: type) -> st.SearchStrategy[Any]:
    """Return a strategy of a learner with any hyper-parameters."""
    drawn = {name: values(kind, name) for name in kind._fields}  # type: ignore[attr-defined]
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
