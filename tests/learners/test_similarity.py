"""Similarities from triplets: sampling, learning, and the protocol from end to end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from described import a_claim
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from similarity_cases import THOROUGH, a_problem

from data_fetchers.isolet import Classes
from omtl.data.preparation import fed
from omtl.data.rows import rows_of
from omtl.data.triplets import BLOCK, Sampler, Triplets
from omtl.evidence.claims import judge_claim, outcome_of
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.config import grid_points, load_option
from omtl.experiment.unit import Result, new_learner
from omtl.figures.numbers import Shown
from omtl.figures.panels.axes import Axes, line_of
from omtl.figures.panels.query_ratio import through
from omtl.kernel.similarities import Similarities, stretches
from omtl.kernel.triplet_steps import STRETCH, subtract
from omtl.learners.similarity import OGRSL, OMTRSL, OSTRSL, OMTRSLActive, OMTRSLRandom
from omtl.learners.untrained import Untrained
from omtl.protocols import similarity as protocol
from omtl.protocols import similarity_training as training
from omtl.protocols.setting import Setting
from omtl.protocols.similarity import parts_of, play_grid
from omtl.reference import similarity as oracle
from omtl.util.errors import UserError
from omtl.util.seeds import generator

NEAR = 1e-9
"""How near 0 a decision's margin may be for rounding to turn it."""


def part(triplets: Triplets, at: slice) -> Triplets:
    """Return some of the triplets."""
    return Triplets(*(each[at] for each in triplets))


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
    taken = [state.learn(part(triplets, at), draws[at]) for at in blocks]
    joined = (np.concatenate(each) for each in zip(*taken, strict=True))
    return *joined, np.stack([state.matrix(k) for k in range(n_tasks)])


def assert_agrees(
    rounds: list[oracle.Round], M: np.ndarray, got: Any, y: np.ndarray, sure: bool
) -> None:
    """Assert that what a learner did is what the oracle did."""
    scores, queried, steps, matrices = got
    size = max(1.0, max(abs(each.p) for each in rounds))
    np.testing.assert_allclose(scores, [r.p for r in rounds], rtol=0, atol=1e-9 * size)
    if sure:
        np.testing.assert_array_equal(queried, [r.queried for r in rounds])
        np.testing.assert_allclose(np.abs(steps), [r.tau for r in rounds], rtol=1e-7, atol=1e-9)
    assert np.all(steps * y >= 0.0)
    np.testing.assert_allclose(matrices, M, rtol=0, atol=1e-8 * max(1.0, np.abs(M).max()))


powers = st.floats(-3.0, 2.0).map(lambda power: 10.0**power)
LEARNERS = {
    "OMTRSL": st.builds(OMTRSL, powers, st.floats(0.0, 64.0), st.booleans()),
    "OMTRSL-Active": st.builds(OMTRSLActive, powers, st.floats(0.0, 64.0), powers, st.booleans()),
    "OMTRSL-Random": st.builds(
        OMTRSLRandom, powers, st.floats(0.0, 64.0), st.floats(0.0, 1.0), st.booleans()
    ),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_is_its_oracle(name: str) -> None:
    """Every score, query and step, and the matrices, on dense and on sparse rows."""

    @THOROUGH
    @given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 6), LEARNERS[name])
    def agree(seed: int, n_tasks: int, d: int, learner: Any) -> None:
        X, triplets, draws = a_problem(seed, n_tasks, d)
        rows = [(X[a], X[i], X[j], y, k) for a, i, j, y, k in zip(*triplets, strict=True)]
        rounds, M = oracle.omtrsl(learner, rows, draws, n_tasks, d)
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
        for given_rows in (X, sparse.csr_array(X)):
            got = learnt(learner, given_rows, triplets, draws, n_tasks)
            assert_agrees(rounds, M, got, triplets.y, sure)

    agree()


@THOROUGH
@given(st.integers(0, 10_000), st.sampled_from([4, 10, 20]), LEARNERS["OMTRSL"])
def test_tasks_one_after_the_other(seed: int, d: int, learner: OMTRSL) -> None:
    """Tasks that learn alone for a while, and come back, leave what the oracle has.

    So do those whose examples are fewer than the features: none, some, or all of the tasks.
    """
    n_tasks, bounds = 3, np.array([0, 15, 20, 30])
    X, triplets, draws = a_problem(seed, n_tasks, d)
    lengths = np.random.default_rng(seed).multinomial(draws.size, [0.5, 0.1, 0.3, 0.1])
    task = np.repeat([1, 0, 1, 2], lengths)
    first, size = bounds[task], np.diff(bounds)[task]
    triplets = Triplets(*(first + each % size for each in triplets[:3]), triplets.y, task)
    examples = np.split(np.arange(30), bounds[1:-1])
    rows = [(X[a], X[i], X[j], y, k) for a, i, j, y, k in zip(*triplets, strict=True)]
    rounds, M = oracle.omtrsl(learner, rows, draws, n_tasks, d)
    margins = [abs(1.0 - y * r.p) for y, r in zip(triplets.y, rounds, strict=True)]
    for known in (None, examples):
        got = learnt(learner, X, triplets, draws, n_tasks, known)
        assert_agrees(rounds, M, got, triplets.y, min(margins) > NEAR)


def test_stretches_cover_a_block() -> None:
    """Each is of one task and not too long; tasks that alternate are not told apart."""
    found = stretches(np.repeat([2, 0, 2], [STRETCH + 1, 3, STRETCH]))
    assert found == [
        (0, STRETCH, 2),
        (STRETCH, STRETCH + 1, 2),
        (STRETCH + 1, STRETCH + 4, 0),
        (STRETCH + 4, 2 * STRETCH + 4, 2),
    ]
    assert stretches(np.arange(50) % 2) == [(0, 50, None)]
    assert stretches(np.array([1])) == [(0, 1, 1)]
    assert stretches(np.arange(BLOCK + 1) % 2) == [(0, BLOCK, None), (BLOCK, BLOCK + 1, None)]


@THOROUGH
@given(st.integers(0, 10_000), powers)
def test_single_and_global_learners_are_oasis(seed: int, C: float) -> None:
    """OSTRSL is OASIS on each task's triplets, OGRSL on all of them."""
    n_tasks, d = 3, 4
    X, triplets, draws = a_problem(seed, n_tasks, d)
    rows = [(X[a], X[i], X[j], y) for a, i, j, y, _ in zip(*triplets, strict=True)]
    for given_rows in (X, sparse.csr_array(X)):
        scores, _, _, matrices = learnt(OSTRSL(C), given_rows, triplets, draws, n_tasks)
        for k in range(n_tasks):
            mine = np.flatnonzero(triplets.task == k)
            rounds, W = oracle.oasis([rows[i] for i in mine], d, C)
            size = max(1.0, max(abs(r.p) for r in rounds))
            np.testing.assert_allclose(
                scores[mine], [r.p for r in rounds], rtol=0, atol=1e-9 * size
            )
            np.testing.assert_allclose(matrices[k], W, rtol=0, atol=1e-8 * np.abs(W).max())
        one = triplets._replace(task=np.zeros_like(triplets.task))
        scores, _, _, matrices = learnt(OGRSL(C), given_rows, one, draws, 1)
        rounds, W = oracle.oasis(rows, d, C)
        size = max(1.0, max(abs(r.p) for r in rounds))
        np.testing.assert_allclose(scores, [r.p for r in rounds], rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(matrices[0], W, rtol=0, atol=1e-8 * np.abs(W).max())


def test_unrelated_tasks_learn_alone() -> None:
    """OMTRSL with b = 0 is OSTRSL, to the bit."""
    X, triplets, draws = a_problem(3, 3, 5)
    alone = learnt(OSTRSL(0.3), X, triplets, draws, 3)
    for ours, theirs in zip(learnt(OMTRSL(0.3, 0.0), X, triplets, draws, 3), alone, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_are_subtracted() -> None:
    """Also where both have a column, and one has none left."""
    X = np.array([[1.0, 0.0, 2.0, 3.0, 0.0], [0.0, 4.0, 2.0, 1.0, 5.0], [0.0] * 5])
    rows = rows_of(sparse.csr_array(X))
    for a in range(3):
        for b in range(3):
            columns, values = np.empty(10, dtype=np.int32), np.empty(10)
            n = subtract(rows, a, b, columns, values)
            found = np.zeros(5)
            found[columns[:n]] = values[:n]
            np.testing.assert_array_equal(found, X[a] - X[b])
            assert np.all(np.diff(columns[:n]) > 0)


# Triplets


def sampler(rows: list[int] | None = None) -> Sampler:
    """Return a sampler of two tasks with three and two classes of unequal sizes."""
    label = np.array([1, 1, 2, 2, 2, 3, 3, 1, 1, 4, 4, 4])
    task = np.repeat([0, 1], [7, 5])
    return Sampler(label, task, np.arange(12) if rows is None else np.array(rows), ("a", "b"))


def test_triplets_are_of_one_task_and_two_classes() -> None:
    """Two different examples of a class and one of another, the label by a coin."""
    drawn = sampler()
    blocks = list(drawn.stream(400.0, "interleaved", np.random.default_rng(0)))
    q, first, second, y, task = (np.concatenate(each) for each in zip(*blocks, strict=True))
    assert y.size == 400 * 12
    assert all(each.y.size <= BLOCK for each in blocks)
    for each in (q, first, second):
        np.testing.assert_array_equal(drawn.task[each], task)
    mate, stranger = np.where(y > 0, first, second), np.where(y > 0, second, first)
    assert np.all(drawn.label[mate] == drawn.label[q])
    assert np.all(mate != q)
    assert np.all(drawn.label[stranger] != drawn.label[q])
    assert abs(np.mean(y)) < 0.06
    assert abs(np.mean(task) - 5 / 12) < 0.03
    # Classes come alike often, and so do the examples of one.
    share = np.bincount(q[task == 0], minlength=7)[:7] / np.sum(task == 0)
    np.testing.assert_allclose(share, [1 / 6] * 2 + [1 / 9] * 3 + [1 / 6] * 2, atol=0.03)
    share = np.bincount(stranger[task == 1], minlength=12)[7:] / np.sum(task == 1)
    np.testing.assert_allclose(share, [1 / 4] * 2 + [1 / 6] * 3, atol=0.03)


def test_task_by_task() -> None:
    """As many triplets of each task as its examples ask for, across the bounds of blocks."""
    blocks = list(sampler().stream(50.0, "by_task", np.random.default_rng(0)))
    task = np.concatenate([block.task for block in blocks])
    np.testing.assert_array_equal(task, np.repeat([0, 1], [350, 250]))


def test_streams_are_of_their_seed() -> None:
    """The same seed gives the same triplets, another one others; only the given rows come."""
    rows = [0, 1, 2, 3, 7, 8, 9, 10]

    def drawn(seed: int) -> np.ndarray:
        stream = sampler(rows).stream(30.0, "interleaved", np.random.default_rng(seed))
        return np.concatenate([np.stack(block[:3]) for block in stream], axis=1)

    np.testing.assert_array_equal(drawn(1), drawn(1))
    assert np.any(drawn(1) != drawn(2))
    assert set(drawn(1).ravel()) == set(rows)


@pytest.mark.parametrize(
    ("rows", "order", "per_example", "words"),
    [
        ([0, 1, 7, 8, 9, 10], "interleaved", 1.0, "task 'a' has 1 classes"),
        ([0, 1, 2, 7, 8, 9, 10], "interleaved", 1.0, "class 2 of task 'a' has one example"),
        (None, "random", 1.0, "interleaved, by_task"),
        (None, "by_task", 0.01, "must give each task one"),
    ],
)
def test_what_no_triplets_can_be_drawn_of(
    rows: list[int] | None, order: str, per_example: float, words: str
) -> None:
    """One sentence says why."""
    with pytest.raises(UserError, match=words):
        list(sampler(rows).stream(per_example, order, np.random.default_rng(0)))


# The protocol


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
    return Setting(
        fed(letters()),
        load_option("protocol", "similarity") | options,
        None,
        lambda of, **more: generator(0, of=of, **({"repeat": repeat} | more)),
        repeat,
    )


def test_parts_of_the_repeats_are_folds() -> None:
    """Each example is tested in one repeat; validation is apart from what is fitted and tested."""
    parts = [parts_of(setting_of(repeat)) for repeat in range(5)]
    tested = np.concatenate([each.test for each in parts])
    np.testing.assert_array_equal(np.sort(tested), np.arange(240))
    for each in parts:
        assert not set(each.test) & set(each.train)
        np.testing.assert_array_equal(np.sort([*each.fit, *each.held_out]), np.sort(each.train))
    apart = parts_of(setting_of(validation="apart"))
    assert apart.train is apart.fit
    np.testing.assert_array_equal(apart.test, parts[0].test)


@pytest.mark.parametrize("pooled", [{}, {"pooled_classes": "apart", "pooled_ranking": "pooled"}])
def test_what_a_play_leaves(pooled: dict[str, str]) -> None:
    """Shapes, counts that belong together, and the same again from the same seed."""
    grids = [
        [OMTRSL(0.1, 2.0), OMTRSL(1e-12, 2.0)],
        [OMTRSLActive(0.1, 2.0, 0.1)],
        [OMTRSLRandom(0.1, 2.0, 0.3)],
        [OGRSL(0.1)],
    ]
    for learners in grids:
        arrays, again = (play_grid(learners, setting_of(**pooled)) for _ in range(2))
        n, n_tasks = len(learners), 1 if learners == [OGRSL(0.1)] else 3
        assert arrays["precision"].shape == arrays["average_precision"].shape == (n, 10)
        assert arrays["mistakes"].shape == arrays["queries"].shape == (n, n_tasks)
        assert arrays["examples"].sum() == arrays["seen"][-1] == 10 * 192
        np.testing.assert_array_equal(
            arrays["mistakes"].sum(axis=1), arrays["checkpoint_mistakes"][:, -1]
        )
        assert np.all(arrays["updates"] <= arrays["queries"])
        assert np.all((arrays["precision"] >= 0.0) & (arrays["precision"] <= 100.0))
        np.testing.assert_allclose(
            arrays["precision"], arrays["precision_by_task"].mean(axis=1), rtol=1e-12
        )
        for name in set(arrays) - {"seconds"}:
            np.testing.assert_array_equal(arrays[name], again[name], err_msg=name)
    assert arrays["queries"].sum() == 10 * 192


@pytest.mark.parametrize("validation", ["within", "apart"])
def test_steps_that_are_never_capped_are_played_once(
    validation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A grid leaves what its points leave one by one, but plays no C beyond the longest step."""
    setting = setting_of(validation=validation, triplets=2)
    learners = [OMTRSL(C, b) for b in (1.0, 8.0) for C in (0.01, 1e6, 1e9, 0.02)]
    alone = [play_grid([learner], setting) for learner in learners]
    trained: list[Any] = []
    online = protocol.online

    def noted(learner: Any, *rest: Any) -> protocol.Trained:
        trained.append(learner)
        return online(learner, *rest)

    monkeypatch.setattr(protocol, "online", noted)
    together = play_grid(learners, setting)
    played = [learner for learner in learners if learner.C != 1e9]
    assert trained == [one for one in played for _ in range(1 + (validation == "within"))]
    for name in set(together) - {"seconds", "examples", "seen"}:
        expected = np.concatenate([one[name] for one in alone])
        np.testing.assert_array_equal(together[name], expected, err_msg=name)
    assert together["seconds"][1] == together["seconds"][2]


def test_few_examples_leave_what_all_features_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task by task, whether the tasks' examples are known to be fewer than the features or not."""
    setting = replace(setting_of(order="by_task", triplets=2), source=fed(letters(d=70)))
    learners = [OMTRSL(0.01, 2.0), OMTRSLActive(0.01, 2.0, 0.1), OSTRSL(0.01)]
    few = [play_grid([learner], setting) for learner in learners]
    monkeypatch.setattr(
        training, "Similarities", lambda *given: Similarities(*given[:3], examples=None)
    )
    for learner, found in zip(learners, few, strict=True):
        for name, expected in play_grid([learner], setting).items():
            if name != "seconds":
                np.testing.assert_array_equal(found[name], expected, err_msg=name)


def test_memory_of_classes_is_known() -> None:
    """Examples that have classes, and no labels, can be held in memory as others are."""
    source = fed(letters(d=70))
    assert source.nbytes >= source.tasks.X.nbytes


def test_learning_helps() -> None:
    """What is learnt ranks better than the identity, which next to no step leaves."""
    arrays = play_grid([OMTRSL(0.01, 2.0), OMTRSL(1e-12, 2.0)], setting_of())
    assert arrays["precision"][0, -1] > arrays["precision"][1, -1] + 5.0
    assert arrays["validation"][0] > arrays["validation"][1] + 3.0


def test_the_untrained_similarity_is_where_learning_starts() -> None:
    """The baseline of ours ranks as learners do whose steps are too short to matter."""
    none, least = (play_grid([one], setting_of()) for one in (Untrained(), OMTRSL(1e-12, 2.0)))
    for name in ("precision", "average_precision", "validation"):
        np.testing.assert_array_equal(none[name], least[name])


class Metric:
    """A batch learner of fixed metrics that notes what it is given."""

    def __init__(self, M: np.ndarray) -> None:
        self.M = M
        self.given: list[tuple[int, ...]] = []

    def fit(self, X: np.ndarray, y: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
        """Return the metric once a task."""
        self.given.append((*X.shape, y.size, task.size))
        return np.stack([self.M] * n_tasks)


def test_metrics_rank_by_product_or_distance() -> None:
    """As distances to each query would rank, and as products would; on dense and sparse rows."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 6))
    metric = Metric(root @ root.T)
    found = {
        kind: play_grid([metric], setting_of(metric_ranks_by=kind))
        for kind in ("product", "distance")
    }
    assert metric.given == [(144, 6, 144, 144), (192, 6, 192, 192)] * 2
    tasks, test = letters(), parts_of(setting_of()).test
    for kind, arrays in found.items():
        by_task = []
        for k in range(3):
            own = test[tasks.task[test] == k]
            X, label = tasks.X[own], tasks.label[own]
            right = []
            for i, x in enumerate(X):
                near = (
                    X @ metric.M @ x
                    if kind == "product"
                    else [-(x - other) @ metric.M @ (x - other) for other in X]
                )
                order = [j for j in np.argsort(-np.asarray(near)) if j != i]
                right.append(label[order[:10]] == label[i])
            by_task.append(np.mean(right, axis=0))
        expected = 100.0 * np.cumsum(np.mean(by_task, axis=0)) / np.arange(1, 11)
        np.testing.assert_allclose(arrays["precision"][0], expected, rtol=1e-9, err_msg=kind)
        assert "mistakes" not in arrays


@pytest.mark.parametrize("name", ["omtrsl", "omtrsl_active", "omtrsl_random", "ostrsl", "ogrsl"])
def test_every_config_plays(name: str) -> None:
    """With its whole grid, whose points differ in what they learn."""
    algorithm = load_option("algorithm", name)
    learners = [new_learner(algorithm, point) for point in grid_points(algorithm)]
    arrays = play_grid(learners, setting_of(triplets=2))
    assert arrays["validation"].shape == (len(learners),)
    assert len({row.tobytes() for row in arrays["checkpoint_mistakes"]}) > 1
    assert not arrays["diverged"].any()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"validation": "inside"}, "within, apart"),
        ({"folds": 2}, "must be 3 at least"),
        ({"pooled_classes": "x"}, "shared, apart"),
        ({"normaliser": "x"}, "relevant, length"),
        ({"metric_ranks_by": "x"}, "product, distance"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], words: str) -> None:
    """One sentence names what there is to choose from."""
    setting = setting_of(**options)
    with pytest.raises(UserError, match=words):
        for learner in (OGRSL(0.1), Metric(np.eye(6))):
            play_grid([learner], setting)


def test_examples_without_classes_are_refused() -> None:
    """Similarities need classes."""
    from omtl.data.streams import Tasks

    tasks = letters()
    plain = Tasks(tasks.X, np.ones(240), tasks.task, tasks.names)
    with pytest.raises(UserError, match="have no classes"):
        play_grid([OSTRSL(0.1)], replace(setting_of(), source=fed(plain)))


# Figures


def test_values_between_two_shares_of_queries() -> None:
    """Straight from point to point, and nothing beyond the last."""
    result = Result(
        {"queries": np.array([[60, 20], [5, 15]]), "examples": np.array([100, 100])}, {}
    )
    found = through(result, np.array([40.0, 10.0]), np.array([0.05, 0.1, 0.25, 0.4, 0.5]))
    np.testing.assert_allclose(found, [np.nan, 10.0, 25.0, 40.0, np.nan])


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"higher": ["A"], "than": ["B"], "at": [1, 2]}, HOLDS),
        ({"higher": ["A"], "than": ["B"], "at": [1, 2], "by": 1.02}, UNDECIDED),
        ({"higher": ["A"], "than": ["B"], "at": [2], "by": 5}, HOLDS),
        ({"lower": ["A"], "than": ["B"], "at": [2]}, FAILS),
        ({"higher": ["A"], "than": ["B"], "at": [3]}, UNDECIDED),  # there is no such point
        ({"higher": ["A"], "than": ["C"], "at": [1]}, UNDECIDED),  # nor such a line
        ({"higher": ["A"], "than": ["B"], "at": [1], "parts": ["other"]}, UNDECIDED),
        ({"ratio": ["A"], "than": ["B"], "at": [2], "at_least": 1.5}, HOLDS),
    ],
)
def test_claims_may_name_lines_of_figures(part: dict[str, Any], expected: str) -> None:
    """At each x that they name, paired over the repeats."""
    one = line_of("A", [1, 2], np.array([[3.0, 20.0], [7.0, 22.0], [6.0, 21.0]]))
    other = line_of("B", [1, 2], np.array([[2.0, 10.0], [6.0, 11.0], [4.9, 10.0]]))
    shown = [Shown("a", "", (Axes("x", "y", (one, other), title="AP@k"),))]
    found = judge_claim(a_claim({"panel": "a", **part}, figure="dom-fig2"), shown)
    assert outcome_of(one.outcome for one in found) == expected
