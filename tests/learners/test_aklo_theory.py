"""AKLO's theory: what is measured of a play, the best weights within R, bounds and print."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from aklo_cases import SLACK, hinge, plain
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, life
from profiles import powers
from scipy import sparse
from scipy.optimize import minimize

from omtl.data.examples import examples_of
from omtl.kernel.play import play
from omtl.learners.lifelong import AKLO
from omtl.protocols import accumulation
from omtl.theory import aklo

SEEDS = st.integers(0, 10_000)


def learnt(X: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    """Return what the own classifier of a task ends as."""
    w = np.zeros(X.shape[1])
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        w = (1.0 - 1.0 / t) * w + (label * x / (lam * t) if label * (w @ x) < 1.0 else 0.0)
    return w


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


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("as_sparse", [True, False])
@pytest.mark.parametrize("compiled", [True, False])
def test_measured_is_that_of_a_plain_transcription(
    known: bool, each: bool, as_sparse: bool, compiled: bool
) -> None:
    """Errors, e_t of past classifiers, own norms and α, on each task of a life."""
    dense = life((12, 20, 17, 9))
    case = dense.sparse if as_sparse else dense
    learner = AKLO(0.05, doubling=not known, clip=1 if each else 0)
    got = accumulation.measure_accumulation(
        learner, examples_of(case.tasks), case.stream, case.shape, compiled=compiled
    )
    trace, _ = play(learner, examples_of(case.tasks), case.stream, case.shape)
    np.testing.assert_array_equal(got.mistakes, trace.mistakes)
    met = dense.tasks.task[dense.stream.example]
    order = list(dict.fromkeys(met.tolist()))
    past: list[np.ndarray] = []
    for c, k in enumerate(order):
        mine = dense.stream.example[met == k]
        X, y = dense.tasks.X[mine], dense.tasks.y[mine]
        n = y.size
        shares = 1.0 - np.arange(n) / n if known else 1.0 / np.sqrt(np.arange(1, n + 1))
        np.testing.assert_allclose(got.shares[k, :n], shares, rtol=1e-12)
        assert got.n_past[k] == c
        if past:
            task = plain(X, y, np.array(past), shares, 0.05, each=each, known=known)
            assert got.mistakes[k] == task.errors
            np.testing.assert_allclose(got.errors[k, :c], task.e.sum(axis=0), rtol=1e-9)
            np.testing.assert_allclose(got.weighed_errors[k, :c], shares @ task.e, rtol=1e-9)
            norms = np.linalg.norm(task.own, axis=1)
            assert got.longest[k] == pytest.approx(norms.max())
        past.append(learnt(X, y, 0.05))


@THOROUGH
@given(faced(), powers(-2.0, 2.0))
def test_best_within_is_best(task: Task, radius: float) -> None:
    """It is within R, and neither near weights within R nor a search find much better ones."""
    X, y = task.X, task.y
    w, excess = aklo.best_within(X, y, radius)
    lost = hinge(X, y, w).sum()
    assert np.linalg.norm(w) <= radius * (1.0 + SLACK)
    assert 0.0 <= excess <= aklo.EXCESS * (1.0 + lost)
    rng = np.random.default_rng(0)

    def within(v: np.ndarray) -> np.ndarray:
        return v * min(1.0, radius / max(float(np.linalg.norm(v)), 1e-300))

    for size in (1e-3, 0.1, 1.0):
        for _ in range(20):
            other = within(w + size * radius * rng.normal(size=w.size))
            assert hinge(X, y, other).sum() >= lost - excess - SLACK * (1.0 + lost)
    found = minimize(lambda v: hinge(X, y, within(v)).sum(), w, method="Nelder-Mead")
    assert found.fun >= lost - excess - SLACK * (1.0 + lost)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(hinge(X, y, aklo.best_within(rows, y, radius)[0]).sum(), lost)


@THOROUGH
@given(faced(), st.booleans(), powers(-2.0, 2.0))
def test_errors_are_below_what_can_be_proved(task: Task, known: bool, radius: float) -> None:
    """Theorems 1 and 2 with each past classifier clipped; and corollary 1 with 3 N / (γ ζ)."""
    X, y, past, shares, lam = task
    got = plain(*task, each=True, known=known)
    w, _ = aklo.best_within(X, y, radius)
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
    a, u, v = np.meshgrid(alphas, np.linspace(-1, 1, 201), np.linspace(-1, 1, 201), indexing="ij")
    # The least is where the score is 0: u as large as it can be for v.
    edge = np.clip(-(1.0 - a) * v / np.where(a > 0.0, a, 1.0), -1.0, 1.0)
    for right in (u, edge):
        mistake = a * right + (1.0 - a) * v <= 0.0

        def worth(c: float, right: np.ndarray = right) -> np.ndarray:
            return a * (1.0 - right) ** 2 + c * (1.0 - a) * (1.0 - v)

        assert worth(aklo.MISTAKE)[mistake].min() >= 1.0 - SLACK
        whatever = a * (1.0 - right) ** 2 + 3.0 * (1.0 - a)
        assert whatever[mistake].min() >= 1.0 - SLACK
    assert worth(aklo.MISTAKE - 0.01)[mistake].min() < 1.0 - 1e-5
    assert worth(1.0)[mistake].min() == pytest.approx(2.0 * math.sqrt(2.0) - 2.0, abs=1e-4)


def test_drawn_errors_exceed_their_mean_seldom() -> None:
    """Corollary 2's part: AKLO Sample is above its bound in fewer than δ of the draws."""
    delta, above = 0.2, 0
    case = life((40, 40, 40, 40, 40))
    for seed in range(200):
        shape = case.shape._replace(seed=seed)
        got = accumulation.measure_accumulation(
            AKLO(1.0, sample=True, alpha_last=1.0), examples_of(case.tasks), case.stream, shape
        )
        for k in np.flatnonzero(got.n_past == 4):
            shares = got.shares[k]
            bound = (
                got.weighed_errors[k, :4].min()
                + aklo.base_regret(shares, 4)
                + aklo.sampling_deviation(shares, delta)
            )
            above += got.mistakes[k] > bound
    assert above <= delta * 200
    rng = np.random.default_rng(0)
    shares = np.linspace(1.0, 0.5, 50)
    worst = 4.0 * rng.integers(0, 2, size=(4000, 50)) - 2.0  # the widest there are
    exceed = np.mean(worst @ shares > aklo.sampling_deviation(shares, delta))
    assert 0.01 < exceed <= delta
    assert aklo.sampling_deviation(np.ones(2), math.exp(-1.0)) == 4.0
