"""Points of a grid that are played together leave what each leaves alone, to the bit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, VARIANTS, Case, cases, problem
from scipy import sparse

from omtl.data.examples import examples_of
from omtl.data.preparation import prepared_data
from omtl.data.rows import rows_of
from omtl.data.streams import Tasks
from omtl.kernel import grids
from omtl.kernel.grids import share
from omtl.kernel.inlining import inlined
from omtl.kernel.many_vectors import axpys, dots
from omtl.kernel.play import play
from omtl.kernel.products import SUMS, axpy, dot
from omtl.kernel.rules import findings, row_at
from omtl.kernel.sharing import can_share, shareable
from omtl.learners.rom import ROMPGD, ROMRDA, step_of_q, step_of_u
from omtl.protocols import cumulative
from omtl.protocols.setting import Setting
from omtl.util.errors import UserError

SIZES = [1e-3, 0.03, 0.3, 3.0, 100.0]
few = st.lists(st.sampled_from(SIZES), min_size=1, max_size=3, unique=True)
GRIDS = {
    ROMPGD: st.tuples(few, few, few, few),
    ROMRDA: st.tuples(few, few, few, few),
}


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
    """Random grids on random streams, with unequal tasks and empty rows, dense and sparse."""

    @THOROUGH
    @given(cases(), GRIDS[kind])
    def agree(case: Case, grid: tuple[list[float], ...]) -> None:
        learners = [kind(*point) for point in product(*grid)]
        with np.errstate(all="ignore"):
            assert_alike(learners, case)
            assert_alike(learners, case.sparse)

    agree()


def small_grid(kind: type) -> list[Any]:
    """Return points whose plays part soon, late and never."""
    return [kind(*point) for point in product([0.01, 0.3], SIZES[:4], SIZES[1:4], SIZES)]


@pytest.mark.parametrize("kind", GRIDS)
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_long_plays_that_part(kind: type, sparse_rows: bool) -> None:
    """Hundreds of rounds: most points have parted, some never do."""
    case = problem((150, 90, 120), n_features=37)
    case.tasks.X[np.random.default_rng(1).random(case.tasks.X.shape) < 0.5] = 0.0
    assert_alike(small_grid(kind), case.sparse if sparse_rows else case)


@pytest.mark.parametrize("kind", GRIDS)
def test_the_plain_loop_agrees(kind: type) -> None:
    """The loop in plain Python gives the same traces."""
    case = problem((9, 6, 8), n_features=19)
    learners = [kind(*point) for point in product([0.1], SIZES[:2], [0.1], SIZES)]
    for this in (case, case.sparse):
        with np.errstate(all="ignore"):  # it divides by norms that are zero, for no use
            assert_alike(learners, this, False)


def sizes_of_plays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which each play adds how many points it has; assert it begins with zeros."""
    sizes: list[int] = []
    compiled = grids.share_compiled

    def noting(learner: Any, points: Any, banks: Any, *more: Any) -> bool:
        assert not any(bank.vectors.any() for bank in banks)
        sizes.append(points.score.size)
        return compiled(learner, points, banks, *more)

    monkeypatch.setattr(grids, "share_compiled", noting)
    return sizes


def nearly_empty(n_features: int, sparse_rows: bool) -> Case:
    """Return a problem of whose features most are met late."""
    case = problem((40, 30, 35), n_features)
    case.tasks.X[np.random.default_rng(2).random(case.tasks.X.shape) < 0.9] = 0.0
    return case.sparse if sparse_rows else case


@pytest.mark.parametrize("kind", GRIDS)
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("room", [1, 5, 7, 20])
def test_little_memory_makes_more_plays(
    kind: type, sparse_rows: bool, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the copies do not fit, fewer points are played together, with the same traces."""
    sizes = sizes_of_plays(monkeypatch)
    monkeypatch.setattr(grids, "MEMORY", 8 * 60 * 3 * room)
    assert_alike(small_grid(kind), nearly_empty(60, sparse_rows))
    assert len(sizes) > 1


def test_what_is_learnt_alike_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that never part need one copy of a part for each number that it depends on."""
    seen = []
    compiled = grids.share_compiled

    def noting(*arguments: Any) -> bool:
        done = compiled(*arguments)
        seen.append(arguments[7])
        return done

    monkeypatch.setattr(grids, "share_compiled", noting)
    case = problem((60, 60), n_features=5)
    learners = [ROMPGD(1e-9, *point) for point in product([0.1, 1.0], [0.1, 1.0, 2.0], SIZES[:4])]
    assert_alike(learners, case)
    assert (seen[0].stop - seen[0].start).tolist() == [[2, 0], [3, 3], [4, 4]]
    assert_alike([ROMRDA(1e9, *learner[1:4]) for learner in learners], case)
    assert (seen[1].stop - seen[1].start).tolist() == [[1, 0], [1, 1]]


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("n", [1, 15, 16, 37])
def test_products_side_by_side(n: int, sparse_rows: bool) -> None:
    """In plain Python too, `dots` and `axpys` are `dot` and `axpy` of each vector."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(2, n))
    case = problem((2,), n_features=n)
    rows = rows_of(case.sparse.tasks.X) if sparse_rows else rows_of(X)
    W = np.asfortranarray(rng.normal(size=(6, n)))
    sums = np.full((SUMS, 6), np.nan)
    dots(W, row_at(rows, 1), 1, 4, sums)
    np.testing.assert_allclose(sums[0, 1:4], [dot(W[j].copy(), row_at(rows, 1)) for j in (1, 2, 3)])
    steps, expected = rng.normal(size=6), W.copy()
    for j in (1, 2, 3):
        axpy(steps[j], row_at(rows, 1), expected[j])
    axpys(steps, row_at(rows, 1), 1, 4, W)
    np.testing.assert_array_equal(W, expected)


@pytest.mark.parametrize("learner", VARIANTS, ids=repr)
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_the_protocol_plays_a_grid_as_its_points(learner: Any, sparse_rows: bool) -> None:
    """Whatever the learner, whether its points are played together or not."""
    case = problem((7, 5, 6), n_features=9)
    tasks = (case.sparse if sparse_rows else case).tasks
    setting = Setting(
        source=prepared_data(tasks),
        protocol={"stream": "rounds", "checkpoints": 3, "by_task": True},
        network={"topology": "ring"},
        rng=lambda of, **axes: np.random.default_rng([3, len(of), *axes.values()]),
    )
    changed = {name: getattr(learner, name) * 0.5 for name in learner._fields[:1]}
    points = [learner, learner._replace(**changed), learner]
    whole = cumulative.play_grid(iter(points), setting)
    for p, point in enumerate(points):
        one = cumulative.play_grid([point], setting)
        for name, value in one.items():
            shared = name in ("examples", "seen", "seen_by_task")
            np.testing.assert_array_equal(whole[name] if shared else whole[name][p : p + 1], value)


def test_examples_that_come_again_need_all_their_features() -> None:
    """A feature that one example alone has is dropped, and would be met again."""
    setting = Setting(
        source=prepared_data(
            Tasks(sparse.csr_array(np.eye(3)), np.ones(3), np.array([0, 0, 1]), ("a", "b"))
        ),
        protocol={"stream": "rounds", "checkpoints": 3, "run_out": "again"},
        network=None,
        rng=lambda **_: np.random.default_rng(3),
    )
    assert setting.source.is_reduced
    with pytest.raises(UserError, match=r"run_out=again: .* use sit_out"):
        setting.stream  # noqa: B018


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


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_a_step_may_call_helpers(sparse_rows: bool) -> None:
    """Its signature says what it depends on, whatever it does with it."""
    case = problem((20, 15, 18), n_features=19)
    assert_alike(small_grid(Helped)[::7], case.sparse if sparse_rows else case)


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
