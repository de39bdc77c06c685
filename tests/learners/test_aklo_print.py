"""Where the printed theorems of AKLO fail, by examples; and what they say where they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from aklo_cases import SLACK, hinge, plain
from learner_cases import Case

from omtl.data.examples import examples_of
from omtl.data.streams import Tasks, lifelong
from omtl.learners.lifelong import AKLO
from omtl.protocols import accumulation
from omtl.theory import aklo


def test_own_classifiers_within_r_make_the_print_empty() -> None:
    """Where R ≥ X/λ, no ‖w_t‖ is above R, and each ℓ_t(w) + λ R² is 1 or more."""
    for X in (0.1, 1.0, 10.0):
        for R in np.logspace(-2, 3, 30):
            lam = aklo.theorem_lam(1000, radius=float(R), largest_norm=X)
            if X / lam <= R:
                assert 1.0 - R * X + lam * R**2 >= 1.0 - SLACK


def one_life(tasks: Sequence[tuple[np.ndarray, np.ndarray]]) -> Case:
    """Return a case of tasks that come as they are given."""
    X = np.concatenate([rows for rows, _ in tasks])
    y = np.concatenate([labels for _, labels in tasks])
    task = np.repeat(np.arange(len(tasks)), [labels.size for _, labels in tasks])
    names = tuple(f"task {k}" for k in range(len(tasks)))
    given_tasks = Tasks(X, y, task, names)
    return Case(given_tasks, lifelong(given_tasks, Unmoved()), np.ones((1, 1)))


class Unmoved(np.random.Generator):
    """A generator whose permutations leave all where it is."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def permutation(self, x: int | np.ndarray) -> np.ndarray:  # type: ignore[override]
        """Return x, or the numbers below it, in order."""
        return np.arange(x) if isinstance(x, int) else x


@pytest.mark.parametrize("each", [False, True])
def test_theorem_1_fails_where_the_sum_is_clipped(each: bool) -> None:
    """α_t = 1, T = 2: one past classifier is right, the other wrong and 10⁵ times as confident.

    By eq. 2 the learner errs on all examples, where the bound is below a half of them.
    """
    N, X = 100, 3000.0
    lam = aklo.theorem_lam(N, radius=1e9, largest_norm=X)
    right = np.tile([1.0, 0.0], (N, 1)), np.ones(N)
    strong = np.tile([0.0, 1e-6], (N, 1)), np.ones(N)
    strong[0][-1] = [0.0, X]  # its last step is its only one to speak of
    now = np.tile([1.0, -2990.0], (N, 1)), np.ones(N)
    case = one_life([right, strong, now])
    learner = AKLO(lam, alpha_last=1.0, clip=1 if each else 0)
    got = accumulation.measure_accumulation(
        learner, examples_of(case.tasks), case.stream, case.shape
    )
    base = got.weighed_errors[2, :2].min()
    printed = base + aklo.base_regret_printed(got.shares[2], 2)
    assert printed < 0.5 * N
    if each:
        assert got.mistakes[2] <= base + aklo.base_regret(got.shares[2], 2)
    else:
        assert got.mistakes[2] == N


def test_theorem_1_fails_by_the_own_classifiers_late_regret() -> None:
    """Labels −, then +, then −: α_t = 1 until the last turn, after which the own one always errs.

    The past classifier is silent (w = 0), so that it errs and loses 1 a time. The best fixed
    weights say − and lose nothing after the turn, no ‖x‖ is above X, and no ‖w_t‖ above R.
    """
    X, R, late = 1.0, 1.05, 200
    sizes = np.ones(2000)
    y = np.array([-1.0] * 896 + [1.0] * 904 + [-1.0] * late)
    lam = aklo.theorem_lam(y.size, radius=R, largest_norm=X)
    sizes[:157] = 0.99 * lam  # the first steps are 1/(λ t), too long for longer examples
    rows = sizes[:, None]
    shares = np.where(np.arange(y.size) < y.size - late, 1.0, 0.0)
    got = plain(rows, y, np.zeros((1, 1)), shares, lam, each=True)
    assert np.abs(got.own).max() <= R
    assert got.errors == y.size
    w, _ = aklo.best_within(rows, y, R)
    base, own = shares @ got.e[:, 0], (1.0 - shares) @ hinge(rows, y, w)
    printed = aklo.own_regret_printed(shares, lam=lam, radius=R)
    assert got.errors - base == late > 7.0 * (own + printed)
    proved = aklo.own_regret(shares, lam=lam, norm=abs(float(w[0])), longest=R, largest_norm=X)
    assert late <= aklo.MISTAKE * (own + proved)


def test_theorem_1_fails_as_a_mistake_is_worth_less_than_1() -> None:
    """A last example of another label, on which the base is right by little, the own one wrong.

    Even with what the own classifier itself loses in the place of what w* does.
    """
    N, q, R = 10_000, 0.2, 1.0
    rows = np.tile([1.0, 1.0], (N, 1))
    rows[-1] = [2.3, -0.999 * q]
    y = np.ones(N)
    y[-1] = -1.0
    X = float(np.linalg.norm(rows, axis=1).max())
    lam = aklo.theorem_lam(N, radius=R, largest_norm=X)
    shares = np.ones(N)
    shares[-1] = 1.0 / (1.0 + q)
    got = plain(rows, y, np.array([[0.0, 1.0]]), shares, lam, each=True)
    assert got.wrong.tolist() == [False] * (N - 1) + [True]
    w, _ = aklo.best_within(rows, y, R)
    base = shares @ got.e[:, 0]
    printed = aklo.own_regret_printed(shares, lam=lam, radius=R)
    assert base + (1.0 - shares) @ hinge(rows, y, w) + printed < 0.8
    clipped = np.minimum(2.0, hinge(rows, y, got.own))
    assert clipped[-1] == 2.0
    assert base + (1.0 - shares) @ clipped + printed < 0.9
    assert base + aklo.MISTAKE * (1.0 - shares) @ clipped >= 1.0


def test_corollary_1_fails_as_printed() -> None:
    """Silent past classifiers, and labels that alternate: all is wrong, and ζ = N is a sum.

    K is as large as is printed. The bound is a third of N; N/(γ ζ) would ask for more.
    """
    N, X, R, gamma, K = 1000, 1.0, 0.1, 0.1, 0.3
    odd = np.arange(N) % 2 == 1
    rows, y = np.where(odd, 1.0, 0.9999)[:, None], np.where(odd, -1.0, 1.0)
    shares = np.full(N, K / (1.0 + K))
    shares[0] = 1.0
    lam = aklo.theorem_lam(N, radius=R, largest_norm=X)
    got = plain(rows, y, np.zeros((2, 1)), shares, lam, each=True)
    zeta = float(got.e[:, got.best].sum())
    assert zeta == N == got.errors
    wanted = R * (X + R) / (4.0 * gamma * math.sqrt(2.0 * math.log(2)))
    assert max((1.0 + X * R) / (gamma * zeta), wanted) <= K
    known = {"least_error": zeta, "radius": R, "largest_norm": X}
    least, theirs = aklo.least_gammas(shares, 2, **known)
    assert least <= gamma
    assert aklo.corollary1(shares @ got.e[:, 0], shares, 2, gamma) < 0.4 * got.errors
    assert theirs > 1.0
    for silent in (
        *aklo.least_gammas(1.0 - np.arange(9) / 8, 2, **known),
        *aklo.least_gammas(shares, 1, **known),
        *aklo.least_gammas(shares, 2, **(known | {"least_error": 0.0})),
    ):
        assert silent == math.inf
    assert aklo.least_gammas(np.ones(5), 2, **known) == (0.0, 0.0)


def test_theorem_2_fails_for_one_example() -> None:
    """log N = 0 leaves no regret to a base of two classifiers that contradict each other."""
    lam = aklo.theorem_lam(1, radius=99.0, largest_norm=1.0, known=False)
    one = np.ones((1, 1))
    case = one_life([(one, np.ones(1)), (one, -np.ones(1)), (one, np.ones(1))])
    got = accumulation.measure_accumulation(
        AKLO(lam, doubling=True, clip=1), examples_of(case.tasks), case.stream, case.shape
    )
    base = got.weighed_errors[2, :2].min()
    assert got.mistakes[2] == 1
    assert base + aklo.base_regret_printed(got.shares[2], 2, known=False) < 0.001
    assert base + aklo.base_regret(got.shares[2], 2, known=False) >= 1.0
