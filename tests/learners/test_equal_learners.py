"""Learners that are equal on paper make equal mistakes, and no rounding decides what a score is.

Features are small integers, as counts and likes are, so that scores are often exactly 0: what
rounding does to these is then seen in the mistakes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from learner_cases import LAYOUTS, played
from miniature import small

from omtl.data.networks import mixing_matrix
from omtl.data.rows import examples_of
from omtl.data.streams import Tasks, rounds
from omtl.experiment.playing import compute
from omtl.kernel.play import ZERO_SCORES, play
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.omtl import OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.reference.problems import Case, recorded

STEPS = [1e-9, 0.01, 1.0 / 3.0, 7.0, 1e6]


def integers(seed: int = 0, labels: str = "learnable") -> Case:
    """Return a problem with rows of −1, 0 and 1, many of which have a score of exactly 0.

    Parameters
    ----------
    seed : int
    labels : {"learnable", "random"}
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(400, 12)) * (rng.random((400, 12)) < 0.5)
    task = rng.permutation(np.repeat(np.arange(4), 100))
    ways = rng.integers(-2, 3, size=12) + rng.integers(-1, 2, size=(4, 12))
    y = np.where(np.einsum("ij,ij->i", X, ways[task]) > 0, 1.0, -1.0)
    y = y if labels == "learnable" else rng.choice([-1.0, 1.0], size=400)
    tasks = Tasks(X.astype(float), y, task, tuple("abcd"))
    stream = rounds(tasks, np.random.default_rng(seed + 1), np.random.default_rng(seed + 2), 4)
    return Case(tasks, stream, mixing_matrix(4))


def mistakes(learner: Any, case: Case) -> np.ndarray:
    """Return in which rounds a learner errs: the same ones compiled and not."""
    y = case.tasks.y[case.stream.example]
    layout = "sparse" if case.shape.sparse else "dense"
    ways = (False, True) if layout == LAYOUTS[type(learner)] else (False,)
    plain, *compiled = (~(y * recorded(learner, case, how).scores > 0.0) for how in ways)
    for wrong in compiled:
        np.testing.assert_array_equal(wrong, plain)
    return plain


EQUAL = {
    "perceptron": [Perceptron(step) for step in STEPS]
    + [MultiPerceptron(0.0), OMTLLogDet(0.0, 0.0), OMTLVonNeumann(0.0, 0.0), OMTLCovariance(1.0)],
    "one vector for all": [MultiPerceptron(math.inf)]
    + [Perceptron(step, pooled=True) for step in STEPS],
    "multi-task perceptron": [MultiPerceptron(3.0, step) for step in STEPS],
    "OMTL, covariance": [OMTLCovariance(0.3, step) for step in STEPS],
    "OMTL, LogDet": [OMTLLogDet(0.1 / step**2, 0.3, step) for step in STEPS],
    "OMTL, von Neumann": [OMTLVonNeumann(1e-3 / step**2, 0.3, step) for step in STEPS],
    "COML that leans on nothing": [PassiveAggressive(0.3), COML(0.3, 0.0), COML(0.3, 0.0, True)],
}
"""Learners that are equal on paper, most by the length of a step after a mistake alone."""


@pytest.mark.parametrize("learners", EQUAL.values(), ids=EQUAL)
def test_learners_that_are_equal_on_paper_make_equal_mistakes(learners: list[Any]) -> None:
    dense = integers()
    for case in (dense, dense.sparse):
        expected = mistakes(learners[0], case)
        for learner in learners[1:]:
            np.testing.assert_array_equal(mistakes(learner, case), expected, err_msg=f"{learner}")


EXACT = [Perceptron(0.01), Perceptron(0.01, pooled=True)]
EXACT += [MultiPerceptron(1.0, 0.1), MultiPerceptron(30.0), MultiPerceptron(math.inf)]


@pytest.mark.parametrize("learner", EXACT, ids=repr)
def test_neither_layout_nor_order_of_summation_changes_a_mistake(learner: Any) -> None:
    for seed in range(2):
        case = integers(seed)
        ties = np.count_nonzero(played(learner, case).scores == 0.0)
        assert ties > 3  # or there is nothing that rounding could break
        expected = mistakes(learner, case)
        rng = np.random.default_rng(seed)
        for order in (np.arange(12)[::-1], rng.permutation(12), rng.permutation(12)):
            other = case.with_rows(np.ascontiguousarray(case.tasks.X[:, order]))
            np.testing.assert_array_equal(mistakes(learner, other), expected)
            np.testing.assert_array_equal(mistakes(learner, other.sparse), expected)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_a_score_of_zero_predicts(compiled: bool) -> None:
    """With labels turned round, zero as +1 costs what zero as −1 did."""
    case = integers(labels="random")
    turned = case.with_labels(-case.tasks.y)

    def course(of: Case, zero: str) -> np.ndarray:
        how = {"compiled": compiled, "zero": ZERO_SCORES[zero]}
        trace, _ = play(Perceptron(0.1), examples_of(of.tasks), of.stream, of.shape, **how)
        return trace.checkpoint_by_task

    for one, other in (("positive", "negative"), ("negative", "positive"), ("mistake", "mistake")):
        np.testing.assert_array_equal(course(case, one), course(turned, other))


def test_zero_scores_are_of_the_protocol() -> None:
    """Before a first step all scores are 0, whatever the data."""
    found = {}
    for name in ZERO_SCORES:
        experiment = small("pm").patched({"protocol.*.zero_score": name})
        found[name] = compute(experiment.unit(0, 0)).arrays["mistakes"].sum()
    assert len(set(found.values())) == 3


@pytest.mark.parametrize("compiled", [False, True])
def test_a_score_that_is_no_number_is_a_mistake_whose_loss_is_no_number(compiled: bool) -> None:
    """The learner does not learn from it."""
    case, learner = integers(), Perceptron(0.1)
    case.tasks.X[::3] = np.nan
    trace, _ = play(learner, examples_of(case.tasks), case.stream, case.shape, compiled)
    wrong = mistakes(learner, case)
    assert wrong[case.stream.example % 3 == 0].all()
    assert trace.mistakes.sum() == wrong.sum() < 300
    assert trace.diverged[0] == 134
    assert np.isnan(trace.checkpoint_loss[-1])
