"""Learners of similarities held against their oracles and theorems, and their protocol."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniature import a_setting
from profiles import powers, thorough
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score

from omtl.data.streams import Classes
from omtl.data.triplets import BLOCK, Triplets
from omtl.kernel.similarities import Similarities
from omtl.learners.similarity import OGRSL, OMTRSL, OSTRSL, OMTRSLActive, OMTRSLRandom
from omtl.learners.untrained import Untrained
from omtl.measures.ranking import quality
from omtl.protocols.setting import Setting
from omtl.protocols.similarity import fold_parts, play_grid
from omtl.reference import similarity as oracle
from omtl.reference.vocabulary import inverse_relation
from omtl.theory import omtrsl
from omtl.theory.omtrsl import PRINTED

THOROUGH = thorough(15)


N = 30
"""Examples of a problem."""


def a_problem(
    seed: int, n_tasks: int, d: int, in_turn: bool = False
) -> tuple[np.ndarray, Triplets, np.ndarray]:
    """Return rows, some empty, triplets of them in two blocks, and draws.

    The tasks alternate, or each learns alone for a while, and from examples of its own.
    """
    rng = np.random.default_rng(seed)
    many = BLOCK + 40
    X = rng.normal(size=(N, d)) * (rng.random((N, d)) < 0.5)
    X[0] = 0.0
    task = rng.integers(n_tasks, size=many)
    of_triplets = [rng.integers(N, size=many) for _ in range(3)]
    if in_turn:
        lengths = rng.multinomial(many, [0.5, 0.1, 0.3, 0.1])
        task = np.repeat(np.array([1, 0, 1, 2]) % n_tasks, lengths)
        bounds = np.append(0, np.cumsum([own.size for own in own_examples(n_tasks)]))
        of_triplets = [bounds[task] + each % np.diff(bounds)[task] for each in of_triplets]
    return X, Triplets(*of_triplets, rng.choice([-1.0, 1.0], size=many), task), rng.random(many)


def rows_of(X: np.ndarray, triplets: Triplets) -> list[tuple]:
    """Return triplets as the oracle reads them."""
    return [(X[a], X[i], X[j], y, k) for a, i, j, y, k in zip(*triplets, strict=True)]


def own_examples(n_tasks: int) -> list[np.ndarray]:
    """Return each task's examples, of which there are fewer or more than features."""
    return np.array_split(np.arange(N), [15, 20, 25][: n_tasks - 1])


NEAR = 1e-9
"""How near 0 a decision's margin may be for rounding to turn it."""


def learnt(
    learner: Any,
    X: Any,
    triplets: Triplets,
    draws: np.ndarray,
    n_tasks: int,
    examples: list[np.ndarray] | None = None,
) -> Any:
    """Return scores, queries, steps and matrices of a learner that gets its triplets in blocks."""
    state = Similarities(learner.policy(n_tasks), X, n_tasks, examples)
    blocks = [slice(0, BLOCK), slice(BLOCK, None)]
    parts = [Triplets(*(each[at] for each in triplets)) for at in blocks]
    taken = [state.learn(part, draws[at]) for part, at in zip(parts, blocks, strict=True)]
    joined = (np.concatenate(each) for each in zip(*taken, strict=True))
    return *joined, np.stack([state.matrix(k) for k in range(n_tasks)])


Cs, bs = powers(-3.0, 2.0), st.floats(0.0, 64.0)

LEARNERS = {
    "OMTRSL": st.builds(OMTRSL, Cs, bs, st.booleans()),
    "OMTRSL-Active": st.builds(OMTRSLActive, Cs, bs, Cs, st.booleans()),
    "OMTRSL-Random": st.builds(OMTRSLRandom, Cs, bs, st.floats(0.0, 1.0), st.booleans()),
    "OSTRSL": st.builds(OSTRSL, Cs),
    "OGRSL": st.builds(OGRSL, Cs),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_its_oracle(name: str) -> None:
    """Every score, query and step, and the matrices, whatever the order of tasks and the rows.

    OSTRSL is OASIS on each task's triplets, OGRSL on all of them.
    """

    @THOROUGH
    @given(
        st.integers(0, 10_000),
        st.just(1) if name == "OGRSL" else st.integers(1, 4),
        st.sampled_from([1, 4, 6, 12, 20]),
        st.booleans(),
        LEARNERS[name],
    )
    def agree(seed: int, n_tasks: int, d: int, in_turn: bool, learner: Any) -> None:
        X, triplets, draws = a_problem(seed, n_tasks, d, in_turn)
        same = OMTRSL(learner.C, 0.0) if isinstance(learner, OSTRSL | OGRSL) else learner
        rounds, M = oracle.omtrsl(same, rows_of(X, triplets), draws, n_tasks, d)
        margins = [abs(1.0 - y * r.p) for y, r in zip(triplets.y, rounds, strict=True)]
        if name == "OMTRSL-Active":
            margins += [
                abs(draw - learner.delta / (learner.delta + abs(r.p)))
                for draw, r in zip(draws, rounds, strict=True)
            ]
        # Where rounding may turn a decision, steps next to nothing may or may not be taken.
        sure = min(margins) > NEAR
        if not sure and name == "OMTRSL-Active":
            return
        ways = [(X, None), (sparse.csr_array(X), None)]
        ways += [(X, own_examples(n_tasks))] if in_turn else []
        for given_rows, examples in ways:
            got = learnt(learner, given_rows, triplets, draws, n_tasks, examples)
            scores, queried, steps, matrices = got
            size = max(1.0, max(abs(each.p) for each in rounds))
            np.testing.assert_allclose(scores, [r.p for r in rounds], rtol=0, atol=1e-9 * size)
            if sure:
                np.testing.assert_array_equal(queried, [r.queried for r in rounds])
                taus = [r.tau for r in rounds]
                np.testing.assert_allclose(np.abs(steps), taus, rtol=1e-7, atol=1e-9)
            assert np.all(steps * triplets.y >= 0.0)
            np.testing.assert_allclose(matrices, M, rtol=0, atol=1e-8 * max(1.0, np.abs(M).max()))

    agree()


@THOROUGH
@given(
    st.integers(0, 10_000),
    powers(-2.0, 1.0),
    st.floats(0.0, 30.0),
    st.booleans(),
    st.sampled_from([None, 0.1, 1.0, 5.0]),
)
def test_mistakes_are_within_the_theorems(
    seed: int, C: float, b: float, plain: bool, delta: float | None
) -> None:
    """As they are proved, whatever fixed matrices they compare with, and whichever way steps go.

    Theorem 2 is of expected mistakes; those of one play are far within it, as it is loose.
    """
    X, triplets, draws = a_problem(seed, 3, 4)
    # Labels that mostly follow fixed matrices, so that some comparators have small losses.
    truth = np.random.default_rng(seed + 1).normal(size=(3, 4, 4))
    margins = omtrsl.triplet_margins(truth, X, [triplets._replace(y=np.ones(draws.size))])
    noise = np.where(draws[::-1] < 0.1, -1.0, 1.0)
    triplets = triplets._replace(y=noise * np.where(margins > 0.0, 1.0, -1.0))
    learner = OMTRSL(C, b, plain) if delta is None else OMTRSLActive(C, b, delta, plain)
    rounds, M = oracle.omtrsl(learner, rows_of(X, triplets), draws, 3, 4)
    wrong = sum(y * r.p < 0.0 for y, r in zip(triplets.y, rounds, strict=True))
    steep = omtrsl.steepness(np.sqrt(np.max(np.sum(X**2, axis=1))), b, 3, plain)
    theorem = omtrsl.theorem1 if delta is None else partial(omtrsl.theorem2, delta=delta)
    for fixed in (M, truth, 3.0 * truth, np.stack([np.eye(4)] * 3)):
        loss = np.maximum(0.0, 1.0 - omtrsl.triplet_margins(fixed, X, [triplets])).sum()
        norm = omtrsl.square_norm_A(fixed, b, np.eye(4))
        assert wrong <= theorem(loss, square_norm=norm, steep=steep, C=C) * (1 + 1e-9)


@THOROUGH
@given(st.integers(0, 10_000), st.integers(1, 5), st.floats(0.0, 30.0))
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


def letters(n_tasks: int = 3, per_class: int = 20, d: int = 6) -> Classes:
    """Return tasks of four classes, told apart by two features beside others of large variance."""
    rng = np.random.default_rng(5)
    label = np.tile(np.repeat(np.arange(4), per_class), n_tasks)
    task = np.repeat(np.arange(n_tasks), 4 * per_class)
    X = rng.normal(size=(label.size, d)) * np.where(np.arange(d) < 2, 0.3, 2.0)
    X[:, 0] += label % 2 * 2.0 - 1.0
    X[:, 1] += label // 2 * 2.0 - 1.0
    return Classes(X, label, task, tuple("abc"[:n_tasks]))


def setting_of(repeat: int = 0, **options: Any) -> Setting:
    """Return a repeat of the protocol on these tasks."""
    return a_setting(letters(), "similarity", repeat=repeat, **options)


def test_parts_of_the_repeats_are_folds() -> None:
    """Each example is tested in one repeat; validation is apart from what is fitted and tested."""
    parts = [fold_parts(setting_of(repeat)) for repeat in range(5)]
    tested = np.concatenate([each.test for each in parts])
    np.testing.assert_array_equal(np.sort(tested), np.arange(240))
    for each in parts:
        assert not set(each.test) & set(each.train)
        np.testing.assert_array_equal(np.sort([*each.fit, *each.held_out]), np.sort(each.train))
    apart = fold_parts(setting_of(validation="apart"))
    assert apart.train is apart.fit
    np.testing.assert_array_equal(apart.test, parts[0].test)


@pytest.mark.parametrize("validation", ["within", "apart"])
def test_a_grid_leaves_what_its_points_leave(validation: str) -> None:
    """A point whose C exceeds all steps of another has that one's arrays, times included."""
    setting = setting_of(validation=validation, triplets=2)
    learners = [OMTRSL(C, b) for b in (1.0, 8.0) for C in (0.01, 1e6, 1e9, 0.02)]
    alone = [play_grid([learner], setting) for learner in learners]
    together = play_grid(learners, setting)
    for name in set(together) - {"seconds", "examples", "seen"}:
        expected = np.concatenate([one[name] for one in alone])
        np.testing.assert_array_equal(together[name], expected, err_msg=name)
    assert together["seconds"][1] == together["seconds"][2]


def test_the_untrained_similarity_is_where_learning_starts() -> None:
    """The baseline of ours ranks as learners do whose steps are too short to matter."""
    none, least = (play_grid([one], setting_of()) for one in (Untrained(), OMTRSL(1e-12, 2.0)))
    for name in ("precision", "average_precision", "validation"):
        np.testing.assert_array_equal(none[name], least[name])


def test_metrics_rank_by_product_or_distance() -> None:
    """As distances to each query would rank, and as products would, within each task."""
    root = np.random.default_rng(0).normal(size=(6, 6))
    M = root @ root.T
    learner = Mock(spec=["metrics"], metrics=Mock(return_value=np.stack([M] * 3)))
    tasks, test = letters(), fold_parts(setting_of()).test
    for kind in ("product", "distance"):
        arrays = play_grid([learner], setting_of(metric_ranks_by=kind))
        by_task = []
        for k in range(3):
            own = test[tasks.task[test] == k]
            near = tasks.X[own] @ M @ tasks.X[own].T
            if kind == "distance":
                near = 2.0 * near - np.diag(near)
            of_task = quality(near.__getitem__, tasks.label[own], 10)
            by_task.append(of_task.precision)
        expected = 100.0 * np.mean(by_task, axis=0)
        np.testing.assert_allclose(arrays["precision"][0], expected, rtol=1e-9, err_msg=kind)
        assert "mistakes" not in arrays
    sizes = [[len(each) for each in call.args[:3]] for call in learner.metrics.call_args_list]
    assert sizes == [[144] * 3, [192] * 3] * 2


def test_normalisers() -> None:
    """Divided by k, mAP@k of one relevant example at rank 1 falls with k; by min(k, 1) it stays."""
    values, label = np.zeros((4, 4)), np.array([0, 0, 11, 12])
    values[0] = [9.0, 3.0, 2.0, 1.0]
    # Queries 0 and 1 have each other; all is tied for query 1, whose first rank then is query 0.
    for normaliser, one in (("relevant", [1, 1, 1]), ("length", [1, 1 / 2, 1 / 3])):
        found = quality(lambda part: values[part], label, 3, normaliser=normaliser)
        np.testing.assert_allclose(found.average_precision, 2 * np.array(one) / 4)


def test_similarities_that_are_no_numbers_come_last() -> None:
    """Those of a learner that diverged are ranked too."""
    values, label = np.full((4, 4), np.nan), np.array([0, 0, 1, 1])
    values[:2, 1] = 1.0
    found = quality(lambda part: values[part], label, 2, with_query=True)
    assert found.precision.tolist() == [1 / 2, 1 / 2]
    found = quality(lambda part: np.full((4, 4), np.nan)[part], label, 3)
    assert found.precision[-1] == 1 / 3  # of the three others; the query itself is not ranked


def test_whole_rankings_are_scikit_learns() -> None:
    """mAP over all ranks is the mean over the queries of scikit-learn's average precision."""
    rng = np.random.default_rng(0)
    n = 40
    label = rng.integers(4, size=n)
    values = rng.normal(size=(n, n))
    found = quality(lambda part: values[part], label, n - 1).average_precision[-1]
    apart = ~np.eye(n, dtype=bool)
    relevant = (label == label[:, None])[apart].reshape(n, n - 1)
    scores = values[apart].reshape(n, n - 1)
    assert found == pytest.approx(label_ranking_average_precision_score(relevant, scores))
