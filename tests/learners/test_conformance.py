"""The conformance checks: the package's learners pass them, and each finds what it is for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from learner_cases import VARIANTS

from omtl.kernel.sharing import shareable
from omtl.kernel.vectors import Bank
from omtl.learners.perceptron import Perceptron, task_weights
from omtl.learners.rom import ROMPGD, step_of_q, step_of_u
from omtl.ops import axpy, dot
from omtl.reference import conformance, problems
from omtl.reference.centralised import perceptron
from omtl.reference.conformance import CHECKS, FAIL, PASS, look_at


@pytest.mark.parametrize("learner", VARIANTS, ids=repr)
def test_the_learners_of_the_package_conform(learner: Any) -> None:
    """All checks are made, and none fails."""
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


@dataclass
class Unpicklable(Good):
    """Its hyper-parameter cannot go to another process."""

    how: Any = field(default_factory=lambda: lambda x: x)


class ReturnsNothing(Good):
    """It does not say whether it took a step."""

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Forget to return."""
        super().update(state, x, y, score)


class Draws(Good):
    """It draws numbers without a seed."""

    def score(self, state: Any, x: Any) -> Any:
        """Add noise."""
        return super().score(state, x) + np.random.default_rng().normal()


@dataclass
class Remembers(Good):
    """It keeps what it learns outside of its state."""

    seen: list = field(default_factory=list)

    def score(self, state: Any, x: Any) -> Any:
        """Add what it has seen in all plays."""
        return super().score(state, x) + len(self.seen)

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Remember."""
        self.seen.append(y)
        return super().update(state, x, y, score)


class Dense(Good):
    """It reads rows as if they were dense."""

    def score(self, state: Any, x: Any) -> Any:
        """Read the row itself."""
        return float(state[x.task] @ x.rows.X[x.i])


class Divides(Good):
    """It divides by the row's norm."""

    def score(self, state: Any, x: Any) -> Any:
        """Divide."""
        return super().score(state, x) / np.float64(x.square_norm)


class Raises(Good):
    """It raises where numbers overflow."""

    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Raise a power."""
        if not np.isfinite(x.square_norm):
            raise OverflowError("too large")
        return super().update(state, x, y, score)


class Deaf(Good):
    """It does not learn."""

    def update(self, *given: Any) -> Any:  # noqa: ARG002
        """Do nothing."""
        return False


class Silent(Good):
    def update(self, state: Any, x: Any, y: float, score: float) -> Any:
        """Learn as it should."""
        return super().update(state, x, y, score)


class Loses(Good):
    """A perceptron of our own that loses its numbers. Cost per example: O(nonzeros)."""

    def score(self, state: Any, x: Any) -> Any:
        """Give NaN from the third round on."""
        return super().score(state, x) if x.round < 2 else np.nan


@dataclass(slots=True)
class Slotted:
    """A perceptron with slots, of our own. Cost per example: O(nonzeros)."""

    eta: float = 1.0

    new_state = Good.new_state
    score = Good.score
    update = Good.update


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


def broken(learner: Any) -> list[str]:
    """Return the names of the checks that a learner does not pass."""
    return [one.check.look.__name__ for one in look_at(learner) if one.result != PASS]


@pytest.mark.parametrize(
    ("learner", "check"),
    [
        (Unpicklable(), "pickles"),
        (ReturnsNothing(), "has_the_rules"),
        (Draws(), "is_deterministic"),
        (Remembers(), "repeats_share_nothing"),
        (ChangesArray(), "repeats_share_nothing"),
        (Dense(), "dense_is_sparse"),
        (Divides(), "empty_rows_are_harmless"),
        (Raises(), "divergence_is_reported"),
        (Deaf(), "learns_from_labels"),
        (Silent(), "says_cost_and_source"),
        (object(), "has_the_rules"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_a_broken_learner_is_found(learner: Any, check: str) -> None:
    """By the check that is for it."""
    assert check in broken(learner)


@pytest.mark.parametrize("learner", [Good(), Slotted(), Arrays()], ids=lambda x: type(x).__name__)
def test_a_good_learner_passes(learner: Any) -> None:
    """A plain class in plain NumPy, whatever holds its hyper-parameters."""
    assert broken(learner) == []


def test_scores_that_are_no_numbers_are_blamed_for_that_alone() -> None:
    """They are the same in a second play, and see no label."""
    assert broken(Loses()) == ["empty_rows_are_harmless", "scores_are_finite"]


def test_a_score_that_sees_its_label_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules show it none; a learner that spies on the examples is told."""
    spied: list[np.ndarray] = []
    honest = problems.examples_of

    def watched(tasks: Any) -> Any:
        spied.append(tasks.y)
        return honest(tasks)

    monkeypatch.setattr(problems, "examples_of", watched)

    class Spy(Good):
        """It scores an example by its label."""

        def score(self, state: Any, x: Any) -> Any:
            """Tell the label."""
            return 0.1 * spied[-1][x.i] + super().score(state, x)

    with pytest.raises(conformance.BrokenRule, match="not yet due"):
        conformance.score_does_not_see_the_label(Spy())


class OddNames(NamedTuple):
    """A perceptron (Rosenblatt 1958) whose rules name their arguments as they like.

    Cost per example: O(nonzeros).
    """

    eta: float = 1.0

    def new_state(self, told: Any) -> Any:
        """Return zero weights."""
        return task_weights(told, pooled=False)

    def score(self, w: Any, now: Any) -> Any:
        """Return w·x."""
        return dot(w.w[now.task], now)

    def update(me, w: Any, now: Any, label: float, guess: float) -> Any:  # noqa: N805
        """Add η y x after a mistake."""
        if label * guess > 0.0:
            return False
        axpy(me.eta * label, now, w.w[now.task])
        return True


class Referred(OddNames):
    """A perceptron (Rosenblatt 1958) beside its reference. Cost per example: O(nonzeros)."""

    def reference(self, rounds: Any, shape: Any) -> Any:
        """Yield what a perceptron does."""
        yield from perceptron(Perceptron(self.eta), rounds, shape)


class Misquoted(OddNames):
    """A perceptron (Rosenblatt 1958) beside that of another rate. Cost: O(nonzeros) an example."""

    def reference(self, rounds: Any, shape: Any) -> Any:
        """Yield what a perceptron of twice the rate does."""
        yield from perceptron(Perceptron(2.0 * self.eta), rounds, shape)


def test_arguments_may_have_any_names() -> None:
    """Rules are matched by the places of their arguments, compiled too."""
    assert [one.why for one in look_at(OddNames()) if one.result == FAIL] == []


class Counted(NamedTuple):
    """A state with vectors, and with a field that has the name of one of their methods."""

    w: Bank
    add: np.ndarray


class CallsMethods(NamedTuple):
    """A perceptron (Rosenblatt 1958). Cost per example: O(nonzeros)."""

    eta: float = 0.1

    def new_state(self, shape: Any) -> Counted:
        """Return zero weights."""
        return Counted(Bank.zeros(shape.n_tasks, shape), np.zeros(1))

    def dot(self, rate: float) -> float:
        """Return twice a rate; the method of this name of a bank takes two arguments."""
        return 2.0 * rate

    def score(self, state: Counted, x: Any) -> Any:
        """Return w·x, times a constant."""
        return self.dot(0.5) * state.w.dot(x.task, x)

    def update(self, state: Counted, x: Any, y: float, score: float) -> bool:
        """Add η y x after a mistake, and count."""
        if y * score > 0.0:
            return False
        state.add[0] += 1.0
        state.w.add(x.task, self.dot(self.eta) * y, x)
        return True


def test_rules_call_methods_of_the_learner_and_of_its_state() -> None:
    """Compiled and in plain Python, whatever other methods and fields have the same names."""
    assert broken(CallsMethods()) == []


def test_a_learner_is_compared_with_its_reference() -> None:
    """Where it names one; what differs is an example and both scores."""
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


def test_a_grid_that_shares_what_differs_is_found() -> None:
    """Played alone, each point is right; played together, they are not."""
    with pytest.raises(conformance.BrokenRule, match="differs when it is played in a grid"):
        conformance.a_grid_plays_as_its_points(Undeclared(0.1, 0.01, 0.1, 0.1))
