"""Points of a grid that are played together leave what each leaves alone, to the bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import LAYOUTS, THOROUGH, VARIANTS, cases, in_layout

from omtl.data.rows import examples_of
from omtl.kernel.grids import share
from omtl.kernel.inlining import inlined
from omtl.kernel.play import play
from omtl.kernel.rules import findings
from omtl.kernel.sharing import can_share, shareable
from omtl.learners.rom import ROMPGD, ROMRDA, step_of_q, step_of_u
from omtl.reference.problems import Case, problem
from omtl.util.errors import UserError

SIZES = [1e-3, 0.03, 0.3, 3.0, 100.0]
few = st.lists(st.sampled_from(SIZES), min_size=1, max_size=3, unique=True)
GRIDS = {ROMPGD: st.tuples(few, few, few, few), ROMRDA: st.tuples(few, few, few, few)}


def assert_alike(learners: list[Any], case: Case, compiled: bool = True) -> None:
    """Assert that traces and findings are those of plays one by one."""
    examples = examples_of(case.tasks)
    together = list(share(learners, examples, case.stream, case.shape, compiled))
    assert len(together) == len(learners)
    for learner, (trace, found) in zip(learners, together, strict=True):
        alone, state = play(learner, examples, case.stream, case.shape, compiled)
        for name, one, other in zip(alone._fields, trace, alone, strict=True):
            assert one.dtype == other.dtype
            if compiled:
                np.testing.assert_array_equal(one, other, err_msg=f"{learner}: {name}")
            else:  # numpy sums the products of strided and of other rows in orders of its own
                np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=f"{learner}: {name}")
        for name, value in findings(learner, state).items():
            np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("kind", GRIDS)
def test_a_grid_is_its_points(kind: type) -> None:
    """Random grids on random streams, with unequal tasks and empty rows."""

    @THOROUGH
    @given(cases(), GRIDS[kind])
    def agree(case: Case, grid: tuple[list[float], ...]) -> None:
        learners = [kind(*point) for point in product(*grid)]
        with np.errstate(all="ignore"):
            assert_alike(learners, in_layout(case, LAYOUTS[kind]))

    agree()


def small_grid(kind: type) -> list[Any]:
    """Return points whose plays part soon, late and never."""
    return [kind(*point) for point in product([0.01, 0.3], SIZES[:4], SIZES[1:4], SIZES)]


@pytest.mark.parametrize("kind", GRIDS)
def test_long_plays_that_part(kind: type) -> None:
    """Hundreds of rounds: most points have parted, some never do."""
    case = problem((150, 90, 120), n_features=37)
    assert_alike(small_grid(kind), in_layout(case, LAYOUTS[kind]))


@pytest.mark.parametrize("kind", GRIDS)
def test_the_plain_loop_agrees(kind: type) -> None:
    """The loop in plain Python gives the same traces."""
    case = problem((9, 6, 8), n_features=19)
    learners = [kind(*point) for point in product([0.1], SIZES[:2], [0.1], SIZES)]
    for this in (case, case.sparse):
        with np.errstate(all="ignore"):  # it divides by norms that are zero, for no use
            assert_alike(learners, this, False)


def test_which_learners_share() -> None:
    """ROM does, but for a variant in which rounds without loss matter too."""
    sharing = {repr(learner) for learner in VARIANTS if can_share(learner)}
    assert sharing == {repr(one) for one in VARIANTS if isinstance(one, ROMPGD | ROMRDA)} - {
        repr(one) for one in VARIANTS if isinstance(one, ROMPGD) and one.every_round
    }


@inlined
def decayed(rates):
    """Return the step of p, found from a pair of hyper-parameters."""
    eta, beta = rates
    return eta, 1.0 + beta * eta


def step_by_helper(eta, beta):
    """Return the step of p (eq. 7)."""
    return decayed((eta, beta))


@shareable(u=step_of_u, p=step_by_helper, q=step_of_q, unless="every_round")
class Helped(ROMPGD):
    """ROM-PGD that declares a step with a helper."""


def test_a_step_may_call_helpers() -> None:
    """Its signature says what it depends on, whatever it does with it."""
    assert_alike(small_grid(Helped)[::7], problem((20, 15, 18), n_features=19), compiled=False)


def reads_the_learner(rom):
    """Return the step of a learner."""
    return rom.eta, 1.0


def reads_anything(*rates):
    """Return the step of any hyper-parameters."""
    return rates[0], 1.0


@pytest.mark.parametrize("step", [reads_the_learner, reads_anything])
def test_a_step_that_declares_nothing_is_refused(step: Any) -> None:
    """Where the learner is declared, in one sentence."""
    with pytest.raises(UserError, match=f"{step.__name__} of ROMPGD takes .*eta, alpha, beta"):
        shareable(u=step_of_u, p=step, q=step_of_q)(ROMPGD)
