"""The theory in numbers: formulas against their definitions, bounds against plays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from learner_cases import edges_of, random_tasks, steps_of
from profiles import thorough
from scipy import sparse
from scipy.optimize import linprog, minimize_scalar

from omtl.data.networks import adjacency, metropolis_weights, mixing_matrix
from omtl.data.streams import Tasks, rounds
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.reference.problems import Case
from omtl.reference.vocabulary import inverse_relation
from omtl.theory import comparators, dom, osmtl

THOROUGH = thorough(15)
SEEDS = st.integers(0, 10_000)
SLACK = 1.0 + 1e-9
"""Of comparisons of sums of rounded numbers."""


def random_weights(seed: int, m: int, alike: float) -> np.ndarray:
    """Return weights of m tasks around a common vector."""
    rng = np.random.default_rng(seed)
    return alike * rng.standard_normal(3) + rng.standard_normal((m, 3))


# Relations between the tasks


@THOROUGH
@given(seed=SEEDS, m=st.integers(1, 9), b=st.floats(0.0, 200.0))
def test_norm_is_that_of_the_kronecker_product(seed: int, m: int, b: float) -> None:
    """‖u‖²_B is uᵀ (B ⊗ I) u, B the inverse of eq. 10, and C of eq. 17 is 1."""
    U = random_weights(seed, m, 1.0)
    B = np.linalg.inv(inverse_relation(m, b))
    u = U.ravel()
    assert dom.square_norm_B(U, b) == pytest.approx(u @ np.kron(B, np.eye(3)) @ u, rel=1e-8)
    ratios = np.linalg.eigvalsh(inverse_relation(m, b)) / np.linalg.eigvalsh(B)[::-1]
    assert math.sqrt(ratios.max()) == pytest.approx(dom.NORM_RATIO)
    diagonal = inverse_relation(m, b)[0, 0]
    assert dom.gradient_bound(2.0, b, m) == pytest.approx(2.0 * math.sqrt(diagonal))


@THOROUGH
@given(seed=SEEDS, m=st.integers(2, 9), alike=st.sampled_from([0.0, 0.3, 1.0, 10.0]))
def test_optimal_b(seed: int, m: int, alike: float) -> None:
    """`b_minimiser` minimises L ‖u‖_B; the printed b* is 1 more."""
    U = random_weights(seed, m, alike)

    def bound(b: float) -> float:
        return dom.gradient_bound(1.0, b, m) ** 2 * dom.square_norm_B(U, b)

    found = dom.b_minimiser(U)
    searched = minimize_scalar(bound, bounds=(0.0, 2.0 * found + 10.0), method="bounded").x
    assert bound(found) <= min(bound(searched), bound(0.0), *map(bound, range(300))) * SLACK
    assert dom.b_star(U) == pytest.approx(found + 1.0 if found else 0.0)


@pytest.mark.parametrize(
    ("U", "star", "least"),
    [
        ([[1.0], [0.5]], 3.0, 2.0),  # the printed b* is √9, not √9 − 1
        (np.ones((3, 2)), math.inf, math.inf),  # equal tasks
        (np.ones((1, 2)), 0.0, 0.0),  # a single task
        (np.zeros((3, 2)), 0.0, 0.0),
    ],
)
def test_printed_b_star_is_not_the_minimiser(U: Any, star: float, least: float) -> None:
    """A worked example of remark 2, and the edges."""
    assert dom.b_star(np.array(U)) == pytest.approx(star)
    assert dom.b_minimiser(np.array(U)) == pytest.approx(least)


# The network


@st.composite
def stochastic(draw: st.DrawFn, smallest: int = 1) -> np.ndarray:
    """Draw a doubly stochastic network: Metropolis weights on any connected one."""
    m = draw(st.integers(smallest, 6))
    return metropolis_weights(adjacency(m, draw(edges_of(m))))


@THOROUGH
@given(mixing=stochastic())
def test_lemma_1(mixing: np.ndarray) -> None:
    """The printed constants bound the powers of the network, and Δ from them its exact one."""
    m = mixing.shape[0]
    constants = dom.lemma1(mixing)
    for power in (1, 2, 3, 10, 100):
        bound = constants.theta * constants.beta**power
        deviation = np.abs(np.linalg.matrix_power(mixing, power) - 1.0 / m).max()
        assert deviation <= bound * SLACK
    exact = dom.exact_delta(mixing)
    assert 2.0 <= exact <= dom.delta_of(constants, m)
    sums, power = np.zeros(m), np.eye(m)
    for _ in range(2000):
        power = power @ mixing
        sums += np.abs(power - 1.0 / m).sum(axis=1)
    assert exact == pytest.approx(sums.max() + 2.0, rel=1e-6)


# The regret


def random_case(seed: int, mixing: np.ndarray, n: int, d: int, noise: float) -> Case:
    """Return tasks of linear labels, some flipped, of unequal sizes, one for each node."""
    rng = np.random.default_rng(seed)
    m = mixing.shape[0]
    tasks = random_tasks(rng, m, n, d, noise)
    return Case(tasks, rounds(tasks, rng, rng, m, n_checkpoints=tasks.y.size), mixing)


def largest_norm(tasks: Tasks) -> float:
    """Return the largest norm of an example."""
    return float(np.linalg.norm(tasks.X, axis=1).max())


def suffered(learner: Any, case: Case) -> np.ndarray:
    """Return the losses that a learner suffers, by its reference, shape (n_rounds, n_tasks)."""
    tasks, stream = case.tasks, case.stream
    scores = np.array([step.score for step in steps_of(learner, case)])
    losses = np.zeros((case.shape.n_rounds, case.shape.n_tasks))
    t = np.repeat(np.arange(case.shape.n_rounds), np.diff(stream.start))
    y, task = tasks.y[stream.example], tasks.task[stream.example]
    losses[t, task] = np.maximum(0.0, 1.0 - y * scores)
    return losses


def losses_of_dom1(case: Case, eta: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Play algorithm 1 as it is written; return the rounds' losses of combined vectors and not."""
    tasks, stream, mixing = case
    m = mixing.shape[0]
    inverse = inverse_relation(m, b)
    u = np.zeros((m, m, tasks.X.shape[1]))
    losses = np.zeros((2, stream.start.size - 1))
    for t in range(stream.start.size - 1):
        v = np.tensordot(mixing, u, axes=1)
        after = v.copy()
        for e in range(stream.start[t], stream.start[t + 1]):
            i, node = stream.example[e], stream.node[e]
            k, y, x = tasks.task[i], tasks.y[i], tasks.X[i]
            losses[:, t] += [max(0.0, 1.0 - y * (w[node, k] @ x)) for w in (v, u)]
            if y * (v[node, k] @ x) < 1.0:
                after[node] += eta * y * inverse[:, [k]] * x
        u = after
    return losses[0], losses[1]


@THOROUGH
@given(
    seed=SEEDS,
    mixing=stochastic(smallest=2),
    eta=st.sampled_from([1e-3, 0.03, 0.5, 10.0]),
    b=st.sampled_from([0.0, 1.0, 8.0, 100.0]),
    noise=st.sampled_from([0.0, 0.2]),
)
def test_bounds_hold(seed: int, mixing: np.ndarray, eta: float, b: float, noise: float) -> None:
    """On doubly stochastic networks theorem 4 and what its proof says of suffered losses hold.

    For every comparator: the best in hindsight, shorter ones, none at all, and random ones.
    """
    case = random_case(seed, mixing, 12, 4, noise)
    tasks, stream, _ = case
    m = mixing.shape[0]
    combined, uncombined = losses_of_dom1(case, eta, b)
    problem = dom.Problem(m, dom.gradient_bound(largest_norm(tasks), b, m))
    fixed_weights = [comparators.best_weights(tasks, ridge) for ridge in (1e-6, 0.1, 10.0)]
    fixed_weights += [np.zeros((m, 4)), np.random.default_rng(seed).standard_normal((m, 4))]
    for U in fixed_weights:
        fixed = comparators.at_checkpoints(comparators.losses_under(tasks, U), stream)
        known: dict[str, float] = {"square_norm": dom.square_norm_B(U, b), "eta": eta}
        of_combined, exact, printed = (
            dom.theorem4_bound(stream.checkpoint, problem, delta=delta, **known)
            for delta in (0.0, dom.exact_delta(mixing), dom.delta_of(dom.lemma1(mixing), m))
        )
        assert np.all(combined.cumsum() - fixed <= of_combined * SLACK)
        assert np.all(uncombined.cumsum() - fixed <= exact * SLACK)
        assert np.all(exact <= printed * SLACK)


# The comparator


def least_hinge(X: np.ndarray, y: np.ndarray) -> float:
    """Return the least hinge loss of fixed weights, by HiGHS."""
    n, d = X.shape
    solved = linprog(
        np.r_[np.zeros(d), np.ones(n)],
        A_ub=-np.hstack([y[:, None] * X, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * d + [(0.0, None)] * n,
    )
    return float(solved.fun)


@THOROUGH
@given(seed=SEEDS, noise=st.sampled_from([0.0, 0.3]), as_sparse=st.booleans())
def test_best_weights_has_the_least_loss(seed: int, noise: float, as_sparse: bool) -> None:
    """It agrees with the linear programme task by task, on dense and sparse rows."""
    tasks = random_tasks(np.random.default_rng(seed), 3, 20, 4, noise)
    X = np.asarray(tasks.X)
    if as_sparse:
        tasks = Tasks(sparse.csr_array(X), tasks.y, tasks.task, tasks.names)
    U = comparators.best_weights(tasks, ridge=1e-9)
    losses = comparators.losses_under(tasks, U)
    for k in range(3):
        mine = tasks.task == k
        least = least_hinge(X[mine], tasks.y[mine])
        assert losses[mine].sum() == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize("n_features", [4, 60])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_least_losses_are_those_of_the_best_weights(n_features: int, as_sparse: bool) -> None:
    """Also of more features than examples, and of a task that has no examples."""
    tasks = random_tasks(np.random.default_rng(0), 3, 20, n_features, 0.3)
    X = sparse.csr_array(tasks.X) if as_sparse else tasks.X
    more = Tasks(X, tasks.y, tasks.task, (*tasks.names, "without examples"))
    expected = comparators.losses_under(tasks, comparators.best_weights(tasks, ridge=1e-2))
    assert comparators.least_losses(more, ridge=1e-2) == pytest.approx(expected, abs=1e-5)


CERTAINLY = thorough(20)
ROUNDING = 1e-9


def bound_of(case: Case, U: np.ndarray, C: float, alpha: float) -> np.ndarray:
    """Return theorem 1's bound after each round, shape (n_tasks, n_rounds)."""
    return osmtl.theorem1_bound(
        np.arange(1, case.stream.start.size),
        osmtl.fixed_weights(case.tasks, case.stream, U),
        C=C,
        alpha=alpha,
        largest_norm=largest_norm(case.tasks),
    )


@CERTAINLY
@example(600, 3, 8, 0.0, 3.0, 0.3, 1.0, False, False)  # correctors alone would go in a circle
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 5),
    n=st.integers(1, 25),
    noise=st.sampled_from([0.0, 0.2, 0.5]),
    C=st.floats(0.01, 3.0),
    alpha=st.floats(0.05, 1.0),
    lam=st.sampled_from([0.05, 1.0, 50.0]),
    any_task=st.booleans(),
    threshold=st.booleans(),
)
def test_theorem_1_bounds_each_tasks_regret(
    seed: int,
    m: int,
    n: int,
    noise: float,
    C: float,
    alpha: float,
    lam: float,
    any_task: bool,
    threshold: bool,
) -> None:
    """After each round, against the best weights in hindsight, none, and random ones."""
    case = random_case(seed, np.eye(m), n, 3, noise)
    kind = OSMTLThreshold if threshold else OSMTLExponential
    losses = suffered(kind(C, alpha, lam, 1.0, any_task), case)
    best = comparators.best_weights(case.tasks, 1e-3)
    random = 3.0 * np.random.default_rng(seed).standard_normal((m, 3))
    for U in (best, np.zeros((m, 3)), random):
        fixed = osmtl.fixed_weights(case.tasks, case.stream, U)
        assert m > 1 or not fixed.others.any()
        regret = np.cumsum(losses - fixed.own, axis=0).T
        assert np.all(regret <= bound_of(case, U, C, alpha) + ROUNDING)


@CERTAINLY
@given(seed=st.integers(0, 10_000), m=st.integers(1, 5), n=st.integers(1, 40))
def test_corollary_2_is_theorem_1_at_its_rates(seed: int, m: int, n: int) -> None:
    """No less, by the slack of (1 + √T)² ≤ 4 T; and its rates are those of the learner."""
    case = random_case(seed, mixing_matrix(m), n, 3, 0.2)
    T = case.shape.n_rounds
    U = np.random.default_rng(seed).standard_normal((m, 3))
    C, alpha = osmtl.corollary2_rates(T)
    state = OSMTLExponential(1.0, 1.0, 1.0, by_horizon=True).new_state(case.shape)
    np.testing.assert_allclose(state.rates, [C, alpha])
    R = largest_norm(case.tasks)
    corollary = osmtl.corollary2_bound(T, osmtl.fixed_weights(case.tasks, case.stream, U), R)
    theorem = bound_of(case, U, C, alpha)[:, -1]
    slack = R**2 * (2.0 * math.sqrt(T) - (1.0 + math.sqrt(T)) ** 2 / (2.0 * math.sqrt(T)))
    np.testing.assert_allclose(corollary - theorem, slack, rtol=1e-6, atol=1e-9)


def test_learning_from_mistakes_only_breaks_the_printed_theorem() -> None:
    """With one x and one label the passive learner is right ever after, and suffers all the same;
    the learner of algorithm 2 on the same rounds stays below the bound."""
    T = 400
    tasks = Tasks(np.ones((T, 1)), np.ones(T), np.zeros(T, dtype=np.int64), ("a",))
    rng = np.random.default_rng(0)
    case = Case(tasks, rounds(tasks, rng, rng, n_checkpoints=T), np.eye(1))
    C, alpha = osmtl.corollary2_rates(T)
    bound = bound_of(case, np.ones((1, 1)), C, alpha)[0, -1]
    regrets = {
        margin: suffered(OSMTLExponential(C, alpha, lam=1.0, margin=margin), case).sum()
        for margin in (0.0, 1.0)
    }
    assert regrets[0.0] == pytest.approx(1.0 + (T - 1) * (1.0 - C))
    assert regrets[0.0] > 10.0 * bound
    assert regrets[1.0] <= bound
