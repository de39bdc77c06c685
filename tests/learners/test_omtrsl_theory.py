"""The mistake bounds of the OMTRSL paper: formulas, and bounds against plays."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from similarity_cases import THOROUGH, a_problem

from omtl.learners.similarity import OMTRSL, OMTRSLActive
from omtl.reference import similarity as oracle
from omtl.reference.vocabulary import inverse_relation
from omtl.theory import omtrsl
from omtl.theory.omtrsl import PRINTED

CS = st.floats(-2.0, 1.0).map(lambda power: 10.0**power)
BS = st.floats(0.0, 30.0)


def played(seed: int, C: float, b: float, delta: float | None, plain: bool) -> tuple:
    """Return rows, triplets, an oracle's mistakes and its matrices after them."""
    X, triplets, draws = a_problem(seed, 3, 4)
    # Labels that mostly follow fixed matrices, so that some comparators have small losses.
    truth = np.random.default_rng(seed + 1).normal(size=(3, 4, 4))
    scores = np.einsum(
        "ni,nij,nj->n",
        X[triplets.query],
        truth[triplets.task],
        X[triplets.first] - X[triplets.second],
    )
    noise = np.where(draws[::-1] < 0.1, -1.0, 1.0)
    triplets = triplets._replace(y=noise * np.where(scores > 0.0, 1.0, -1.0))
    rows = [(X[a], X[i], X[j], y, k) for a, i, j, y, k in zip(*triplets, strict=True)]
    learner = OMTRSL(C, b, plain) if delta is None else OMTRSLActive(C, b, delta, plain)
    rounds, M = oracle.omtrsl(learner, rows, draws, 3, 4)
    wrong = sum(y * r.p < 0.0 for y, r in zip(triplets.y, rounds, strict=True))
    return X, triplets, wrong, [M, truth, 3.0 * truth, np.repeat(np.eye(4)[None], 3, axis=0)]


@THOROUGH
@given(st.integers(0, 10_000), CS, BS, st.booleans(), st.sampled_from([None, 0.1, 1.0, 5.0]))
def test_mistakes_are_within_the_theorems(
    seed: int, C: float, b: float, plain: bool, delta: float | None
) -> None:
    """As they are proved, whatever fixed matrices they compare with, and whichever way steps go.

    Theorem 2 is of expected mistakes; those of one play are far within it, as it is loose.
    """
    X, triplets, wrong, candidates = played(seed, C, b, delta, plain)
    steep = omtrsl.steepness(np.sqrt(np.max(np.sum(X**2, axis=1))), b, 3, plain)
    theorem = omtrsl.theorem1 if delta is None else partial(omtrsl.theorem2, delta=delta)
    for M in candidates:
        loss = np.maximum(0.0, 1.0 - omtrsl.triplet_margins(M, X, [triplets])).sum()
        norm = omtrsl.square_norm_A(M, b, np.eye(4))
        assert wrong <= theorem(loss, square_norm=norm, steep=steep, C=C) * (1 + 1e-9)


@THOROUGH
@given(st.integers(0, 10_000), st.integers(1, 5), BS)
def test_norms(seed: int, n_tasks: int, b: float) -> None:
    """‖M‖²_A is under A ⊗ I, A the inverse of the printed A⁻¹; that of φ is below `steepness`."""
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n_tasks, 3, 3))
    A = np.linalg.inv(inverse_relation(n_tasks, b))
    w = M.reshape(n_tasks, -1)
    assert omtrsl.square_norm_A(M, b) == pytest.approx(np.sum(A * (w @ w.T)))
    away = M - np.eye(3)
    assert omtrsl.square_norm_A(M, b, np.eye(3)) == pytest.approx(omtrsl.square_norm_A(away, b))
    x, x1 = rng.normal(size=(2, 3))
    R = max(np.linalg.norm(x), np.linalg.norm(x1))
    square = np.sum(np.outer(x, x1 + x1) ** 2)  # x² = -x¹ is as far as it can be
    assert inverse_relation(n_tasks, b)[0, 0] * square <= omtrsl.steepness(R, b, n_tasks) * (
        1 + 1e-9
    )
    assert omtrsl.steepness(R, 0.0, n_tasks) == pytest.approx(omtrsl.steepness(R, b, n_tasks, True))


def test_theorem_1_fails_as_printed() -> None:
    """It counts ‖M‖ from 0 where learning starts from I: one task, one feature, one label.

    M = -1/2 loses nothing, and 1/C times its square norm is 25. From 1 to 0 in steps of 2 C there
    are 50 mistakes.
    """
    C, n = 0.01, 100
    rows = [(np.array([1.0]), np.array([1.0]), np.array([-1.0]), -1.0, 0)] * n
    rounds, _ = oracle.omtrsl(OMTRSL(C, 0.0), rows, np.zeros(n), 1, 1)
    wrong = sum(r.p > 1e-9 for r in rounds)
    M = np.full((1, 1, 1), -0.5)
    known = {"steep": omtrsl.steepness(1.0, 0.0, 1), "C": C}
    none = np.zeros(1)
    norm = omtrsl.square_norm_A(M, 0.0)
    assert wrong == 50
    assert omtrsl.theorem1(none, square_norm=norm, times=PRINTED, **known) == pytest.approx(25.0)
    norm = omtrsl.square_norm_A(M, 0.0, np.eye(1))
    assert omtrsl.theorem1(none, square_norm=norm, **known) == pytest.approx(225.0)
