"""The conformance checks: the package's learners pass them, and each finds what it is for."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial, partialmethod
from typing import Any, NamedTuple

import numpy as np
import pytest
from learner_cases import VARIANTS

from omtl.data.rows import SparseRows
from omtl.kernel import grids
from omtl.kernel.sharing import shareable
from omtl.kernel.vectors import Bank
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, step_of_q, step_of_u
from omtl.ops import axpy, dot
from omtl.reference import conformance
from omtl.reference.centralised import perceptron
from omtl.reference.conformance import CHECKS, FAIL, PASS, look_at
from omtl.reference.problems import points_around, problem

COMPILED = [
    pytest.param(learner, True, marks=pytest.mark.deep)
    for learner in {type(each): each for each in VARIANTS}.values()
]


@pytest.mark.parametrize(
    ("learner", "compiled"), [*((each, False) for each in VARIANTS), *COMPILED], ids=repr
)
def test_the_learners_of_the_package_conform(
    learner: Any, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All checks are made, and none fails.

    They play plain Python, alone: `test_references` and `test_grids` compare compiled code.
    """
    monkeypatch.setattr(conformance, "problem", partial(problem, n_features=9))
    if not compiled:
        monkeypatch.setattr("omtl.kernel.loop.is_compiled", lambda _: False)
        monkeypatch.setattr(conformance, "points_around", lambda point: points_around(point)[:3])
        for module in ("omtl.kernel.grids", "omtl.reference.conformance"):
            monkeypatch.setattr(f"{module}.can_share", lambda _: False)
    found = list(look_at(learner))
    assert len(found) == len(CHECKS)
    assert [f"{one.check.demands}: {one.why}" for one in found if one.result == FAIL] == []


@dataclass
class Good:
    """A perceptron (Rosenblatt 1958). Cost per example: O(nonzeros)."""

    eta: float = 1.0

    def new_state(self, shape: Any) -> Any:
        """Return zero weights."""
        return np.zeros((shape.n_tasks, shape.n_features))

    def score(self, state: Any, x: Any) -> Any:
        """Return w·x."""
        return dot(state[x.task], x)

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Add η y x after a mistake."""
        if y * score > 0.0:
            return False
        axpy(self.eta * y, x, state[x.task])
        return True


def spied(x: Any) -> float:
    """Return an example's label, which the loop that calls the rules knows."""
    frame: Any = sys._getframe()
    while "examples" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["examples"].y[x.i]


@dataclass
class Odd(Good):
    """A perceptron of our own that breaks a rule. Cost per example: O(nonzeros)."""

    how: Any = ""
    seen: list = field(default_factory=list)

    def score(self, state: Any, x: Any) -> Any:
        """Return w·x, or something else."""
        value = super().score(state, x)
        match self.how:
            case "draws":
                return value + np.random.default_rng().normal()
            case "remembers":
                return value + len(self.seen)
            case "tells rows apart":
                return value + 0.1 * isinstance(x.rows, SparseRows)
            case "sees its label":
                return value + 0.1 * spied(x)
            case "divides":
                return value / np.float64(x.square_norm)
            case "loses its numbers" if x.round >= 2:
                return np.nan
        return value

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Take a step, or do something else."""
        match self.how:
            case "raises" if not np.isfinite(x.square_norm):
                raise OverflowError("too large")
            case "is deaf":
                return False
            case "leaves":
                raise SystemExit(0)
            case "remembers":
                self.seen.append(y)
        stepped = super().update(state, x, y, score)
        return None if self.how == "returns nothing" else stepped


class Silent(Good):
    pass


class Slotted:
    """A perceptron with slots that is no dataclass, of our own. Cost per example: O(nonzeros)."""

    __slots__ = ("eta",)

    new_state = Good.new_state
    score = Good.score
    update = Good.update

    def __init__(self) -> None:
        self.eta = 1.0


@dataclass(eq=False)
class Arrays(Good):
    """A perceptron of our own with arrays as values. Cost per example: O(nonzeros)."""

    weights: Any = field(default_factory=lambda: np.array([1.0, np.nan]))
    more: dict[str, Any] = field(default_factory=lambda: {"rates": [np.ones(2)], "low": np.nan})


class ChangesArray(Arrays):
    """It keeps what it learns in a hyper-parameter."""

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Count."""
        self.more["rates"][0][1] += 1.0
        return super().update(state, x, y, score)


KEPT: dict[int, float] = {}


class Keeps(Good):
    """A perceptron of our own whose module keeps a step. Cost per example: O(nonzeros)."""

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Step as the first instance of the module did for the task."""
        step = KEPT.setdefault(x.task, self.eta)
        return Good(step).update(state, x, y, score)


class Counted(NamedTuple):
    """A state with vectors, and with a field that has the name of one of their methods."""

    w: Bank
    add: np.ndarray


class OddNames(NamedTuple):
    """A perceptron (Rosenblatt 1958) whose rules name their arguments as they like.

    It has a method with the name of one of the vectors' that takes other arguments.
    Cost per example: O(nonzeros).
    """

    eta: float = 1.0

    def new_state(self, told: Any) -> Counted:
        """Return zero weights."""
        return Counted(Bank.zeros(told.n_tasks, told), np.zeros(1))

    def dot(self, rate: float) -> float:
        """Return twice a rate."""
        return 2.0 * rate

    def score(self, state: Counted, now: Any) -> Any:
        """Return w·x, times a constant."""
        return self.dot(0.5) * state.w.dot(now.task, now)

    def update(me, state: Counted, now: Any, label: float, guess: float) -> Any:  # noqa: N805
        """Add η y x after a mistake, and count."""
        if label * guess > 0.0:
            return False
        state.add[0] += 1.0
        state.w.add(now.task, me.dot(0.5 * me.eta) * label, now)
        return True


class Referred(OddNames):
    """A perceptron beside its reference."""

    def reference(self, rounds: Any, shape: Any, times: float = 1.0) -> Any:
        """Yield what a perceptron does."""
        return perceptron(Perceptron(times * self.eta), rounds, shape)


class Misquoted(OddNames):
    """A perceptron beside that of twice the rate."""

    reference = partialmethod(Referred.reference, times=2.0)


def broken(learner: Any) -> list[str]:
    """Return the names of the checks that a learner does not pass."""
    return [one.check.look.__name__ for one in look_at(learner) if one.result != PASS]


@pytest.mark.parametrize(
    ("learner", "check"),
    [
        (Odd(how=lambda: 0), "pickles"),
        (Odd(how="returns nothing"), "has_the_rules"),
        (Odd(how="leaves"), "has_the_rules"),
        (Odd(how="draws"), "is_deterministic"),
        (Odd(how="remembers"), "repeats_share_nothing"),
        (ChangesArray(), "repeats_share_nothing"),
        (Keeps(), "a_grid_plays_as_its_points"),
        (Odd(how="tells rows apart"), "dense_is_sparse"),
        (Odd(how="sees its label"), "score_does_not_see_the_label"),
        (Odd(how="divides"), "empty_rows_are_harmless"),
        (Odd(how="raises"), "divergence_is_reported"),
        (Odd(how="is deaf"), "learns_from_labels"),
        (Silent(), "says_cost_and_source"),
        (object(), "has_the_rules"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_a_broken_learner_is_found(learner: Any, check: str) -> None:
    """By the check that is for it."""
    assert check in broken(learner)


@pytest.mark.parametrize(
    "learner",
    [Good(), Slotted(), Arrays(), OddNames()],
    ids=lambda learner: type(learner).__name__,
)
def test_a_good_learner_passes(learner: Any) -> None:
    """Plain classes, whatever holds their hyper-parameters; compiled ones with any names."""
    assert broken(learner) == []


def test_scores_that_are_no_numbers_are_blamed_for_that_alone() -> None:
    """They are the same in a second play, and see no label."""
    assert broken(Odd(how="loses its numbers")) == ["empty_rows_are_harmless", "scores_are_finite"]


@pytest.mark.usefixtures("slowly")
def test_a_learner_is_compared_with_its_reference() -> None:
    assert conformance.is_its_reference(OddNames()) == "it names no reference"
    assert conformance.is_its_reference(Referred()) == ""
    with pytest.raises(conformance.BrokenRule, match="its reference differs: example"):
        conformance.is_its_reference(Misquoted())


def step_without_beta(eta):
    """Return the step of p for β = 0, which is not that of `update`."""
    return eta, 1.0


@shareable(u=step_of_u, p=step_without_beta, q=step_of_q, unless="every_round")
class Undeclared(ROMPGD):
    """ROM-PGD (a baseline) whose grids do not know that p depends on β. Cost per example: O(1)."""


def test_a_grid_that_shares_what_differs_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Played alone, each point is right; played together, they are not."""
    monkeypatch.setattr("omtl.kernel.loop.is_compiled", lambda _: False)
    monkeypatch.setattr("omtl.kernel.grids.share", partial(grids.share, compiled=False))
    with pytest.raises(conformance.BrokenRule, match=r"^mistakes of .* differs when it is played"):
        conformance.a_grid_plays_as_its_points(Undeclared(0.1, 0.01, 0.1, 0.1))
