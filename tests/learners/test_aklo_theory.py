"""AKLO's theory: bounds and best weights within R, and where its printed theorems fail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, in_given_order, in_layout, life
from profiles import powers
from scipy import sparse
from scipy.optimize import minimize

from omtl.data.rows import examples_of
from omtl.learners.lifelong import AKLO
from omtl.protocols import accumulation, rehearsed
from omtl.reference.problems import Case, recorded
from omtl.theory import aklo, comparators

SLACK = 1e-9
"""Of comparisons of sums of rounded numbers, relative."""


class Plain(NamedTuple):
    """What a task was: errors, e_t of each past classifier, w_t, and the last w."""

    wrong: np.ndarray
    e: np.ndarray
    own: np.ndarray
    last: np.ndarray

    @property
    def errors(self) -> int:
        """E_{T+1}."""
        return int(self.wrong.sum())

    @property
    def best(self) -> int:
        """The number of w**."""
        return int(np.argmin(self.e.sum(axis=0)))


def plain(
    X: np.ndarray,
    y: np.ndarray,
    past: np.ndarray,
    shares: np.ndarray,
    lam: float,
    *,
    each: bool,
    known: bool = True,
) -> Plain:
    """Play algorithms 1 and 2 with eq. 2 on one task, for any α; `each` clips before the sum."""
    n, T = y.size, past.shape[0]
    w, L = np.zeros(X.shape[1]), np.zeros(T)
    wrong, errors, own = [], [], []
    for t in range(1, n + 1):
        start = t if known else 2 ** int(math.log2(t))
        if not known and t == start:
            L = np.zeros(T)
        tuned = shares.sum() if known else shares[:start].sum()
        p = np.exp(-math.sqrt(math.log(T) / (8.0 * tuned)) * (L - L.min()))
        p /= p.sum()
        x, said = X[t - 1], past @ X[t - 1]
        base = p @ np.clip(said, -1, 1) if each else np.clip(p @ said, -1, 1)
        z = (1.0 - shares[t - 1]) * np.clip(w @ x, -1, 1) + shares[t - 1] * base
        wrong.append(not y[t - 1] * z > 0.0)
        errors.append((np.clip(said, -1, 1) - y[t - 1]) ** 2)
        own.append(w)
        L = L + errors[-1]
        eta = 1.0 / (lam * t)
        step = eta * y[t - 1] * x if y[t - 1] * (w @ x) < 1.0 else 0.0
        w = (1.0 - eta * lam) * w + step
    return Plain(np.array(wrong), np.array(errors), np.array(own), w)


def hinge(X: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return ℓ_t(w), or ℓ_t(w_t) where there is a w for each t."""
    return np.maximum(0.0, 1.0 - y * np.sum(X * w, axis=1))


SEEDS = st.integers(0, 10_000)


class Task(NamedTuple):
    """A random task with past classifiers and α."""

    X: np.ndarray
    y: np.ndarray
    past: np.ndarray
    shares: np.ndarray
    lam: float


@st.composite
def faced(draw: st.DrawFn) -> Task:
    """Draw one: noisy labels that may turn on the way, classifiers near and far, α that falls."""
    rng = np.random.default_rng(draw(SEEDS))
    n, T, d = draw(st.integers(1, 60)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    X = rng.normal(size=(n, d)) * 10.0 ** draw(st.floats(-1.0, 1.0))
    way = rng.normal(size=d)
    y = np.where(X @ way + 0.3 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[draw(st.integers(0, n)) :] *= -1.0
    past = rng.normal(size=(T, d)) + draw(st.sampled_from([0.0, 2.0])) * way
    ways = [
        1.0 - np.arange(n) / n,
        1.0 / np.sqrt(np.arange(1, n + 1)),
        np.where(np.arange(n) < draw(st.integers(1, n)), 1.0, draw(st.floats(0.0, 1.0))),
    ]
    shares = ways[draw(st.integers(0, 2))]
    return Task(X, y, past, shares, draw(powers(-2.0, 2.0)))


def measured(learner: AKLO, case: Case, compiled: bool = False) -> Any:
    """Return what the protocol measures of a life."""
    examples = examples_of(case.tasks)
    return accumulation.measure_accumulation(learner, examples, case.stream, case.shape, compiled)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize(
    ("layout", "compiled"), [("dense", True), ("dense", False), ("sparse", False)]
)
def test_measured_is_that_of_a_plain_transcription(
    known: bool, each: bool, layout: str, compiled: bool
) -> None:
    """Errors, e_t of past classifiers, own norms and α, on each task of a life."""
    dense = life((12, 20, 17, 9))
    case = in_layout(dense, layout)
    learner = AKLO(0.05, doubling=not known, clip=1 if each else 0)
    got = measured(learner, case, compiled)
    met = dense.tasks.task[dense.stream.example]
    order = list(dict.fromkeys(met.tolist()))
    past: list[np.ndarray] = []
    for c, k in enumerate(order):
        mine = dense.stream.example[met == k]
        X, y = dense.tasks.X[mine], dense.tasks.y[mine]
        n = y.size
        shares = 1.0 - np.arange(n) / n if known else 1.0 / np.sqrt(np.arange(1, n + 1))
        base = np.array(past or [np.zeros(X.shape[1])])  # the first task's: it has no vote
        task = plain(X, y, base, shares, 0.05, each=each, known=known)
        assert got.n_past[k] == c
        assert got.mistakes[k] == task.errors
        e = task.e[:, :c]
        np.testing.assert_allclose(got.shares[k, :n], shares, rtol=1e-12)
        np.testing.assert_allclose(got.errors[k, :c], e.sum(axis=0), rtol=1e-9)
        np.testing.assert_allclose(got.weighed_errors[k, :c], shares @ e, rtol=1e-9)
        assert got.longest[k] == pytest.approx(np.linalg.norm(task.own, axis=1).max())
        past.append(task.last)


@THOROUGH
@given(faced(), powers(-2.0, 2.0))
def test_best_within_is_best(task: Task, radius: float) -> None:
    """It is within R, and no search finds much better ones; sparse rows have the same."""
    X, y = task.X, task.y
    w, excess = comparators.best_within(X, y, radius)
    lost = hinge(X, y, w).sum()
    assert np.linalg.norm(w) <= radius * (1.0 + SLACK)
    assert 0.0 <= excess <= comparators.SHORT * (1.0 + lost)

    def within(v: np.ndarray) -> np.ndarray:
        return v * min(1.0, radius / max(float(np.linalg.norm(v)), 1e-300))

    found = minimize(lambda v: hinge(X, y, within(v)).sum(), w, method="Nelder-Mead")
    assert found.fun >= lost - excess - SLACK * (1.0 + lost)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(hinge(X, y, comparators.best_within(rows, y, radius)[0]).sum(), lost)


@THOROUGH
@given(faced(), st.booleans(), powers(-2.0, 2.0))
def test_errors_are_below_what_can_be_proved(task: Task, known: bool, radius: float) -> None:
    """Theorems 1 and 2 with each past classifier clipped; and corollary 1 with 3 N / (γ ζ)."""
    X, y, past, shares, lam = task
    got = plain(*task, each=True, known=known)
    w, _ = comparators.best_within(X, y, radius)
    own = (1.0 - shares) @ hinge(X, y, w)
    regret = aklo.own_regret(
        shares,
        lam=lam,
        norm=float(np.linalg.norm(w)),
        longest=float(np.linalg.norm(got.own, axis=1).max()),
        largest_norm=float(np.linalg.norm(X, axis=1).max()),
    )
    base = shares @ got.e[:, got.best] + aklo.base_regret(shares, past.shape[0], known=known)
    assert got.errors <= base + aklo.MISTAKE * (own + regret) + SLACK * (1.0 + base + own + regret)
    assert got.errors <= base + 3.0 * np.sum(1.0 - shares) + SLACK * (1.0 + base)
    last, zeta = shares[-1], got.e[:, got.best].sum()
    if known and 0.0 < last < 1.0 and zeta > 0.0:
        gamma = 3.0 * y.size / zeta * (1.0 - last) / last
        bound = aklo.corollary1(shares @ got.e[:, got.best], shares, past.shape[0], gamma)
        assert got.errors <= bound * (1.0 + SLACK)


def test_what_a_mistake_is_worth() -> None:
    """α (1 − u)² + c (1 − α)(1 − v) of a mistake is 1 or more for c = 3/2, and for no smaller c."""
    alphas = np.concatenate([np.linspace(0.0, 1.0, 201), 1.0 - np.logspace(-8, -1, 30)])
    a, v = np.meshgrid(alphas, np.linspace(-1, 1, 81), indexing="ij")
    # It is least where the score is 0: u as large as it can be for v.
    u = np.clip(-(1.0 - a) * v / np.where(a > 0.0, a, 1.0), -1.0, 1.0)
    mistake = a * u + (1.0 - a) * v <= 0.0
    base, own = (a * (1.0 - u) ** 2)[mistake], ((1.0 - a) * (1.0 - v))[mistake]
    assert (base + aklo.MISTAKE * own).min() >= 1.0 - SLACK
    assert (base + (aklo.MISTAKE - 0.01) * own).min() < 1.0 - 1e-5
    assert (base + own).min() == pytest.approx(2.0 * math.sqrt(2.0) - 2.0, abs=1e-4)


def test_deviation_of_drawn_errors() -> None:
    """Corollary 2: the root of 8 Σ α² log 1/δ."""
    assert aklo.sampling_deviation(np.ones(2), math.exp(-1.0)) == 4.0


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
    return in_given_order(X, y, task)


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
    got = measured(learner, case)
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
    w, _ = comparators.best_within(rows, y, R)
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
    w, _ = comparators.best_within(rows, y, R)
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


def test_theorem_2_fails_for_one_example() -> None:
    """log N = 0 leaves no regret to a base of two classifiers that contradict each other."""
    lam = aklo.theorem_lam(1, radius=99.0, largest_norm=1.0, known=False)
    one = np.ones((1, 1))
    case = one_life([(one, np.ones(1)), (one, -np.ones(1)), (one, np.ones(1))])
    got = measured(AKLO(lam, doubling=True, clip=1), case)
    base = got.weighed_errors[2, :2].min()
    assert got.mistakes[2] == 1
    assert base + aklo.base_regret_printed(got.shares[2], 2, known=False) < 0.001
    assert base + aklo.base_regret(got.shares[2], 2, known=False) >= 1.0


SUMS = [AKLO(0.01, clip=clip, uniform=uniform) for clip in (0, 1) for uniform in (False, True)]


def with_rehearsal(case: Case, last: int) -> Case:
    """Return the tasks up to one of them, with that one twice: under a new number, and its own."""
    task = case.tasks.task[case.stream.example]
    order = list(dict.fromkeys(task.tolist()))
    before, own = np.isin(task, order[:last]), task == order[last]
    example = np.concatenate([case.stream.example[part] for part in (before, own, own)])
    number = np.concatenate([task[before], np.full(own.sum(), len(order)), task[own]])
    return in_given_order(case.tasks.X[example], case.tasks.y[example], number)


@pytest.mark.usefixtures("slowly")
@pytest.mark.parametrize("learner", SUMS, ids=repr)
def test_the_task_is_known_as_if_it_had_been_met_before(learner: AKLO) -> None:
    """The mistakes on each task are those after a task with the same examples."""
    case = life((12, 30, 25, 40))
    stream = case.stream._replace(checkpoint=1 + np.arange(case.stream.example.size))
    got = rehearsed.rehearse(learner, examples_of(case.tasks), stream, case.shape)
    wrong = np.diff(got["checkpoint_mistakes"], prepend=0)
    lost = np.diff(got["checkpoint_loss"], prepend=0.0)
    task = case.tasks.task[case.stream.example]
    for c, k in enumerate(dict.fromkeys(task.tolist())):
        there = case if c == 0 else with_rehearsal(case, c)
        scores = recorded(learner, there).scores[there.tasks.task[there.stream.example] == k]
        y = case.tasks.y[case.stream.example][task == k]
        assert wrong[task == k].tolist() == (y * scores <= 0.0).tolist()
        assert got["mistakes"][k] == wrong[task == k].sum()
        np.testing.assert_allclose(lost[task == k], np.maximum(0.0, 1.0 - y * scores), atol=1e-9)
