"""ROM's theory: the measured objective, the best weights in hindsight, and the bounds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from described import a_line, a_panel
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import THOROUGH, Case, cases, problem
from scipy import sparse
from scipy.optimize import minimize

from omtl.data.examples import examples_of
from omtl.data.preparation import Fed, fed
from omtl.data.streams import Stream, Tasks
from omtl.experiment.experiment import Experiment, Names
from omtl.experiment.unit import compute, setting_of
from omtl.figures.panels import rom_regret
from omtl.figures.panels.axes import Axes, PlannedLine, PlannedPanel, Played
from omtl.kernel.play import play
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.protocols import objective
from omtl.protocols.setting import Setting
from omtl.theory import comparators, rom
from omtl.theory.rom_comparator import GAP, Regulariser, Weights, best_fixed
from omtl.util.errors import UserError

SLACK = 1e-9
"""Of comparisons of sums of rounded numbers, relative."""


READING: dict[str, Any] = {"name": "as_written", "paper": None, "answers": {}}


class Plain(NamedTuple):
    """What a plain transcription has summed up after each round; and its last weights."""

    losses: np.ndarray
    penalties: np.ndarray
    proximities: np.ndarray
    shared: np.ndarray
    own: np.ndarray
    weights: Weights


def plain(learner: Any, case: Case) -> Plain:
    """Play ROM-PGD or ROM-RDA as the paper's equations have it, with every part written out."""
    m, d = case.shape.n_tasks, case.shape.n_features
    r = Regulariser(learner.alpha, learner.beta, learner.gamma)
    W = Weights(np.zeros(d), np.zeros((m, d)), np.zeros((m, d)))
    sums = Weights(np.zeros(d), np.zeros((m, d)), np.zeros((m, d)))
    rows = []
    for t, given_now in enumerate(case.given, start=1):
        theta = learner.kappa * math.sqrt(t) if isinstance(learner, ROMRDA) else 0.0
        G, loss, active = np.zeros((m, d)), 0.0, set()
        for x, y, i, _ in given_now:
            margin = y * float((W.u + W.P[i] + W.Q[i]) @ x)
            if margin < 1.0:
                loss += 1.0 - margin
                G[i] = -y * x
                active |= {i} if x.any() else set()
        g = G.sum(axis=0)
        rows.append((loss, r.of(W), theta / (2 * t) * sum(W.squares), g @ g, np.sum(G**2)))
        if isinstance(learner, ROMPGD):
            eta = learner.eta
            u = (W.u - eta / m * g) / (1.0 + r.alpha * eta / m)
            P, Q = W.P.copy(), W.Q.copy()
            for i in range(m) if learner.every_round else active:
                P[i] = (P[i] - eta * G[i]) / (1.0 + r.beta * eta)
                hat = Q[i] - eta * G[i]
                Q[i] = max(0.0, 1.0 - eta * r.gamma / max(np.linalg.norm(hat), 1e-300)) * hat
            W = Weights(u, P, Q)
        else:
            sums = Weights(sums.u + g, sums.P + G, sums.Q + G)
            norm = np.linalg.norm(sums.Q, axis=1, keepdims=True) / t
            left = np.maximum(0.0, 1.0 - r.gamma / np.maximum(norm, 1e-300))
            W = Weights(
                -sums.u / t / (r.alpha + theta / t),
                -sums.P / t / (r.beta + theta / t),
                -left * sums.Q / theta,
            )
    return Plain(*np.cumsum(np.array(rows), axis=0).T, weights=W)


def one_stream(X: list[list[float]], y: list[list[float]]) -> Case:
    """Return a case of one feature, where row t of X and y has the examples of round t."""
    rounds, m = len(X), len(X[0])
    tasks = Tasks(
        np.array(X).reshape(-1, 1),
        np.array(y).ravel(),
        np.tile(np.arange(m), rounds),
        tuple(f"task {k}" for k in range(m)),
    )
    stream = Stream(
        start=np.arange(0, rounds * m + 1, m),
        example=np.arange(rounds * m),
        node=np.zeros(rounds * m, dtype=np.int64),
        checkpoint=np.arange(1, rounds + 1),
    )
    return Case(tasks, stream, np.ones((1, 1)))


def at_first(case: Case, n_rounds: int) -> Tasks:
    """Return the examples of the first rounds."""
    seen = case.stream.example[: case.stream.start[n_rounds]]
    return Tasks(case.tasks.X[seen], case.tasks.y[seen], case.tasks.task[seen], case.tasks.names)


def objective_of(tasks: Tasks, n_rounds: int, W: Weights, r: Regulariser) -> float:
    """Return the hinge losses of fixed weights plus their regulariser in every round."""
    losses = comparators.hinge_losses(tasks, W.u + W.P + W.Q)
    return float(losses.sum() + n_rounds * r.of(W))


def powers(least: float, most: float) -> st.SearchStrategy[float]:
    """Return a strategy of numbers from 10 ** least to 10 ** most."""
    return st.floats(least, most).map(lambda power: 10.0**power)


weights = powers(-3.0, 1.0)
regularisers = st.builds(Regulariser, weights, weights, weights)
SEEDS = st.integers(0, 10_000)

LEARNERS = {
    "algorithm 1": st.builds(ROMPGD, powers(-3, 0), weights, weights, weights),
    "every round": st.builds(ROMPGD, powers(-3, 0), weights, weights, weights, st.just(True)),
    "RDA": st.builds(ROMRDA, powers(-1, 2), weights, weights, weights),
}


# The measured objective


@pytest.mark.parametrize("name", LEARNERS)
def test_measured_objective_is_that_of_a_plain_transcription(name: str) -> None:
    """Losses, penalties of the opening weights and gradients, compiled and not, for all rows."""

    @THOROUGH
    @given(cases(), LEARNERS[name])
    def agree(case: Case, learner: Any) -> None:
        expected = plain(learner, case)
        at = case.stream.checkpoint - 1
        m = case.shape.n_tasks
        own = np.diff(expected.own, prepend=0.0)
        shared = np.diff(expected.shared, prepend=0.0)
        for this in (case, case.sparse):
            for compiled in (True, False):
                examples = examples_of(this.tasks)
                got = objective.measure(learner, examples, this.stream, this.shape, compiled)
                for values, sums in (
                    (got.checkpoint_loss, expected.losses),
                    (got.checkpoint_penalty, expected.penalties),
                    (got.checkpoint_shared, expected.shared),
                    (got.checkpoint_own, expected.own),
                    (got.largest_gradient, np.maximum.accumulate(shared + 2.0 * own)),
                    (got.largest_weighted, np.maximum.accumulate(shared / m + 2.0 * own)),
                ):
                    np.testing.assert_allclose(values, sums[at], rtol=1e-7, atol=1e-7)
                if isinstance(learner, ROMRDA):
                    np.testing.assert_allclose(
                        got.checkpoint_proximity, expected.proximities[at], rtol=1e-7, atol=1e-9
                    )
                trace, _ = play(learner, examples, this.stream, this.shape)
                np.testing.assert_array_equal(got.mistakes, trace.mistakes)
                np.testing.assert_array_equal(got.checkpoint_mistakes, trace.checkpoint_mistakes)

    agree()


def setting(source: Fed) -> Setting:
    """Return a repeat on fed data."""
    protocol = {"stream": "rounds", "checkpoints": 5}
    return Setting(
        source, protocol, {"topology": "full"}, lambda *_, **__: np.random.default_rng(0)
    )


def test_protocol_keeps_what_was_measured() -> None:
    """A learner without a regulariser has none; features that were dropped are said to be so."""
    case = problem((20, 15), n_features=3)
    arrays = objective.play_grid([Perceptron(0.1), Perceptron(1.0)], setting(fed(case.tasks)))
    assert arrays["seen"].tolist() == [8, 16, 24, 31, 35]
    assert arrays["mistakes"].shape == (2, 2)
    assert np.all(arrays["checkpoint_penalty"] == 0.0)
    assert np.all(np.diff(arrays["largest_gradient"], axis=1) >= 0.0)
    rare = Tasks(sparse.csr_array(np.eye(35)), case.tasks.y, case.tasks.task, case.tasks.names)
    with pytest.raises(UserError, match="one example alone"):
        objective.play_grid([Perceptron(0.1)], setting(fed(rare)))


# The best fixed weights in hindsight


@THOROUGH
@given(seed=SEEDS, r=regularisers, as_sparse=st.booleans())
def test_best_fixed_is_best(seed: int, r: Regulariser, as_sparse: bool) -> None:
    """Its objective is what is said; no weights near it and no search finds a better one."""
    rng = np.random.default_rng(seed)
    case = problem((6, 9, 4), n_features=3, seed=seed)
    tasks = case.tasks
    given_tasks = (
        Tasks(sparse.csr_array(tasks.X), tasks.y, tasks.task, tasks.names) if as_sparse else tasks
    )
    best = best_fixed(given_tasks, 9, r)
    assert best.objective == pytest.approx(objective_of(tasks, 9, best.weights, r), rel=1e-12)
    assert best.gap <= GAP * (1.0 + best.objective)
    flat = np.concatenate([part.ravel() for part in best.weights])

    def value(x: np.ndarray) -> float:
        u, P, Q = x[:3], x[3:12].reshape(3, 3), x[12:].reshape(3, 3)
        return objective_of(tasks, 9, Weights(u, P, Q), r)

    least = best.objective - 2.0 * GAP * (1.0 + best.objective)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(20):
            assert value(flat + size * rng.standard_normal(flat.size)) >= least
    searched = minimize(value, flat, method="Powell", options={"maxiter": 20})
    assert searched.fun >= least


@pytest.mark.parametrize("r", [(0.1, 0.2, 0.3), (0.5, 1.0, 0.05), (0.05, 2.0, 1.0)])
def test_best_fixed_of_a_smooth_solver(r: tuple[float, float, float]) -> None:
    """SLSQP finds the same on the problem with slacks and norms' bounds as variables."""
    r = Regulariser(*r)
    tasks, n_rounds = problem((8, 7), n_features=2).tasks, 8
    n = tasks.y.size

    def parts(x: np.ndarray) -> tuple[Weights, np.ndarray, np.ndarray]:
        W = Weights(x[:2], x[2:6].reshape(2, 2), x[6:10].reshape(2, 2))
        return W, x[10 : 10 + n], x[10 + n :]

    def value(x: np.ndarray) -> float:
        W, slack, size = parts(x)
        u, p, _ = W.squares
        return slack.sum() + n_rounds * (r.alpha / 2 * u + r.beta / 2 * p + r.gamma * size.sum())

    def feasible(x: np.ndarray) -> np.ndarray:
        W, slack, size = parts(x)
        margins = tasks.y * np.einsum("ij,ij->i", tasks.X, (W.u + W.P + W.Q)[tasks.task])
        return np.concatenate([margins + slack - 1.0, slack, size**2 - np.sum(W.Q**2, 1), size])

    start = np.concatenate([np.zeros(6), 0.1 * np.ones(4), np.full(n, 2.0), np.ones(2)])
    found = minimize(
        value,
        start,
        method="SLSQP",
        constraints={"type": "ineq", "fun": feasible},
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    best = best_fixed(tasks, n_rounds, r)
    assert best.objective == pytest.approx(found.fun, rel=1e-5)
    np.testing.assert_allclose(best.weights.u, found.x[:2], atol=1e-3)


def test_best_fixed_by_hand() -> None:
    """One example a round, x = 1 and y = 1: the lasso's part grows where it is the cheapest."""
    case = one_stream([[1.0]] * 5, [[1.0]] * 5)
    best = best_fixed(case.tasks, 5, Regulariser(10.0, 10.0, 0.1))
    # T α u = T β p = T γ at w = 1: u = p = γ/10, and q is the rest.
    np.testing.assert_allclose(
        [best.weights.u[0], best.weights.P[0, 0], best.weights.Q[0, 0]],
        [0.01, 0.01, 0.98],
        atol=1e-5,
    )
    dear = best_fixed(case.tasks, 5, Regulariser(10.0, 10.0, 100.0))
    np.testing.assert_allclose(dear.weights.u, 0.1, atol=1e-5)
    np.testing.assert_allclose(dear.weights.P, 0.1, atol=1e-5)
    assert np.all(dear.weights.Q == 0.0)


def test_best_fixed_with_a_task_that_has_no_examples() -> None:
    """Its own weights are 0."""
    tasks = problem((6, 0, 5)).tasks
    best = best_fixed(tasks, 6, Regulariser(0.1, 0.1, 0.1))
    np.testing.assert_allclose(best.weights.P[1], 0.0, atol=1e-6)
    with pytest.raises(UserError, match="must be positive"):
        best_fixed(tasks, 6, Regulariser(0.1, 0.0, 0.1))


# The bounds


def fixed_weights(case: Case, r: Regulariser, n_rounds: int, seed: int) -> list[Weights]:
    """Return the best weights, shorter ones, none, and random ones."""
    rng = np.random.default_rng(seed)
    best = best_fixed(at_first(case, n_rounds), n_rounds, r).weights
    random = Weights(*(rng.standard_normal(part.shape) for part in best))
    return [
        best,
        Weights(*(0.5 * part for part in best)),
        Weights(*(0.0 * p for p in best)),
        random,
    ]


@THOROUGH
@given(case=cases(), learner=LEARNERS["every round"], seed=SEEDS)
def test_lemma_2_in_the_weighted_norm(case: Case, learner: ROMPGD, seed: int) -> None:
    """It holds after every round, for every fixed W; theorem 3 so corrected for a fitting η."""
    r = Regulariser(*learner[1:4])
    m = case.shape.n_tasks
    got = plain(learner, case)
    n_rounds = got.losses.size
    for T in {1, max(1, n_rounds // 2), n_rounds}:
        for W in fixed_weights(case, r, T, seed):
            regret = (got.losses + got.penalties)[T - 1] - objective_of(at_first(case, T), T, W, r)
            bound = rom.lemma2(
                eta=learner.eta,
                square=rom.weighted_square_norm(W),
                gradients=(got.shared / m + 2.0 * got.own)[T - 1],
            )
            assert regret <= bound + SLACK * (1.0 + got.losses[-1] + bound)
            if m <= 2:  # the printed lemma follows
                printed = rom.lemma2_printed(
                    eta=learner.eta,
                    square=rom.square_norm(W),
                    gradients=(got.shared + 2.0 * got.own)[T - 1],
                )
                assert bound <= printed * (1.0 + SLACK)
    best = best_fixed(case.tasks, n_rounds, r)
    # No round's ‖Σ g‖²/m + 2 Σ ‖g‖² is larger than 3 Σ ‖x‖².
    X = case.tasks.X[case.stream.example]
    largest = float(np.add.reduceat(np.sum(X**2, axis=1), case.stream.start[:-1]).max())
    square = rom.weighted_square_norm(best.weights)
    if largest > 0.0 and square > 0.0:
        known = {"square": square, "gradient": 3.0 * largest}
        tuned = plain(learner._replace(eta=rom.best_eta(n_rounds, **known)), case)
        regret = (tuned.losses + tuned.penalties)[-1] - best.objective
        bound = rom.theorem3(n_rounds, **known)
        assert regret <= bound + 2.0 * GAP * (1.0 + best.objective + bound)


@THOROUGH
@given(case=cases(), learner=LEARNERS["RDA"], seed=SEEDS)
def test_lemma_5_with_its_sum_set_right(case: Case, learner: ROMRDA, seed: int) -> None:
    """It and theorem 6 hold after every round, for every fixed W, D being that of W."""
    r = Regulariser(*learner[1:4])
    got = plain(learner, case)
    gradients = np.diff(got.shared, prepend=0.0) + 2.0 * np.diff(got.own, prepend=0.0)
    n_rounds = got.losses.size
    for T in {1, max(1, n_rounds // 2), n_rounds}:
        for W in fixed_weights(case, r, T, seed):
            regret = (got.losses + got.penalties)[T - 1] - objective_of(at_first(case, T), T, W, r)
            known = {
                "kappa": learner.kappa,
                "square": rom.square_norm(W),
                "gradient": float(gradients[:T].max()),
            }
            bound = rom.lemma5(T, **known)
            assert regret <= bound + SLACK * (1.0 + got.losses[-1] + bound)
            assert rom.lemma5_printed(T, **known) <= bound * (1.0 + SLACK)
            assert bound <= rom.theorem6(T, **known) * (1.0 + SLACK)


def test_lemma_2_and_theorem_3_as_printed_fail_for_five_tasks() -> None:
    """Five equal tasks, x = y = 1, only u is free: it steps by η a round, not by 5 η."""
    m, T = 5, 5000
    case = one_stream([[1.0] * m] * T, [[1.0] * m] * T)
    W = Weights(np.ones(1), np.zeros((m, 1)), np.zeros((m, 1)))  # no loss and no regulariser
    largest = m**2 + 2.0 * m
    eta = rom.theorem3_eta(T, square=1.0, gradient=largest)
    for every_round in (False, True):
        got = plain(ROMPGD(eta, 0.0, 1e9, 1e9, every_round), case)
        regret = (got.losses + got.penalties)[-1]
        assert np.diff(got.shared + 2.0 * got.own).max() == largest
        printed = rom.lemma2_printed(
            eta=eta, square=rom.square_norm(W), gradients=(got.shared + 2.0 * got.own)[-1]
        )
        proved = rom.lemma2(
            eta=eta,
            square=rom.weighted_square_norm(W),
            gradients=(got.shared / m + 2.0 * got.own)[-1],
        )
        assert rom.theorem3_printed(T, square=1.0, gradient=largest) < regret <= proved
        assert printed < regret


def test_regret_of_algorithm_1_can_be_linear() -> None:
    """A p that was needed once is kept, and paid for, as long as there is no loss to shrink it.

    First come examples x = 1, then x = 10, of which p = 0.1 has no loss: that is best in hindsight.
    """
    r = Regulariser(1e9, 1.0, 1e9)  # only p is free

    def regrets(T: int) -> tuple[float, float]:
        first = math.ceil(12.3 * math.sqrt(T))
        case = one_stream([[1.0]] * first + [[10.0]] * (T - first), [[1.0]] * T)
        best = best_fixed(case.tasks, T, r)
        known = {"square": rom.square_norm(best.weights), "gradient": 3.0}
        eta = rom.theorem3_eta(T, **known)
        got = plain(ROMPGD(eta, *r), case)
        assert np.diff(got.shared + 2.0 * got.own).max() == 3.0
        stepped = plain(ROMPGD(eta, *r, every_round=True), case)
        bound = rom.lemma2(
            eta=eta,
            square=rom.weighted_square_norm(best.weights),
            gradients=(stepped.shared + 2.0 * stepped.own)[-1],
        )
        assert (stepped.losses + stepped.penalties)[-1] - best.objective <= bound
        regret = (got.losses + got.penalties)[-1] - best.objective
        return regret, rom.theorem3_printed(T, **known)

    regret, bound = regrets(16_000)
    later, later_bound = regrets(40_000)
    assert regret > 30.0 * bound
    assert later > 1.5 * regret / bound * later_bound > 45.0 * later_bound
    assert later > 2.4 * regret  # in 2.5 times the rounds


def test_lemma_5_as_printed_fails() -> None:
    """Two rounds of opposite labels, against W = 0, which is the best: 3/κ, not 2.56/κ."""
    case = one_stream([[1.0], [1.0]], [[-1.0], [1.0]])
    learner = ROMRDA(2.0, 1e-9, 1e-9, 1e-9)
    best = best_fixed(case.tasks, 2, Regulariser(*learner[1:]))
    assert rom.square_norm(best.weights) < 1e-6
    got = plain(learner, case)
    regret = (got.losses + got.penalties)[-1] - best.objective
    known = {"kappa": 2.0, "square": 0.0, "gradient": 3.0}
    assert regret == pytest.approx(1.5, rel=1e-6)
    assert rom.lemma5_printed(2, **known) == pytest.approx(1.5 * 0.5 * (1.0 + 0.5**0.5))
    assert rom.lemma5(2, **known) == pytest.approx(1.5)
    assert rom.theorem6(2, **known) == pytest.approx(1.5 * 2.0**0.5)


def test_theorem_6_fails_with_r_2_in_the_place_of_r_1() -> None:
    """Half of the rounds with the one label, half with the other, against W = 0, which is best.

    With κ ≫ G_* the weights stay so small that every round has a loss.
    """
    T, kappa = 88, 20.0
    case = one_stream([[1.0]] * T, [[1.0]] * (T // 2) + [[-1.0]] * (T // 2))
    learner = ROMRDA(kappa, 1e-9, 1e-9, 1e-9)
    got = plain(learner, case)
    regret = (got.losses + got.penalties)[-1] - T  # W = 0 loses 1 a round, and is at no distance
    bound = rom.theorem6(T, kappa=kappa, square=0.0, gradient=3.0)
    assert got.own[-1] == T
    assert regret <= bound
    assert regret + got.proximities[-1] > 3.0 * bound


def test_rates_minimise_the_bounds() -> None:
    """And the two theorems then bound alike, by 2 G_* D √T (section III.C)."""
    known = {"square": 7.0, "gradient": 3.0}
    T = 50
    eta, kappa = rom.theorem3_eta(T, **known), rom.best_kappa(**known)
    printed = rom.theorem3_printed(T, **known)
    assert printed == pytest.approx(2.0 * math.sqrt(3.0) * math.sqrt(3.5) * math.sqrt(T))
    assert rom.theorem6(T, kappa=kappa, **known) == pytest.approx(printed)
    assert rom.lemma2_printed(eta=eta, square=7.0, gradients=3.0 * T) == pytest.approx(printed)
    best = rom.best_eta(T, **known)
    assert rom.lemma2(eta=best, square=7.0, gradients=3.0 * T) == pytest.approx(
        rom.theorem3(T, **known)
    )
    for factor in (0.9, 1.1):
        assert rom.theorem6(T, kappa=factor * kappa, **known) > printed
        assert rom.lemma2_printed(eta=factor * eta, square=7.0, gradients=3.0 * T) > printed
        assert rom.lemma2(eta=factor * best, square=7.0, gradients=3.0 * T) > rom.theorem3(
            T, **known
        )


# The figure


RULE = {"rule": "oracle"}


def tiny_panel(algorithms: dict[str, dict[str, list[float]]], protocol: str) -> PlannedPanel:
    """Return a panel of algorithms with their rates on a small outlier walk."""
    lines = []
    for name, grid in algorithms.items():
        experiment = Experiment.compose(Names(name, "outlier_walk_large", protocol), READING)
        experiment.dataset["options"].update(n_examples=40, n_features=8)
        fixed = experiment.algorithm["fixed"]
        experiment.algorithm["fixed"] = {k: v for k, v in fixed.items() if k not in grid}
        experiment.algorithm["grid"] = grid
        lines.append(PlannedLine(a_line(algorithm=name, title=name), experiment))
    return PlannedPanel(a_panel(kind="rom_regret", horizons=4), tuple(lines))


def axes_of(panel: PlannedPanel, n_repeats: int = 1) -> list[Axes]:
    """Compute a panel's units and return its axes."""
    played = []
    for line in panel.lines:
        units = line.experiment.repeats(0, n_repeats)
        played.append(Played(line, units, [compute(unit) for unit in units], RULE))
    return rom_regret.axes_of(panel, played)


def test_panel_shows_the_measured_regret() -> None:
    """Of a plain transcription, at the rate nearest to the one that the theorem asks for."""
    rates = [1e-3, 1e-2, 0.1]
    panel = tiny_panel({"rom_pgd_every_round": {"eta": rates}}, "objective")
    [part] = axes_of(panel)
    shown = {line.label: line for line in part.lines}
    setting = setting_of(panel.lines[0].experiment.unit(0, 0))
    case = Case(setting.tasks, setting.stream, np.ones((5, 5)))
    r = Regulariser(0.01, 0.1, 0.1)
    assert shown[rom_regret.TUNED].x.tolist() == [1, 3, 12, 40]
    for at, T in enumerate([1, 3, 12, 40]):
        best = best_fixed(at_first(case, T), T, r)
        found = []
        for eta in rates:
            got = plain(ROMPGD(eta, *r, every_round=True), case)
            gradients = np.diff(got.shared + 2.0 * got.own, prepend=0.0)[:T]
            known = {"square": rom.square_norm(best.weights), "gradient": gradients.max()}
            off = abs(math.log(eta / rom.theorem3_eta(T, **known)))
            regret = (got.losses + got.penalties)[T - 1] - best.objective
            found.append((off, regret, rom.theorem3_printed(T, **known)))
        _, regret, theorem = min(found)
        assert shown[rom_regret.TUNED].mean[at] == pytest.approx(regret, rel=1e-5)
        assert shown[rom_regret.THEOREM].mean[at] == pytest.approx(theorem, rel=1e-5)


def test_panel_of_both_algorithms() -> None:
    """Each is below what is proved of it, in each repeat."""
    panel = tiny_panel(
        {
            "rom_pgd_every_round": {"eta": [1e-3, 1e-2, 0.1]},
            "rom_rda_rates": {"kappa": [1.0, 10.0, 100.0]},
        },
        "objective",
    )
    parts = axes_of(panel, 2)
    for part in parts:
        assert all(line.n_repeats == 2 for line in part.lines)
        assert any("0 of 8 horizons" in n and rom_regret.PROVED in n for n in part.notes)
    assert [any("r₂" in note for note in part.notes) for part in parts] == [False, True]


def test_panel_is_of_rom_alone() -> None:
    """Other learners, another protocol, or several regularisers are said to be wrong."""
    several = tiny_panel({"rom_rda_rates": {"kappa": [1.0], "alpha": [0.1, 1.0]}}, "objective")
    with pytest.raises(UserError, match="has 2 regularisers"):
        axes_of(several)
    for panel in (
        tiny_panel({"pm": {"eta": [1.0]}}, "objective"),
        tiny_panel({"rom_rda_rates": {"kappa": [1.0]}}, "rounds"),
    ):
        with pytest.raises(UserError, match="must be ROM-PGD or ROM-RDA"):
            axes_of(panel)
